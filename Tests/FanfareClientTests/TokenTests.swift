import Testing
import Wire

@testable import FanfareClient

@Suite("The client machine: tokens")
struct TokenTests {
  @Test("Without a token the provider is asked before the transport opens")
  func asksFirst() {
    var machine = makeMachine(token: "", hasTokenProvider: true)
    let asking = machine.handle(.connect)
    #expect(asking.tokenRequests == [.connect(attempt: 1)])
    #expect(!asking.contains(.open(attempt: 1)))
    #expect(machine.handle(.token(.connect(attempt: 1), .token("fresh"))).contains(.open(attempt: 1)))
    #expect(machine.handle(.transport(attempt: 1, .opened)).sent.map(\.asConnect?.token) == ["fresh"])
  }

  @Test("After \"token expired\" the next attempt asks for another token")
  func expired() {
    var machine = makeMachine(token: "old", hasTokenProvider: true)
    _ = machine.handle(.connect)
    _ = machine.handle(.transport(attempt: 1, .opened))
    #expect(machine.receives(.error(id: 1, .tokenExpired)).started[.reconnect] != nil)
    #expect(machine.handle(.elapsed(.reconnect)).tokenRequests == [.connect(attempt: 2)])
    _ = machine.handle(.token(.connect(attempt: 2), .token("new")))
    #expect(machine.handle(.transport(attempt: 2, .opened)).sent.map(\.asConnect?.token) == ["new"])
  }

  @Test("\"Token expired\" without a provider is final")
  func expiredForGood() {
    var machine = makeMachine(token: "old")
    _ = machine.handle(.connect)
    _ = machine.handle(.transport(attempt: 1, .opened))
    let states = machine.receives(.error(id: 1, .tokenExpired)).states
    #expect(states == [.disconnected(LocalCode.unauthorized.saying("token expired"), willReconnect: false)])
  }

  @Test(
    "A provider that refuses ends it, one that fails is asked again",
    arguments: [(TokenOutcome.refused, false), (.token(""), false), (.failed, true)])
  func providerFails(outcome: TokenOutcome, willReconnect: Bool) {
    var machine = makeMachine(token: "", hasTokenProvider: true)
    _ = machine.handle(.connect)
    let effects = machine.handle(.token(.connect(attempt: 1), outcome))
    #expect((effects.started[.reconnect] != nil) == willReconnect)
    #expect(machine.phase == (willReconnect ? .backingOff : .idle))
  }

  @Test("A token for an attempt that is over is not used")
  func lateToken() {
    var machine = makeMachine(token: "", hasTokenProvider: true)
    _ = machine.handle(.connect)
    _ = machine.handle(.disconnect)
    _ = machine.handle(.connect)
    #expect(machine.handle(.token(.connect(attempt: 1), .token("late"))).isEmpty)
  }

  @Test("An expiring connection refreshes its token after its time to live, again and again")
  func refreshes() {
    var machine = makeMachine(hasTokenProvider: true)
    _ = machine.handle(.connect)
    let connected = machine.connects {
      $0.expires = true
      $0.ttl = 60
    }
    #expect(connected.started[.refresh] == .seconds(60))
    #expect(machine.handle(.elapsed(.refresh)).tokenRequests == [.refresh(attempt: 1)])
    let sent = machine.handle(.token(.refresh(attempt: 1), .token("second"))).sent
    #expect(sent.map(\.body) == [.refresh(token: "second")])
    var result = ClientReply.RefreshResult()
    result.expires = true
    result.ttl = 30
    #expect(machine.receives(.refresh(id: 2, result)).started[.refresh] == .seconds(30))
    #expect(machine.phase == .connected)
  }

  @Test("A temporary refresh error is tried again within 5 to 10 seconds, a permanent one is final")
  func refreshErrors() {
    var machine = makeConnectedMachine(hasTokenProvider: true)
    _ = machine.handle(.token(.refresh(attempt: 1), .token("second")))
    #expect(machine.receives(.error(id: 2, .internalError)).started[.refresh] == .seconds(5))
    _ = machine.handle(.token(.refresh(attempt: 1), .token("third")))
    let states = machine.receives(.error(id: 3, .permissionDenied)).states
    #expect(states == [.disconnected(.init(code: 103, reason: "permission denied"), willReconnect: false)])
  }

  @Test("A refresh that is not answered is tried again")
  func refreshTimeout() {
    var machine = makeConnectedMachine(hasTokenProvider: true)
    _ = machine.handle(.token(.refresh(attempt: 1), .token("second")))
    #expect(machine.handle(.elapsed(.command(2))).started[.refresh] == .seconds(5))
    #expect(machine.phase == .connected)
  }

  @Test("A subscription with a provider asks for its token first, and for another one once it has expired")
  func subscriptionToken() throws {
    var machine = makeConnectedMachine()
    let options = SubscriptionOptions(tokenProvider: { "" })
    let asking = machine.handle(.subscribe(10, try ChannelName("$private"), options))
    #expect(asking.sent.isEmpty)
    #expect(asking.tokenRequests == [.subscribe(10, session: 1)])
    let sent = machine.handle(.token(.subscribe(10, session: 1), .token("s1"))).sent
    #expect(sent.map(\.asSubscribe?.token) == ["s1"])
    #expect(machine.receives(.error(id: 2, .tokenExpired)).started[.resubscribe(10)] == .milliseconds(200))
    #expect(machine.handle(.elapsed(.resubscribe(10))).tokenRequests == [.subscribe(10, session: 2)])
  }

  @Test("An expiring subscription refreshes its token")
  func subscriptionRefresh() throws {
    var machine = makeConnectedMachine()
    let options = SubscriptionOptions(token: "s1", tokenProvider: { "" })
    _ = machine.handle(.subscribe(10, try ChannelName("$private"), options))
    var result = ClientReply.SubscribeResult()
    result.expires = true
    result.ttl = 7
    #expect(machine.receives(.subscribe(id: 2, result)).started[.subscriptionRefresh(10)] == .seconds(7))
    #expect(machine.handle(.elapsed(.subscriptionRefresh(10))).tokenRequests == [.subscriptionRefresh(10, session: 1)])
    let sent = machine.handle(.token(.subscriptionRefresh(10, session: 1), .token("s2"))).sent
    #expect(sent.map(\.body) == [.subRefresh(channel: "$private", token: "s2")])
    let refreshed = machine.receives(.subRefresh(id: 3, expires: true, ttl: 9))
    #expect(refreshed.started[.subscriptionRefresh(10)] == .seconds(9))
  }

  @Test("A subscription whose provider refuses ends, and the connection goes on")
  func subscriptionRefused() throws {
    var machine = makeConnectedMachine()
    let options = SubscriptionOptions(tokenProvider: { "" })
    _ = machine.handle(.subscribe(10, try ChannelName("$private"), options))
    let effects = machine.handle(.token(.subscribe(10, session: 1), .refused))
    #expect(effects.events(of: 10) == [.unsubscribed(LocalCode.subscriptionUnauthorized)])
    #expect(machine.phase == .connected)
  }
}
