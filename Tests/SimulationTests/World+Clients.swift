import Wire

@testable import Broker
@testable import Gateway

/// What clients do and what they are told. Between them and the broker runs the gateway's own code.
extension World {
  // MARK: Connections

  func connect(_ client: SimulatedClient) {
    client.gateway = Int.random(in: 0..<gateways.count, using: &random)
    let loop = gateways[client.gateway].loops[client.loop]
    let socket = SimulatedSocket(
      id: newConnection(), loop: loop, format: client.format, kernelBytes: client.kernelBytes,
      remembers: why != nil)
    why?.opened(socket, of: client)
    client.connect(through: socket)
  }

  /// Lets a client read at most so many bytes, and the server at most so many commands.
  ///
  /// - Returns: false where neither had anything to read.
  @discardableResult
  func exchange(_ client: SimulatedClient, bytes: Int, commands: Int) -> Bool {
    let hasServed = client.socket?.serve(commands) ?? false
    let messages = client.read(bytes)
    for message in messages ?? [] where client.socket != nil { hears(message, client) }
    if client.socket?.wasPaused == true { coverage.readLater += 1 }
    return hasServed || messages != nil
  }

  private func hears(_ message: SimulatedWire.Message, _ client: SimulatedClient) {
    switch message {
    case .replies(let replies): for reply in replies where client.socket != nil { hears(reply, client) }
    case .malformed(let what): fail("\(client.name) was sent \(what)")
    case .close(let code): wasClosed(client, code)
    }
  }

  private func wasClosed(_ client: SimulatedClient, _ code: UInt16?) {
    switch code {
    case DisconnectCode.slow.code: coverage.slow += 1
    case DisconnectCode.insufficientState.code: coverage.lostPositions += 1
    case DisconnectCode.noPong.code, DisconnectCode.serverError.code, DisconnectCode.stale.code: coverage.late += 1
    default: fail("\(client.name) was closed with \(code as Any)")
    }
    client.disconnect()
  }

  // MARK: Replies

  private func hears(_ reply: ClientReply, _ client: SimulatedClient) {
    if case .connecting = client.state, case .push(let push) = reply {
      return fail("\(client.name) is sent \(push) before it is connected")
    }
    switch reply {
    case .connect(let id, let result): connected(id, result, client)
    case .subscribe(let id, let result):
      guard let feed = client.feeds.first(where: { $0.state.isAsked(id) }) else {
        return fail("\(client.name): a subscribe that nobody asked for was answered")
      }
      subscribed(feed, result, client)
    case .unsubscribe(let id):
      for feed in client.feeds where feed.state == .leaving(id: id) { feed.state = .idle }
    case .publish(let id):
      if client.unanswered.remove(id) == nil { fail("\(client.name): command \(id) was answered twice") }
    case .error(let id, let error): refused(id, error, client)
    case .serverPing: client.command(.pong)
    case .push(.unsubscribe(let channel, let code)): unsubscribed(channel, code, client)
    case .push(.publication(let channel, let publication, _)): receive(publication, on: channel, client)
    case .push(.join), .push(.leave): coverage.comings += 1
    default: fail("\(client.name) was sent \(reply)")
    }
  }

  private func connected(_ id: UInt32, _ result: ClientReply.ConnectResult, _ client: SimulatedClient) {
    guard client.state == .connecting(id: id) else { return fail("\(client.name) was connected twice") }
    client.state = .up
    client.client = result.client
    for feed in client.granted {
      guard let sub = result.subs[feed.channel.string] else {
        fail("\(client.name) was not subscribed to \(feed.channel)")
        continue
      }
      coverage.granted += 1
      subscribed(feed, sub, client)
    }
  }

  private func refused(_ id: UInt32, _ error: ClientError, _ client: SimulatedClient) {
    if client.state == .connecting(id: id) { return client.disconnect() }
    if let feed = client.feeds.first(where: { $0.state.isAsked(id) }) {
      if error.code == ClientError.limitExceeded.code { fail("\(client.name) may not subscribe: \(error)") }
      feed.state = .idle
    } else if client.unanswered.remove(id) != nil {
      coverage.refused += 1
      if error.code == ClientError.idempotencyConflict.code { coverage.conflicts += 1 }
    } else {
      fail("\(client.name): command \(id) was answered twice, at last with \(error)")
    }
  }

  private func unsubscribed(_ channel: String, _ code: UnsubscribeCode, _ client: SimulatedClient) {
    if code.code != UnsubscribeCode.insufficient.code { fail("\(client.name) was unsubscribed with \(code)") }
    coverage.lostPositions += 1
    guard let feed = client.feed(channel), !feed.isGranted else {
      return fail("\(client.name) lost \(channel), which is not its own")
    }
    if feed.state == .live { feed.state = .idle }
  }

  private func subscribed(_ feed: Feed, _ result: ClientReply.SubscribeResult, _ client: SimulatedClient) {
    guard case .asked(_, let since) = feed.state else { return }
    if result.wasRecovering {
      if result.recovered { coverage.recovered += 1 } else { coverage.notRecovered += 1 }
    }
    feed.state = .live
    if feed.isConflated {
      feed.turn = nil
      return
    }
    let top = StreamPosition(epoch: result.epoch, offset: result.offset)
    defer { feed.position = top }
    let place = "\(client.name) on \(feed.channel)"
    guard result.recovered else {
      if !result.publications.isEmpty { fail("\(place): publications in a recovery that is not whole") }
      return
    }
    guard let since, since.epoch == top.epoch else { return fail("\(place): recovered from \(since as Any)") }
    var last = since.offset
    for publication in result.publications {
      if let complaint = oracle.follows(publication, publication.offset, after: last, feed, top.epoch) {
        fail("\(place): \(complaint), by recovery")
      }
      last = publication.offset
    }
    if let missing = oracle.missed(by: feed, top.epoch, after: last, before: top.offset + 1) {
      fail("\(place): a recovery called whole lacks \(missing)")
    }
  }

  private func receive(_ publication: Publication, on channel: String, _ client: SimulatedClient) {
    guard let feed = client.feed(channel) else { return fail("\(client.name) is sent \(channel)") }
    switch feed.state {
    case .leaving: return
    case .idle, .asked: return fail("\(client.name) is sent \(channel), to which it is not subscribed")
    case .live: break
    }
    coverage.pushes += 1
    if feed.isConflated {
      if let complaint = oracle.seen(publication, feed) { fail("\(client.name): \(complaint)") }
      return
    }
    guard let position = feed.position else { return }
    // Publications on channels without history come without offsets.
    let offset = publication.offset > 0 ? publication.offset : oracle.offset(of: publication, on: feed, position.epoch)
    if let complaint = oracle.follows(publication, offset, after: position.offset, feed, position.epoch) {
      fail("\(client.name) on \(channel): \(complaint)")
    }
    feed.position?.offset = offset
  }

  // MARK: What clients do

  func act(_ client: SimulatedClient) {
    switch client.state {
    case .down: connect(client)
    case .connecting: break
    case .up:
      for feed in client.feeds where !feed.isGranted {
        if feed.state == .idle {
          client.subscribe(feed)
        } else if feed.state == .live, random.chance(10) {
          client.unsubscribe(feed)
        }
      }
      if random.chance(70) { publish(from: client) }
    }
    if faults && random.chance(2) {
      let channel = client.feeds[0].channel
      perform { $0.serve(.historyRemove(channel), for: ServiceTag(number: 1), in: &$1) }
    }
  }

  private func publish(from client: SimulatedClient) {
    let feed = client.feeds[Int.random(in: 0..<client.feeds.count, using: &random)]
    var data = newPayload()
    var key: String?
    if !feed.isConflated, random.chance(30) {
      let used = oracle.keys(of: feed.channel, usedSince: clock.forward - 200_000)
      if !used.isEmpty, random.chance(50) {
        // A key is used once more: for the same data, as an app does that got no answer, or by mistake for other data.
        let again = used[Int.random(in: 0..<used.count, using: &random)]
        key = again.key
        if random.chance(70) { data = again.payload }
      } else {
        let new = "key of " + String(decoding: data, as: UTF8.self).filter { $0 != "\"" }
        oracle.uses(new, for: data, on: feed.channel, at: clock.forward)
        key = new
      }
    }
    publish(data, key, on: feed.channel, from: client)
  }

  func publish(_ data: [UInt8], _ key: String?, on channel: ChannelName, from client: SimulatedClient) {
    var publish = ClientCommand.Publish()
    publish.channel = channel.string
    publish.data = data
    publish.idempotencyKey = key
    client.unanswered.insert(client.command(.publish(publish)))
  }

  /// Checks the answers to publications that a gateway got from the broker. Clients are told less of them.
  func listen(to gateway: SimulatedGateway) {
    for (publishing, response) in gateway.heard {
      guard case .published(let position) = response else { continue }
      coverage.acknowledged += 1
      oracle.acknowledged(publishing.channel, position, publishing.payload)
      guard let key = publishing.key else { continue }
      let complaint = oracle.acknowledged(publishing.channel, position, publishing.payload, key, at: clock.forward)
      if let complaint { fail(complaint) }
      coverage.keysAgain = oracle.keysAgain
    }
    gateway.heard = []
    coverage.tooLarge += gateway.tooLarge
    gateway.tooLarge = 0
  }
}

extension Feed.State {
  func isAsked(_ id: UInt32) -> Bool { if case .asked(id, _) = self { id != 0 } else { false } }
}
