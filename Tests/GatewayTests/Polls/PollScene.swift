import TestSupport
import Wire

@testable import Gateway

/// A ``SharedPoll`` with a clock in hand, and short words for what tests say often.
final class PollScene {
  var poll: SharedPoll
  var options = PollOptions()
  var now: Int64 = 1_000_000
  var wall: Int64 = 1_700_000_000
  /// Calls that are not answered, in their order.
  private(set) var calls: [PollCall] = []
  /// What subscribers got since somebody last looked: `1 a=7`, `2 a gone`, `1 restart`.
  private var told: [String] = []

  static let limits = SharedPoll.Limits(
    trackings: 1000, dataBytes: 10_000, calls: 8, answerBytes: 1000, graceSeconds: 25)
  static let ownEpoch = "own"

  init(_ limits: SharedPoll.Limits = limits, seed: UInt64 = 1, _ change: (inout PollOptions) -> Void = { _ in }) {
    poll = SharedPoll(limits, epoch: Self.ownEpoch, randomness: SeededGenerator(seed: seed))
    change(&options)
  }

  var time: SessionTime { SessionTime(monotonic: now, wall: wall) }
  /// For `#expect`, which copies what it looks at.
  var counts: SharedPoll.Counts { poll.counts }
  var nextDue: Int64? { poll.nextDue }

  static func subscriber(_ number: UInt64) -> PollSubscriber {
    PollSubscriber(loop: Int(number % 2), connection: number, number: 1)
  }

  /// - Returns: what is known already, as `a=7`; or the error's code, or that the epoch is another.
  @discardableResult
  func track(
    _ number: UInt64, _ keys: [String: UInt64], on name: String = "c", epoch: String? = nil, untracking: [String] = [],
    expiresAt: Int64 = .max
  ) -> [String] {
    let name = channel(name)
    let ask = PollTrack(
      channel: name, number: 1, epoch: epoch ?? poll.epoch(of: name, options),
      items: keys.sorted { $0.key < $1.key }.map { .init(key: $0.key, version: $0.value, expiresAt: expiresAt) },
      untracked: untracking)
    var effects: [PollEffect] = []
    let answer = poll.track(ask, of: Self.subscriber(number), options, at: time, into: &effects)
    perform(effects)
    switch answer {
    case .tracked(let publications): return publications.map(Self.text).sorted()
    case .refused(let error, _): return ["error \(error.code)"]
    case .otherEpoch: return ["other epoch"]
    }
  }

  func untrack(_ number: UInt64, _ keys: [String], on name: String = "c") {
    poll.untrack(keys, of: Self.subscriber(number), in: channel(name), at: time)
  }

  func leave(_ number: UInt64, _ name: String = "c") {
    poll.leave(Self.subscriber(number), channel(name), at: time)
  }

  func pass(_ milliseconds: Int64) {
    now += milliseconds
    wall += milliseconds / 1000
    var effects: [PollEffect] = []
    poll.due(at: time, into: &effects)
    perform(effects)
  }

  /// Goes to where something is to be done.
  func passToNext() {
    guard let due = poll.nextDue else { return }
    pass(max(due - now, 0))
  }

  /// Answers the oldest call.
  func answer(_ items: [PolledItem], epoch: String = "") { end(.items(items, epoch: epoch)) }
  func fail() { end(.failed) }

  private func end(_ answer: PollAnswer) {
    guard !calls.isEmpty else { return told.append("no call to answer") }
    let call = calls.removeFirst()
    var effects: [PollEffect] = []
    poll.answered(call.number, answer, at: time, into: &effects)
    perform(effects)
  }

  private func perform(_ effects: [PollEffect]) {
    for effect in effects {
      switch effect {
      case .ask(let call): calls.append(call)
      case .deliver(let delivery):
        for subscriber in delivery.subscribers {
          told.append("\(subscriber.connection) \(Self.text(delivery.publication))")
        }
      case .restart(_, let subscribers):
        for subscriber in subscribers { told.append("\(subscriber.connection) restart") }
      }
    }
  }

  /// What subscribers got, in no order, once.
  func looked() -> [String] {
    defer { told = [] }
    return told.sorted()
  }

  /// The calls under way as `a b`, `a:7 b:0` where versions go along.
  var asked: [String] {
    calls.map { call in
      call.items.map { item in item.version.map { "\(item.key):\($0)" } ?? item.key }.sorted()
        .joined(separator: " ")
    }
  }

  static func text(_ publication: Publication) -> String {
    guard let change = publication.change else { return "no key" }
    if change.removed { return "\(change.key) gone" }
    return "\(change.key)=\(String(decoding: publication.data, as: UTF8.self))"
  }
}

func item(_ key: String, _ data: String, version: UInt64 = 0) -> PolledItem {
  PolledItem(key: key, version: version, data: Array(data.utf8))
}
