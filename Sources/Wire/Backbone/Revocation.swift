/// What a token can be revoked by: its `jti`, and when it was issued.
///
/// A class: most subscriptions and many connections have no token, and pay only one pointer for it.
public final class TokenIdentity: Sendable, Equatable {
  /// The token's `jti`; nil: it has none, and cannot be revoked by id.
  public let id: String?
  /// The token's `iat`, in seconds since 1970; nil: it counts as issued before any time.
  public let issuedAt: Int64?

  public init(id: String? = nil, issuedAt: Int64? = nil) {
    self.id = id
    self.issuedAt = issuedAt
  }

  public static func == (a: TokenIdentity, b: TokenIdentity) -> Bool {
    a.issuedAt == b.issuedAt && a.id.map { Array($0.utf8) } == b.id.map { Array($0.utf8) }
  }
}

/// Names tokens that are refused from now on, although their signature and their times are good.
public struct Revocation: Sendable, Equatable {
  public enum Tokens: Sendable, Equatable {
    /// The token with this `jti`.
    case id(String)
    /// A user's tokens whose `iat` is before a time in seconds since 1970, and those without an `iat`. With a channel:
    /// only subscription tokens for that channel; without: all, subscription tokens among them.
    case user(String, issuedBefore: Int64, channel: String? = nil)
    /// A user who is suspended: whatever the user shows, with a token or through the backend, is refused. It can be
    /// lifted, and of two for one user the later counts, also where it ends earlier.
    ///
    /// - reason: for operators.
    case suspended(String, reason: String)
  }

  public var tokens: Tokens
  /// Seconds since 1970 after which no such token can be valid, so that the revocation need not be known any more;
  /// `Int64.max`: there is no such time.
  public var expiresAt: Int64

  public init(_ tokens: Tokens, expiresAt: Int64 = .max) {
    self.tokens = tokens
    self.expiresAt = expiresAt
  }

  /// The same for two revocations of which the later one replaces the earlier.
  public var key: String {
    switch tokens {
    case .id(let id): "token:\(id)"
    case .user(let user, _, nil): "user:\(user)"
    case .suspended(let user, _): "suspended:\(user)"
    case .user(let user, _, let channel?): "channel:\(channel.utf8.count):\(channel):\(user)"
    }
  }
}

/// All revocations that are in force. The table is asked at each sign-in, and when a revocation is added, for each
/// connection.
public struct RevocationTable: Sendable, Equatable {
  /// The revocations, each at a place that it keeps while it is in force; nil: nobody has the place.
  private var places: [Revocation?] = []
  private var freePlaces: [Int] = []
  /// Where revocations stand, by the bytes of their key: two spellings that `String` takes for one must not share a
  /// revocation.
  private var placesByKey: [[UInt8]: Int] = [:]
  /// The keys of users' revocations that are for one channel, by the bytes of the user. The one for all channels has a
  /// key that the user alone tells.
  private var ofChannels: [[UInt8]: Set<[UInt8]>] = [:]
  private var userCount = 0
  private var suspendedCount = 0

  public init(_ revocations: [Revocation] = []) {
    for revocation in revocations { insert(revocation) }
  }

  /// Two tables are the same where the same is revoked, in whatever order it came.
  public static func == (a: RevocationTable, b: RevocationTable) -> Bool {
    a.count == b.count && a.placesByKey.allSatisfy { key, place in a.places[place] == b.revocation(key) }
  }

  public var isEmpty: Bool { placesByKey.isEmpty }
  public var count: Int { placesByKey.count }
  public var all: [Revocation] { places.compactMap(\.self) }

  /// Some of the revocations: those at `limit` places, beginning with one. A revocation keeps its place, so that whoever
  /// goes from part to part misses none that was there at the beginning and still is, whatever comes and goes meanwhile.
  /// One that comes meanwhile may have a place that was passed.
  ///
  /// - Returns: them, and the place at which the next part begins; nil: there is none.
  public func part(from place: Int, limit: Int) -> (revocations: [Revocation], next: Int?) {
    let end = min(places.count, place + limit)
    return (places[min(place, end)..<end].compactMap(\.self), end < places.count ? end : nil)
  }

  private func revocation(_ key: [UInt8]) -> Revocation? { placesByKey[key].flatMap { places[$0] } }

  /// The revocations of a user's tokens but for a suspension (``suspension(of:)``), and how many there are of tokens by
  /// their ids, which name no user.
  public func found(for user: String) -> (ofUser: [Revocation], byID: Int) {
    let ofUser = all(of: user, limit: .max).filter { if case .suspended = $0.tokens { false } else { true } }
    return (ofUser, count - userCount - suspendedCount)
  }

  /// How many revocations there are that name a user, a suspension among them.
  public func count(of user: String) -> Int {
    (placesByKey[Self.key(of: user)] == nil ? 0 : 1) + (suspension(of: user) == nil ? 0 : 1)
      + (ofChannels[Array(user.utf8)]?.count ?? 0)
  }

  /// Revocations that name a user, `limit` of them at most, a suspension among them. It does not go through those of
  /// others.
  public func all(of user: String, limit: Int) -> [Revocation] {
    var found = [revocation(Self.key(of: user)), suspension(of: user)].compactMap(\.self)
    if found.count > limit { found = Array(found.prefix(limit)) }
    for key in ofChannels[Array(user.utf8)] ?? [] {
      if found.count >= limit { break }
      if let one = revocation(key) { found.append(one) }
    }
    return found
  }

  private static func key(of user: String) -> [UInt8] { Array(Revocation(.user(user, issuedBefore: 0)).key.utf8) }

  /// All users who are suspended, by their names.
  public var suspensions: [Revocation] {
    all.filter { if case .suspended = $0.tokens { true } else { false } }.sorted { $0.key < $1.key }
  }

  /// The suspension of a user that is in force; nil: there is none.
  public func suspension(of user: String) -> Revocation? {
    if isEmpty || user.isEmpty { return nil }
    return revocation(Array(Revocation(.suspended(user, reason: "")).key.utf8))
  }

  public func contains(_ revocation: Revocation) -> Bool { placesByKey[Array(revocation.key.utf8)] != nil }

  /// What is in force of the tokens that a revocation names; nil: nothing.
  public func inForce(_ revocation: Revocation) -> Revocation? { self.revocation(Array(revocation.key.utf8)) }

  /// Adds a revocation.
  ///
  /// - Returns: the revocation that is in force now: of two of the same tokens, the later time and the later end.
  @discardableResult
  public mutating func insert(_ revocation: Revocation) -> Revocation {
    let key = Array(revocation.key.utf8)
    var merged = revocation
    if case .suspended = revocation.tokens {
      put(revocation, key)
      return revocation
    }
    if let before = self.revocation(key) {
      merged.expiresAt = max(merged.expiresAt, before.expiresAt)
      if case .user(let user, let time, let channel) = merged.tokens, case .user(_, let earlier, _) = before.tokens {
        merged.tokens = .user(user, issuedBefore: max(time, earlier), channel: channel)
      }
    }
    put(merged, key)
    return merged
  }

  private mutating func put(_ revocation: Revocation, _ key: [UInt8]) {
    if let place = placesByKey[key] { return places[place] = revocation }
    if let place = freePlaces.popLast() {
      placesByKey[key] = place
      places[place] = revocation
    } else {
      placesByKey[key] = places.count
      places.append(revocation)
    }
    note(revocation, key, isThere: true)
  }

  /// Revocations whose end has come, `limit` of them at most.
  public func expired(at now: Int64, limit: Int) -> [Revocation] {
    Array(places.lazy.compactMap(\.self).filter { $0.expiresAt <= now }.prefix(limit))
  }

  public mutating func remove(_ revocation: Revocation) {
    let key = Array(revocation.key.utf8)
    guard let place = placesByKey.removeValue(forKey: key), let removed = places[place] else { return }
    places[place] = nil
    freePlaces.append(place)
    // Places are forgotten all together: while one is in use, those before it must not move.
    if isEmpty { (places, freePlaces) = ([], []) }
    note(removed, key, isThere: false)
  }

  public mutating func removeExpired(at now: Int64) {
    for revocation in expired(at: now, limit: .max) { remove(revocation) }
  }

  /// Keeps what is known by user, when a revocation comes or goes.
  private mutating func note(_ revocation: Revocation, _ key: [UInt8], isThere: Bool) {
    if case .suspended = revocation.tokens { suspendedCount += isThere ? 1 : -1 }
    guard case .user(let user, _, let channel) = revocation.tokens else { return }
    userCount += isThere ? 1 : -1
    guard channel != nil else { return }
    let owner = Array(user.utf8)
    if isThere {
      ofChannels[owner, default: []].insert(key)
    } else {
      ofChannels[owner]?.remove(key)
      if ofChannels[owner]?.isEmpty == true { ofChannels[owner] = nil }
    }
  }

  /// Whether a user's token is revoked.
  ///
  /// - Parameter channel: the channel of a subscription token; nil: it is a connection token.
  public func refuses(_ token: TokenIdentity, of user: String, channel: String? = nil) -> Bool {
    if isEmpty { return false }
    if let id = token.id, placesByKey[Array(Revocation(.id(id)).key.utf8)] != nil { return true }
    if user.isEmpty { return false }
    if suspension(of: user) != nil { return true }
    if refuses(token, Revocation(.user(user, issuedBefore: 0))) { return true }
    return channel.map { refuses(token, Revocation(.user(user, issuedBefore: 0, channel: $0))) } ?? false
  }

  private func refuses(_ token: TokenIdentity, _ sought: Revocation) -> Bool {
    guard case .user(_, let time, _)? = revocation(Array(sought.key.utf8))?.tokens else { return false }
    return token.issuedAt.map { $0 < time } ?? true
  }
}
