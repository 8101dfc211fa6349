import Foundation
import TestSupport
import Testing

/// What `FIRE_SEED` and `FIRE_ROUNDS` say of a fire: the first repeats one, the second makes it longer.
enum Fire {
  /// Tells the seed, so that whoever sees the test fail can have the same again.
  static func seed(of name: String) -> UInt64 {
    let given = ProcessInfo.processInfo.environment["FIRE_SEED"].flatMap { UInt64($0) }
    let seed = given ?? .random(in: 0...UInt64.max)
    print("\(name): FIRE_SEED=\(seed)")
    return seed
  }

  static func rounds(usually count: Int) -> Int {
    ProcessInfo.processInfo.environment["FIRE_ROUNDS"].flatMap { Int($0) } ?? count
  }
}

/// What happens to the broker that has a log.
enum Trouble: CaseIterable {
  /// Its process is gone, without a word.
  case killed
  /// It is told to end.
  case ended
  /// It stands still, and comes back when another one has taken over.
  case paused

  var signal: Int32 {
    switch self {
    case .killed: SIGKILL
    case .ended: SIGTERM
    case .paused: SIGSTOP
    }
  }
}

extension FireRecord {
  /// Waits until every publisher was acknowledged something, and all together so much.
  ///
  /// - Throws: where that does not happen, with what each of them was acknowledged.
  func goesOn(by count: Int, _ what: String) async throws {
    let before = acknowledgements
    let isDone = await eventually(within: .seconds(90)) { self.hasProgress(since: before, by: count) }
    try #require(isDone, "\(what): \(account(since: before))")
  }
}

extension Cluster {
  /// Has two clients publish on a channel, one at each gateway, and a third listen, while `body` lets things happen. Then
  /// each publication that was acknowledged must be in the history once, and with all the others at the subscriber, in
  /// order; and nobody must have been told anything.
  ///
  /// - Returns: what was published, and the channel's history.
  func fire(
    on channel: String, _ what: String, _ body: (FireRecord) async throws -> Void
  ) async throws -> (record: FireRecord, history: [String]) {
    let subscriber = try await client("sub", at: "a")
    try await subscriber.subscribe(channel)
    let publishers = [try await client("w0", at: "a"), try await client("w1", at: "b")]
    let record = FireRecord()
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { record.end() }
      for (index, peer) in publishers.enumerated() {
        group.addTask { await record.pipeline("w\(index)", to: channel, over: peer) }
      }
      try await body(record)
      record.end()
      try await group.waitForAll()
    }
    let history = try await history(channel)
    let faults = record.faults(in: history)
    #expect(faults.isEmpty, "\(what): \(faults.prefix(10))")
    #expect(await eventually(within: .seconds(60)) { subscriber.publications(channel).count >= history.count })
    let seen = subscriber.publications(channel)
    let isWhole = seen.map(\.data) == history
    #expect(isWhole, "\(what): \(seen.count) seen, \(history.count) kept")
    let isContiguous = seen.compactMap(\.offset) == (0..<seen.count).map { UInt64($0) + 1 }
    #expect(isContiguous, "\(what)")
    #expect(subscriber.events(channel).filter { if case .unsubscribed = $0 { true } else { false } }.isEmpty)
    #expect(([subscriber] + publishers).allSatisfy { $0.socket.closing == nil })
    return (record, history)
  }
}
