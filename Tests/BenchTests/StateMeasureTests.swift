import Foundation
import Glibc
import TestSupport
import Testing

@testable import Bench

@Suite("Measuring State", .ownThread)
struct StateMeasureTests {
  private func scenario(
    receivers: Int = 24, senders: Int = 3, rate: Double = 40, duration: Double = 0.5, workers: Int = 1,
    peers: [String] = []
  ) -> Scenario {
    var group = Scenario.Group.sample(channels: receivers, subscribers: 1, rate: rate, publishers: senders)
    group.name = "pair"
    return Scenario(
      name: "test", about: "", measure: .delivery, groups: [group], warmup: 0, duration: duration, ramp: nil,
      missed: nil, format: "json", turns: 1, workers: workers, peers: peers, settings: patientSettings)
  }

  @Test("A publication is a send, and the notification of it is the delivery of its marker")
  func dialect() throws {
    let exchange = try CentrifugeDialect(target: .loopback("state", "ws://127.0.0.1:1/"), scenario: scenario())
    var publisher = DialectState(role: .publisher, client: 24 + 2, channels: [])
    var out = Outgoing()
    let content = "~ff~000000000000000000000000000000000axxxx"
    Array(content.utf8).withUnsafeBytes {
      exchange.publish($0, to: "pair-1x-5", &publisher, into: &out)
    }
    let said = String(decoding: out.bytes, as: UTF8.self)
    #expect(said.contains("\"method\":\"state.send\""))
    #expect(said.contains("\"to\":\"receiver-5\"") && said.contains("front-5") && said.contains("rear-5"))

    var subscriber = DialectState(role: .subscriber, client: 5, channels: ["pair-1x-5"])
    subscriber.phase = 2
    func delivered(from sender: String) throws -> [String] {
      var (sink, out) = (Sink(), Outgoing())
      let push = """
        {"push":{"channel":"state.events:receiver-5","pub":{"data":{"event":"received","limit":1,"since":1,"until":2,\
        "with":"\(sender)"},"offset":1}}}
        """
      _ = try Array(push.utf8).withUnsafeBytes { try exchange.receive($0, &subscriber, &sink, into: &out) }
      return sink.captured.map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(try delivered(from: "sender-2") == [String(content.prefix(Marker.length))])
    // A publication of another sender is not the exchange's, and is not measured.
    #expect(try delivered(from: "sender-1") == [""])
  }

  @Test("What cannot be measured is refused, with what to change")
  func refused() {
    for (scenario, word) in [
      (scenario(receivers: 10), "receivers"), (scenario(senders: 2), "publishers"), (scenario(workers: 2), "worker"),
    ] {
      let error = #expect(throws: BenchError.self) { _ = try StateExchange(scenario) }
      #expect(error?.description.contains(word) == true)
    }
  }

  @Test("Every send of a run arrives as a notification")
  func sends() async throws {
    let peer = FanfarePeer(.state, executable: try ServerProcess.executable().path)
    let scenario = scenario()
    let running = try peer.start(scenario, cores: [])
    defer { running.stop() }
    let report = try await WorkerRunner.run(
      WorkerPlan(worker: 0, workers: 1, target: running.target, scenario: scenario, run: "1x", patience: longPatience))
    let group = try #require(report.groups.first)
    #expect(group.expected == 20)
    #expect(group.isWhole, "\(group) \(report.remarks)")
    #expect(report.acknowledged.count == 20)
  }

  @Test("Threads that were overdue when the server started are all found expired, and the run says so")
  func expiry() throws {
    let running = try Self.startOverdue()
    defer { running.stop() }
    let now = MonotonicTime.now()
    let conclude = try #require(running.conclude)
    let sentences = try conclude(now...now)
    #expect(sentences.count == 1)
    #expect(sentences.first?.hasPrefix("all 20 threads had expired ") == true)
  }

  /// The threads are open for as long as it takes a disk that others use to write them.
  private static func startOverdue() throws -> RunningPeer {
    for lifetime in [4, 20] {
      do {
        return try startOverdue(lifetime: lifetime)
      } catch let error as BenchError where error.description.contains("had expired by then") {}
    }
    return try startOverdue(lifetime: 90)
  }

  private static func startOverdue(lifetime: Int) throws -> RunningPeer {
    let peer = FanfarePeer(.expiry, executable: try ServerProcess.executable().path, threads: 20, lifetime: lifetime)
    return try peer.start(.forPeers(settings: patientSettings), cores: [])
  }

  @Test("Each thread has a pair of its own, and no user has more than may be uploaded at once")
  func pairs() {
    for count in [1, 8, 20, 1000] {
      let threads = OpenThreads(count: count)
      var pairs: Set<[Int]> = []
      var sends: [Int: Int] = [:]
      for thread in 0..<count {
        let (sender, receiver) = threads.pair(thread)
        pairs.insert([min(sender, receiver), max(sender, receiver)])
        sends[sender, default: 0] += 1
        #expect(sender != receiver)
      }
      #expect(pairs.count == count)
      #expect(sends.values.allSatisfy { $0 <= OpenThreads.threadsPerUser })
    }
  }
}
