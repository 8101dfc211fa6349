import Testing
import Wire

@testable import FanfareClient

/// The table above `ClientMachine.call(_:_:_:)`, cell by cell.
@Suite("The client machine: calls that are kept")
struct QueueTests {
  private static let chat = "clique.chat:p1"
  private static let lifetime = Duration.seconds(300)

  private func keyed(_ lane: String = "l", key: String = "k", bytes: Int = 10) -> CallOptions {
    CallOptions(keep: .init(lane: lane, repetition: .whileKnown(Self.lifetime), key: key, bytes: bytes))
  }

  private func kept(_ repetition: CallOptions.Repetition, lane: String = "l") -> CallOptions {
    CallOptions(keep: .init(lane: lane, repetition: repetition, key: nil, bytes: 10))
  }

  private func method(_ name: String) -> ClientCommand.Body { .rpc(method: name, data: []) }

  /// The connection is lost and there is another.
  private func reconnect(_ machine: inout ClientMachine) -> (lost: [Effect], back: [Effect]) {
    let lost = machine.isClosed(nil)
    _ = machine.handle(.elapsed(.reconnect))
    return (lost, machine.connects())
  }

  // MARK: Waiting

  @Test("What is kept may be called before connecting, and is sent in order, one after another")
  func offline() {
    var machine = makeMachine()
    #expect(machine.handle(.call(1, method("a"), keyed(key: "1"))).sent.isEmpty)
    #expect(machine.handle(.call(2, method("b"), keyed(key: "2"))).sent.isEmpty)
    _ = machine.handle(.connect)
    let first = machine.connects().sent
    #expect(first.map(\.body) == [method("a")])
    let answer = ClientReply.rpc(id: first[0].id, data: [1])
    let effects = machine.receives(answer)
    #expect(effects.result(of: 1) == .success(answer))
    #expect(effects.sent.map(\.body) == [method("b")])
  }

  @Test("Lanes do not wait for one another")
  func lanes() {
    var machine = makeConnectedMachine()
    #expect(machine.handle(.call(1, method("a"), keyed("one"))).sent.count == 1)
    #expect(machine.handle(.call(2, method("b"), keyed("one"))).sent.isEmpty)
    #expect(machine.handle(.call(3, method("c"), keyed("two"))).sent.map(\.body) == [method("c")])
  }

  @Test("A call waits until the subscription to its channel stands, and no longer than that lives")
  func after() throws {
    var machine = makeConnectedMachine()
    var options = keyed()
    options.after = try ChannelName(Self.chat)
    let subscribe = try #require(machine.handle(.subscribe(9, try ChannelName(Self.chat), .init())).sent.first)
    #expect(machine.handle(.call(1, method("a"), options)).sent.isEmpty)
    #expect(machine.handle(.call(2, method("b"), .init(after: options.after))).sent.isEmpty)
    #expect(machine.receives(.subscribe(id: subscribe.id, .init())).sent.map(\.body) == [method("b"), method("a")])
    _ = machine.handle(.call(3, method("c"), options))
    _ = machine.receives(.push(.unsubscribe(channel: Self.chat, .expired)))
    #expect(machine.subscriptions[9]?.phase == .requested)
    _ = machine.receives(.rpc(id: 3, data: []))
    _ = machine.receives(.rpc(id: 4, data: []))
    // The second of the lane is still held back; the end of the subscription lets it go.
    #expect(machine.handle(.unsubscribe(9)).sent.contains { $0.body == method("c") })
  }

  @Test("A lost connection takes the call back, and the next one sends it again with the same body")
  func interrupted() {
    var machine = makeConnectedMachine()
    _ = machine.handle(.call(1, method("a"), keyed()))
    let (lost, back) = reconnect(&machine)
    #expect(lost.result(of: 1) == nil)
    #expect(back.sent.map(\.body) == [method("a")])
    #expect(machine.receives(.rpc(id: 2, data: [])).result(of: 1) == .success(.rpc(id: 2, data: [])))
    #expect(machine.queuedCalls == 0 && machine.queuedBytes == 0 && machine.lanes.isEmpty)
  }

  // MARK: Answers

  @Test("Errors 100 and 111, and no answer in time, are tried again after a pause; any other error is the answer")
  func paused() throws {
    for trouble in [ClientError.internalError, .tooManyRequests] {
      var machine = makeConnectedMachine()
      let sent = try #require(machine.handle(.call(1, method("a"), keyed())).sent.first)
      let effects = machine.receives(.error(id: sent.id, trouble))
      #expect(effects.result(of: 1) == nil)
      #expect(effects.started[.pause(1)] == .milliseconds(200))
      #expect(machine.handle(.elapsed(.pause(1))).sent.map(\.body) == [method("a")])
    }
    var machine = makeConnectedMachine()
    let sent = try #require(machine.handle(.call(1, method("a"), keyed())).sent.first)
    #expect(machine.handle(.elapsed(.answer(1))).started[.pause(1)] != nil)
    // The first try's answer comes after all.
    #expect(machine.receives(.rpc(id: sent.id, data: [7])).result(of: 1) == .success(.rpc(id: sent.id, data: [7])))
    let other = try #require(machine.handle(.call(2, method("b"), keyed())).sent.first)
    #expect(
      machine.receives(.error(id: other.id, .limitExceeded)).result(of: 2) == .failure(.server(.limitExceeded)))
  }

  @Test("Tries whose answers are waited for are bounded")
  func tries() {
    var machine = makeConnectedMachine()
    _ = machine.handle(.call(1, method("a"), keyed()))
    for _ in 0..<50 {
      _ = machine.handle(.elapsed(.answer(1)))
      _ = machine.handle(.elapsed(.pause(1)))
    }
    #expect(machine.calls[1]?.commandIDs.count == CallRecord.maximumTries)
    #expect(machine.pending.count == CallRecord.maximumTries)
  }

  @Test("What may not be sent twice fails where its answer is lost, and is kept while it was not sent")
  func never() throws {
    var machine = makeMachine()
    _ = machine.handle(.connect)
    _ = machine.handle(.call(1, method("a"), kept(.never)))
    #expect(machine.connects().sent.map(\.body) == [method("a")])
    #expect(machine.isClosed(nil).result(of: 1) == .failure(.connectionLost))
    _ = machine.handle(.call(2, method("b"), kept(.never)))
    _ = machine.handle(.elapsed(.reconnect))
    #expect(machine.connects().sent.map(\.body) == [method("b")])
    #expect(machine.handle(.elapsed(.answer(2))).result(of: 2) == .failure(.timedOut))
    let sent = try #require(machine.handle(.call(3, method("c"), kept(.never))).sent.first)
    #expect(
      machine.receives(.error(id: sent.id, .internalError)).result(of: 3) == .failure(.server(.internalError)))
  }

  // MARK: Doubt

  @Test("A key that the server may have forgotten is not sent again")
  func old() {
    var machine = makeConnectedMachine()
    #expect(machine.handle(.call(1, method("a"), keyed())).started[.old(1)] == Self.lifetime / 10 * 9)
    #expect(machine.handle(.elapsed(.old(1))).result(of: 1) == nil, "the answer may still come")
    #expect(machine.isClosed(nil).result(of: 1) == .failure(.inDoubt))

    machine = makeConnectedMachine()
    _ = machine.handle(.call(1, method("a"), keyed()))
    _ = machine.handle(.elapsed(.answer(1)))
    #expect(machine.handle(.elapsed(.old(1))).result(of: 1) == .failure(.inDoubt))

    machine = makeConnectedMachine()
    #expect(machine.handle(.call(1, method("a"), kept(.always))).started[.old(1)] == nil)
  }

  @Test("The time of a key runs from the first try, not anew with each")
  func oldOnce() {
    var machine = makeConnectedMachine()
    _ = machine.handle(.call(1, method("a"), keyed()))
    let (_, back) = reconnect(&machine)
    #expect(back.sent.count == 1 && back.started[.old(1)] == nil)
  }

  @Test("A publication with the key is the answer of a call that has none")
  func witnessed() throws {
    var machine = makeConnectedMachine()
    let position = StreamPosition(epoch: "e", offset: 4)
    _ = try machine.subscribes(9, to: Self.chat, at: position, options: .init(recoverable: true))
    var options = keyed(key: "k1")
    options.after = try ChannelName(Self.chat)
    _ = machine.handle(.call(1, method("a"), options))
    _ = machine.handle(.call(2, method("b"), options))
    let (_, back) = reconnect(&machine)
    #expect(!back.sent.contains { $0.body == method("a") }, "it is looked for first")
    let subscribe = try #require(back.sent.first { $0.asSubscribe != nil })
    var result = ClientReply.SubscribeResult()
    (result.recoverable, result.wasRecovering, result.recovered) = (true, true, true)
    (result.epoch, result.offset) = ("e", 6)
    result.publications = [
      Publication(offset: 5, data: Array(#"{"text":"x","key":"other"}"#.utf8)),
      Publication(offset: 6, data: Array(#"{"text":"y","key":"k1"}"#.utf8)),
    ]
    let effects = machine.receives(.subscribe(id: subscribe.id, result))
    #expect(effects.contains(.witnessed(1, offset: 6)))
    #expect(effects.sent.map(\.body) == [method("b")])
  }

  @Test("A publication with the key of a call that was never sent is somebody else's")
  func notWitnessed() throws {
    var machine = makeMachine()
    var options = keyed(key: "k1")
    options.after = try ChannelName("c")
    _ = machine.handle(.call(1, method("a"), options))
    _ = machine.handle(.connect)
    _ = machine.connects()
    _ = try machine.subscribes(9, to: "c")
    #expect(machine.calls[1]?.wasSent == true)
    machine.calls[1]?.wasSent = false
    let push = ClientPush.publication(channel: "c", Publication(offset: 1, data: Array(#"{"key":"k1"}"#.utf8)))
    #expect(!machine.receives(.push(push)).contains(.witnessed(1, offset: 1)))
  }

  // MARK: Limits and ends

  @Test("The number and the bytes of what is kept are bounded, and an answer makes room")
  func limits() {
    var machine = ClientMachine(.init(maximumQueuedCalls: 2, maximumQueuedBytes: 100))
    _ = machine.handle(.call(1, method("a"), keyed(bytes: 90)))
    #expect(
      machine.handle(.call(2, method("b"), keyed(bytes: 20))).result(of: 2)
        == .failure(.queueFull(calls: 1, bytes: 90)))
    _ = machine.handle(.call(3, method("c"), keyed(bytes: 10)))
    #expect(
      machine.handle(.call(4, method("d"), keyed(bytes: 0))).result(of: 4)
        == .failure(.queueFull(calls: 2, bytes: 100)))
    _ = machine.handle(.cancel(1))
    #expect(machine.handle(.call(5, method("e"), keyed(bytes: 90))).result(of: 5) == nil)
    #expect(machine.queuedBytes == 100)
  }

  @Test("Calls that are kept take no room from those that are not")
  func separateLimits() {
    var machine = makeConnectedMachine(maximumCalls: 1)
    _ = machine.handle(.call(1, method("a"), keyed()))
    #expect(machine.handle(.call(2, .ping)).sent.count == 1)
    #expect(machine.handle(.call(3, .ping)).result(of: 3) == .failure(.tooManyCalls(limit: 1)))
  }

  @Test("What is kept for too long ends: with nothing sent where nothing was, else in doubt")
  func tooLong() {
    var machine = makeMachine()
    #expect(machine.handle(.call(1, method("a"), keyed())).started[.keep(1)] == .seconds(24 * 3600))
    #expect(machine.handle(.elapsed(.keep(1))).result(of: 1) == .failure(.keptTooLong))
    machine = makeConnectedMachine()
    _ = machine.handle(.call(1, method("a"), keyed()))
    #expect(machine.handle(.elapsed(.keep(1))).result(of: 1) == .failure(.inDoubt))
  }

  @Test("The end of the connection ends what is kept, and says of what was sent that it may have been done")
  func ended() {
    var machine = makeConnectedMachine()
    _ = machine.handle(.call(1, method("a"), keyed()))
    _ = machine.handle(.call(2, method("b"), keyed()))
    let effects = machine.handle(.disconnect)
    #expect(effects.result(of: 1) == .failure(.inDoubt))
    #expect(effects.result(of: 2) == .failure(.disconnected(LocalCode.disconnectCalled)))
    #expect(machine.calls.isEmpty && machine.lanes.isEmpty && machine.queuedBytes == 0)
  }

  @Test(
    "Whatever happens, nothing is done twice, nothing is overtaken, and each call ends once", arguments: UInt64(0)..<40)
  func world(seed: UInt64) {
    var world = QueueWorld(seed: seed)
    for _ in 0..<400 { world.step() }
    let faults = world.faults()
    #expect(faults.isEmpty, "seed \(seed): \(faults.prefix(5).joined(separator: "; "))")
  }
}
