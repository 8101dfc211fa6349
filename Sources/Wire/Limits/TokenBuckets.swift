/// A bucket of one ``RateLimit`` for each of many keys: addresses, users, channels. Bounded, whoever invents keys.
///
/// Two generations: a key that is used is in the young one; when that is full, the old one is dropped and the young one
/// takes its place. So the keys that were idle longest are forgotten, without ever looking through all of them. A key
/// that was forgotten begins with a full bucket.
public struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
  public let limit: RateLimit
  /// Keys in one generation; twice as many are kept at most.
  private let generation: Int
  private var young: [Key: TokenLevel] = [:]
  private var old: [Key: TokenLevel] = [:]

  /// - Parameter capacity: keys that are kept at most.
  public init(_ limit: RateLimit, capacity: Int) {
    self.limit = limit
    generation = max(capacity / 2, 1)
  }

  public init(perSecond: Int, burst: Int, capacity: Int) {
    self.init(RateLimit(perSecond: perSecond, burst: burst), capacity: capacity)
  }

  /// Keys that are kept now.
  public var count: Int { young.count + old.count }

  /// As ``TokenLevel/take(_:of:at:)``, for one key.
  public mutating func take(_ count: Int = 1, for key: Key, at milliseconds: Int64) -> Bool {
    if limit.isUnlimited { return true }
    var level = bucket(of: key)
    defer { young[key] = level }
    return level.take(count, of: limit, at: milliseconds)
  }

  /// As ``TokenLevel/reserve(_:of:within:at:)``, for one key.
  public mutating func reserve(
    _ count: Int = 1, for key: Key, within longest: Int64, at milliseconds: Int64
  ) -> Int64? {
    if limit.isUnlimited { return 0 }
    var level = bucket(of: key)
    defer { young[key] = level }
    return level.reserve(count, of: limit, within: longest, at: milliseconds)
  }

  /// The bucket of a key, for which room is left in the young generation.
  private mutating func bucket(of key: Key) -> TokenLevel {
    if let level = young[key] { return level }
    let level = old.removeValue(forKey: key) ?? TokenLevel(limit)
    if young.count >= generation {
      old = young
      young = [:]
    }
    return level
  }
}
