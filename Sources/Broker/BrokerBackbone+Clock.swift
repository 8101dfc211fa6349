public import ZeroMQ

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Says that somebody has moved the broker's clock (a test server's, docs/DEMO.md).
public struct ClockMoved: Sendable {
  public init() {}
}

extension BrokerBackbone {
  /// Has the broker look at its clock whenever something is posted: what is due by a clock that was moved would else wait
  /// for the next round, which may be half a heartbeat away. To be called on the loop's thread.
  public func lookAtClock(after moves: Mailbox<ClockMoved>) {
    loop.receive(from: moves, for: self) { broker, _ in broker.nextTick = 0 }
  }
}

extension BrokerTime {
  /// The time as the machine's clocks tell it.
  public static func ofMachine() -> BrokerTime {
    var wall = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &wall)
    return BrokerTime(
      monotonic: Int64(MonotonicClock.now() / 1_000_000),
      wall: Int64(wall.tv_sec) * 1000 + Int64(wall.tv_nsec) / 1_000_000)
  }
}
