import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: patches")
struct SessionDeltaTests {
  private static let open = ChannelOptions.open.with { $0.allowDelta = true }

  /// Whether the link and the hub are told of patches, and the client.
  private func asked(
    _ options: ChannelOptions = SessionDeltaTests.open, format: WireFormat = .json, audience: TagFilter? = nil,
    with change: (inout ClientCommand.Subscribe) -> Void = { _ in }
  ) -> (link: Bool, hub: Bool, client: Bool) {
    var bench = SessionBench.live(options, format: format)
    let asked = bench.subscribe("a") {
      $0.takesPatches = true
      change(&$0)
    }
    var link = false
    var tag = asked.requestTag
    if case .subscribe(let number, _, let terms)? = asked.first {
      link = terms.hasDelta
      tag = number
    }
    let actions = bench.feed(
      .brokerAnswered(
        tag: tag ?? 0, .subscribed(.init(position: .init(epoch: "e", offset: 0), audience: audience))))
    var (hub, client) = (false, false)
    for action in actions {
      if case .attach(_, let flags, _) = action { hub = flags.contains(.delta) }
      if case .send(.subscribe(_, let result)) = action { client = result.delta }
    }
    return (link, hub, client)
  }

  @Test("link, hub and client agree that there are patches", arguments: WireFormat.allCases)
  func granted(format: WireFormat) {
    #expect(asked(format: format) == (true, true, true))
  }

  @Test("there are none where the namespace has none, or nobody asked")
  func off() {
    #expect(asked(.open) == (false, false, false))
    #expect(asked { $0.takesPatches = false } == (false, false, false))
  }

  @Test("there are none with a filter, since each filter has another publication before")
  func filter() {
    #expect(asked { $0.filter = .equal(key: "a", "1") } == (false, false, false))
  }

  @Test("where the broker's answer brings an audience, client and hub have none")
  func audience() {
    #expect(asked(audience: .equal(key: "a", "1")) == (true, false, false))
  }

  @Test("there are none where publications are left out, or replace one another")
  func kinds() {
    for lane in [Lane.receipts, .typing] {
      #expect(asked(Self.open.with { $0.lane = lane }) == (false, false, false))
    }
    #expect(
      asked(Self.open.with { $0.kind = .map }) { $0.type = 1 } == (false, false, false))
    #expect(asked(Self.open.with { $0.kind = .map }) == (false, false, false))
    #expect(!Self.open.with { $0.app = "clique" }.allowsDelta)
  }

  @Test("bytes go as patches in Protobuf alone: in JSON they are base64")
  func binary() {
    let binary = Self.open.with { $0.dataFormat = .binary }
    #expect(asked(binary, format: .json) == (false, false, false))
    #expect(asked(binary, format: .protobuf) == (true, true, true))
  }

  @Test("a server-side subscription has none, whatever the client writes into its connect")
  func serverSide() throws {
    var subscribe = ClientCommand.Subscribe()
    subscribe.takesPatches = true
    let order = SubscribeOrder(
      id: 0, channel: channel("a"), options: Self.open, ask: subscribe, grant: .init(), maker: .connection)
    #expect(!order.hasDelta)
    let service = SubscribeOrder(
      id: 0, channel: channel("a"), options: Self.open, ask: subscribe, grant: .init(), maker: .service)
    #expect(!service.hasDelta)
  }

  @Test("what is recovered stands whole in the result")
  func recovered() throws {
    let options = Self.open.with {
      $0.historySize = 10
      $0.historyTTLMilliseconds = 1000
    }
    var bench = SessionBench.live(options)
    let asked = bench.subscribe("a") {
      $0.takesPatches = true
      $0.recover = true
      $0.epoch = "e"
    }
    guard case .subscribe(let tag, _, _)? = asked.first else {
      Issue.record("\(asked)")
      return
    }
    let publication = Publication(offset: 1, data: Array("{}".utf8))
    let actions = bench.feed(.brokerAnswered(tag: tag, .at(1, recovered: true, [publication])))
    guard case .send(.subscribe(_, let result))? = actions.first else {
      Issue.record("\(actions)")
      return
    }
    #expect(result.delta && result.recovered && result.publications == [publication])
  }
}
