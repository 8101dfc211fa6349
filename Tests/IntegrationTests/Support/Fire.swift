import Synchronization
import TestSupport

/// What publishers sent and were told while the broker was killed again and again.
final class FireRecord: Sendable {
  private struct State {
    var isOver = false
    var restarts = 0
    var sent: [String: Int] = [:]
    var acknowledged: [String: Set<Int>] = [:]
    var refused: [String] = []
  }

  private let state = Mutex(State())

  var isOver: Bool { state.withLock { $0.isOver } }
  var restarts: Int { state.withLock { $0.restarts } }
  /// How many publications of each publisher were acknowledged.
  var acknowledgements: [String: Int] { state.withLock { $0.acknowledged.mapValues(\.count) } }
  /// Errors that publishers were answered with.
  var refused: [String] { state.withLock { $0.refused } }

  func end() { state.withLock { $0.isOver = true } }
  func noteRestart() { state.withLock { $0.restarts += 1 } }

  /// The next publication of a publisher.
  func next(_ publisher: String) -> Int {
    state.withLock { state in
      state.sent[publisher, default: 0] += 1
      return state.sent[publisher, default: 0]
    }
  }

  func acknowledge(_ publisher: String, _ number: Int) {
    _ = state.withLock { $0.acknowledged[publisher, default: []].insert(number) }
  }

  /// Whether every publisher that is at work was acknowledged something since, and all together so much.
  func hasProgress(since before: [String: Int], by count: Int) -> Bool {
    let (now, publishers) = state.withLock { ($0.acknowledged.mapValues(\.count), $0.sent.keys) }
    let total = { (counts: [String: Int]) in counts.values.reduce(0, +) }
    return !publishers.isEmpty && publishers.allSatisfy { now[$0, default: 0] > before[$0, default: 0] }
      && total(now) >= total(before) + count
  }

  /// What each publisher sent, and was acknowledged before and now, for whoever looks into a fire that went out.
  func account(since before: [String: Int]) -> String {
    state.withLock { state in
      state.sent.sorted { $0.key < $1.key }.map { publisher, sent in
        "\(publisher): \(sent) sent, \(before[publisher, default: 0]) → \(state.acknowledged[publisher]?.count ?? 0)"
      }.joined(separator: "; ")
    }
  }

  func refuse(_ publisher: String, _ number: Int, _ reason: String) {
    state.withLock { $0.refused.append("\(publisher)-\(number): \(reason)") }
  }

  static func data(_ publisher: String, _ number: Int) -> String { "\(publisher)-\(number)" }

  /// What is wrong with a history: something acknowledged is missing, or something is in it that was never sent, twice or
  /// out of its publisher's order.
  func faults(in history: [String]) -> [String] {
    var faults: [String] = []
    var newest: [String: Int] = [:]
    var found: [String: Set<Int>] = [:]
    let (sent, acknowledged) = state.withLock { ($0.sent, $0.acknowledged) }
    for data in history {
      let parts = data.split(separator: "-")
      let publisher = parts.first.map(String.init) ?? ""
      guard parts.count == 2, let number = Int(parts[1]), number > 0, number <= sent[publisher, default: 0] else {
        faults.append("\(data) was never sent")
        continue
      }
      if !found[publisher, default: []].insert(number).inserted { faults.append("\(data) twice") }
      if number <= newest[publisher, default: 0] {
        faults.append("\(data) after \(publisher)-\(newest[publisher, default: 0])")
      }
      newest[publisher] = number
    }
    for (publisher, numbers) in acknowledged {
      let missing = numbers.subtracting(found[publisher] ?? [])
      if !missing.isEmpty { faults.append("\(publisher): acknowledged and missing \(missing.sorted().prefix(10))") }
    }
    return faults
  }

  // MARK: Publishers

  /// Keeps several publications under way and never repeats one. What was under way in a crash is unknown to it. So is
  /// what nobody answers for a while: a socket that has not noticed the crash yet takes more and loses it.
  func pipeline(_ name: String, to channel: String, over service: Service) async {
    var underWay: [(number: Int, id: UInt64)] = []
    var all: [(number: Int, id: UInt64)] = []
    var restartsSeen = restarts
    let clock = ContinuousClock()
    var lastAnswer = clock.now
    while !isOver {
      if restarts != restartsSeen || clock.now - lastAnswer > .seconds(5) {
        restartsSeen = restarts
        lastAnswer = clock.now
        underWay = []
      }
      while underWay.count < 32 {
        let number = next(name)
        let id = service.sendPublish(Self.data(name, number), to: channel)
        underWay.append((number, id))
        all.append((number, id))
      }
      if await eventually(within: .milliseconds(100), { underWay.contains { service.answer($0.id) != nil } }) {
        lastAnswer = clock.now
      }
      underWay.removeAll { note(name, $0.number, service.answer($0.id)) }
    }
    _ = await eventually(within: .seconds(5)) { underWay.allSatisfy { service.answer($0.id) != nil } }
    // An answer that came after a crash counts too.
    for entry in all { _ = note(name, entry.number, service.answer(entry.id)) }
  }

  private func note(_ name: String, _ number: Int, _ answer: Service.Answer?) -> Bool {
    guard let answer else { return false }
    if answer.isError {
      refuse(name, number, answer.message ?? "")
    } else {
      acknowledge(name, number)
    }
    return true
  }

  /// Publishes one at a time, each repeated under its key until it is acknowledged.
  func careful(_ name: String, to channel: String, over service: Service) async {
    while !isOver {
      let number = next(name)
      // All attempts are kept, since on a busy machine the answer to the first may come after the second was sent.
      var ids: [UInt64] = []
      var isDone = false
      while !isDone {
        ids.append(service.sendPublish(Self.data(name, number), to: channel, key: Self.data(name, number)))
        let limit = Duration.milliseconds(isOver ? 5000 : 300)
        _ = await eventually(within: limit) { ids.contains { service.answer($0) != nil } }
        isDone = note(name, number, ids.lazy.compactMap { service.answer($0) }.first) || isOver
      }
    }
  }

  /// A WebSocket client whose gateway survives: every publication is answered, however long the broker is away.
  ///
  /// - Parameter mayPublish: whether it publishes something more now.
  func pipeline(
    _ name: String, to channel: String, over peer: Peer, while mayPublish: @Sendable () -> Bool = { true }
  ) async {
    var underWay: [(number: Int, id: UInt32)] = []
    while !isOver {
      while underWay.count < 16, mayPublish() {
        let number = next(name)
        underWay.append((number, peer.sendPublish(Self.data(name, number), to: channel)))
      }
      _ = await eventually(within: .milliseconds(100)) { underWay.contains { peer.reply($0.id) != nil } }
      underWay.removeAll { note(name, $0.number, peer.reply($0.id)) }
    }
    _ = await eventually(within: .seconds(120)) { underWay.allSatisfy { peer.reply($0.id) != nil } }
    underWay.removeAll { note(name, $0.number, peer.reply($0.id)) }
    for entry in underWay { refuse(name, entry.number, "no answer") }
  }

  private func note(_ name: String, _ number: Int, _ reply: Peer.Reply?) -> Bool {
    guard let reply else { return false }
    if let error = reply.error {
      refuse(name, number, error.message)
    } else {
      acknowledge(name, number)
    }
    return true
  }
}
