import Synchronization

/// Until when nobody else can have taken the channels, on a clock that never goes back: a broker that was paused, or is
/// cut off, sees from it that it must not answer any more, before anybody has told it.
final class LeaseClock: Sendable {
  private let end = Atomic<Int64>(0)

  /// - Parameter end: milliseconds, counted from before the lease was asked for.
  func extend(to end: Int64) { self.end.store(end, ordering: .releasing) }

  func holds(at now: Int64) -> Bool { now < end.load(ordering: .acquiring) }
}
