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

  @Test("Histories that were made before a new start are read while it is measured, whole or not at all")
  func cold() throws {
    let archive = ["history_size=50", "history_ttl=1h", "force_recovery=true", "durability=durable"]
      .map { "channel.namespaces.archive.\($0)" }
    let scenario = try Scenario.forPeers(settings: archive + patientSettings)
    let peer = FanfarePeer(.cold, executable: try ServerProcess.executable().path, publications: 50)
    let running = try peer.start(scenario, cores: [])
    defer { running.stop() }
    let said = try Self.read(running)
    #expect(said.first?.hasPrefix("read for the first time meanwhile: 1 × a history of 50 publications, in ") == true)
    // A history that keeps fewer than were made.
    let short = try Scenario.forPeers(
      settings: archive.map { $0.replacing("history_size=50", with: "history_size=40") } + patientSettings)
    let other = try peer.start(short, cores: [])
    defer { other.stop() }
    let error = #expect(throws: BenchError.self) { try Self.read(other) }
    #expect(error?.description.contains("a history of 50 publications was read, and 40 came") == true)
  }

  /// What is said after the reading.
  private static func read(_ running: RunningPeer) throws -> [String] {
    guard let accompany = running.accompany, let conclude = running.conclude else { return [] }
    accompany()
    return try conclude(0...1)
  }

  @Test("A scenario without such histories is refused before anything starts")
  func coldWithout() throws {
    let peer = FanfarePeer(.cold, executable: try ServerProcess.executable().path)
    let error = #expect(throws: BenchError.self) { try peer.start(.forPeers(), cores: []) }
    #expect(error?.description.contains("measure the scenario coldread") == true)
  }
}
