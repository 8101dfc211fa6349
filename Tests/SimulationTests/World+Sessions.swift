import Auth
import Wire

@testable import Broker
@testable import Gateway

/// Clients and their sessions: the real ``Session`` decides, the world carries out.
extension World {
  /// What nobody's session asked for has a tag from here on.
  static let firstOwnTag: UInt64 = 1 << 40

  func connect(_ client: SimulatedClient) {
    client.begin(newConnection(), rules: rules)
    feed(.opened, to: client)
    var connect = ClientCommand.Connect()
    connect.token = client.name
    command(.connect(connect), from: client)
    if client.state == .connecting { fail("\(client.name): a connect without subscriptions was not answered at once") }
  }

  @discardableResult
  func command(_ body: ClientCommand.Body, from client: SimulatedClient) -> UInt32 {
    let id = client.nextCommand()
    feed(.command(ClientCommand(id: body == .pong ? 0 : id, body: body)), to: client)
    return id
  }

  /// One input after another, as the driver feeds them: what an action leads to comes after the actions beside it.
  func feed(_ input: SessionInput, to client: SimulatedClient) {
    client.inputs.append(input)
    guard client.inputs.count == 1 else { return }
    let time = SessionTime(monotonic: clock.now, wall: clock.wall / 1000)
    while let next = client.inputs.first {
      var actions: [SessionAction] = []
      client.session?.handle(next, at: time, into: &actions)
      for action in actions { perform(action, for: client) }
      client.inputs.removeFirst()
    }
  }

  private func perform(_ action: SessionAction, for client: SimulatedClient) {
    switch action {
    case .send(let reply): hears(reply, client)
    case .close(let code): fail("\(client.name) was closed with \(code.code), \(code.reason)")
    case .request(let tag, let request):
      if case .publish = request, let publishes = client.publishes { client.publishing[tag] = publishes }
      submit(trying(request, tag: tag, client), tag: tag, from: client)
    case .checkConnectionToken(let tag, let token):
      feed(.connectionTokenChecked(tag: tag, .success(ConnectionClaims(user: token))), to: client)
    case .attach(let channel, _, _):
      if channel != client.channel || client.isAttached { fail("\(client.name) was attached to \(channel) twice") }
      client.isAttached = true
    case .detach: client.isAttached = false
    case .subscribe, .checkSubscriptionToken, .checkPlaceToken, .releaseHeld, .discardHeld, .note:
      fail("\(client.name): nobody asked for \(action)")
    }
  }

  /// As an event loop does that has no room for large answers now.
  private func trying(_ request: BrokerRequest, tag: UInt64, _ client: SimulatedClient) -> BrokerRequest {
    guard case .subscribe(var subscribe) = request, faults, random.chance(50) else { return request }
    client.tries[tag] = subscribe
    subscribe.answer = AnswerLimit(bytes: 500, isTry: true)
    return .subscribe(subscribe)
  }

  private func hears(_ reply: ClientReply, _ client: SimulatedClient) {
    switch reply {
    case .connect: client.state = .idle
    case .subscribe(let id, let result): subscribed(id, result, client)
    case .publish(let id):
      if client.unanswered.remove(id) == nil { fail("\(client.name): command \(id) was answered twice") }
    case .error(let id, let error):
      if case .subscribing(id, _) = client.state {
        client.state = .idle
      } else if client.unanswered.remove(id) != nil {
        coverage.refused += 1
        if error.code == ClientError.idempotencyConflict.code { coverage.conflicts += 1 }
      } else {
        fail("\(client.name): command \(id) was answered twice, at last with \(error)")
      }
    case .serverPing: command(.pong, from: client)
    case .push(.unsubscribe(_, let code)):
      if code.code != UnsubscribeCode.insufficient.code { fail("\(client.name) was unsubscribed with \(code)") }
      coverage.lostPositions += 1
      client.state = .idle
    case .push(.publication(_, let publication, _)): receive(publication, client)
    default: break
    }
  }

  private func subscribed(_ id: UInt32, _ result: ClientReply.SubscribeResult, _ client: SimulatedClient) {
    guard case .subscribing(id, let since) = client.state else {
      return fail("\(client.name): a subscribe that nobody asked for was answered")
    }
    if result.wasRecovering {
      if result.recovered { coverage.recovered += 1 } else { coverage.notRecovered += 1 }
    }
    if let complaint = client.subscribed(result, since: since) { fail(complaint) }
    for publication in result.publications {
      if let complaint = oracle.seen(client.channel, result.epoch, publication) { fail(complaint) }
    }
  }

  func receive(_ publication: Publication, _ client: SimulatedClient) {
    if let complaint = client.received(publication) { fail(complaint) }
    guard let epoch = client.position?.epoch else { return }
    if let complaint = oracle.seen(client.channel, epoch, publication) { fail(complaint) }
  }

  // MARK: What clients do

  func act(_ client: SimulatedClient) {
    switch client.state {
    case .connecting, .subscribing: break
    case .idle: subscribe(client)
    case .live where random.chance(10):
      client.state = .idle
      command(.unsubscribe(channel: client.channel.string), from: client)
    case .live: break
    }
    if random.chance(70) { publish(from: client) }
    if faults && random.chance(2) {
      nextTag += 1
      submit(.historyRemove(client.channel), tag: nextTag, from: client)
    }
  }

  func subscribe(_ client: SimulatedClient) {
    var subscribe = ClientCommand.Subscribe()
    subscribe.channel = client.channel.string
    if let since = client.position {
      subscribe.recover = true
      subscribe.epoch = since.epoch
      subscribe.offset = since.offset
    }
    client.state = .subscribing(id: client.lastCommand + 1, since: client.position)
    command(.subscribe(subscribe), from: client)
  }

  func publish(_ data: [UInt8], _ key: String?, from client: SimulatedClient) {
    var publish = ClientCommand.Publish()
    publish.channel = client.channel.string
    publish.data = data
    publish.idempotencyKey = key
    client.publishes = SimulatedClient.Publishing(payload: data, key: key)
    client.unanswered.insert(client.lastCommand + 1)
    command(.publish(publish), from: client)
  }

  // MARK: Event loops

  func handle(_ handover: Handover, _ gateway: Int, _ loop: Int) {
    let here = clients.filter { $0.gateway == gateway && $0.loop == loop }
    switch handover {
    case .publication(let channel, let publication):
      for client in here where client.channel == channel && client.isAttached { receive(publication, client) }
    case .lost(let channel):
      for client in here where client.channel == channel && client.isAttached {
        feed(.channelLost(channel), to: client)
      }
    case .answer(let source, let response):
      guard source.tag < Self.firstOwnTag, let client = here.first(where: { $0.connection == source.connection })
      else { return }
      if let publishing = client.publishing.removeValue(forKey: source.tag), case .published(let position) = response {
        acknowledged(publishing, position, client)
      }
      if let whole = client.tries.removeValue(forKey: source.tag), response == .tooLarge {
        coverage.tooLarge += 1
        return submit(.subscribe(whole), tag: source.tag, from: client)
      }
      feed(.brokerAnswered(tag: source.tag, response), to: client)
    }
  }

  private func acknowledged(
    _ publishing: SimulatedClient.Publishing, _ position: StreamPosition, _ client: SimulatedClient
  ) {
    coverage.acknowledged += 1
    oracle.acknowledged(client.channel, position, publishing.payload)
    guard let key = publishing.key else { return }
    let complaint = oracle.acknowledged(client.channel, position, publishing.payload, key, at: clock.forward)
    if let complaint { fail(complaint) }
    coverage.keysAgain = oracle.keysAgain
  }
}
