import Wire

/// Requests that services give an idempotency key and that write nothing with a key of its own into the log: orders,
/// revocations, removals of histories, edits, calls of apps. A repeat within five minutes is answered as the first time.
///
/// States of a key:
/// - unknown. Can transition to: under way (a request with it comes).
/// - under way, with those who sent the same request meanwhile. Can transition to: answered; unknown (the request
///   failed, so that a repeat is a new try).
/// - answered, with the answer. Can transition to: unknown (five minutes after the request came).
///
/// In memory alone: after a restart of the broker a repeat is done again (decision 0048 says for which requests that
/// matters). Bounded in keys and bytes; what is beyond is refused, because a key that was forgotten early would be a
/// promise broken.
struct OnceCalls {
  private enum State {
    case underWay(Requester, followers: [Requester])
    case answered(BrokerResponse)
  }

  private struct Entry {
    let request: BrokerRequest
    var state: State
    var cost: Int
    /// Monotonic milliseconds. Where a request failed and its key came again, the key stands among the ends twice, and
    /// the earlier of the two is the failed one's.
    var endsAt: Int64
  }

  /// What is to be done about a request with a key.
  enum Decision: Equatable {
    /// It comes for the first time.
    case begin
    /// The same request is under way: it is answered with that one.
    case follow
    /// The same request was answered.
    case answer(BrokerResponse)
    /// The key was used before for something else.
    case conflict
    /// As many keys are held as may be.
    case full
  }

  /// Milliseconds for which a key is held.
  static let lifetime: Int64 = 5 * 60 * 1000
  static let mostKeys = 20_000
  static let mostBytes = 32 << 20
  /// Most requests that wait for the answer to the same one.
  static let mostFollowers = 64

  private var entries: [OnceKey: Entry] = [:]
  private var underWay: [Requester: OnceKey] = [:]
  private var ends = DueQueue<OnceKey>()
  private(set) var bytes = 0

  var count: Int { entries.count }
  var areUnderWay: Bool { !underWay.isEmpty }

  mutating func decide(_ key: OnceKey, _ request: BrokerRequest, by requester: Requester, at now: Int64) -> Decision {
    let request = request.asAsked
    if let entry = entries[key] {
      guard entry.request == request else { return .conflict }
      switch entry.state {
      case .answered(let response): return .answer(response)
      case .underWay(let first, let followers):
        guard followers.count < Self.mostFollowers else { return .full }
        entries[key]?.state = .underWay(first, followers: followers + [requester])
        return .follow
      }
    }
    let cost = 128 + request.cost + key.owner.utf8.count + key.key.utf8.count
    // A key stands in the queue of ends until its time is over, so it is counted there.
    guard ends.count < Self.mostKeys, bytes + cost <= Self.mostBytes else { return .full }
    let endsAt = now + Self.lifetime
    entries[key] = Entry(request: request, state: .underWay(requester, followers: []), cost: cost, endsAt: endsAt)
    underWay[requester] = key
    ends.add(key, at: endsAt)
    bytes += cost
    return .begin
  }

  /// A request has been answered.
  ///
  /// - Returns: those who wait for the same answer.
  mutating func answered(_ requester: Requester, _ response: BrokerResponse) -> [Requester] {
    guard let key = underWay.removeValue(forKey: requester), var entry = entries[key],
      case .underWay(_, let followers) = entry.state
    else { return [] }
    if case .failed = response {
      drop(key)
    } else {
      entry.state = .answered(response)
      entry.cost += response.cost
      bytes += response.cost
      entries[key] = entry
    }
    return followers
  }

  /// Forgets keys whose time is over. A request that is still under way then keeps its key a while longer.
  mutating func forget(at now: Int64) {
    for _ in 0..<ChannelTable.forgottenPerTurn {
      guard let key = ends.next(upTo: now) else { break }
      guard let entry = entries[key], entry.endsAt <= now else { continue }
      guard case .underWay = entry.state else {
        drop(key)
        continue
      }
      entries[key]?.endsAt = now + Self.lifetime
      ends.add(key, at: now + Self.lifetime)
    }
    if entries.isEmpty { entries.giveBackMemory() }
  }

  private mutating func drop(_ key: OnceKey) {
    guard let entry = entries.removeValue(forKey: key) else { return }
    bytes -= entry.cost
  }
}

extension BrokerCore {
  /// Does a service's request unless it was done before with the same key.
  func once(
    _ key: OnceKey, _ request: BrokerRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard requester.isService else {
      throw .badRequest.saying("only services give requests an idempotency_key of this kind")
    }
    switch calls.decide(key, request, by: requester, at: turn.time.monotonic) {
    case .begin: handle(request, for: requester, in: &turn)
    case .follow: break
    case .answer(let response):
      tally.counters.duplicatesAvoided += 1
      answer(requester, response, in: &turn)
    case .conflict:
      throw .badRequest.saying(
        "the idempotency_key was used within the last five minutes for another request; give each its own")
    case .full:
      throw .tooManyRequests.saying(
        "as many idempotency keys are held as may be; try again in a moment, or without a key")
    }
  }

  /// A request was answered. Where it is one that is done once, those who repeated it meanwhile get the same answer.
  func answeredOnce(_ requester: Requester, _ response: BrokerResponse, in turn: inout Turn) {
    guard calls.areUnderWay, requester.isService else { return }
    for follower in calls.answered(requester, response) {
      tally.counters.duplicatesAvoided += 1
      // A request that a link brought again follows itself, and has its answer.
      if follower != requester { answer(follower, response, in: &turn) }
    }
  }
}
