import Testing
import Wire

@testable import FanfareClient

@Suite("The client machine: maps")
struct MapReadingTests {
  private static let map = { () -> SubscriptionOptions in
    var options = SubscriptionOptions()
    options.map = MapReadOptions(pageSize: 2, isReversed: true, maximumEntries: 4)
    return options
  }()

  private func entry(_ key: String, _ offset: UInt64 = 0) -> Publication {
    Publication(offset: offset, data: [0x31], change: KeyChange(key: key))
  }

  private func state(
    _ entries: [Publication], phase: Int32, cursor: String = "", offset: UInt64 = 5
  ) -> ClientReply.SubscribeResult {
    var result = ClientReply.SubscribeResult()
    (result.type, result.phase, result.cursor, result.state) = (1, phase, cursor, entries)
    (result.epoch, result.offset, result.recoverable) = ("e", offset, phase == 0)
    return result
  }

  private func changes(_ publications: [Publication], phase: Int32, offset: UInt64) -> ClientReply.SubscribeResult {
    var result = ClientReply.SubscribeResult()
    (result.type, result.phase, result.publications) = (1, phase, publications)
    (result.epoch, result.offset, result.recoverable) = ("e", offset, phase == 0)
    return result
  }

  private func begin(_ machine: inout ClientMachine) throws -> ClientCommand {
    try #require(machine.handle(.subscribe(1, try ChannelName("m"), Self.map)).sent.first)
  }

  private func contents(_ effects: [Effect]) -> MapContents? {
    for case .contents(1, let contents) in effects { return contents }
    return nil
  }

  @Test("A map that fits into one page is live with it")
  func onePage() throws {
    var machine = makeConnectedMachine()
    let ask = try begin(&machine)
    let first = try #require(ask.asSubscribe)
    #expect(first.type == 1 && first.phase == 2 && first.limit == 2 && first.asc && !first.recover && first.epoch == "")
    let effects = machine.receives(.subscribe(id: ask.id, state([entry("a"), entry("b")], phase: 0)))
    let read = try #require(contents(effects))
    #expect(read == MapContents(isWhole: true, state: [entry("a"), entry("b")], changes: []))
    #expect(machine.subscriptions[1]?.phase == .subscribed)
    #expect(machine.subscriptions[1]?.position == StreamPosition(epoch: "e", offset: 5))
  }

  @Test("A larger one is read page by page at the position of the first, then what changed since, until it is live")
  func pages() throws {
    var machine = makeConnectedMachine()
    var ask = try begin(&machine)
    var effects = machine.receives(.subscribe(id: ask.id, state([entry("a")], phase: 2, cursor: "c1")))
    ask = try #require(effects.sent.first)
    #expect(ask.asSubscribe?.cursor == "c1" && ask.asSubscribe?.offset == 5 && ask.asSubscribe?.phase == 2)
    // The position of a later page does not count.
    effects = machine.receives(.subscribe(id: ask.id, state([entry("b")], phase: 2, offset: 9)))
    ask = try #require(effects.sent.first)
    #expect(ask.asSubscribe?.phase == 1 && ask.asSubscribe?.offset == 5 && ask.asSubscribe?.cursor == "")
    #expect(ask.asSubscribe?.recover == false)
    effects = machine.receives(.subscribe(id: ask.id, changes([entry("c", 6)], phase: 1, offset: 6)))
    ask = try #require(effects.sent.first)
    #expect(ask.asSubscribe?.phase == 1 && ask.asSubscribe?.offset == 6)
    #expect(contents(effects) == nil && effects.events(of: 1).isEmpty, "nobody hears of a half")
    effects = machine.receives(.subscribe(id: ask.id, changes([entry("d", 7)], phase: 0, offset: 7)))
    let read = try #require(contents(effects))
    #expect(
      read
        == MapContents(isWhole: true, state: [entry("a"), entry("b")], changes: [entry("c", 6), entry("d", 7)]))
  }

  @Test("After a lost connection only what was missed is read")
  func recovers() throws {
    var machine = makeConnectedMachine()
    var ask = try begin(&machine)
    _ = machine.receives(.subscribe(id: ask.id, state([entry("a")], phase: 0)))
    _ = machine.receives(.push(.publication(channel: "m", entry("b", 6))))
    _ = machine.isClosed(nil)
    _ = machine.handle(.elapsed(.reconnect))
    ask = try #require(machine.connects().sent.first { $0.asSubscribe != nil })
    let again = try #require(ask.asSubscribe)
    #expect(again.phase == 1 && again.recover && again.epoch == "e" && again.offset == 6)
    let read = try #require(
      contents(machine.receives(.subscribe(id: ask.id, changes([entry("c", 7)], phase: 0, offset: 7)))))
    #expect(read == MapContents(isWhole: false, state: [], changes: [entry("c", 7)]))
  }

  @Test("A position that is too old is read anew at once; a state that changes too fast after a while")
  func unrecoverable() throws {
    var machine = makeConnectedMachine()
    var ask = try begin(&machine)
    _ = machine.receives(.subscribe(id: ask.id, state([entry("a")], phase: 0)))
    _ = machine.isClosed(nil)
    _ = machine.handle(.elapsed(.reconnect))
    ask = try #require(machine.connects().sent.first { $0.asSubscribe != nil })
    var effects = machine.receives(.error(id: ask.id, .unrecoverablePosition))
    ask = try #require(effects.sent.first)
    #expect(ask.asSubscribe?.phase == 2 && ask.asSubscribe?.recover == false && ask.asSubscribe?.epoch == "")
    effects = machine.receives(.error(id: ask.id, .unrecoverablePosition))
    #expect(effects.sent.isEmpty && effects.started[.resubscribe(1)] != nil)
    #expect(machine.handle(.elapsed(.resubscribe(1))).sent.first?.asSubscribe?.phase == 2)
  }

  @Test("A connection that is lost within the reading begins it again")
  func lostWithin() throws {
    var machine = makeConnectedMachine()
    let ask = try begin(&machine)
    _ = machine.receives(.subscribe(id: ask.id, state([entry("a")], phase: 2, cursor: "c1")))
    _ = machine.isClosed(nil)
    _ = machine.handle(.elapsed(.reconnect))
    let again = try #require(machine.connects().sent.first { $0.asSubscribe != nil }?.asSubscribe)
    #expect(again.phase == 2 && again.cursor == "" && again.epoch == "")
  }

  @Test("A map of more entries than are allowed ends, and the server is told")
  func tooLarge() throws {
    var machine = makeConnectedMachine()
    let ask = try begin(&machine)
    let entries = (0..<5).map { entry("k\($0)") }
    let effects = machine.receives(.subscribe(id: ask.id, state(entries, phase: 0)))
    #expect(effects.events(of: 1) == [.unsubscribed(LocalCode.mapTooLarge)])
    #expect(effects.sent.map(\.body) == [.unsubscribe(channel: "m")])
    #expect(contents(effects) == nil)
  }

  @Test("A publication that was read already is not told again")
  func once() throws {
    var machine = makeConnectedMachine()
    let ask = try begin(&machine)
    _ = machine.receives(.subscribe(id: ask.id, state([entry("a")], phase: 0)))
    #expect(machine.receives(.push(.publication(channel: "m", entry("a", 5)))).events(of: 1).isEmpty)
    #expect(machine.receives(.push(.publication(channel: "m", entry("a", 6)))).events(of: 1).count == 1)
  }
}
