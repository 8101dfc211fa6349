import Wire

/// How often passwords are tried: pure.
///
/// Each address has few attempts, and all together have some more, whatever addresses somebody has: each costs a tenth of a
/// second of one core. Attempts count whether they are right or not.
struct ConsoleSignIns {
  /// Attempts of one address at once; one more comes back in ten seconds.
  static let ofAddress = 5
  /// Attempts of all addresses at once; one more comes back in a second.
  static let inAll = 20
  /// Addresses that are remembered.
  private static let mostAddresses = 1024
  /// Seconds after which it is worth trying again.
  static let retryAfter = 10

  private var addresses = TokenBuckets<IPAddress>(
    perSecond: 1, burst: ConsoleSignIns.ofAddress, capacity: ConsoleSignIns.mostAddresses)
  private let limit = RateLimit(perSecond: 1, burst: ConsoleSignIns.inAll)
  private var all: TokenLevel

  init() { all = TokenLevel(limit) }

  /// Counts an attempt.
  ///
  /// - Parameters:
  ///   - address: nil: not known, and counted with all.
  ///   - now: milliseconds of a clock that never goes back.
  /// - Returns: whether it may be made.
  mutating func take(from address: IPAddress?, at now: Int64) -> Bool {
    // A rate is at least one a second, so the clock of addresses goes ten times slower.
    if let address, !addresses.take(for: address.limited, at: now / 10) { return false }
    return all.take(of: limit, at: now)
  }
}
