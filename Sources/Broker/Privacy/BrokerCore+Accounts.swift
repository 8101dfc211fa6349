import Log
import Wire

/// What users ask about their own data. Gateways ask for whoever signed in, so the user of the request is the one who
/// asks; a service asks for anybody, by what its key grants.
extension BrokerCore {
  /// A deletion that a user has asked for, for the audit.
  public struct AccountNote: Sendable, Equatable {
    public let user: String
    /// Nil: it will be carried out. Else the error's code.
    public let failed: UInt32?

    /// As the audit has a deletion that a service asks for.
    var fields: [String: String] {
      var fields = ["what": "user", "user": user, "channels": "0", "by": "the user", "door": "client"]
      if let failed { fields["failed"] = "\(failed)" }
      return fields
    }
  }

  /// Serves a user's own request.
  func serveOwn(_ request: UserRequest, for requester: Requester, in turn: inout Turn) throws(ClientError) {
    switch request {
    case .data(let user):
      _ = try accounts.begin(user, from: "", at: turn.time.monotonic)
      start(UserLook(.counts, of: user, from: .disk(.start), for: requester), in: &turn)
    case .export(let user, let page):
      let text = try accounts.begin(user, from: page, at: turn.time.monotonic)
      // A cursor that this process made can be read.
      let cursor = UserLook.Cursor(text) ?? .over
      start(UserLook(.export, of: user, from: cursor, for: requester), in: &turn)
    case .delete(let deletion):
      do throws(ClientError) {
        try deleteOwn(deletion, for: requester, in: &turn)
        note(AccountNote(user: deletion.user, failed: nil))
      } catch {
        if turn.missing.isEmpty { note(AccountNote(user: deletion.user, failed: error.code)) }
        throw error
      }
    case .deletionStatus, .pair, .groups, .unblock, .reports, .suspensions: throw .methodNotFound
    }
  }

  /// Deletes what is kept of the user who asks: nothing of others, and without a ban.
  private func deleteOwn(
    _ deletion: UserRequest.Deletion, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard configuration.accounts.allowsDelete else {
      throw .notAvailable.saying("people delete no data by themselves here; the setting is account.allow_delete")
    }
    if let deletions, deletions.pepper != nil, let done = deletions.done[deletions.digest(of: deletion.user)],
      turn.time.wall - done.at < AccountDesk.day
    {
      throw .tooManyRequests.saying("your data was deleted within the last day; delete what came since tomorrow")
    }
    try delete(.init(user: deletion.user), for: requester, in: &turn)
  }

  private func note(_ note: AccountNote) {
    if accountNotes.count < Self.mostAccountNotes { accountNotes.append(note) }
  }

  /// Notes that wait for the audit, which takes them many times a second.
  private static var mostAccountNotes: Int { 1000 }

  /// What users have had deleted since the last call.
  public func takeAccountNotes() -> [AccountNote] {
    if accountNotes.isEmpty { return [] }
    defer { accountNotes = [] }
    return accountNotes
  }

  /// A look begins, within a limit that was checked.
  func start(_ look: UserLook, in turn: inout Turn) {
    if !look.isOwn { looks.begin() }
    run(.lookAtUser(look), in: &turn)
  }

  /// A look is over: it will be answered now, or never.
  func end(_ look: UserLook) {
    if look.isOwn {
      look.page = accounts.end(look.user, next: look.kind == .export ? look.position.text : "")
    } else {
      looks.end()
    }
  }
}

extension UserLook {
  /// Whether a user looks at their own data, and not a service.
  var isOwn: Bool { requester.isGateway }
}
