import Testing
import Wire

@testable import FanfareClient

private let start = StreamPosition(epoch: "e", offset: 5)

@Suite("The client machine: subscriptions")
struct SubscriptionTests {
  @Test("A subscription made before connecting is asked for once connected")
  func waitsForTheConnection() throws {
    var machine = makeMachine()
    #expect(machine.handle(.subscribe(10, try ChannelName("news"), .init())).isEmpty)
    _ = machine.handle(.connect)
    #expect(machine.connects().sent.map(\.asSubscribe?.channel) == ["news"])
  }

  @Test("The answer's publications follow its event, in order")
  func deliversRecovered() throws {
    var machine = makeConnectedMachine()
    let sent = machine.handle(.subscribe(10, try ChannelName("news"), .init(since: start))).sent
    let command = try #require(sent.first?.asSubscribe)
    #expect(command.recover)
    #expect(command.epoch == "e")
    #expect(command.offset == 5)
    var result = ClientReply.SubscribeResult()
    result.recoverable = true
    result.wasRecovering = true
    result.recovered = true
    result.epoch = "e"
    result.offset = 7
    result.publications = [Publication(offset: 6, data: [1]), Publication(offset: 7, data: [2])]
    let top = StreamPosition(epoch: "e", offset: 7)
    #expect(
      machine.receives(.subscribe(id: 2, result)).events(of: 10) == [
        .subscribed(position: top, wasRecovering: true, recovered: true),
        .publication(result.publications[0]), .publication(result.publications[1]),
      ])
  }

  @Test("What could not be recovered is told, right after it is told that something is missing")
  func gap() throws {
    var machine = makeConnectedMachine()
    _ = machine.handle(.subscribe(10, try ChannelName("news"), .init(since: start)))
    var result = ClientReply.SubscribeResult()
    (result.recoverable, result.wasRecovering, result.epoch, result.offset) = (true, true, "e", 9)
    result.gap = RecoveryGap(6...8, .size)
    let top = StreamPosition(epoch: "e", offset: 9)
    #expect(
      machine.receives(.subscribe(id: 2, result)).events(of: 10) == [
        .subscribed(position: top, wasRecovering: true, recovered: false), .gap(RecoveryGap(6...8, .size)),
      ])
  }

  @Test("After a reconnect it recovers from the last publication that was delivered")
  func recovers() throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "news", at: start)
    _ = machine.receives(.push(.publication(channel: "news", Publication(offset: 6, data: []))))
    let lost = machine.isClosed(nil)
    #expect(lost.events(of: 10) == [.subscribing(.init(code: 4, reason: "connection lost"))])
    _ = machine.handle(.elapsed(.reconnect))
    let command = try #require(machine.connects().sent.first?.asSubscribe)
    #expect(command.recover)
    #expect(command.epoch == "e")
    #expect(command.offset == 6)
  }

  @Test("A channel that does not recover is subscribed again without a position")
  func doesNotRecover() throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "news")
    _ = machine.isClosed(nil)
    _ = machine.handle(.elapsed(.reconnect))
    #expect(machine.connects().sent.first?.asSubscribe?.recover == false)
  }

  @Test("After a failed recovery the position is the server's, in its new epoch")
  func adoptsTheNewEpoch() throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(
      10, to: "news", at: StreamPosition(epoch: "new", offset: 2), options: .init(since: start))
    _ = machine.isClosed(nil)
    _ = machine.handle(.elapsed(.reconnect))
    let command = try #require(machine.connects().sent.first?.asSubscribe)
    #expect(command.epoch == "new")
    #expect(command.offset == 2)
  }

  @Test("Unsubscribe codes from 2500 subscribe again and recover", arguments: [UInt32(2500), 2501, 2999])
  func resubscribes(code: UInt32) throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "news", at: start)
    let reason = UnsubscribeCode(code: code, reason: "why")
    let effects = machine.receives(.push(.unsubscribe(channel: "news", reason)))
    #expect(effects.events(of: 10) == [.subscribing(reason)])
    let command = try #require(effects.sent.first?.asSubscribe)
    #expect(command.recover)
    #expect(command.offset == 5)
  }

  @Test("Code 2502 recovers from a position that no server can have, so that the reader learns of the loss")
  func invalidated() throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "news", at: start)
    let sent = machine.receives(.push(.unsubscribe(channel: "news", .invalidated))).sent
    #expect(sent.first?.asSubscribe?.epoch == "_")
    #expect(sent.first?.asSubscribe?.offset == 0)
  }

  @Test("Disconnect code 3014 invalidates every subscription and the token")
  func everythingInvalidated() throws {
    var machine = makeConnectedMachine(hasTokenProvider: true)
    _ = try machine.subscribes(10, to: "news", at: start)
    _ = machine.isClosed(3014)
    #expect(machine.handle(.elapsed(.reconnect)).tokenRequests == [.connect(attempt: 2)])
    _ = machine.handle(.token(.connect(attempt: 2), .token("new")))
    #expect(machine.connects().sent.first?.asSubscribe?.epoch == "_")
  }

  @Test("Unsubscribe codes below 2500 are final", arguments: [UInt32(2000), 2499])
  func endedByServer(code: UInt32) throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "news")
    let reason = UnsubscribeCode(code: code, reason: "why")
    let effects = machine.receives(.push(.unsubscribe(channel: "news", reason)))
    #expect(effects.events(of: 10) == [.unsubscribed(reason)])
    #expect(effects.sent.isEmpty)
    #expect(!machine.hasSubscription(to: try ChannelName("news")))
  }

  @Test("A temporary subscribe error is tried again with a growing delay, a permanent one ends the subscription")
  func subscribeErrors() throws {
    var machine = makeConnectedMachine()
    _ = machine.handle(.subscribe(10, try ChannelName("news"), .init()))
    #expect(machine.receives(.error(id: 2, .tooManyRequests)).started[.resubscribe(10)] == .milliseconds(200))
    #expect(machine.handle(.elapsed(.resubscribe(10))).sent.map(\.asSubscribe?.channel) == ["news"])
    let effects = machine.receives(.error(id: 3, .permissionDenied))
    #expect(effects.events(of: 10) == [.unsubscribed(.init(code: 103, reason: "permission denied"))])
  }

  @Test("A subscribe that is not answered costs the connection: what the server thinks of it is not known")
  func subscribeTimeout() throws {
    var machine = makeConnectedMachine()
    let sent = machine.handle(.subscribe(10, try ChannelName("news"), .init()))
    #expect(sent.started[.command(2)] == .seconds(5))
    let effects = machine.handle(.elapsed(.command(2)))
    #expect(effects.states == [.disconnected(LocalCode.timedOut, willReconnect: true)])
  }

  @Test("Unsubscribing tells the server and ends the events")
  func unsubscribes() throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "news")
    let effects = machine.handle(.unsubscribe(10))
    #expect(effects.events(of: 10) == [.unsubscribed(LocalCode.unsubscribeCalled)])
    #expect(effects.sent.map(\.body) == [.unsubscribe(channel: "news")])
    #expect(machine.receives(.unsubscribe(id: 3)) == [.stop(.command(3))])
    #expect(machine.receives(.push(.publication(channel: "news", Publication(offset: 6, data: [])))).isEmpty)
  }

  @Test("An unsubscribe that fails costs the connection")
  func unsubscribeFails() throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "news")
    _ = machine.handle(.unsubscribe(10))
    #expect(machine.receives(.error(id: 3, .internalError)).started[.reconnect] != nil)
  }

  @Test("A reader that is too far behind is unsubscribed")
  func overflow() throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "news")
    let effects = machine.handle(.overflowed(10))
    #expect(effects.events(of: 10) == [.unsubscribed(LocalCode.slowConsumer)])
    #expect(effects.sent.map(\.body) == [.unsubscribe(channel: "news")])
  }

  @Test("What is published before the answer belongs to an older subscription and is not delivered")
  func beforeTheAnswer() throws {
    var machine = makeConnectedMachine()
    _ = machine.handle(.subscribe(10, try ChannelName("news"), .init()))
    #expect(machine.receives(.push(.publication(channel: "news", Publication(offset: 6, data: [])))).isEmpty)
  }

  @Test("Joins and leaves are delivered")
  func joinsAndLeaves() throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "news")
    let info = ClientInfo(user: "u", client: "c2")
    #expect(machine.receives(.push(.join(channel: "news", info))).events(of: 10) == [.join(info)])
    #expect(machine.receives(.push(.leave(channel: "news", info))).events(of: 10) == [.leave(info)])
  }

  @Test("Two spellings of a name that look alike are two channels")
  func namesAreBytes() throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "caf\u{E9}")
    let push = ClientPush.publication(channel: "cafe\u{301}", Publication(offset: 6, data: []))
    #expect(machine.receives(.push(push)).isEmpty)
  }
}

@Suite("The client machine: server-side subscriptions")
struct ServerSubscriptionTests {
  private func connectedMachine() -> ClientMachine {
    makeConnectedMachine { $0.subs = ["inbox": recoverable(at: 5)] }
  }

  private func recoverable(at offset: UInt64) -> ClientReply.SubscribeResult {
    var result = ClientReply.SubscribeResult()
    result.recoverable = true
    result.epoch = "e"
    result.offset = offset
    return result
  }

  @Test("They come with the connect reply, and their publications as server events")
  func delivers() {
    var machine = makeMachine()
    _ = machine.handle(.connect)
    let effects = machine.connects { $0.subs = ["inbox": recoverable(at: 5)] }
    #expect(
      effects.serverEvents == [
        .subscribed(channel: "inbox", position: start, wasRecovering: false, recovered: false)
      ])
    let publication = Publication(offset: 6, data: [1])
    let push = ClientPush.publication(channel: "inbox", publication)
    #expect(machine.receives(.push(push)).serverEvents == [.publication(channel: "inbox", publication)])
  }

  @Test("After a reconnect they recover from the last publication")
  func recovers() {
    var machine = connectedMachine()
    _ = machine.receives(.push(.publication(channel: "inbox", Publication(offset: 6, data: []))))
    _ = machine.isClosed(nil)
    _ = machine.handle(.elapsed(.reconnect))
    let connect = machine.handle(.transport(attempt: 2, .opened)).sent.first?.asConnect
    #expect(connect?.subs["inbox"]?.recover == true)
    #expect(connect?.subs["inbox"]?.epoch == "e")
    #expect(connect?.subs["inbox"]?.offset == 6)
  }

  @Test("One that is not there after a reconnect has ended")
  func goneAfterReconnect() {
    var machine = connectedMachine()
    _ = machine.isClosed(nil)
    _ = machine.handle(.elapsed(.reconnect))
    #expect(machine.connects().serverEvents == [.unsubscribed(channel: "inbox")])
  }

  @Test("Subscribe and unsubscribe pushes begin and end one")
  func pushes() {
    var machine = makeConnectedMachine()
    let begun = machine.receives(.push(.subscribe(channel: "later", recoverable: true, positioned: true, start)))
    #expect(
      begun.serverEvents == [.subscribed(channel: "later", position: start, wasRecovering: false, recovered: false)])
    let ended = machine.receives(.push(.unsubscribe(channel: "later", .server)))
    #expect(ended.serverEvents == [.unsubscribed(channel: "later")])
  }

  @Test("A message to the connection is a server event")
  func message() {
    var machine = makeConnectedMachine()
    #expect(machine.receives(.push(.message(data: [7]))).serverEvents == [.message([7])])
  }

  @Test("A refresh push sets the time of the next refresh")
  func refreshPush() {
    var machine = makeConnectedMachine(hasTokenProvider: true)
    #expect(machine.receives(.push(.refresh(expires: true, ttl: 12))).started[.refresh] == .seconds(12))
  }
}
