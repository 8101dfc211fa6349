public import Foundation

/// nginx or HAProxy, as the distribution ships it: installed, or unpacked by `.ci/setup servers`.
public struct ProxyProgram: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public var description: String
  }

  public static let nginx = ProxyProgram(name: "nginx")
  public static let haproxy = ProxyProgram(name: "haproxy")

  public static var areThere: Bool { nginx.executable != nil && haproxy.executable != nil }

  public let name: String

  private static let unpacked = ServerProcess.repository.appendingPathComponent(".build/proxies")

  private var executable: URL? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    var folders = path.split(separator: ":").map { URL(fileURLWithPath: String($0)) }
    folders += [URL(fileURLWithPath: "/usr/sbin"), Self.unpacked.appendingPathComponent("usr/sbin")]
    return folders.map { $0.appendingPathComponent(name) }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }

  /// Libraries that were unpacked with the program, and that the system does not have.
  private var environment: [String: String] {
    let libraries = Self.unpacked.appendingPathComponent("usr/lib")
    let folders = (try? FileManager.default.contentsOfDirectory(atPath: libraries.path)) ?? []
    return ["LD_LIBRARY_PATH": folders.map { libraries.appendingPathComponent($0).path }.joined(separator: ":")]
  }

  /// Runs the program on a free port while the body runs.
  ///
  /// The port is chosen before the program has it, so that somebody else may take it in between: then it is tried again
  /// on another.
  ///
  /// - Parameters:
  ///   - folder: of this run; a file `proxy.conf` is written into it.
  ///   - configuration: what stands in the file, given the port.
  public func run<Result>(
    in folder: URL, configuration: (UInt16) throws -> String, _ body: (UInt16) async throws -> Result
  ) async throws -> Result {
    for _ in 0..<5 {
      let port = try FreePort.next()
      if let process = try await start(in: folder, try configuration(port), port) {
        do {
          let result = try await body(port)
          try await end(process)
          return result
        } catch {
          try await end(process)
          throw error
        }
      }
    }
    throw Failure(description: "\(name) did not listen: \(said(in: folder))")
  }

  /// - Returns: nil where the program ended because somebody else had the port.
  private func start(in folder: URL, _ configuration: String, _ port: UInt16) async throws -> ChildProcess? {
    guard let executable else { throw Failure(description: "\(name) is not there; run .ci/setup servers") }
    let file = folder.appendingPathComponent("proxy.conf")
    try configuration.write(to: file, atomically: true, encoding: .utf8)
    // One process each, in the foreground, so that none is left when it is killed.
    let arguments =
      name == "nginx"
      ? ["-p", folder.path, "-c", file.path, "-e", "stderr", "-g", "daemon off; master_process off;"]
      : ["-db", "-f", file.path]
    let process = try ChildProcess(
      executable, arguments, environment: environment, errors: folder.appendingPathComponent("proxy-errors.txt"))
    let listens = await eventually(within: .seconds(60)) { !process.isRunning || FreePort.isTaken(port) }
    if listens, process.isRunning { return process }
    try await end(process)
    if said(in: folder).contains("ddress already in use") { return nil }
    throw Failure(description: "\(name) did not start: \(said(in: folder))")
  }

  private func end(_ process: ChildProcess) async throws {
    process.signal(SIGTERM)
    if await eventually(within: .seconds(30), { !process.isRunning }) { return }
    process.signal(SIGKILL)
    _ = await eventually(within: .seconds(30)) { !process.isRunning }
  }

  private func said(in folder: URL) -> String {
    let text = try? String(contentsOf: folder.appendingPathComponent("proxy-errors.txt"), encoding: .utf8)
    return String((text ?? "").suffix(4000))
  }

  /// A whole configuration of nginx around what stands within `http`, with all its files in the folder of the run.
  public static func nginxConfiguration(_ http: String, in folder: URL) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "  \($0)_temp_path \(folder.path)/\($0);"
    }
    return """
      pid \(folder.path)/nginx.pid;
      error_log stderr;
      events { worker_connections 1024; }
      http {
        access_log off;
      \(temporary.joined(separator: "\n"))
      \(http)
      }

      """
  }
}

/// Ports of this machine.
enum FreePort {
  static func next() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var (address, length) = (loopback(0), socklen_t(MemoryLayout<sockaddr_in>.size))
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
      }
    }
    guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
    return UInt16(bigEndian: address.sin_port)
  }

  /// Whether somebody listens on it.
  static func isTaken(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = loopback(port)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    address.sin_port = port.bigEndian
    return address
  }
}
