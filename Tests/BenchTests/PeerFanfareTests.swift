import Foundation
import Glibc
import TestSupport
import Testing

@testable import Bench

@Suite("Fanfare as a peer", .serialized, .ownThread)
struct PeerFanfareTests {
  @Test(
    "Each way of running it starts, takes connections, and leaves nothing",
    arguments: [(FanfarePeer.Variant.chosen, 1, "ws"), (.split, 2, "ws"), (.tls, 1, "wss")])
  func runs(variant: FanfarePeer.Variant, processes: Int, scheme: String) async throws {
    try Self.run(variant, processes, scheme)
  }

  private static func run(_ variant: FanfarePeer.Variant, _ processes: Int, _ scheme: String) throws {
    let peer = FanfarePeer(variant, executable: try ServerProcess.executable().path)
    #expect(try peer.describe().version.contains("0."))
    let running = try peer.start(
      .forPeers(
        namespace: "room",
        settings: ["channel.namespaces.room.history_size=10", "channel.namespaces.room.history_ttl=1m"]),
      cores: [])
    defer { running.stop() }
    #expect(running.processes.count == processes)
    #expect(running.target.url.hasPrefix("\(scheme)://127.0.0.1:"))
    #expect(running.target.url.hasSuffix("/connection/websocket"))
    #expect((running.target.secret?.utf8.count ?? 0) >= 32)
    if scheme == "wss" {
      let trust = try String(contentsOfFile: try #require(running.target.trust), encoding: .utf8)
      #expect(trust.hasPrefix("-----BEGIN CERTIFICATE-----"))
    }
    running.stop()
    #expect(running.processes.allSatisfy { kill($0, 0) != 0 })
  }

  @Test("A setting that the server does not know is told in the server's words")
  func unknownSetting() throws {
    let peer = FanfarePeer(.chosen, executable: try ServerProcess.executable().path)
    let error = #expect(throws: BenchError.self) {
      _ = try peer.start(.forPeers(settings: ["server.colour=red"]), cores: [])
    }
    #expect(error?.description.contains("server.colour") == true)
  }

  @Test("Every namespace of the scenario is configured, with leave for clients to publish")
  func namespaces() throws {
    let text = try FanfarePeer.configuration(
      for: .forPeers(namespace: "room", settings: ["channel.namespaces.chat.history_size=5", "client.max_channels=9"]))
    #expect(
      text.contains(
        """
        "channel":{"namespaces":[{"allow_publish_for_client":true,"allow_subscribe_for_client":true,"name":"chat"},\
        {"allow_publish_for_client":true,"allow_subscribe_for_client":true,"name":"room"}],\
        "without_namespace":{"allow_publish_for_client":true,"allow_subscribe_for_client":true}}
        """))
    // What is measured is the server, not its limits.
    for limit in ["\"commands_per_second\":0", "\"bytes_per_second\":0", "\"channels_per_second\":0"] {
      #expect(text.contains(limit))
    }
  }
}
