import Foundation
import Synchronization
import TestSupport
import Testing

/// A broker that stands still must cost its gateways time, not memory.
@Suite("Backpressure")
struct BackpressureTests {
  @Test("Publishers are not read while the broker stands still, and everything acknowledged exists once afterwards")
  func standstill() async throws {
    let settings = ["gateway.uplink_window_bytes=1MiB", "client.request_timeout=2m", "broker.gateway_timeout=2m"]
    try await Deployment.with(.ipc, settings: settings) { deployment in
      let gateway = deployment.gateway("a")
      let peers = [
        try await deployment.client("p0"), try await deployment.client("p1"), try await deployment.client("p2"),
      ]
      // The broker answers once before it stops, so that the link is open.
      for peer in peers { try await peer.publish("first", to: "dur:start") }
      let before = gateway.residentBytes
      deployment.broker.signal(SIGSTOP)
      let filling = String(repeating: "x", count: 8192)
      let flood = Flood(peers.count)
      for (index, peer) in peers.enumerated() {
        // A thread of its own: its send is meant to block.
        Thread.detachNewThread { flood.run(index, peer) { "p\(index)-\($0) \(filling)" } }
      }
      // 64 MiB a client is far beyond the sockets' buffers and the window together.
      let blocked = await eventually(within: .seconds(30)) { flood.standsStill(for: .seconds(1)) }
      #expect(blocked)
      #expect(flood.sent.allSatisfy { $0 < Flood.limit }, "\(flood.sent) were taken")
      let growth = gateway.residentBytes - before
      #expect(growth < 96 << 20, "the gateway grew by \(growth >> 20) MiB")

      flood.stop()
      deployment.broker.signal(SIGCONT)
      #expect(await eventually(within: .seconds(30)) { flood.hasEnded })
      let asked = flood.requests
      let answered = await eventually(within: .seconds(30)) {
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

  /// Publishes without waiting for answers, until told to stop.
  private final class Flood: Sendable {
    static let limit = 8192

    private struct State {
      var requests: [[UInt32]]
      var running: Int
      var shallStop = false
      var lastTotal = -1
      var lastChange = ContinuousClock.now
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

    func standsStill(for duration: Duration) -> Bool {
      state.withLock { state in
        let total = state.requests.reduce(0) { $0 + $1.count }
        if total != state.lastTotal {
          state.lastTotal = total
          state.lastChange = .now
        }
        return ContinuousClock.now - state.lastChange >= duration
      }
    }
  }
}
