import Testing
import Wire

@testable import FanfareClient

@Suite("The client machine: calls")
struct CallTests {
  @Test("Each kind of reply completes the call it answers")
  func completes() {
    let replies: [ClientReply] = [
      .publish(id: 2), .presence(id: 3, []), .presenceStats(id: 4, clients: 2, users: 1), .history(id: 5, .init()),
      .rpc(id: 6, data: [1]), .ping(id: 7),
    ]
    let bodies: [ClientCommand.Body] = [
      .publish(.init()), .presence(channel: "c"), .presenceStats(channel: "c"), .history(.init()),
      .rpc(method: "m", data: []), .ping,
    ]
    var machine = makeConnectedMachine(maximumCalls: 10)
    for (index, body) in bodies.enumerated() {
      #expect(machine.handle(.call(CallID(index), body)).sent.map(\.body) == [body])
    }
    // The answers come in the opposite order: each belongs to its call by number, not by place.
    for (index, reply) in replies.enumerated().reversed() {
      #expect(machine.receives(reply).result(of: CallID(index)) == .success(reply))
    }
  }

  @Test("An error reply fails the call alone")
  func fails() {
    var machine = makeConnectedMachine()
    _ = machine.handle(.call(1, .presence(channel: "c")))
    #expect(machine.receives(.error(id: 2, .permissionDenied)).result(of: 1) == .failure(.server(.permissionDenied)))
    #expect(machine.phase == .connected)
  }

  @Test("A call without an answer times out, and a late answer changes nothing")
  func timesOut() {
    var machine = makeConnectedMachine()
    #expect(machine.handle(.call(1, .ping)).started[.call(1)] == .seconds(5))
    #expect(machine.handle(.elapsed(.call(1))).result(of: 1) == .failure(.timedOut))
    #expect(machine.receives(.ping(id: 2)).isEmpty)
  }

  @Test("A call made while connecting is sent once connected")
  func waits() {
    var machine = makeMachine()
    _ = machine.handle(.connect)
    #expect(machine.handle(.call(1, .ping)).sent.isEmpty)
    #expect(machine.connects().sent.map(\.body) == [.ping])
  }

  @Test("A call that was sent fails with its connection, one that was not is sent on the next")
  func connectionLost() {
    var machine = makeConnectedMachine()
    _ = machine.handle(.call(1, .ping))
    #expect(machine.isClosed(nil).result(of: 1) == .failure(.connectionLost))
    _ = machine.handle(.call(2, .ping))
    _ = machine.handle(.elapsed(.reconnect))
    #expect(machine.connects().sent.map(\.body) == [.ping])
  }

  @Test("A call without a connection fails at once")
  func notConnected() {
    var machine = makeMachine()
    guard case .failure(.disconnected) = machine.handle(.call(1, .ping)).result(of: 1) else {
      Issue.record("the call did not fail")
      return
    }
  }

  @Test("The calls that wait are limited, and a completed one makes room")
  func limited() {
    var machine = makeConnectedMachine(maximumCalls: 1)
    _ = machine.handle(.call(1, .ping))
    #expect(machine.handle(.call(2, .ping)).result(of: 2) == .failure(.tooManyCalls(limit: 1)))
    _ = machine.receives(.ping(id: 2))
    #expect(machine.handle(.call(3, .ping)).sent.count == 1)
  }

  @Test("A cancelled call is completed at once and its answer ignored")
  func cancelled() {
    var machine = makeConnectedMachine()
    _ = machine.handle(.call(1, .ping))
    #expect(machine.handle(.cancel(1)).result(of: 1) == .failure(.cancelled))
    #expect(machine.receives(.ping(id: 2)).isEmpty)
  }

  @Test("An answer of another kind than the machine's own request ends the connection")
  func wrongKind() {
    var machine = makeMachine()
    _ = machine.handle(.connect)
    _ = machine.handle(.transport(attempt: 1, .opened))
    #expect(
      machine.receives(.publish(id: 1)).states == [.disconnected(LocalCode.badProtocol, willReconnect: false)])
  }

  @Test("An answer to nothing is ignored")
  func unknownID() {
    var machine = makeConnectedMachine()
    #expect(machine.receives(.publish(id: 99)).isEmpty)
  }
}
