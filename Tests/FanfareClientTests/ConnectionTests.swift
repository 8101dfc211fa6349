import Testing
import Wire

@testable import FanfareClient

@Suite("The client machine: connecting and reconnecting")
struct ConnectionTests {
  @Test("The first command on an open transport is connect, with the token")
  func connectsFirst() {
    var machine = makeMachine(token: "secret")
    let opening = machine.handle(.connect)
    #expect(opening.contains(.open(attempt: 1)))
    #expect(opening.states == [.connecting])
    let opened = machine.handle(.transport(attempt: 1, .opened))
    #expect(opened.sent.map(\.asConnect?.token) == ["secret"])
    #expect(opened.sent.map(\.id) == [1])
  }

  @Test("The connect reply makes it connected and starts the wait for the next ping")
  func connected() {
    var machine = makeMachine()
    _ = machine.handle(.connect)
    let effects = machine.connects()
    #expect(effects.states == [.connected(client: "c1")])
    #expect(effects.started[.ping] == .seconds(35))
    #expect(effects.contains(.stop(.connect)))
  }

  @Test("A ping is answered with a pong, and the wait for the next begins")
  func pong() {
    var machine = makeConnectedMachine()
    let effects = machine.receives(.serverPing)
    #expect(effects.sent == [ClientCommand(id: 0, body: .pong)])
    #expect(effects.started[.ping] == .seconds(35))
  }

  @Test("A server that does not ask for pongs gets none")
  func noPongUnasked() {
    var machine = makeConnectedMachine { $0.pong = false }
    #expect(machine.receives(.serverPing).sent.isEmpty)
  }

  @Test("A ping that does not come ends the connection, and another is tried")
  func missingPing() {
    var machine = makeConnectedMachine()
    let effects = machine.handle(.elapsed(.ping))
    #expect(effects.contains(.close))
    #expect(effects.states == [.disconnected(LocalCode.noPing, willReconnect: true)])
    #expect(effects.started[.reconnect] == .milliseconds(200))
  }

  @Test(
    "Codes below 3500, 4000 to 4499 and from 5000 are followed by another attempt",
    arguments: [UInt16(1006), 3000, 3001, 3005, 3012, 3499, 4000, 4499, 5000])
  func reconnects(code: UInt16) {
    var machine = makeConnectedMachine()
    let effects = machine.isClosed(code, "why")
    #expect(effects.states == [.disconnected(DisconnectCode(code: code, reason: "why"), willReconnect: true)])
    #expect(machine.handle(.elapsed(.reconnect)).contains(.open(attempt: 2)))
  }

  @Test("Codes 3500 to 3999 and 4500 to 4999 are final", arguments: [UInt16(3500), 3501, 3999, 4500, 4999])
  func final(code: UInt16) {
    var machine = makeConnectedMachine()
    let effects = machine.isClosed(code, "why")
    #expect(effects.states == [.disconnected(DisconnectCode(code: code, reason: "why"), willReconnect: false)])
    #expect(effects.started.isEmpty)
    #expect(machine.handle(.elapsed(.reconnect)).isEmpty)
  }

  @Test("A disconnect push says the same as a Close frame")
  func disconnectPush() {
    var machine = makeConnectedMachine()
    let effects = machine.receives(.push(.disconnect(.forceDisconnect)))
    #expect(effects.states == [.disconnected(.forceDisconnect, willReconnect: false)])
  }

  @Test("A message too large for either side is final: it would be too large again")
  func tooLarge() {
    var machine = makeConnectedMachine()
    #expect(machine.isClosed(1009).states == [.disconnected(LocalCode.messageTooLarge, willReconnect: false)])
    var other = makeConnectedMachine()
    let effects = other.handle(.transport(attempt: 1, .tooLarge))
    #expect(effects.states == [.disconnected(LocalCode.messageTooLarge, willReconnect: false)])
  }

  @Test(
    "An HTTP refusal is final for the client's own mistakes only",
    arguments: [(403, false), (404, false), (429, true), (502, true)] as [(UInt, Bool)])
  func httpRefusal(status: UInt, willReconnect: Bool) throws {
    var machine = makeMachine()
    _ = machine.handle(.connect)
    let state = try #require(machine.handle(.transport(attempt: 1, .refused(status: status))).states.first)
    guard case .disconnected(let code, willReconnect) = state else {
      Issue.record("\(state)")
      return
    }
    #expect(code.code == LocalCode.refused.code)
  }

  @Test("Delays double with each failure and begin anew after a connection")
  func backsOff() {
    var machine = ClientMachine(.init(token: "t", random: { 1 }))
    _ = machine.handle(.connect)
    var delays: [Duration] = []
    for _ in 0..<8 {
      delays.append(
        machine.handle(.transport(attempt: machine.attempt, .failed("refused"))).started[.reconnect] ?? .zero)
      _ = machine.handle(.elapsed(.reconnect))
    }
    #expect(delays == [400, 800, 1600, 3200, 6400, 12800, 20000, 20000].map(Duration.milliseconds))
    _ = machine.connects()
    #expect(machine.isClosed(nil).started[.reconnect] == .milliseconds(400))
  }

  @Test("With a limit on attempts, the failure after the last one is final")
  func givesUp() {
    var machine = makeMachine(maximumReconnectAttempts: 1)
    _ = machine.handle(.connect)
    let first = machine.handle(.transport(attempt: 1, .failed("refused")))
    #expect(first.states == [.disconnected(LocalCode.connectionLost.saying("refused"), willReconnect: true)])
    _ = machine.handle(.elapsed(.reconnect))
    let second = machine.handle(.transport(attempt: 2, .failed("refused")))
    #expect(second.states == [.disconnected(LocalCode.connectionLost.saying("refused"), willReconnect: false)])
  }

  @Test("What an older transport says changes nothing")
  func staleTransport() {
    var machine = makeConnectedMachine()
    _ = machine.isClosed(nil)
    _ = machine.handle(.elapsed(.reconnect))
    #expect(machine.handle(.transport(attempt: 1, .closed(code: 3500, reason: ""))).isEmpty)
    #expect(machine.phase == .opening)
  }

  @Test("An attempt that takes too long is given up for another")
  func connectTimeout() {
    var machine = makeMachine()
    #expect(machine.handle(.connect).started[.connect] == .seconds(5))
    let effects = machine.handle(.elapsed(.connect))
    #expect(effects.contains(.close))
    #expect(effects.states == [.disconnected(LocalCode.timedOut, willReconnect: true)])
  }

  @Test("A temporary connect error is followed by another attempt, a permanent one is final")
  func connectErrors() {
    var machine = makeMachine()
    _ = machine.handle(.connect)
    _ = machine.handle(.transport(attempt: 1, .opened))
    #expect(machine.receives(.error(id: 1, .internalError)).started[.reconnect] != nil)
    _ = machine.handle(.elapsed(.reconnect))
    _ = machine.handle(.transport(attempt: 2, .opened))
    let final = machine.receives(.error(id: 1, .permissionDenied))
    #expect(
      final.states == [.disconnected(DisconnectCode(code: 103, reason: "permission denied"), willReconnect: false)])
  }

  @Test("Disconnect closes, ends the subscriptions and fails the calls")
  func disconnects() throws {
    var machine = makeConnectedMachine()
    _ = try machine.subscribes(10, to: "news")
    _ = machine.handle(.call(20, .presence(channel: "news")))
    let effects = machine.handle(.disconnect)
    #expect(effects.contains(.close))
    #expect(effects.states == [.disconnected(LocalCode.disconnectCalled, willReconnect: false)])
    #expect(effects.events(of: 10) == [.unsubscribed(.init(code: 0, reason: "disconnect called"))])
    #expect(effects.result(of: 20) == .failure(.connectionLost))
    #expect(machine.phase == .idle)
  }

  @Test("Disconnect while backing off stops the next attempt")
  func disconnectsWhileWaiting() {
    var machine = makeConnectedMachine()
    _ = machine.isClosed(nil)
    let effects = machine.handle(.disconnect)
    #expect(effects.contains(.stop(.reconnect)))
    #expect(effects.states == [.disconnected(LocalCode.disconnectCalled, willReconnect: false)])
  }

  @Test("A random delay lies between the minimum and the ceiling of its failure", arguments: 0..<30)
  func backoffBounds(failures: Int) {
    let backoff = Backoff()
    for random in [0, 0.25, 0.5, 0.999] {
      let delay = backoff.delay(failures: failures, random: random)
      #expect(delay >= .milliseconds(200))
      #expect(delay <= .seconds(20))
    }
  }
}
