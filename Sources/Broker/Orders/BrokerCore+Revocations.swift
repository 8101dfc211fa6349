import Log
import Wire

/// Revocations of tokens: kept on disk, and sent to every gateway when they are made and after each welcome.
extension BrokerCore {
  /// Switches revocations on and loads those that were made before; until they are loaded, ``isStarting`` is true. To
  /// be called before the first input. Without this call no token can be revoked.
  public func openRevocations(in turn: inout Turn) {
    revocations = RevocationLog(store: stores.disk)
    run(.loadRevocations, in: &turn)
  }

  func loadRevocations(waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let log = revocations else { return }
    do throws(ClientError) {
      let opened = try stores.load(RevocationLog.question, of: stores.disk, in: &turn)
      var table = RevocationTable()
      for entry in opened.entries {
        guard let revocation = try? Revocation(bytes: entry.data) else {
          return fail("the revocation \"\(entry.change?.key ?? "")\" is of another version of Fanfare")
        }
        table.insert(revocation)
      }
      log.loaded(opened, table)
      for link in links.open { beginTelling(link, isNewSession: false, in: &turn) }
    } catch {
      if !turn.missing.isEmpty { stores.park(waiting, .loadRevocations, in: &turn) }
    }
  }

  /// Revokes tokens. The revocation is in force from here on, whether or not it gets to the disk. It is acknowledged
  /// when it is on disk and every gateway has confirmed that it lets such tokens in no more.
  func revoke(
    _ request: BrokerRequest.RevokeRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard let log = revocations else {
      throw .notAvailable.saying("this broker keeps no revocations")
    }
    try put(revocation(request, at: turn.time), in: log, for: requester, in: &turn)
  }

  func put(
    _ asked: Revocation, in log: RevocationLog, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard log.table.contains(asked) || log.table.count < configuration.maximumRevocations else {
      throw .limitExceeded.saying(
        "\(configuration.maximumRevocations) revocations are in force, as many as token.max_revocations allows; give "
          + "them an end (expire_at, token.max_lifetime), or raise the limit")
    }
    guard log.underWay + orders.count < PendingOrders.limit else {
      throw .tooManyRequests.saying("too many revocations are under way; try again later")
    }
    guard let offset = log.state.sequencer.peek() else { throw .draining }
    let merged = log.table.insert(asked)
    log.underWay += 1
    let change = KeyChange(key: merged.key, expires: Self.milliseconds(ofEnd: merged))
    let publication = Publication(offset: offset, time: turn.time.wall, data: merged.bytes, change: change)
    let revocation = PendingRevocation(revocation: merged, requester: requester)
    write(publication, keeping: revocation, in: &turn)
  }

  /// The revocation's end in milliseconds since 1970, the unit of the log.
  static func milliseconds(ofEnd revocation: Revocation) -> Int64 {
    let (milliseconds, overflow) = revocation.expiresAt.multipliedReportingOverflow(by: 1000)
    return overflow ? .max : milliseconds
  }

  func write(
    _ publication: Publication, keeping revocation: PendingRevocation?, in turn: inout Turn
  ) {
    guard let state = revocations?.state else { return }
    let entry = entry(publication, nil, edit: nil, of: state, for: .broker)
    let owner = revocation.map { PendingAppend.Owner.revocation($0) } ?? .requester(.broker)
    do throws(ClientError) { try append(entry, on: state, for: owner, in: &turn) } catch {
      if let revocation { enforce(revocation, error: error, in: &turn) }
    }
  }

  /// Sends a revocation to the gateways once the log has answered for it, also where it failed: a full disk is no
  /// reason to let somebody stay.
  ///
  /// - Parameter error: why the revocation is not on disk; nil: it is.
  func enforce(
    _ pending: PendingRevocation, error: ClientError?, in turn: inout Turn
  ) {
    revocations?.underWay -= 1
    tally.counters.revocations += 1
    var response = BrokerResponse.done
    if error != nil {
      response = .failed(
        .internalError.saying(
          "the revocation is in force on every gateway, but the broker's disk did not take it: it ends with the "
            + "broker; ask again when the disk has room"))
    }
    if pending.isLifted {
      // One that the disk did not let go of is in force again with the broker's next start.
      tellReadmitted([pending.revocation], in: &turn)
      return answer(pending.requester, error.map { .failed($0) } ?? .result(Array("{}".utf8)), in: &turn)
    }
    let order = SessionOrder.revoke([pending.revocation], replacesAll: false, isComplete: true)
    tellGateways(order, then: response, for: pending.requester, in: &turn)
  }

  private func revocation(
    _ request: BrokerRequest.RevokeRequest, at time: BrokerTime
  ) throws(ClientError) -> Revocation {
    let now = time.tokenSeconds
    let standardEnd = configuration.maximumTokenLifetime > 0 ? now + configuration.maximumTokenLifetime : Int64.max
    let end = request.expiresAt ?? standardEnd
    guard end > now else {
      throw .badRequest.saying("expire_at is in the past, so such a token counts no more; leave it out")
    }
    switch request.tokens {
    case .id(let id):
      try check(id, "uid")
      return Revocation(.id(id), expiresAt: end)
    case .user(let user, let issuedBefore, let channel):
      try check(user, "user")
      if let channel { try check(channel, "channel") }
      // Tokens say in seconds when they were issued, so all tokens of the current second are revoked.
      return Revocation(.user(user, issuedBefore: issuedBefore ?? now + 1, channel: channel), expiresAt: end)
    }
  }

  /// Most bytes of a token id, a user or a channel in a revocation.
  private static let longestName = 1024

  func check(_ name: String, _ field: String) throws(ClientError) {
    guard !name.isEmpty, name.utf8.count <= Self.longestName else {
      throw .badRequest.saying("\(field) has 1 to \(Self.longestName) bytes")
    }
  }

  /// Forgets revocations that name one of the users, in memory and on the disk, and has the gateways forget them:
  /// ``revocationsPerStep`` of them at most, in one transaction.
  ///
  /// - Returns: false where there is none.
  /// - Throws: why the log refuses it. Nothing has changed then.
  func readmit(_ users: [String], in turn: inout Turn) throws(ClientError) -> Bool {
    guard let log = revocations, let deletions else { return false }
    guard log.isLoaded, let first = log.state.sequencer.peek() else { throw .draining }
    var some: [Revocation] = []
    for user in users where some.count < Self.revocationsPerStep {
      some += log.table.all(of: user, limit: Self.revocationsPerStep - some.count)
    }
    if some.isEmpty { return false }
    let entries = some.enumerated().map { index, revocation in
      let change = KeyChange(key: revocation.key, removed: true)
      let offset = first + UInt64(index)
      let removal = Publication(offset: offset, time: turn.time.wall, data: Self.noData, change: change)
      return entry(removal, nil, edit: nil, of: log.state, for: .broker)
    }
    deletions.writing += entries.count
    for revocation in some { log.table.remove(revocation) }
    let states = Array(repeating: log.state, count: entries.count)
    do throws(ClientError) { try append(entries, on: states, for: .deletion(.readmitted(some)), in: &turn) } catch {
      deletions.writing -= entries.count
      for revocation in some { log.table.insert(revocation) }
      throw error
    }
    tellReadmitted(some, in: &turn)
    return true
  }

  /// Revocations that one step of a deletion forgets: a service may have revoked a user's tokens for any number of
  /// channels.
  static let revocationsPerStep = 64

  /// Removes revocations whose end has come from memory and from the disk, some at a time. Gateways drop them by
  /// themselves.
  func forgetRevocations(in turn: inout Turn) {
    guard let log = revocations, log.isLoaded, log.lastSweep.map({ turn.time.monotonic - $0 >= 10_000 }) ?? true else {
      return
    }
    log.lastSweep = turn.time.monotonic
    for revocation in log.table.expired(at: turn.time.tokenSeconds, limit: Self.expiriesPerTurn) {
      guard let offset = log.state.sequencer.peek() else { return }
      log.table.remove(revocation)
      let change = KeyChange(key: revocation.key, removed: true)
      let removal = Publication(offset: offset, time: turn.time.wall, data: Self.noData, change: change)
      write(removal, keeping: nil, in: &turn)
    }
  }
}
