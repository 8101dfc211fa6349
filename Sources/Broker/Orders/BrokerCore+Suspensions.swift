import Log
import Wire

/// Users who are suspended (``SuspensionRequest`` has the states). A suspension is a revocation that names a user rather
/// than tokens: it is kept, told to gateways and in force as those are, and can be lifted.
extension BrokerCore {
  func serve(
    _ request: SuspensionRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard let log = revocations else { throw .notAvailable.saying("this broker keeps no suspensions") }
    switch request {
    case .suspend(let user, let until, let reason):
      try check(user, "user")
      if let until, until <= turn.time.tokenSeconds {
        throw .badRequest.saying("expire_at is in the past; leave it out to suspend until it is lifted")
      }
      let suspension = Revocation(.suspended(user, reason: reason), expiresAt: until ?? .max)
      try put(suspension, in: log, for: requester, in: &turn)
    case .lift(let user):
      try check(user, "user")
      try lift(user, log, for: requester, in: &turn)
    case .list: answer(requester, .result(list(log)), in: &turn)
    }
  }

  /// Lifts a suspension. It is answered when that is on disk; one that there is not is lifted already.
  private func lift(
    _ user: String, _ log: RevocationLog, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard let suspension = log.table.suspension(of: user) else {
      return answer(requester, .result(Array("{}".utf8)), in: &turn)
    }
    guard log.underWay + orders.count < PendingOrders.limit else {
      throw .tooManyRequests.saying("too many revocations are under way; try again later")
    }
    guard let offset = log.state.sequencer.peek() else { throw .draining }
    log.table.remove(suspension)
    log.underWay += 1
    let change = KeyChange(key: suspension.key, removed: true)
    let removal = Publication(offset: offset, time: turn.time.wall, data: Self.noData, change: change)
    write(removal, keeping: PendingRevocation(revocation: suspension, isLifted: true, requester: requester), in: &turn)
  }

  private func list(_ log: RevocationLog) -> [UInt8] {
    let all = log.table.suspensions
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("suspensions") { writer in
        for suspension in all.prefix(SuspensionRequest.mostListed) {
          writer.object { Self.write(suspension, &$0) }
        }
      }
      if all.count > SuspensionRequest.mostListed { writer.write("more", all.count - SuspensionRequest.mostListed) }
    }
    return writer.bytes
  }

  static func write(_ suspension: Revocation, _ writer: inout JSONWriter) {
    guard case .suspended(let user, let reason) = suspension.tokens else { return }
    writer.write("user", user)
    if !reason.isEmpty { writer.write("reason", reason) }
    if suspension.expiresAt < .max { writer.write("expire_at", suspension.expiresAt) }
  }

  /// - Throws: where the caller of an app's method is suspended: their connections are being ended, and services speak
  ///   for them no more.
  func checkSuspended(_ user: String) throws(ClientError) {
    if revocations?.table.suspension(of: user) != nil {
      throw .permissionDenied.saying("this account is suspended")
    }
  }
}
