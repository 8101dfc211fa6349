import Wire

/// The traces by which a retry of a publish is recognised, also of publications that the broker may have forgotten:
/// idempotency keys until they expire, and origins for a minute.
struct RequestTraces {
  struct Origin {
    var origin: RequestOrigin
    var offset: UInt64
    var time: Int64
  }

  /// How long the origin of a publication is held, in milliseconds: a gateway asks again within seconds.
  static let originLifetime: Int64 = 60_000
  /// Keys of a channel in memory, the newest ones: enough for 200 a second over five minutes.
  static let keyLimit = 65_536
  /// Origins of a channel in memory, the newest ones. A gateway has far fewer requests under way for one channel.
  static let originLimit = 4096

  private var keys = Ring<IdempotencyRecord>()
  private var recent = Ring<Origin>()

  var isEmpty: Bool { keys.isEmpty && recent.isEmpty }

  mutating func add(_ entry: LogEntry) {
    if let key = entry.idempotency {
      if keys.count >= Self.keyLimit { keys.popFirst() }
      keys.append(key)
    }
    if let origin = entry.origin {
      if recent.count >= Self.originLimit { recent.popFirst() }
      recent.append(Origin(origin: origin, offset: entry.publication.offset, time: entry.publication.time))
    }
  }

  mutating func expire(at now: Int64) {
    while let first = keys.first, first.expires <= now { keys.popFirst() }
    while let first = recent.first, first.time < now.minus(ttl: Self.originLifetime) { recent.popFirst() }
  }

  /// Drops the traces of publications up to and including the offset.
  mutating func drop(through offset: UInt64) {
    while let first = keys.first, first.offset <= offset { keys.popFirst() }
    while let first = recent.first, first.offset <= offset { recent.popFirst() }
  }

  /// Keys that have not expired; where a key was used twice, its newer record alone.
  func keys(at now: Int64) -> [IdempotencyRecord] {
    (0..<keys.count).map { keys[$0] }.filter { $0.expires > now }.newestPerKey()
  }

  func origins(at now: Int64) -> [RequestOrigin: UInt64] {
    var result: [RequestOrigin: UInt64] = [:]
    let oldest = now.minus(ttl: Self.originLifetime)
    for index in 0..<recent.count where recent[index].time >= oldest {
      result[recent[index].origin] = recent[index].offset
    }
    return result
  }
}

extension [IdempotencyRecord] {
  /// The last record of each key, in order. Keys are compared by bytes, as all identifiers.
  func newestPerKey() -> [IdempotencyRecord] {
    var seen: Set<[UInt8]> = []
    return reversed().filter { seen.insert(Array<UInt8>($0.key.utf8)).inserted }.reversed()
  }
}
