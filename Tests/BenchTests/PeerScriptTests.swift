import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The peers' scripts", .ownThread)
struct PeerScriptTests {
  static let names = ["nats", "nchan", "mosquitto", "redis", "uwebsockets"]

  private func script(_ name: String) -> URL {
    ServerProcess.repository.appendingPathComponent("benchmarks/peers/\(name)")
  }

  private func run(
    _ name: String, _ arguments: [String], _ environment: [String: String] = [:]
  ) async throws -> Command.Outcome {
    try await Command(script(name), arguments, environment: environment).run(deadline: .seconds(300))
  }

  @Test("`settings` prints one line, whether the peer is installed or not", arguments: names)
  func settings(name: String) async throws {
    let outcome = try await run(name, ["settings"])
    #expect(outcome.status == 0)
    #expect(outcome.output.split(separator: "\n").count == 1)
    #expect(outcome.output.count > 20)
  }

  @Test(
    "What a script does not know is refused with a sentence", arguments: names,
    [["bogus"], [], ["start"], ["start", "/tmp"], ["settings", "all"]])
  func unknown(name: String, arguments: [String]) async throws {
    let outcome = try await run(name, arguments)
    #expect(outcome.status == 1)
    #expect(outcome.output.hasPrefix("\(name): say one of: install; version; settings; start"))
  }

  @Test("A port that is none is refused before anything starts", arguments: names, ["x", "0", "65536", "-1", "999999"])
  func port(name: String, port: String) async throws {
    let outcome = try await run(name, ["start", "/nowhere", port])
    #expect(outcome.status == 1)
    #expect(outcome.output.contains("PORT must be"))
  }

  @Test("uWebSockets is measured with a program that the user brings, and without one the script says how")
  func ownProgram() async throws {
    try await withTemporaryFolder { folder in
      let peers = ["FANFARE_PEERS": folder.appending(path: "peers").path]
      let absent = try await run("uwebsockets", ["version"], peers)
      #expect(absent.status == 1 && absent.output.contains("FANFARE_UWEBSOCKETS=PROGRAM"))
      let unnamed = try await run("uwebsockets", ["install"], peers.merging(["FANFARE_UWEBSOCKETS": ""]) { $1 })
      #expect(unnamed.status == 1 && unnamed.output.contains("FANFARE_UWEBSOCKETS must name the program"))
      let program = folder.appending(path: "program")
      try "#!/bin/sh\necho \"$@\"\n".write(to: program, atomically: true, encoding: .utf8)
      let named = peers.merging(["FANFARE_UWEBSOCKETS": program.path]) { $1 }
      #expect(try await run("uwebsockets", ["install"], named).output.contains("is no program"))
      #expect(chmod(program.path, 0o755) == 0)
      #expect(try await run("uwebsockets", ["install"], named).status == 0)
      #expect(try await run("uwebsockets", ["version"], peers).output == "version\n")
      let files = folder.appending(path: "files")
      #expect(try await run("uwebsockets", ["start", files.path, "9000"], peers).output == "9000\n")
      try Data().write(to: files.appending(path: "certificate.pem"))
      #expect(
        try await run("uwebsockets", ["start", files.path, "9000"], peers).output
          == "9000 \(files.path)/certificate.pem \(files.path)/key.pem\n")
    }
  }
}
