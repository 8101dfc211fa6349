/// How much somebody may do per second on average, and how much at once.
public struct RateLimit: Sendable, Hashable {
  /// Tokens that come back per second; 0: no limit.
  public var perSecond: Int
  /// Tokens of a full bucket. At least those of one second: with fewer, somebody who asks once a second could never
  /// reach the rate.
  public var burst: Int

  public init(perSecond: Int, burst: Int) {
    self.perSecond = min(max(perSecond, 0), Self.most)
    self.burst = min(max(burst, self.perSecond, 1), Self.most)
  }

  public static let unlimited = RateLimit(perSecond: 0, burst: 0)

  public var isUnlimited: Bool { perSecond == 0 }

  /// The most that either number may be, so that thousandths of tokens fit into 64 bits with room for a debt as large.
  private static let most = 1_000_000_000_000
}

/// Where somebody stands with a ``RateLimit``, which is stored elsewhere because many have the same: tokens come back with
/// time, and each thing that somebody does spends some.
///
/// Whole numbers throughout: a token is a thousand parts, and a millisecond brings as many parts as the rate has tokens
/// per second, so nothing is rounded and no drift adds up. The clock is the caller's, in milliseconds that never go
/// back; should it go back, no tokens come and none are lost.
///
/// There are two ways to spend. ``take(_:of:at:)`` refuses work for which there are no tokens. ``charge(_:of:at:)`` spends
/// them in any case and says how long to rest before the next: for work that came already, and whose successors are
/// better read later than refused.
public struct TokenLevel: Sendable {
  private static let partsPerToken: Int64 = 1000

  /// Thousandths of tokens that are there; below 0: that are owed.
  private var parts: Int64
  /// When tokens last came back, in monotonic milliseconds; nil: the bucket was not used yet, and is full.
  private var updated: Int64?

  public init(_ limit: RateLimit) { parts = Self.capacity(limit) }

  /// Spends `count` tokens where they are there.
  ///
  /// A count above the burst is let through when the bucket is full, and the rest is owed: otherwise it could never
  /// pass.
  public mutating func take(_ count: Int = 1, of limit: RateLimit, at milliseconds: Int64) -> Bool {
    if limit.isUnlimited { return true }
    refill(limit, at: milliseconds)
    let cost = Self.cost(of: count)
    guard parts >= min(cost, Self.capacity(limit)) else { return false }
    spend(cost, limit)
    return true
  }

  /// Spends `count` tokens, there or not.
  ///
  /// - Returns: milliseconds until nothing is owed any more; 0 where nothing is.
  public mutating func charge(_ count: Int = 1, of limit: RateLimit, at milliseconds: Int64) -> Int64 {
    if limit.isUnlimited { return 0 }
    refill(limit, at: milliseconds)
    spend(Self.cost(of: count), limit)
    return parts >= 0 ? 0 : Self.milliseconds(for: -parts, limit)
  }

  /// Spends `count` tokens if those that are owed then come back within `longest` milliseconds, and otherwise none.
  ///
  /// For work that may be put off: however many ask at once, no more is done than the limit allows, since whoever would
  /// have to wait for longer is told so and owes nothing.
  ///
  /// - Returns: milliseconds to wait; nil: the wait would be longer.
  public mutating func reserve(
    _ count: Int = 1, of limit: RateLimit, within longest: Int64, at milliseconds: Int64
  ) -> Int64? {
    if limit.isUnlimited { return 0 }
    refill(limit, at: milliseconds)
    let left = parts - Self.cost(of: count)
    let wait = left >= 0 ? 0 : Self.milliseconds(for: -left, limit)
    guard wait <= longest else { return nil }
    parts = left
    return wait
  }

  /// Milliseconds until nothing is owed any more; 0 where nothing is.
  public mutating func debt(of limit: RateLimit, at milliseconds: Int64) -> Int64 {
    if limit.isUnlimited { return 0 }
    refill(limit, at: milliseconds)
    return parts >= 0 ? 0 : Self.milliseconds(for: -parts, limit)
  }

  private mutating func refill(_ limit: RateLimit, at now: Int64) {
    guard let last = updated else {
      updated = now
      return
    }
    let (elapsed, overflow) = now.subtractingReportingOverflow(last)
    guard elapsed > 0, !overflow else { return }
    updated = now
    let missing = Self.capacity(limit) - parts
    // The parts of a long rest may not fit into 64 bits, and are more than are missing.
    let (brought, isMore) = elapsed.multipliedReportingOverflow(by: Int64(limit.perSecond))
    parts += isMore ? missing : min(brought, missing)
  }

  /// Spends parts. The debt is bounded by a second burst, so that nobody who was let through once rests for ever.
  private mutating func spend(_ cost: Int64, _ limit: RateLimit) {
    parts = max(parts - cost, -max(Self.capacity(limit), min(cost, Self.mostOwed)))
  }

  private static let mostOwed: Int64 = 1_000_000_000_000_000

  private static func capacity(_ limit: RateLimit) -> Int64 { Int64(limit.burst) * partsPerToken }

  private static func cost(of count: Int) -> Int64 {
    min(Int64(max(count, 0)), mostOwed / partsPerToken) * partsPerToken
  }

  /// Milliseconds in which parts come back, rounded up, so that somebody who waits as long as told does not come too
  /// early.
  private static func milliseconds(for parts: Int64, _ limit: RateLimit) -> Int64 {
    let rate = Int64(limit.perSecond)
    return parts / rate + (parts % rate == 0 ? 0 : 1)
  }
}
