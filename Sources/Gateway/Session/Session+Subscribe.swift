import Auth
import Wire

extension Session {
  /// The order of the checks: name, namespace, already subscribed, number of channels, permission.
  mutating func subscribe(_ command: QueuedSubscribe) {
    let (id, ask) = (command.id, command.ask)
    if let refusal = ask.refusal { return fail(id, refusal) }
    guard let (channel, options) = resolve(id, ask.channel) else { return }
    if options.app != nil, ask.filter?.mentions(Publication.audienceTags) == true {
      return fail(id, .badRequest.saying("the filter looks at tags that this channel does not have"))
    }
    if let refusal = typeRefusal(ask, options) { return fail(id, refusal) }
    if let subscription = subscriptions[channel] {
      guard case .abandoned(next: nil) = subscription.phase else { return fail(id, .alreadySubscribed) }
      subscriptions[channel]?.phase = .abandoned(next: .command(command))
      return
    }
    guard subscriptions.count < configuration.maximumChannels else {
      let most = configuration.maximumChannels
      out.append(.note(.clientChannels))
      noteRefusal(of: channel, .limitExceeded)
      return fail(id, .limitExceeded.saying("a connection can have at most \(most) subscriptions"))
    }
    if !ask.token.isEmpty {
      let tag = remember(.subscriptionToken(command, channel))
      subscriptions[channel] = SessionSubscription(phase: .checkingToken(tag: tag))
      out.append(.checkSubscriptionToken(tag: tag, ask.token))
      return
    }
    let access = access(to: channel, options)
    if access.isDecidedByBackend { return askToSubscribe(command, channel) }
    guard access.maySubscribeWithoutToken else {
      noteRefusal(of: channel, .permissionDenied)
      return fail(id, .permissionDenied)
    }
    order(SubscribeOrder(id: id, channel: channel, options: options, ask: ask, grant: .init()))
  }

  mutating func subscriptionTokenChecked(_ tag: UInt64, _ result: Result<SubscriptionClaims, TokenError>) {
    switch pending.removeValue(forKey: tag) {
    case .subscriptionToken(let command, let channel): subscribeTokenChecked(command, channel, result)
    case .subRefresh(let id, let channel): subRefreshed(id, channel, result)
    default: break
    }
  }

  /// Why the channel is not of the type that the client asks for; nil: it is.
  private func typeRefusal(_ ask: ClientCommand.Subscribe, _ options: ChannelOptions) -> ClientError? {
    let pollType = ClientCommand.Subscribe.sharedPollType
    if options.kind == .sharedPoll {
      if ask.type != pollType {
        return .badRequest.saying("the channel is a shared poll; subscribe to it with type \(pollType)")
      }
      return ask.filter == nil ? nil : .badRequest.saying("keys of a shared poll have no tags to filter by")
    }
    if ask.type == 0 { return nil }
    if ask.type == pollType { return .badRequest.saying("the channel is not a shared poll") }
    return mapRefusal(ask, options)
  }

  private func mapRefusal(_ ask: ClientCommand.Subscribe, _ options: ChannelOptions) -> ClientError? {
    if options.kind != .map { return .badRequest.saying("the channel is not a map; subscribe to it without a type") }
    let type = options.mapPresence.subscriptionType
    if ask.type != type {
      return .badRequest.saying("the channel has no subscription type \(ask.type); this map's is \(type)")
    }
    return (0...2).contains(ask.phase) ? nil : .badRequest.saying("there is no phase \(ask.phase) of a map")
  }

  /// A valid token opens the channel, whatever the namespace allows to those without.
  private mutating func subscribeTokenChecked(
    _ command: QueuedSubscribe, _ channel: ChannelName, _ result: Result<SubscriptionClaims, TokenError>
  ) {
    subscriptions[channel] = nil
    let id = command.id
    switch result {
    case .failure(.expired): fail(id, .tokenExpired)
    case .failure(.invalid): fail(id, .permissionDenied.saying("the subscription token is not valid"))
    case .failure(.unavailable): fail(id, .internalError)
    case .success(let claims):
      guard claims.user.hasSameBytes(as: user), claims.channel.hasSameBytes(as: channel.string) else {
        return fail(id, .permissionDenied.saying("the subscription token is for another user or channel"))
      }
      if let expiry = claims.expiresAt, expiry <= time.wall { return fail(id, .tokenExpired) }
      guard let (_, options) = resolve(id, channel.string) else { return }
      order(
        SubscribeOrder(
          id: id, channel: channel, options: options, ask: command.ask, grant: claims.grant,
          expiresAt: claims.expiresAt, token: claims.token))
    }
  }

  /// Sends an allowed subscription to the broker, but spares it one that could only be rejected.
  mutating func order(_ order: SubscribeOrder) {
    if order.isPoll { return openPoll(order) }
    if order.map == nil && order.rejectsUnrecovered && order.since == nil {
      return fail(order.id, .unrecoverablePosition)
    }
    subscribeAtBroker(order)
  }

  mutating func subscribeAtBroker(_ order: SubscribeOrder) {
    var order = order
    // Payloads that are base64 in JSON cannot be told there as the text that a patch is made of.
    if order.binaryData, format == .json { order.hasDelta = false }
    // Apps must know who asks, shown to others or not.
    let member = order.sendsMember || order.isApps ? memberInfo(order.grant.info) : nil
    let request = BrokerRequest.SubscribeRequest(
      channel: order.channel, since: order.since, recoveryLimit: configuration.recoveryLimit, member: member,
      isPresent: order.sendsMember, map: order.map)
    let tag: UInt64
    if order.filter != nil || order.hasDelta {
      tag = remember(.subscribe(order))
      out.append(
        .subscribe(tag: tag, request, SubscribeTerms(filter: order.filter, hasDelta: order.hasDelta)))
    } else {
      tag = ask(.subscribe(request), then: .subscribe(order))
    }
    if order.since != nil || order.map != nil { reads.insert(tag) }
    subscriptions[order.channel] = order.subscription(.subscribing(tag: tag))
  }

  /// Answer first, then the hub: this order is the whole of "no gap, no double".
  mutating func subscribed(_ order: SubscribeOrder, _ response: BrokerResponse) {
    if case .mapPage(let page) = response {
      subscriptions[order.channel] = nil
      return send(.subscribe(id: order.id, order.result(page)))
    }
    guard case .subscribed(let answer) = response else {
      subscriptions[order.channel] = nil
      noteRefusal(of: order.channel, response.error)
      return fail(order.id, response.error)
    }
    if order.rejectsUnrecovered && !answer.recovered {
      noteRefusal(of: order.channel, .unrecoverablePosition)
      let member = order.sendsMember ? memberInfo(order.grant.info) : nil
      subscriptions[order.channel] = nil
      unsubscribeAtBroker(order.channel, member)
      return fail(order.id, .unrecoverablePosition)
    }
    subscriptions[order.channel]?.phase = .live
    var order = order
    // Who sees a part of the channel has another publication before each than the others.
    if answer.audience != nil { order.hasDelta = false }
    send(.subscribe(id: order.id, order.result(answer, at: time)))
    out.append(.attach(order.channel, order.hubFlags, HubFilters(own: order.filter, audience: answer.audience)))
    noteCoverage(of: order, answer)
    if let expiry = order.expiresAt {
      if order.isRefreshedHere { planRefresh(of: order.channel, at: expiry) }
      subscriptionExpires(at: expiry)
    }
    reportSubscribed(to: order.channel)
  }

  /// Unsubscribing from what one is not subscribed to succeeds: the client has what it wanted. A server-side
  /// subscription is not the client's to end.
  mutating func unsubscribe(_ id: UInt32, _ name: String) {
    guard let channel = try? ChannelName(name, limit: configuration.maximumChannelNameLength) else {
      return fail(id, .badRequest.saying("the channel name is not valid"))
    }
    if let subscription = subscriptions[channel] {
      if subscription.isServerSide {
        return fail(id, .permissionDenied.saying("the server keeps this subscription; a client cannot end it"))
      }
      remove(channel, subscription, telling: .endedWhileSubscribing, because: .unsubscribed)
    }
    send(.unsubscribe(id: id))
  }

  /// Ends a subscription in whatever phase it is. A subscribe command that is still unanswered gets `error`.
  ///
  /// - Parameters:
  ///   - cause: for the file of intervals.
  ///   - code: of the unsubscribe, for the same.
  mutating func remove(
    _ channel: ChannelName, _ subscription: SessionSubscription, telling error: ClientError,
    because cause: CoverageEnd.Cause, code: UInt32 = 0
  ) {
    switch subscription.phase {
    case .live where subscription.grant?.poll != nil:
      subscriptions[channel] = nil
      leavePoll(channel, subscription)
      if cause != .lost { endPresenceMaps(of: channel) }
    case .live:
      subscriptions[channel] = nil
      noteEnd(of: channel, cause, code: code)
      out.append(.detach(channel))
      unsubscribeAtBroker(channel, member(of: subscription))
      // Who is told to come back for what was lost keeps the rights of a subscriber.
      if cause != .lost, code != UnsubscribeCode.insufficient.code { endPresenceMaps(of: channel) }
    case .checkingToken(let tag):
      subscriptions[channel] = nil
      if case .subscriptionToken(let command, _) = pending.removeValue(forKey: tag) { fail(command.id, error) }
    case .subscribing(let tag):
      // A poll is opened here, and nobody else has to hear that it is not wanted.
      if case .openPoll(let order)? = pending[tag] {
        (subscriptions[channel], pending[tag]) = (nil, nil)
        return fail(order.id, error)
      }
      subscriptions[channel]?.phase = .abandoned(next: nil)
      // What is over is not the server's any more: the client may subscribe by itself.
      subscriptions[channel]?.traits.subtract([.serverSide, .ordered])
      if case .subscribe(let order) = pending[tag], order.maker == .client { fail(order.id, error) }
      pending[tag] = .abandoned(channel, member: member(of: subscription))
    case .abandoned(let next):
      subscriptions[channel]?.phase = .abandoned(next: nil)
      if case .command(let command)? = next { fail(command.id, error) }
    }
  }

  /// The broker has answered a subscribe that nobody waits for.
  mutating func abandonedAnswered(_ channel: ChannelName, _ member: ClientInfo?, _ response: BrokerResponse) {
    if case .subscribed = response { unsubscribeAtBroker(channel, member) }
    guard case .abandoned(let next) = subscriptions[channel]?.phase else { return }
    subscriptions[channel] = nil
    switch next {
    case .command(let command)?: subscribe(command)
    case .order(let ordered)?: addSubscription(ordered)
    case nil: break
    }
  }

  /// Tells the broker that a subscription is over. The answer says nothing, so nothing waits for it.
  mutating func unsubscribeAtBroker(_ channel: ChannelName, _ member: ClientInfo?) {
    lastTag &+= 1
    let request = BrokerRequest.UnsubscribeRequest(channel: channel, member: member, keepsInterest: false)
    out.append(.request(tag: lastTag, .unsubscribe(request)))
  }

  func member(of subscription: SessionSubscription) -> ClientInfo? {
    subscription.traits.contains(.member) ? memberInfo(subscription.grant?.info) : nil
  }

  func memberInfo(_ channelInfo: [UInt8]?) -> ClientInfo {
    ClientInfo(user: user, client: identity.client, connectionInfo: connectionInfo, channelInfo: channelInfo)
  }
}

extension ClientError {
  /// Temporary: an SDK that has subscribed again meanwhile must not take this for the end of its new subscription.
  static let endedWhileSubscribing = ClientError.internalError.saying(
    "the subscription was ended before it began")
}
