import Foundation
import TestSupport
import Testing

@Suite("The peers' scripts", .ownThread)
struct PeerScriptTests {
  static let names = ["nats", "nchan", "mosquitto", "redis"]

  private func script(_ name: String) -> URL {
    ServerProcess.repository.appendingPathComponent("benchmarks/peers/\(name)")
  }

  private func run(_ name: String, _ arguments: [String]) async throws -> Command.Outcome {
    try await Command(script(name), arguments).run(deadline: .seconds(300))
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
}
