import NIOEmbedded
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Inspections on one event loop")
struct InspectionWalkTests {
  private let hub = Hub(
    fanOut: FanOut(limits: .init(queueBytes: 100_000), ring: nil, clock: { 0 }), namespaces: NamespaceTable())
  private let loop = EmbeddedEventLoop()
  private let rules = SessionRules(SessionConfiguration(), namespaces: NamespaceTable())
  private let now = SessionTime(monotonic: 2000, wall: 0)

  private func member(_ id: UInt64) -> HubMember { HubMember(id, .json, loop) }

  private func run(_ survey: Survey, _ walks: inout InspectionWalks, startedAt: Int64 = 0) -> [Findings] {
    let found = FoundBox()
    walks.begin(found.survey(survey), sessions: [], in: hub, at: now.monotonic, startedAt: startedAt)
    while walks.goOn(in: hub, rules: rules, at: now, software: { _ in "" }, session: { _ in nil }) {}
    return found.all
  }

  @Test("top names the channels to which most bytes go, by what their tapes have grown since the last look")
  func top() throws {
    var walks = InspectionWalks()
    let members = (1...3).map { member(UInt64($0)) }
    for member in members { hub.attach(member.driver, to: channel("busy"), []) }
    hub.attach(members[0].driver, to: channel("calm"), [])
    hub.deliver(EncodedFrames(json: Array(repeating: 1, count: 400), protobuf: nil), on: channel("busy"))
    hub.deliver(EncodedFrames(json: Array(repeating: 1, count: 1000), protobuf: nil), on: channel("calm"))
    guard case .top(let first)? = run(.top, &walks).first else {
      Issue.record("top was not answered")
      return
    }
    #expect(
      first.channels == [
        .init(channel("busy"), subscribers: 3, bytesPerSecond: 600),
        .init(channel("calm"), subscribers: 1, bytesPerSecond: 500),
      ])
    guard case .top(let second)? = run(.top, &walks).first else {
      Issue.record("top was not answered")
      return
    }
    #expect(second.channels.map(\.bytesPerSecond) == [0, 0])
  }

  @Test("a walk looks at some channels in each pass, and answers when it has seen all")
  func steps() {
    var walks = InspectionWalks()
    let member = member(1)
    for number in 0..<(2 * InspectionWalks.step + 1) { hub.attach(member.driver, to: channel("c\(number)"), []) }
    let found = FoundBox()
    walks.begin(found.survey(.top), sessions: [], in: hub, at: 1, startedAt: 0)
    var passes = 1
    while walks.goOn(in: hub, rules: rules, at: now, software: { _ in "" }, session: { _ in nil }) { passes += 1 }
    #expect(passes == 3 && found.all.count == 1)
    guard case .top(let top)? = found.all.first else { return }
    #expect(top.channels.count == TopFindings.most)
  }

  @Test("each channel stands in one place while others come and go, and a walk names each once")
  func places() {
    var random = SeededGenerator(seed: 11)
    let member = member(1)
    var expected: Set<ChannelName> = []
    for _ in 0..<2000 {
      let name = channel("c\(Int.random(in: 0..<60, using: &random))")
      if expected.remove(name) != nil {
        hub.detach(member.driver, from: name)
      } else {
        hub.attach(member.driver, to: name, [])
        expected.insert(name)
      }
      #expect(Set(hub.channelNames) == expected && hub.channelNames.count == expected.count)
      #expect(hub.channel(at: expected.count) == nil)
    }
    var walks = InspectionWalks()
    guard case .top(let top)? = run(.top, &walks).first else {
      Issue.record("top was not answered")
      return
    }
    let first = expected.map(\.string).sorted().prefix(TopFindings.most)
    #expect(top.channels.map(\.channel.string) == Array(first))
  }

  @Test("what is left out of a list while it is made is nothing that belongs in it")
  func firstOfMany() {
    var random = SeededGenerator(seed: 12)
    for _ in 0..<20 {
      var noted = TopFindings()
      var all = TopFindings()
      for number in 0..<400 {
        let found = TopFindings.Channel(
          channel("c\(number)"), subscribers: .random(in: 0..<4, using: &random),
          bytesPerSecond: .random(in: 0..<3, using: &random))
        let client = TopFindings.Client(
          client: "client\(number)", user: "", address: "", waitingBytes: .random(in: 0..<9, using: &random),
          subscriptions: .random(in: 0..<9, using: &random))
        noted.note(found)
        all.channels.append(found)
        if noted.isSlow(client.waitingBytes, client.client) { noted.note(slow: client) }
        if client.waitingBytes > 0 { all.slowest.append(client) }
        if noted.isBusy(client.subscriptions, client.client) { noted.note(busy: client) }
        all.busiest.append(client)
      }
      all.cut()
      #expect(noted == all)
    }
  }

  @Test("a channel's report says who is on it and what waits on its tapes")
  func channelReport() throws {
    let members = (1...2).map { member(UInt64($0)) }
    for member in members { hub.attach(member.driver, to: channel("a"), []) }
    hub.deliver(EncodedFrames(json: [1, 2, 3], protobuf: nil), on: channel("a"))
    let report = hub.report(on: channel("a"))
    #expect(report.subscribers == 2 && report.tapes == 1 && report.bytes == 3 && report.keptBytes == 3)
    #expect(hub.behindBytes(of: members[0].driver, on: channel("a")) == 3)
    #expect(hub.behindBytes(of: members[0].driver, on: channel("b")) == nil)
    #expect(hub.report(on: channel("nobody")).subscribers == 0)
  }

  @Test("SDK names are kept once each, and no more than there may be")
  func software() {
    var names = SoftwareNames()
    let js = names.number(of: "js", "5.2.1")
    #expect(names.number(of: "js", "5.2.1") == js && names[js] == "js 5.2.1" && names[0] == "")
    for number in 0..<1000 { _ = names.number(of: "made-up", "\(number)") }
    #expect(names.number(of: "made-up", "999") == 0)
    var others = SoftwareNames()
    // The last is one character of a thousand bytes.
    for (first, rest) in [("x", "x"), ("é", "é"), ("a", "\u{301}")] {
      let long = others.number(of: first + String(repeating: rest, count: 500), "")
      #expect(long > 0 && (47...48).contains(others[long].utf8.count))
    }
  }
}
