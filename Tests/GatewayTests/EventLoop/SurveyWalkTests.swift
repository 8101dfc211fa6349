import NIOEmbedded
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Surveys on one event loop")
struct SurveyWalkTests {
  private let hub = Hub(
    fanOut: FanOut(limits: .init(queueBytes: 100), ring: nil, clock: { 0 }), namespaces: NamespaceTable())
  private let loop = EmbeddedEventLoop()

  private func member(_ id: UInt64, _ format: WireFormat = .json) -> HubMember { HubMember(id, format, loop) }

  @Test("the first channels by name are found in whatever order they come")
  func first() {
    let names = (0..<200).map { channel("channel-\($0)") }
    for most in [1, 2, 7, 199, 200, 201] as [UInt32] {
      for _ in 0..<5 {
        var found = FirstChannels(most)
        for name in names.shuffled() { found.add(.init(name, clients: 1)) }
        #expect(found.counts.entries.map(\.channel) == Array(names.sorted().prefix(Int(most))))
        #expect(found.counts.hasMore == (most < 200))
      }
    }
    #expect(FirstChannels(3).counts == ChannelCounts())
  }

  @Test("subscriptions are counted as they begin and end, with filters and without, each once")
  func subscriptions() {
    let members = [member(1), member(2, .protobuf), member(3)]
    let red = TagFilter.equal(key: "color", "red")
    let (a, b) = (channel("a"), channel("b"))
    hub.attach(members[0].driver, to: a, .joinLeave)
    hub.attach(members[1].driver, to: a, [])
    hub.attach(members[2].driver, to: a, .joinLeave, filter: red, audience: red)
    hub.attach(members[2].driver, to: b, [.held])
    #expect(hub.subscriptions == 4)
    #expect(hub.clientCount(on: a) == 3 && hub.clientCount(on: b) == 1 && hub.clientCount(on: channel("c")) == 0)
    hub.refilter(on: a, audience: nil) { $0.id == 3 }
    hub.refilter(on: a, audience: red) { $0.id == 1 }
    #expect(hub.subscriptions == 4 && hub.clientCount(on: a) == 3)
    for _ in 0..<2 { hub.detach(members[2].driver, from: a) }
    hub.detach(members[1].driver, from: b)
    #expect(hub.subscriptions == 3 && hub.clientCount(on: a) == 2)
    #expect(Set(hub.channelNames) == [a, b])
    for member in members { for channel in [a, b] { hub.detach(member.driver, from: channel) } }
    #expect(hub.subscriptions == 0 && hub.channelNames.isEmpty)
  }

  @Test("channels are looked at some at a time, and only those that fit and still have somebody are counted")
  func walk() throws {
    let member = member(1)
    let count = 2 * SurveyWalks.step + 10
    for number in 0..<count { hub.attach(member.driver, to: channel("room:\(number)"), []) }
    for name in ["other:1", "room:x"] { hub.attach(member.driver, to: channel(name), []) }
    let pattern = try #require(ChannelPattern("room:*"))
    let limit = ChannelLimit(channels: .max, bytes: .max)
    var walks = SurveyWalks()
    let found = FoundBox()
    walks.begin(found.survey(.channels(pattern, limit)), in: hub)
    hub.detach(member.driver, from: channel("room:x"))
    for _ in 0..<2 {
      #expect(walks.goOn(in: hub))
      #expect(found.all.isEmpty)
    }
    #expect(!walks.goOn(in: hub))
    let expected = (0..<count).map { ChannelCounts.Entry(channel("room:\($0)"), clients: 1) }
    #expect(found.all == [.channels(ChannelCounts(expected))])
    #expect(!walks.goOn(in: hub))
  }

  @Test("an event loop without channels answers, too")
  func empty() {
    var walks = SurveyWalks()
    let found = FoundBox()
    walks.begin(found.survey(.channels(.everything, ChannelLimit(channels: 5, bytes: 5))), in: hub)
    #expect(!walks.goOn(in: hub))
    walks.begin(found.survey(.counts), in: hub)
    #expect(found.all == [.channels(ChannelCounts()), .counts(GatewayCounts(name: "", version: ""))])
  }
}
