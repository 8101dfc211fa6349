import Logging

/// Keeps the key set of one source. A `kid` is looked up in the cache of its source alone, so a `kid` never leads to a
/// key of another source.
///
/// The source is read because of tokens that are not checked yet. So the readings that a flood of made-up tokens can
/// cause are bounded: one at a time, and one per ``KeySetSource/minimumRefreshInterval``.
actor KeySetCache {
  private let source: KeySetSource
  private let load: @Sendable () async throws -> [UInt8]
  private let now: @Sendable () -> Int64
  private let logger: Logger

  private var keys: KeySet?
  private var loadedAt: Int64 = 0
  private var attemptedAt: Int64?
  private var underway: Task<Void, Never>?

  /// - Parameters:
  ///   - load: reads the source's bytes.
  ///   - now: seconds of a clock that never goes back.
  init(
    _ source: KeySetSource, load: @escaping @Sendable () async throws -> [UInt8],
    now: @escaping @Sendable () -> Int64, logger: Logger
  ) {
    self.source = source
    self.load = load
    self.now = now
    self.logger = logger
  }

  /// The keys to try for a token that names `keyID`, after reading the source again where it is due.
  func keys(for keyID: String) async throws(TokenError) -> KeySet {
    if age(atMost: source.timeToLive), let keys, keys.contains(keyID) { return keys }
    await refresh()
    // A set that could not be renewed is used until it is too old: an identity provider's short outage locks nobody
    // out, and a key that was withdrawn does not live for ever.
    guard let keys, age(atMost: source.maximumAge) else {
      throw .unavailable(reason: "the key set could not be read; see the warning in the log")
    }
    return keys
  }

  private func age(atMost limit: Int64) -> Bool {
    guard keys != nil else { return false }
    let (age, overflow) = now().subtractingReportingOverflow(loadedAt)
    return !overflow && age >= 0 && age < limit
  }

  /// Reads the source unless that was tried just now; joins a reading that is under way.
  private func refresh() async {
    if let underway { return await underway.value }
    let time = now()
    if let attemptedAt, time >= attemptedAt, time < attemptedAt &+ source.minimumRefreshInterval { return }
    attemptedAt = time
    // A task of its own: the caller that came first may be cancelled while others still wait for the same reading.
    let task = Task { await self.read(startedAt: time) }
    underway = task
    await task.value
  }

  private func read(startedAt time: Int64) async {
    do {
      keys = try KeySet(parsing: try await load())
      loadedAt = time
    } catch {
      logger.warning(
        "the key set for tokens could not be read; tokens that need it are refused until it can",
        metadata: ["reason": "\(error)"])
    }
    underway = nil
  }
}
