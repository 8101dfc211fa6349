// What values take in memory, roughly and in bytes: the measure of windows, of answers and of what waits for the log.

extension Publication {
  /// What a publication takes in memory, roughly: its bytes and 128 for the values and buffers around them.
  public var cost: Int {
    var cost = 128 + data.count
    if let info { cost += info.cost }
    if !tags.isEmpty { for (key, value) in tags { cost += 64 + key.utf8.count + value.utf8.count } }
    if let change { cost += 64 + change.key.utf8.count }
    return cost
  }
}

extension ClientInfo {
  /// What the client's info takes in memory, roughly.
  public var cost: Int {
    64 + user.utf8.count + client.utf8.count + (connectionInfo?.count ?? 0) + (channelInfo?.count ?? 0)
  }
}

extension LinkBody {
  /// What every message takes beside its contents.
  static let baseCost = 32

  /// See ``LinkMessage/cost``.
  public var cost: Int {
    switch self {
    case .publication(let live): Self.baseCost + live.channel.string.utf8.count + live.publication.cost
    case .reply(let reply): Self.baseCost + reply.response.cost
    case .request(let request): Self.baseCost + request.request.cost
    case .join(let event), .leave(let event): Self.baseCost + event.channel.string.utf8.count + event.member.cost
    case .audience(let change): Self.baseCost + change.channel.string.utf8.count + change.user.utf8.count
    case .discard(let discard): Self.baseCost + discard.cost
    case .order(let order): Self.baseCost + order.order.cost
    case .survey(let survey): Self.baseCost + survey.survey.cost
    case .findings(let findings): Self.baseCost + findings.findings.cost
    case .deletions(let deletions): Self.baseCost + deletions.cost
    case .trace: Self.baseCost + 64
    case .hello, .gatewayHeartbeat, .resynced, .goodbye, .obeyed, .forgotten, .welcome, .brokerHeartbeat, .reset,
      .unreadable:
      Self.baseCost
    }
  }
}

extension BrokerResponse {
  /// What an answer takes in memory, roughly.
  public var cost: Int {
    switch self {
    case .published, .done, .presenceStats, .tooLarge: 64
    case .failed(let error): 64 + error.message.utf8.count
    case .result(let data): 64 + data.count
    case .subscribed(let subscribed): 128 + subscribed.publications.cost + subscribed.entries.cost
    case .history(let page): 64 + page.publications.cost
    case .mapPage(let page): 128 + page.cursor.utf8.count + page.entries.cost + page.changes.cost
    case .presence(let members, _): members.reduce(64) { $0 + $1.cost }
    case .channels(let channels): channels.reduce(64) { $0 + 32 + $1.string.utf8.count }
    case .channelCounts(let counts, _): 64 + counts.cost
    case .info(let info): 64 + info.cost
    case .unread(let counts): 64 + 8 * counts.count
    }
  }
}

extension [Publication] {
  fileprivate var cost: Int { reduce(0) { $0 + $1.cost } }
}

extension BrokerRequest {
  /// What a request takes in memory, roughly.
  public var cost: Int {
    var cost = 128 + payloadBytes + (channel?.string.utf8.count ?? 0)
    switch self {
    case .publish(let publish):
      if let info = publish.info { cost += info.cost }
      for (key, value) in publish.tags { cost += 64 + key.utf8.count + value.utf8.count }
    case .inspect(let request): cost += request.cost
    case .once(let key, let request): cost += key.cost + request.cost
    case .unread(_, let channels): cost += channels.reduce(0) { $0 + 32 + $1.string.utf8.count }
    default: break
    }
    return cost
  }

  /// Bytes of the data that a request brings to be written.
  public var payloadBytes: Int {
    switch self {
    case .publish(let publish): publish.data.count
    case .edit(let edit): edit.data?.count ?? 0
    case .call(let call): call.command.payloadBytes
    case .beginSubscriptions(_, let subscription): subscription.payloadBytes
    case .once(_, let request): request.payloadBytes
    case .report(let event): event.payloadBytes
    case .user(let user): user.payloadBytes
    case .push(let push): push.arguments.count
    default: 0
    }
  }
}

extension SessionOrder {
  fileprivate var cost: Int {
    switch self {
    case .disconnect(let target, _): 64 + target.cost
    case .subscribe(let target, let subscription):
      64 + target.cost + subscription.channel.string.utf8.count + subscription.payloadBytes
    case .unsubscribe(let target, let channel, _): 64 + target.cost + channel.string.utf8.count
    case .refresh(let target, _): 64 + target.cost
    case .revoke(let revocations, _, _), .readmit(let revocations): 64 + 96 * revocations.count
    case .forget(let users): users.reduce(64) { $0 + 32 + $1.utf8.count }
    }
  }
}

extension SessionTarget {
  fileprivate var cost: Int {
    whitelist.reduce(64 + (user?.utf8.count ?? 0)) { $0 + 32 + $1.utf8.count }
  }
}
