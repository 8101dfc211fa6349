import Foundation
import Synchronization
import TestSupport
import Testing

/// A broker that stands still must cost its gateways time, not memory.
@Suite("Backpressure", .ownThread)
struct BackpressureTests {
  @Test("Publishers are not read while the broker stands still, and everything acknowledged exists once afterwards")
  func standstill() async throws {
    let settings = ["gateway.uplink_window_bytes=1MiB", "client.request_timeout=10m", "broker.gateway_timeout=10m"]
    try await Deployment.with(.ipc, settings: settings) { deployment in
      let gateway = deployment.gateway("a")
      let peers = [
        try await deployment.client("p0"), try await deployment.client("p1"), try await deployment.client("p2"),
      ]
      // The broker answers once before it stops, so that the link is open.
      for peer in peers { try await peer.publish("first", to: "dur:start") }
      let before = gateway.residentBytes
      await deployment.broker.standStill()
      let filling = String(repeating: "x", count: 8192)
      let flood = Flood(peers.count)
      for (index, peer) in peers.enumerated() {
        // A thread of its own: its send is meant to block.
        Thread.detachNewThread { flood.run(index, peer) { "p\(index)-\($0) \(filling)" } }
      }
      // 64 MiB a client is far beyond the sockets' buffers and the window together.
      try await blocked(peers, flood, on: deployment)
      #expect(flood.sent.allSatisfy { $0 < Flood.limit }, "\(flood.sent) were taken")
      let growth = gateway.residentBytes - before
      #expect(growth < 96 << 20, "the gateway grew by \(growth >> 20) MiB")

      flood.stop()
      deployment.broker.signal(SIGCONT)
      #expect(await eventually(within: .seconds(60)) { flood.hasEnded })
      let asked = flood.requests
      let answered = await eventually(within: .seconds(180)) {
        zip(peers, asked).allSatisfy { peer, ids in ids.allSatisfy { peer.reply($0) != nil } }
      }
      #expect(answered)
      let errors = zip(peers, asked).flatMap { peer, ids in ids.compactMap { peer.reply($0)?.error } }
      #expect(errors.isEmpty, "\(errors.prefix(3))")
      let history = try await deployment.service().wholeHistory("dur:flood", pageSize: 50)
        .map { String($0.data.prefix { $0 != " " }) }
      for (index, ids) in asked.enumerated() {
        let own = history.filter { $0.hasPrefix("p\(index)-") }
        let isWhole = own == ids.indices.map { "p\(index)-\($0)" }
        #expect(isWhole, "\(ids.count) acknowledged, \(own.count) kept")
      }
    }
  }

  /// Returns when none of the peers gets anything off any more though the gateway works: event loops of it answer others
  /// again and again, and take not a byte from these. A test that does not get to run for a second shows nothing.
  private func blocked(_ peers: [Peer], _ flood: Flood, on deployment: Deployment) async throws {
    let hasBlocked = try await eventually(within: .seconds(120)) {
      let sent = flood.sent
      guard sent.allSatisfy({ $0 > 0 }) else { return false }
      for _ in 0..<32 {
        _ = try WebSocketPeer(deployment.a) { _ in }
        if flood.sent != sent || peers.contains(where: \.socket.takesMore) { return false }
      }
      return true
    }
    try #require(hasBlocked)
  }

  @Test("A flood of an app's commands is read later and none of it refused, however narrow the window")
  func calls() async throws {
    try await PhoneHall.with(["gateway.uplink_window_bytes=64KiB", "client.max_pending_requests=100000"]) { hall in
      let (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      let id = try #require(
        try await ada.call("clique.send", #"{"to":"bob","text":"hello"}"#)["conversation"].string)
      try await bob.call("clique.accept", #"{"person":"ada"}"#)
      let answers = Mutex((count: 0, isConnected: false, errors: [String]()))
      let socket = try WebSocketPeer(hall.url) { message in
        guard let reply = try? JSON(message) else {
          return answers.withLock { $0.errors.append("no JSON: \(message)") }
        }
        guard let id = reply["id"].int else { return }
        answers.withLock { answers in
          if id == 1 { answers.isConnected = true } else { answers.count += 1 }
          if !reply["error"].isNull { answers.errors.append(message) }
        }
      }
      socket.send("{\"id\":1,\"connect\":{\"token\":\"\(try hall.token("ada"))\"}}")
      try #require(await eventually { answers.withLock { $0.isConnected } })
      let (count, text) = (5000, String(repeating: "x", count: 500))
      for number in 1...count {
        let data = "{\"conversation\":\"\(id)\",\"text\":\"\(number) \(text)\"}"
        socket.send("{\"id\":\(number + 1),\"rpc\":{\"method\":\"clique.send\",\"data\":\(data)}}")
      }
      #expect(await eventually(within: .seconds(180)) { answers.withLock { $0.count == count } })
      let errors = answers.withLock { $0.errors }
      #expect(errors.isEmpty, "\(errors.count) refused: \(errors.prefix(2))")
      let history = try await ada.ask("\"history\":{\"channel\":\"clique.chat:\(id)\",\"limit\":0}")["history"]
      #expect(history["offset"].int == count + 1)
    }
  }

  /// Publishes without waiting for answers, until told to stop.
  private final class Flood: Sendable {
    static let limit = 8192

    private struct State {
      var requests: [[UInt32]]
      var running: Int
      var shallStop = false
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(requests: Array(repeating: [], count: count), running: count)) }

    var requests: [[UInt32]] { state.withLock { $0.requests } }
    var sent: [Int] { requests.map(\.count) }
    var hasEnded: Bool { state.withLock { $0.running == 0 } }

    func stop() { state.withLock { $0.shallStop = true } }

    func run(_ index: Int, _ peer: Peer, _ data: (Int) -> String) {
      for number in 0..<Self.limit {
        if state.withLock({ $0.shallStop }) { break }
        let id = peer.sendPublish(data(number), to: "dur:flood")
        state.withLock { $0.requests[index].append(id) }
      }
      state.withLock { $0.running -= 1 }
    }
  }
}
