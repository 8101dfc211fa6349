import Log
import Wire

/// What deletions (``UserDeletions``) take away beside the log's channels: others' subscriptions to channels that name
/// the users, intervals that gateways keep, and events that webhooks were not sent.
extension BrokerCore {
  // MARK: Gateways

  /// Whether a gateway that has a link, or had one a moment ago, has still to carry the order out.
  func isAwaited(_ id: UInt64) -> Bool {
    orders.isAwaited(id) { gateway in
      switch links[gateway]?.state {
      case .open, .overflowed: true
      case .departed, nil: false
      }
    }
  }

  /// Has every gateway delete what it keeps of the users on a disk.
  func orderForgetting(_ deletions: UserDeletions, in turn: inout Turn) {
    let id = orders.following
    let told = Set(links.open.map(\.gateway))
    tellGateways(.forget(deletions.sought.users), then: .done, for: .broker, in: &turn)
    deletions.phase = .ordered(id, told: told, isConfirmed: false)
  }

  /// Looks whether gateways have done that, and then has the other parts of the server forget the users.
  ///
  /// - Returns: whether the next step can be done at once.
  func awaitForgetting(
    _ deletions: UserDeletions, order id: UInt64, told: Set<UInt64>, isConfirmed: Bool, in turn: inout Turn
  ) -> Bool {
    if isAwaited(id) { return false }
    let open = links.open
    let lacksPictures = configuration.gatewaysKeepPictures && !isConfirmed
    // Nobody is here who could delete the pictures' files.
    if lacksPictures && open.isEmpty { return false }
    if lacksPictures || open.contains(where: { !told.contains($0.gateway) }) {
      // A gateway that has come since, maybe in place of one that was told, has not heard of it.
      deletions.phase = .ordering
      return true
    }
    deletions.forgotBatch = Set(open.map(\.gateway))
    deletions.awaited = 1
    deletions.phase = .elsewhere
    turn.effects.append(.forget(deletions.sought.users))
    return false
  }

  /// Takes everybody off the channels that name one of the users: those cannot be deleted while somebody has them open.
  ///
  /// - Parameter underWay: orders of the time before, which may be about the same channels.
  /// - Returns: the orders that gateways have to confirm.
  func unsubscribeOthers(_ deletions: UserDeletions, unless underWay: [UInt64], in turn: inout Turn) -> [UInt64] {
    if underWay.contains(where: { isAwaited($0) }) { return [] }
    var ids: [UInt64] = []
    for state in channels.sorted(where: { !$0.interest.isEmpty && deletions.sought.own($0.name) }) {
      for user in state.name.limitedToUsers ?? [] {
        ids.append(orders.following)
        let order = SessionOrder.unsubscribe(SessionTarget(user: String(user)), state.name, .server)
        tellGateways(order, then: .done, for: .broker, in: &turn)
      }
    }
    return ids
  }

  // MARK: Webhooks

  /// Whether webhooks have still to be told that a channel which names one of the users is vacated. The event names the
  /// user, so it has to be there before what is kept is looked through.
  func isToldOccupied(_ deletions: UserDeletions) -> Bool {
    webhooks?.occupancy?.places.keys.contains { deletions.sought.own($0) } ?? false
  }

  /// Takes events that name the users out of what outboxes have in memory: a request that fails would write them anew
  /// among those given up.
  func eraseUnsent(_ deletions: UserDeletions) {
    let (users, owned) = (deletions.sought, deletions.owned)
    for outbox in webhooks?.outboxes ?? [] { outbox.erase { users.areNamed(byJSON: $0, owning: owned) } }
    notices?.erase { users.contains($0) }
  }
}

extension SoughtUsers {
  /// Whether an event in an outbox names one of the users, or a channel that is theirs.
  ///
  /// - Parameter owned: channels that are deleted with the users, beside those whose name limits them to one.
  func areNamed(byEvent publication: Publication, owning owned: Set<ChannelName> = []) -> Bool {
    // Events that wait have a total before their JSON, and those that were given up have none.
    let json = Outbox.event(publication).map(\.json) ?? []
    return areNamed(byJSON: publication.data, owning: owned) || areNamed(byJSON: json, owning: owned)
  }

  func areNamed(byJSON json: [UInt8], owning owned: Set<ChannelName>) -> Bool {
    guard let event = (try? JSONValue(parsing: json))?.object else { return false }
    if let name = event["channel"]?.string.flatMap({ try? ChannelName($0, limit: .max) }) {
      if owned.contains(name) || own(name) { return true }
    }
    // What somebody else has published about the user is theirs.
    guard event["type"]?.string == WebhookEvents.publication.name else { return areQuoted(in: json) }
    if let user = event["info"]?.object?["user"]?.string, contains(user) { return true }
    if let key = event["key"]?.string, contains(key) { return true }
    guard let text = event["tags"]?.object else { return false }
    var tags: [String: String] = [:]
    for (name, value) in text.members { tags[name] = value.string }
    return areNamed(by: Publication(data: [], tags: tags))
  }
}

extension Outbox {
  /// The beginning of the names of all streams of events, those of webhooks that are not configured any more included.
  static let prefix = "fanfare.webhook"

  /// Whether the channel holds events of a webhook.
  static func isOne(_ channel: ChannelName) -> Bool {
    channel.string.utf8.starts(with: "\(prefix):".utf8) || channel.string.utf8.starts(with: "\(prefix)-given-up:".utf8)
  }
}
