import Foundation
import Push
import TestSupport
import Testing

/// Who is notified by a real server, over the kill of its process, with services that check everything.
@Suite("Notifications of Clique, end to end", .ownThread)
struct NotificationTests {
  private static let secret = "conformance-secret-of-more-than-thirty-two-bytes"

  private func configuration(_ servers: PushServers) throws -> String {
    let push = try servers.settings(["fcm"]).dropLast()
    return """
      {"token": {"hmac_secret": "\(Self.secret)"}, "push": \(push), "notifications": true, "delay": "8s"}}
      """
  }

  /// Runs the script that registers bob's phone and has two people ask him.
  ///
  /// - Returns: the conversation of the request that nobody acknowledged.
  private func ask(_ server: ServerProcess, _ device: PushDevice) async throws -> String {
    let interpreter = try await PythonEnvironment.shared.interpreter()
    let outcome = try await Command(
      interpreter, [PythonEnvironment.shared.scripts.appendingPathComponent("notices.py").path],
      environment: [
        "SERVER_URL": server.endpoints.websocket, "TOKEN_SECRET": Self.secret, "WIRE_FORMAT": "json",
        "PYTHONDONTWRITEBYTECODE": "1", "DEVICE": String(decoding: device.json, as: UTF8.self),
      ]
    ).run(deadline: .seconds(120))
    try #require(outcome.status == 0, "\(outcome.output)")
    let line = outcome.output.split(separator: "\n").first { $0.hasPrefix("conversation ") }
    return String(try #require(line).dropFirst("conversation ".count))
  }

  @Test("What no device acknowledged is sent after kill -9, too, with nothing of its text; what one did is not")
  func killed() async throws {
    let servers = try await PushServers()
    defer { servers.stop() }
    let configuration = try configuration(servers)
    try await withTemporaryFolder { folder in
      let first = try await ServerProcess(in: folder, configuration: configuration)
      let asked = await Result.catching { try await ask(first, try PushServers.fcm(1)) }
      await first.kill()
      let conversation = try asked.get()
      let second = try await ServerProcess(in: folder, configuration: configuration)
      let isSent = await eventually(within: .seconds(120)) { !servers.requests(of: "fcm").isEmpty }
      let log = second.errorOutput
      #expect(await second.terminate() == 0)
      #expect(isSent, "\(log)")
      #expect(servers.broken == [])
      for request in servers.requests(of: "fcm") {
        #expect(request.device == PushServers.fcmToken(1))
        #expect(request.value("message.data.conversation") == conversation, "\(request.text)")
        #expect(!"\(request.text)".contains("secret"))
      }
    }
  }
}

extension Result where Failure == any Error {
  fileprivate static func catching(_ body: () async throws -> Success) async -> Self {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}
