import Foundation
import TestSupport
import Testing

/// Logs are read by many: what clients say in confidence is not in them, and nothing they say forges a line.
@Suite("Logs", .ownThread)
struct LogOutputTests {
  @Test("Neither tokens nor payloads are logged, and a client's name cannot forge a line", arguments: ["text", "json"])
  func confidential(_ format: String) async throws {
    try await Deployment.with(.serve, settings: ["log.level=trace", "log.format=\(format)"]) { deployment in
      let token = try deployment.token("ann")
      let peer = try Peer(deployment.a)
      try await peer.connect(token: token, name: "evil\n2026-01-01T00:00:00Z error forged\u{1B}[31m\u{202E}")
      try await peer.subscribe("mem:talk")
      try await peer.publish("for your eyes only", to: "mem:talk")
      _ = try await deployment.service().publish("for their eyes only", to: "mem:talk")
      _ = try await peer.ask(#""subscribe":{"channel":"no\nsuch:namespace\u001b[31m"}"#)
      _ = try await peer.ask(#""rpc":{"method":"x\ny","data":"for no eyes"}"#)
      let stranger = try Peer(deployment.a)
      stranger.send(#""connect":{"token":"eyJhbGciOiJIUzI1NiJ9.bad.token"}"#)
      #expect(await eventually { stranger.socket.closing?.code == 3500 })
      let broken = try Peer(deployment.a)
      broken.socket.send("{\"id\":1,\"secret payload that is no JSON")
      #expect(await eventually { broken.socket.closing != nil })
      peer.socket.cut()
      #expect(await deployment.broker.end() == 0)
      let log = deployment.broker.errorOutput
      #expect(!log.isEmpty)
      for confidence in [token, "eyJ", "eyes only", "no eyes", "secret payload", Deployment.secret] {
        #expect(!log.contains(confidence), "the log holds \(confidence)")
      }
      let lines = log.split(separator: "\n")
      let start: Character = format == "json" ? "{" : "2"
      #expect(lines.filter { $0.first != start } == [])
      #expect(!lines.contains { $0.hasPrefix("2026-01-01") })
      #expect(!log.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0.value == 0x202E })
    }
  }
}
