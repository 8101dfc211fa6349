import Foundation
import TestSupport
import Testing

/// The unit for systemd and the container file that are shipped: what can be held against the tools and the program
/// without either of them running a service.
@Suite("The unit and the container file", .ownThread)
struct ShippedFileTests {
  private static let unit = "config/fanfare.service"
  private static let container = "config/Containerfile"
  private static let program = "/usr/local/bin/fanfare"

  /// All directives of the unit, by name, in their order.
  private static func directives() throws -> [(name: String, value: String)] {
    try ShownCommand.text(unit).components(separatedBy: "\n").filter { !$0.isEmpty && !$0.hasPrefix("#") }
      .filter { !$0.hasPrefix("[") }.map { line in
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        try #require(parts.count == 2, "\(line) is no directive")
        return (String(parts[0]), String(parts[1]))
      }
  }

  private static func value(_ name: String) throws -> String {
    try #require(try directives().first { $0.name == name }?.value, "\(name) is missing")
  }

  @Test(
    "systemd finds nothing wrong with the unit, and calls its sandbox OK",
    .skipUnlessStrict(.systemd, isThere: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze")))
  func systemd() async throws {
    try await withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("fanfare.service")
      let text = try ShownCommand.text(Self.unit)
      #expect(text.contains(Self.program))
      // The program is not installed here, and systemd wants to see it.
      try text.replacingOccurrences(of: Self.program, with: try ServerProcess.executable().path)
        .write(to: file, atomically: true, encoding: .utf8)
      let verified = try await Command(named: "systemd-analyze", ["verify", file.path]).run(deadline: .seconds(60))
      #expect(verified.status == 0 && verified.output.isEmpty, "\(verified.output)")
      // The threshold is in tenths: an exposure above 3.0 means that the unit allows more than the server needs.
      let security = try await Command(
        named: "systemd-analyze", ["security", "--no-pager", "--offline=true", "--threshold=30", file.path]
      ).run(deadline: .seconds(60))
      #expect(security.status == 0, "\(security.output.suffix(300))")
    }
  }

  @Test(
    "The unit restarts the server, gives it descriptors, a folder and time to end, and allows what it asks the kernel")
  func unit() throws {
    let names = try Self.directives().map(\.name)
    #expect(Set(names).count == names.count, "a directive stands there twice")
    #expect(try Self.value("Restart") == "always")
    #expect(try Self.value("NoNewPrivileges") == "yes")
    #expect(try Self.value("ProtectSystem") == "strict")
    #expect(try Self.value("StateDirectoryMode") == "0700")
    #expect(try Int(Self.value("LimitNOFILE")) ?? 0 >= 65536)
    // adjtimex tells whether a time server keeps the clock; systemd counts it among the calls that set clocks.
    let calls = try Self.value("SystemCallFilter").split(separator: " ")
    for call in [
      "@system-service", "io_uring_setup", "io_uring_enter", "io_uring_register", "adjtimex", "clock_adjtime",
    ] {
      #expect(calls.contains(Substring(call)))
    }
    #expect(!names.contains("ProtectClock"))
    let production = try JSONSerialization.jsonObject(with: Data(ShownCommand.text("config/production.json").utf8))
    let shutdown = (production as? [String: Any])?["shutdown"] as? [String: Any]
    let deadline = try #require((shutdown?["deadline"] as? String).flatMap { Int($0.dropLast()) })
    let ramp = (shutdown?["ramp"] as? String).flatMap { Int($0.dropLast()) } ?? 0
    #expect(try Int(Self.value("TimeoutStopSec")) ?? 0 > deadline + ramp)
  }

  @Test("The program understands the commands of the unit, and its data folder is the one that the unit makes")
  func commands() throws {
    for name in ["ExecStartPre", "ExecStart"] {
      let command = try #require(ShownCommand.all(in: "    " + (try Self.value(name))).first)
      #expect(command.fault == nil, "\(name): \(command.fault ?? "")")
    }
    #expect(try Self.value("ExecStart").contains("data.directory=/var/lib/\(Self.value("StateDirectory"))"))
  }

  // MARK: The container file

  /// The instructions of the container file, continued lines as one.
  private static func instructions() throws -> [String] {
    try ShownCommand.text(container).components(separatedBy: "\n").filter { !$0.hasPrefix("#") }
      .joined(separator: "\n").replacingOccurrences(of: "\\\n", with: " ").components(separatedBy: "\n")
      .filter { !$0.isEmpty }
  }

  /// The packages that the n-th `apt-get install` names.
  private static func packages(ofInstallation index: Int) throws -> Set<String> {
    let installations = try instructions().filter { $0.contains("apt-get install") }
    try #require(installations.count == 2)
    let words = installations[index].components(separatedBy: "--no-install-recommends")[1]
      .components(separatedBy: "&&")[0].split(separator: " ")
    return Set(words.map(String.init))
  }

  @Test("The build in the container has what .ci/setup installs for it")
  func buildPackages() throws {
    let setup = try ShownCommand.text(".ci/setup").components(separatedBy: "install_with_brew")[0]
    var named: [String: [String]] = [:]
    for line in setup.components(separatedBy: "\n") {
      let parts = line.components(separatedBy: ") packages+=(")
      guard parts.count == 2, let packages = parts[1].components(separatedBy: ")").first else { continue }
      named[parts[0].trimmingCharacters(in: .whitespaces)] = packages.components(separatedBy: " ")
    }
    let installed = try Self.packages(ofInstallation: 0)
    for name in ["pkg-config", "zeromq", "openssl", "sqlite", "curl", "strip"] {
      let packages = try #require(named[name], "\(name) is no name of .ci/setup")
      #expect(installed.isSuperset(of: packages), "\(name): \(packages)")
    }
  }

  @Test("The image holds the libraries of the system that the program is linked to")
  func libraries() async throws {
    let linked = try await Command(named: "ldd", [try ServerProcess.executable().path]).run(deadline: .seconds(60))
    let installed = try Self.packages(ofInstallation: 1)
    let packages = [
      "libzmq.so": "libzmq5", "libssl.so": "libssl3", "libsqlite3.so": "libsqlite3-0", "libpq.so": "libpq5",
      "libcurl.so": "libcurl4",
    ]
    for (library, package) in packages where linked.output.contains(library) {
      #expect(installed.contains(package), "\(library) is needed")
    }
    #expect(linked.output.contains("libzmq.so"))
    // What the server calls over TLS is verified by them.
    #expect(installed.contains("ca-certificates"))
  }

  @Test("What the container file copies is there, the server is not root, and the program understands its command")
  func container() throws {
    let instructions = try Self.instructions()
    let copied = instructions.filter { $0.hasPrefix("COPY ") && !$0.contains("--from") }
      .flatMap { $0.split(separator: " ").dropFirst().dropLast() }
    #expect(copied.count >= 5)
    for path in copied {
      let file = ServerProcess.repository.appendingPathComponent(String(path)).path
      #expect(FileManager.default.fileExists(atPath: file), "\(path)")
    }
    let user = try #require(instructions.last { $0.hasPrefix("USER ") }).dropFirst(5)
    #expect(Int(user) ?? 0 > 0)
    #expect(instructions.contains { $0.contains("--uid \(user)") })
    let arguments = try #require(instructions.last { $0.hasPrefix("CMD ") }).dropFirst(4)
    let words = try JSONDecoder().decode([String].self, from: Data(arguments.utf8))
    let command = try #require(ShownCommand.all(in: "    fanfare " + words.joined(separator: " ")).first)
    #expect(command.words == words)
    #expect(command.fault == nil, "\(command.fault ?? "")")
  }
}
