import Logging
import Metrics
import NIOConcurrencyHelpers
import NIOCore

/// How a gateway ends that is told to.
public struct GatewayEnding: Sendable {
  /// Over how long the clients are sent away one after another; zero: all at once.
  public var ramp: Duration
  /// With fewer clients there is no ramp.
  public var rampFloor: Int
  /// How long what is under way may take when the last client's turn has come.
  public var deadline: Duration

  public init(ramp: Duration = .zero, rampFloor: Int = 0, deadline: Duration) {
    self.ramp = ramp
    self.rampFloor = rampFloor
    self.deadline = deadline
  }

  /// Over how long so many clients are sent away, in milliseconds.
  func window(for clients: Int) -> Int64 {
    guard clients > 0, clients >= rampFloor else { return 0 }
    let (seconds, attoseconds) = ramp.components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}

/// Ends what the event loops of a gateway have of clients. ``Drain`` has the states of one event loop; this leads all of
/// them through them.
final class GatewayEnd: Sendable {
  /// Milliseconds between two looks at whose slot has come.
  private static let look: Int64 = 10
  /// Seconds between two lines of the log.
  private static let lineInterval = 2

  private let eventLoops: [any EventLoop]
  private let shards: [NIOLoopBound<Shard>]
  private let logger: Logger
  /// Clients that the ramp has still to send away.
  private let left = Gauge(label: "fanfare_gateway_ramp_connections")
  private let state = NIOLockedValueBox((isBegun: false, isHurried: false))

  init(_ shards: [NIOLoopBound<Shard>], on eventLoops: [any EventLoop], logger: Logger) {
    (self.shards, self.eventLoops, self.logger) = (shards, eventLoops, logger)
    left.record(0)
  }

  /// Whether the gateway has begun to end.
  var isBegun: Bool { state.withLockedValue { $0.isBegun } }

  func begin() { state.withLockedValue { $0.isBegun = true } }

  /// Sends the clients away one after another. Returns when the last one's slot has come, when nobody is there any more,
  /// or when somebody hurries.
  func ramp(_ ending: GatewayEnding) async {
    if ending.ramp == .zero { return }
    let clients = await count()
    let window = ending.window(for: clients)
    if window == 0 { return }
    logger.notice(
      "clients are sent away one after another", metadata: ["clients": "\(clients)", "within": "\(ending.ramp)"])
    let telling = Task { await tell(of: clients) }
    let ramps = zip(eventLoops, shards).map { eventLoop, shard in
      let promise = eventLoop.makePromise(of: Void.self)
      eventLoop.execute { [state] in
        shard.value.beginRamp(over: state.withLockedValue { $0.isHurried } ? 0 : window) { promise.succeed() }
      }
      let look = TimeAmount.milliseconds(Self.look)
      let looks = eventLoop.scheduleRepeatedTask(initialDelay: look, delay: look) { _ in shard.value.sendAwayDue() }
      promise.futureResult.whenComplete { _ in looks.cancel() }
      return promise.futureResult
    }
    for ramp in ramps { try? await ramp.get() }
    telling.cancel()
    left.record(0)
    let rest = await count()
    logger.notice("every client's turn to leave has come", metadata: ["left": "\(rest)"])
  }

  /// Ends the ramp: all leave now.
  func hurry() {
    state.withLockedValue { $0.isHurried = true }
    for (eventLoop, shard) in zip(eventLoops, shards) { eventLoop.execute { shard.value.endRamp() } }
  }

  /// Sends away everybody who is left, and waits for their last answers, no longer than the deadline.
  func endSessions(within deadline: TimeAmount) async {
    let ended = zip(eventLoops, shards).map { eventLoop, shard in
      let promise = eventLoop.makePromise(of: Void.self)
      // The deadline or the last session's end, whichever comes first: the second `succeed` does nothing.
      eventLoop.scheduleTask(in: deadline) { promise.succeed() }
      // After half of the deadline sessions end without their last answers: the other half is for clients that take
      // their time with the Close frame.
      eventLoop.scheduleTask(in: .nanoseconds(deadline.nanoseconds / 2)) { shard.value.shutDownNow() }
      eventLoop.execute { shard.value.shutDown { promise.succeed() } }
      return promise.futureResult
    }
    for future in ended { try? await future.get() }
  }

  /// Clients that are served.
  private func count() async -> Int {
    var sum = 0
    for (eventLoop, shard) in zip(eventLoops, shards) {
      sum += (try? await eventLoop.submit { shard.value.servedCount }.get()) ?? 0
    }
    return sum
  }

  /// Tells operators how many clients are left, until it is cancelled.
  private func tell(of clients: Int) async {
    left.record(clients)
    for second in 1... {
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
      let count = await count()
      if Task.isCancelled { return }
      left.record(count)
      if second % Self.lineInterval == 0 {
        logger.notice("clients are still to be sent away", metadata: ["left": "\(count)", "of": "\(clients)"])
      }
    }
  }
}
