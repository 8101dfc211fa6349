import Auth
import DequeModule
import Wire

/// Which command may come when, and to whom it goes.
extension Session {
  mutating func received(_ command: ClientCommand) {
    switch phase {
    case .awaitingConnect:
      guard case .connect(let connect) = command.body, command.id != 0 else {
        return end(.badRequest("the first command must be connect, with an id"))
      }
      self.connect(command.id, connect)
    case .connecting:
      if case .connect = command.body { return end(.secondConnect) }
      keepUntilConnected(command)
    case .live: receivedLive(command)
    case .refused:
      if case .connect = command.body { end(.secondConnect) }
    case .leaving, .closed: break
    }
  }

  mutating func begin(_ command: ClientCommand) {
    let id = command.id
    switch command.body {
    case .pong: return ponged()
    case .send:
      _ = charge(command)
      return  // `send` has no receiver here: it is accepted, so that SDKs may use it, and dropped.
    case _ where id == 0: return end(.badRequest("a command other than send and pong needs an id above 0"))
    case .connect: return end(.secondConnect)
    case .ping:
      if charge(command) { send(.ping(id: id)) }
      return
    case .unknown:
      if charge(command) { fail(id, .methodNotFound.saying("the command names no method that this server knows")) }
      return
    case .unsubscribe(let channel):
      if charge(command) { unsubscribe(id, channel) }
      return
    case .subscribe, .publish, .presence, .presenceStats, .history, .refresh, .subRefresh, .rpc, .track, .untrack: break
    }
    // A command without room waits rather than being refused: a client that sends a thousand at once has them all done,
    // in their order.
    guard mayBegin(command) else { return waiting.append(command) }
    guard charge(command) else { return }
    switch command.body {
    case .subscribe(let ask): subscribe(QueuedSubscribe(id: id, ask: ask))
    case .publish(let ask): publish(id, ask)
    case .presence(let channel): presence(id, channel, .presence(id: id))
    case .presenceStats(let channel): presence(id, channel, .presenceStats(id: id))
    case .history(let ask): history(id, ask)
    case .refresh(let token): refresh(id, token)
    case .subRefresh(let channel, let token): subRefresh(id, channel, token)
    case .track(let ask): track(id, ask)
    case .untrack(let channel, let keys): untrack(id, channel, keys)
    case .rpc(let method, let data): call(id, method, data)
    case .pong, .send, .connect, .ping, .unknown, .unsubscribe: break  // Done above.
    }
  }

  mutating func brokerAnswered(_ tag: UInt64, _ response: BrokerResponse) {
    guard let operation = pending.removeValue(forKey: tag) else { return }
    if !reads.isEmpty { reads.remove(tag) }
    // Answers to publishes come most often, and the tuple below would copy the answer.
    if case .publish(let id) = operation {
      if case .published = response { return send(.publish(id: id)) }
      return fail(id, response.error)
    }
    switch (operation, response) {
    // While the connect is under way, commands of the client are held: it is a subscription of the server's.
    case (.subscribe(let order), _) where phase == .connecting: connectSubscribed(order, response)
    case (.subscribe(let order), _) where order.maker == .service: orderSubscribed(order, response)
    case (.subscribe(let order), _): subscribed(order, response)
    case (.abandoned(let channel, let member), _): abandonedAnswered(channel, member, response)
    case (.history(let id, let binaryData), .history(let page)):
      send(.history(id: id, historyResult(page, binaryData)))
    case (.presence(let id), .presence(let members, let isPartial)):
      send(.presence(id: id, members, isPartial: isPartial))
    case (.presenceStats(let id), .presenceStats(let clients, let users)):
      send(.presenceStats(id: id, clients: clients, users: users))
    case (.call(let id, let answer), _): called(id, answer, response)
    case (.publish(let id), _), (.history(let id, _), _), (.presence(let id), _), (.presenceStats(let id), _):
      fail(id, response.error)
    case (.connect, _), (.subscriptionToken, _), (.placeToken, _), (.refresh, _), (.subRefresh, _),
      (.backendConnect, _), (.backendWrite, _), (.backendCall, _), (.backendRefresh, _), (.backendSubRefresh, _),
      (.openPoll, _), (.track, _):
      preconditionFailure("tag \(tag) is a token check's, the backend's or a poll's: the driver mixed up its answers")
    }
  }

  /// The channel a command is about and its rules; nil where the command was answered with an error.
  mutating func resolve(_ id: UInt32, _ name: String) -> (ChannelName, ChannelOptions)? {
    switch parse(name) {
    case .success(let found): return found
    case .failure(let error):
      fail(id, error)
      return nil
    }
  }

  func parse(_ name: String) -> Result<(ChannelName, ChannelOptions), ClientError> { rules.parse(name) }

  func access(to channel: ChannelName, _ options: ChannelOptions) -> ChannelAccess {
    access(to: channel, options, subscriptions[channel])
  }

  func access(to channel: ChannelName, _ options: ChannelOptions, _ subscription: SessionSubscription?) -> ChannelAccess
  {
    var access = ChannelAccess(
      channel: channel, options: options, user: user, isSubscribed: subscription?.isLive ?? false,
      personalChannelPrefix: rules.personalChannelPrefix)
    if options.followsChannel {
      let subscriptions = subscriptions
      access.subject = rules.subject(of: channel, user: user) { subscriptions[$0]?.isLive ?? false }
    }
    return access
  }

  private func historyResult(_ page: HistoryPage, _ binaryData: Bool) -> ClientReply.HistoryResult {
    var result = ClientReply.HistoryResult()
    result.publications = page.publications
    result.epoch = page.position.epoch
    result.offset = page.position.offset
    result.binaryData = binaryData
    return result
  }
}

extension BrokerResponse {
  /// Why this is not the answer that was asked for.
  var error: ClientError { if case .failed(let error) = self { error } else { .internalError } }
}

extension DisconnectCode {
  static let secondConnect = DisconnectCode.badRequest("a connection can connect only once")
}

/// A client's string in a sentence: quoted, and no longer than a sentence bears.
func excerpt(of string: String) -> String { "\"\(string.beginning(bytes: 64))\"" }
