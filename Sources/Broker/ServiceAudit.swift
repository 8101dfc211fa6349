public import Wire

extension Audit {
  /// Notes what a service or a backend did, once it was answered, if somebody may ask for it later.
  ///
  /// - Parameters:
  ///   - service: the name of the API key or the service's key; empty: none, over a socket that the server's own user
  ///     alone can open.
  ///   - door: `api` or `zeromq`.
  public func note(_ request: BrokerRequest, answered response: BrokerResponse, by service: String, door: String) {
    guard let (event, fields) = request.audited else { return }
    var all = fields
    all["by"] = service.isEmpty ? "a service without a key" : service
    all["door"] = door
    if case .failed(let error) = response { all["failed"] = "\(error.code)" }
    note(event, all)
  }
}

extension BrokerRequest {
  /// What is to be proved of the request; nil: nothing.
  var audited: (event: AuditEvent, fields: [String: String])? {
    switch self {
    case .once(_, let request): request.audited
    case .disconnect(let target, let code):
      (.disconnect, target.fields.merging(["code": "\(code.code)"]) { $1 })
    case .beginSubscriptions(let target, let subscription):
      (
        .subscriptionOrder,
        target.fields.merging(["action": "subscribe", "channel": subscription.channel.string]) { $1 }
      )
    case .endSubscriptions(let target, let channel, let code):
      (
        .subscriptionOrder,
        target.fields.merging(["action": "unsubscribe", "channel": channel.string, "code": "\(code.code)"]) { $1 }
      )
    case .refresh(let target, _): (.subscriptionOrder, target.fields.merging(["action": "refresh"]) { $1 })
    case .revoke(let revoke): (.revocation, revoke.fields)
    case .historyRemove(let channel): (.deletion, ["what": "history", "channel": channel.string])
    case .edit(let edit) where edit.data == nil:
      (.deletion, ["what": "publication", "channel": edit.channel.string, "offset": "\(edit.offset)"])
    case .publish(let publish) where publish.write?.removed == true:
      (.deletion, ["what": "map_key", "channel": publish.channel.string, "key": publish.write?.key ?? ""])
    case .user(.delete(let deletion)):
      (.deletion, ["what": "user", "user": deletion.user, "channels": "\(deletion.channels.count)"])
    case .user(.unblock(let user, let other)): (.unblock, ["app": "clique", "user": user, "other": other])
    case .user(.reports(let request)): (.report, request.fields)
    case .user(.suspensions(.suspend(let user, let until, let reason))):
      (
        .suspension,
        ["action": "suspend", "user": user, "until": until.map { "\($0)" } ?? "lifted", "reason": reason]
      )
    case .user(.suspensions(.lift(let user))): (.suspension, ["action": "lift", "user": user])
    case .user(.suspensions(.list)): (.suspension, ["action": "list"])
    default: nil
    }
  }
}

extension ReportRequest {
  fileprivate var fields: [String: String] {
    switch self {
    case .list(let query):
      var fields = ["app": "clique", "action": "list", "state": query.filter.rawValue]
      if let user = query.user { fields["user"] = user }
      return fields
    case .look(let number): return ["app": "clique", "action": "look", "report": "\(number)"]
    case .settle(let settlement):
      return [
        "app": "clique", "action": "settle", "report": "\(settlement.number)", "outcome": settlement.outcome.rawValue,
      ]
    case .picture(let picture):
      return ["app": "clique", "action": "picture", "report": "\(picture.number)", "picture": picture.id]
    }
  }
}

extension SessionTarget {
  fileprivate var fields: [String: String] {
    var fields: [String: String] = [:]
    if let user { fields["user"] = user }
    if let client { fields["client"] = client }
    // The session is a secret of its client.
    if session != nil { fields["session"] = "given" }
    return fields
  }
}

extension BrokerRequest.RevokeRequest {
  fileprivate var fields: [String: String] {
    switch tokens {
    case .id(let id): return ["token": id]
    case .user(let user, let issuedBefore, let channel):
      var fields = ["user": user]
      if let issuedBefore { fields["issued_before"] = "\(issuedBefore)" }
      if let channel { fields["channel"] = channel }
      return fields
    }
  }
}
