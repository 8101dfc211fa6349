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

  /// Lets a trouble last. Whether anything happens meanwhile depends on whom it befalls.
  static func letPass(_ duration: Duration) async {
    let end = ContinuousClock.now + duration
    _ = await eventually(within: .seconds(60)) { ContinuousClock.now >= end }
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

  /// Has clients publish on a channel while `body` lets things happen. Then each publication that was acknowledged must
  /// be in the history once, and with all the others at each subscriber, in order; and nobody must have been told
  /// anything.
  ///
  /// - Parameter history: asks for it, as far as it is kept.
  /// - Returns: what was published, and the channel's history.
  static func fire(
    on channel: String, publishers: [Peer], subscribers: [Peer], _ what: String,
    history: () async throws -> [Service.Answer.Publication], _ body: (FireRecord) async throws -> Void
  ) async throws -> (record: FireRecord, history: [String]) {
    for subscriber in subscribers { try await subscriber.subscribe(channel) }
    let record = FireRecord()
    // A gateway that has missed more than 10,000 publications of a channel ends the subscriptions to it, as it should.
    let isCaughtUp: @Sendable () -> Bool = {
      let published = record.acknowledgements.values.reduce(0, +)
      return subscribers.allSatisfy { published - $0.publications(channel).count < 5000 }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { record.end() }
      for (index, peer) in publishers.enumerated() {
        group.addTask { await record.pipeline("w\(index)", to: channel, over: peer, while: isCaughtUp) }
      }
      try await body(record)
      record.end()
      try await group.waitForAll()
    }
    let kept = try await history()
    let history = await whole(kept) { subscribers.first?.publications(channel).map(\.data) ?? [] }
    var faults = record.faults(in: history)
    for subscriber in subscribers {
      _ = await eventually(within: .seconds(60)) { subscriber.publications(channel).count >= history.count }
      faults += Self.faults(of: subscriber.publications(channel), against: history)
      #expect(subscriber.events(channel).filter { if case .unsubscribed = $0 { true } else { false } }.isEmpty)
    }
    #expect(faults.isEmpty, "\(what): \(faults.prefix(10))")
    #expect((subscribers + publishers).allSatisfy { $0.socket.closing == nil })
    return (record, history)
  }

  /// All that was published on a channel: what it keeps; and before that, where it has kept as many as it may, what
  /// somebody saw who was subscribed before its first publication.
  static func whole(_ kept: [Service.Answer.Publication], seen: () -> [String]) async -> [String] {
    let before = Int(kept.first?.offset ?? 1) - 1
    guard before > 0, kept.count >= Deployment.historySize else { return kept.map(\.data) }
    _ = await eventually(within: .seconds(60)) { seen().count >= before }
    return seen().prefix(before) + kept.map(\.data)
  }

  /// What is wrong with what somebody saw who was subscribed before a channel's first publication: it is not the history,
  /// or was not told as such.
  static func faults(of seen: [Peer.Publication], against history: [String]) -> [String] {
    var faults: [String] = []
    let data = seen.map(\.data)
    if data != history {
      let place = zip(data, history).enumerated().first { $0.element.0 != $0.element.1 }
      faults.append("\(data.count) seen, \(history.count) kept; they differ first at \(String(describing: place))")
    }
    if let place = seen.enumerated().first(where: { $0.element.offset != UInt64($0.offset) + 1 }) {
      faults.append("\(place.element.data) is told as offset \(String(describing: place.element.offset))")
    }
    return faults
  }
}

extension Cluster {
  /// ``FireRecord/fire(on:publishers:subscribers:_:history:_:)`` with two clients that publish, one at each gateway, and a
  /// third that listens.
  func fire(
    on channel: String, _ what: String, _ body: (FireRecord) async throws -> Void
  ) async throws -> (record: FireRecord, history: [String]) {
    try await FireRecord.fire(
      on: channel, publishers: [try await client("w0", at: "a"), try await client("w1", at: "b")],
      subscribers: [try await client("sub", at: "a")], what, history: { try await history(channel) }, body)
  }
}
