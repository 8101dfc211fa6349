import Testing
import Wire

@testable import FanfareClient

@Suite("The client machine: a server that ends")
struct SlotTests {
  @Test("It says that it comes back by itself")
  func says() {
    var machine = makeMachine()
    _ = machine.handle(.connect)
    #expect(machine.handle(.transport(attempt: 1, .opened)).sent.first?.asConnect?.reconnects == true)
  }

  @Test("At its slot it connects anew, without a delay of its own, and recovers")
  func comesBack() throws {
    var machine = makeConnectedMachine()
    let position = StreamPosition(epoch: "e", offset: 4)
    _ = try machine.subscribes(1, to: "chat", at: position, options: .init(recoverable: true))
    let told = machine.receives(.push(.reconnect(afterMilliseconds: 2500)))
    #expect(told == [.start(.slot, .milliseconds(2500))], "until then nothing changes")
    let left = machine.handle(.elapsed(.slot))
    #expect(left.contains(.close))
    #expect(left.states == [.disconnected(.shutdown, willReconnect: true)])
    #expect(left.started[.reconnect] == .zero)
    #expect(machine.handle(.elapsed(.reconnect)).contains(.open(attempt: 2)))
    let back = machine.connects()
    let subscribe = try #require(back.sent.compactMap(\.asSubscribe).first)
    #expect(subscribe.recover && subscribe.offset == 4 && subscribe.epoch == "e")
  }

  @Test("What it asked is answered first")
  func answersFirst() {
    var machine = makeConnectedMachine()
    var publish = ClientCommand.Publish()
    publish.channel = "chat"
    let command = machine.handle(.call(1, .publish(publish))).sent.first
    _ = machine.receives(.push(.reconnect(afterMilliseconds: 10)))
    #expect(machine.handle(.elapsed(.slot)).isEmpty)
    let effects = machine.receives(.publish(id: command?.id ?? 0))
    #expect(effects.result(of: 1) == .success(.publish(id: command?.id ?? 0)))
    #expect(effects.states == [.disconnected(.shutdown, willReconnect: true)])
    #expect(effects.started[.reconnect] == .zero)
  }

  @Test("A server that closes before the slot is left as ever, and the slot counts no more")
  func closedBefore() {
    var machine = makeConnectedMachine()
    _ = machine.receives(.push(.reconnect(afterMilliseconds: 5000)))
    let closed = machine.isClosed(3001, "shutdown")
    #expect(closed.contains(.stop(.slot)))
    #expect(closed.started[.reconnect] == .milliseconds(200))
    _ = machine.handle(.elapsed(.reconnect))
    _ = machine.connects()
    #expect(machine.handle(.elapsed(.slot)).isEmpty, "a timer of the former connection changes nothing")
  }

  @Test("A server that cannot be reached at the slot is tried again with the usual delays")
  func unreachable() {
    var machine = makeConnectedMachine()
    _ = machine.receives(.push(.reconnect(afterMilliseconds: 0)))
    _ = machine.handle(.elapsed(.slot))
    _ = machine.handle(.elapsed(.reconnect))
    let refused = machine.handle(.transport(attempt: 2, .refused(status: 503)))
    #expect(refused.started[.reconnect] == .milliseconds(200))
  }

  @Test("Before the connect reply it means nothing")
  func early() {
    var machine = makeMachine()
    _ = machine.handle(.connect)
    _ = machine.handle(.transport(attempt: 1, .opened))
    #expect(machine.receives(.push(.reconnect(afterMilliseconds: 0))).isEmpty)
  }
}
