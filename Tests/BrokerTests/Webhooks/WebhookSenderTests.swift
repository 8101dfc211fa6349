import TestSupport
import Testing
import Wire

@testable import Broker

/// The sender of a webhook under a seed: a log that fails, a receiver that fails and whose answers get lost, and
/// processes that are killed between a delivery and its cursor.
private struct SenderWorld {
  /// A receiver's answer before the process hears of it.
  private enum Pending {
    case nothing
    case read(Int)
    case post(WebhookSender.Batch)
    case commit(WebhookSender.Batch, givenUp: Bool)
  }

  var random: SeededGenerator
  let rules: WebhookConfiguration
  /// On disk: the newest event, how far the outbox is done, and what was given up.
  var top: UInt64 = 0
  var cursor: UInt64 = 0
  var givenUp: Set<UInt64> = []
  /// What the receiver took, in order.
  var received: [UInt64] = []
  /// The receiver refuses all events but those.
  var isHealthy = false
  var crashes = 0
  private var sender: WebhookSender
  private var pending = Pending.nothing
  var time = BrokerTime(monotonic: 0, wall: 1_000_000)

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    var rules = WebhookConfiguration(name: "w", events: .publication)
    rules.batchEvents = 5
    rules.minimumBackoff = 10
    rules.maximumBackoff = 100
    rules.giveUpAfter = 2000
    rules.mostWaiting = 60
    self.rules = rules
    sender = WebhookSender(rules, cursor: 0, top: 0)
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  mutating func step() {
    time.monotonic += Int64.random(in: 0...20, using: &random)
    time.wall = 1_000_000 + time.monotonic
    if !isHealthy, chance(30) {
      top += 1
      sender.appended(top)
    }
    if !isHealthy, chance(2) { crash() }
    resolve()
    if case .nothing = pending, let action = sender.next(at: time.monotonic, isOverfull: isOverfull) { begin(action) }
  }

  private var isOverfull: Bool { top - sender.cursor > UInt64(rules.mostWaiting) }

  private mutating func begin(_ action: WebhookSender.Action) {
    switch action {
    case .read(let count): pending = .read(count)
    case .post(let batch): pending = .post(batch)
    case .commit(let batch, let reason): pending = .commit(batch, givenUp: reason != nil)
    }
  }

  /// What was begun ends, one way or another.
  private mutating func resolve() {
    let now = pending
    pending = .nothing
    switch now {
    case .nothing: break
    case .read(let count):
      if !isHealthy, chance(10) { return sender.readFailed(at: time.monotonic) }
      let last = min(top, sender.cursor + UInt64(count))
      let offsets = sender.cursor < last ? Array((sender.cursor + 1)...last) : []
      sender.found(offsets.map { OutboxEvent(offset: $0, time: 1_000_000 + Int64($0) * 30, total: $0, json: [1]) })
    case .post(let batch):
      let isTaken = isHealthy || chance(40)
      if isTaken { received += batch.events.map(\.offset) }
      // The receiver may have taken what the process never hears of.
      let result: WebhookAnswer.Result =
        isTaken && (isHealthy || !chance(30)) ? .status(200) : isTaken ? .failed("lost") : refusal()
      if let action = sender.answered(result, at: time, chance: 0.5) { begin(action) }
    case .commit(let batch, let isGivenUp):
      if !isHealthy, chance(10) { return sender.commitFailed(at: time.monotonic) }
      cursor = batch.last.offset
      if isGivenUp { givenUp.formUnion(batch.events.map(\.offset)) }
      // The process is killed after the disk took the cursor and before the sender heard of it.
      if !isHealthy, chance(3) { return crash() }
      sender.committed()
    }
  }

  private mutating func refusal() -> WebhookAnswer.Result {
    [.status(500), .status(503, retryAfter: 1), .status(400), .status(404), .failed("no")].randomElement(using: &random)
      ?? .status(500)
  }

  private mutating func crash() {
    crashes += 1
    pending = .nothing
    sender = WebhookSender(rules, cursor: cursor, top: top)
  }

  var isDone: Bool { cursor == top && sender.state == .idle }
  var missing: UInt64 { sender.missing }
}

@Suite("A webhook's sender")
struct WebhookSenderTests {
  @Test("Under two thousand seeds each event is received or given up, in order, whatever fails and dies")
  func simulation() {
    var (crashes, givenUp, repeats) = (0, 0, 0)
    for seed in UInt64(1)...2000 {
      var world = SenderWorld(seed: seed)
      for _ in 0..<300 { world.step() }
      world.isHealthy = true
      for _ in 0..<2000 where !world.isDone { world.step() }
      #expect(world.isDone, "seed \(seed): the outbox is empty in the end")
      let all = Set(world.received).union(world.givenUp)
      #expect(all.count == Int(world.top), "seed \(seed): no event is lost")
      var newest: UInt64 = 0
      for offset in world.received {
        #expect(offset <= newest || isNext(offset, newest, world), "seed \(seed)")
        newest = max(newest, offset)
      }
      #expect(world.missing == 0)
      crashes += world.crashes
      givenUp += world.givenUp.count
      repeats += world.received.count - Set(world.received).count
    }
    #expect(crashes > 1000 && givenUp > 1000 && repeats > 1000, "the seeds reach what they are about")
  }

  /// Whether all events between the newest that was received and this one were given up.
  private func isNext(_ offset: UInt64, _ newest: UInt64, _ world: SenderWorld) -> Bool {
    newest + 1 >= offset || ((newest + 1)..<offset).allSatisfy { world.givenUp.contains($0) }
  }

  private func sender(_ change: (inout WebhookConfiguration) -> Void = { _ in }) -> WebhookSender {
    var rules = WebhookConfiguration(name: "w", events: .publication)
    change(&rules)
    var sender = WebhookSender(rules, cursor: 0, top: 8)
    _ = sender.next(at: 0, isOverfull: false)
    sender.found((1...8).map { OutboxEvent(offset: $0, time: 0, total: $0, json: []) })
    return sender
  }

  private let now = BrokerTime(monotonic: 0, wall: 0)

  @Test("A request is repeated later each time, within the limit, and up to a quarter later by chance")
  func backoff() throws {
    var sender = sender { ($0.minimumBackoff, $0.maximumBackoff) = (1000, 5000) }
    var pauses: [Int64] = []
    var time: Int64 = 0
    for _ in 0..<5 {
      guard case .post = sender.next(at: time, isOverfull: false) else { return #expect(Bool(false)) }
      _ = sender.answered(.status(500), at: .init(monotonic: time, wall: 0), chance: 0)
      let deadline = try #require(sender.deadline)
      #expect(sender.next(at: deadline - 1, isOverfull: false) == nil)
      pauses.append(deadline - time)
      time = deadline
    }
    #expect(pauses == [1000, 2000, 4000, 5000, 5000])
    _ = sender.next(at: time, isOverfull: false)
    _ = sender.answered(.status(500), at: .init(monotonic: time, wall: 0), chance: 1)
    #expect(sender.deadline == time + 6250)
  }

  @Test("A receiver that asks for more time gets it, but no more than the limit")
  func retryAfter() {
    var sender = sender { $0.maximumBackoff = 60_000 }
    _ = sender.next(at: 0, isOverfull: false)
    _ = sender.answered(.status(503, retryAfter: 30), at: now, chance: 0)
    #expect(sender.deadline == 30_000)
    _ = sender.next(at: 30_000, isOverfull: false)
    _ = sender.answered(.status(429, retryAfter: .max), at: .init(monotonic: 30_000, wall: 0), chance: 0)
    #expect(sender.deadline == 90_000)
  }

  @Test(
    "A status that is no success is tried again, 404 and 410 too: a bad deploy loses nothing",
    arguments: [
      301, 400, 401, 404, 408, 410, 413, 425, 429, 500, 503,
    ])
  func statuses(_ status: Int) {
    var sender = sender()
    _ = sender.next(at: 0, isOverfull: false)
    #expect(sender.answered(.status(status), at: now, chance: 0) == nil)
    guard case .post(let batch)? = sender.next(at: 10_000, isOverfull: false) else { return #expect(Bool(false)) }
    #expect(batch.events.first?.offset == 1)
  }

  @Test("Where the receiver finds fault with a batch, smaller ones find the event, which alone is given up")
  func poison() {
    var sender = sender { $0.giveUpAfter = 100 }
    var sizes: [Int] = []
    var time: Int64 = 0
    var givenUp: [UInt64] = []
    for _ in 0..<8 {
      time += 400_000
      guard case .post(let batch)? = sender.next(at: time, isOverfull: false) else { continue }
      sizes.append(batch.events.count)
      // Events are old from the third request on.
      let wall: Int64 = sizes.count < 4 ? 0 : 1000
      let action = sender.answered(.status(422), at: .init(monotonic: time, wall: wall), chance: 0)
      if case .commit(let batch, givenUp: "the receiver answered 422")? = action {
        givenUp = batch.events.map(\.offset)
        break
      }
    }
    #expect(sizes == [8, 4, 2, 1])
    #expect(givenUp == [1])
  }

  @Test("An old event gets three requests before it is given up")
  func oldEvents() {
    var sender = sender()
    let time = BrokerTime(monotonic: 0, wall: 100 * 3_600_000)
    for _ in 0..<2 {
      _ = sender.next(at: .max, isOverfull: false)
      #expect(sender.answered(.status(500), at: time, chance: 0) == nil)
    }
    _ = sender.next(at: .max, isOverfull: false)
    guard case .commit? = sender.answered(.status(500), at: time, chance: 0) else { return #expect(Bool(false)) }
  }

  @Test("Where too many wait, the oldest are given up without waiting for the receiver")
  func overfull() {
    var sender = sender()
    _ = sender.next(at: 0, isOverfull: false)
    _ = sender.answered(.failed("no"), at: now, chance: 0)
    guard case .commit(_, givenUp: let reason?)? = sender.next(at: 1, isOverfull: true) else {
      return #expect(Bool(false))
    }
    #expect(reason == WebhookSender.tooMany)
  }

  @Test("Events that the log does not have any more are counted and passed over")
  func holes() {
    var sender = WebhookSender(WebhookConfiguration(name: "w", events: .publication), cursor: 2, top: 9)
    _ = sender.next(at: 0, isOverfull: false)
    sender.found([OutboxEvent(offset: 6, time: 0, total: 0, json: [])])
    #expect(sender.missing == 3)
    guard case .post(let batch)? = sender.next(at: 0, isOverfull: false) else { return #expect(Bool(false)) }
    _ = sender.answered(.status(204), at: now, chance: 0)
    sender.committed()
    #expect(batch.last.offset == 6 && sender.cursor == 6)
    _ = sender.next(at: 0, isOverfull: false)
    sender.found([])
    #expect(sender.missing == 6 && sender.cursor == 9)
    #expect(sender.next(at: 0, isOverfull: false) == nil)
  }
}
