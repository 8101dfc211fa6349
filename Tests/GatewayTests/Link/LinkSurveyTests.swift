import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Surveys, in the gateway")
struct LinkSurveyTests {
  private let findings = Findings.counts(GatewayCounts(name: "g", version: "v"))

  private func ask(_ id: UInt64, _ scene: LinkScene) { scene.receive(.survey(LinkSurvey(id: id, .counts))) }

  private func find(_ id: UInt64, session: UInt64, _ scene: LinkScene) {
    scene.perform { scene.link.found(LinkFindings(id: id, findings), session: session, at: scene.now, into: &$0) }
  }

  @Test("the link hands a survey to the loops, and answers it when they have told what they found")
  func answers() {
    let scene = LinkScene()
    scene.subscribed(Fixed.channel)
    ask(5, scene)
    #expect(scene.tells() == [.survey(LinkSurvey(id: 5, .counts), session: scene.session)])
    #expect(scene.sends().isEmpty)
    find(5, session: scene.session, scene)
    #expect(scene.lastSent()?.body == .findings(LinkFindings(id: 5, findings)))
    #expect(scene.sends() == [.findings])
  }

  @Test("what was found for a session that is over is not told in the next, where another broker may ask")
  func otherSession() {
    let scene = LinkScene()
    scene.welcome()
    ask(1, scene)
    let session = scene.session
    scene.reopen()
    _ = scene.sends()
    find(1, session: session, scene)
    #expect(scene.sends().isEmpty)
    scene.receive(.reset)
    _ = scene.sends()
    find(1, session: scene.session, scene)
    #expect(scene.sends().isEmpty, "the link waits for a welcome")
  }

  @Test("so many surveys are under way; one more is dropped, and so the broker hears nothing of it")
  func limit() {
    let scene = LinkScene()
    scene.welcome()
    for id in 1...UInt64(GatewayLink.mostSurveys + 1) { ask(id, scene) }
    #expect(scene.tells().count == GatewayLink.mostSurveys)
    find(1, session: scene.session, scene)
    ask(99, scene)
    #expect(scene.tells().count == 1)
  }

  @Test("a gateway's own kind of message from a broker ends the session")
  func wrongWay() {
    let scene = LinkScene()
    scene.welcome()
    _ = scene.sends()
    scene.receive(.findings(LinkFindings(id: 1, findings)))
    #expect(scene.sends() == [.hello])
  }

  // MARK: The event loops

  @Test("what the event loops found is added up once, when the last of them has told it")
  func loops() async {
    let known = GatewayCounts(name: "g", version: "v", uptime: 3, clients: 4, users: 2, channels: 9)
    var sum = known
    sum.subscriptions = 6
    let found = FoundBox()
    let survey = found.survey(.counts, loops: 3, known: known)
    for subscriptions in 1...3 {
      #expect(found.all.isEmpty)
      survey.add(.counts(subscriptions: subscriptions))
    }
    #expect(found.all == [.counts(sum)])
    // In the server the answer is told on another thread, as it is here.
    let answer = await withCheckedContinuation { answered in
      let survey = LoopSurvey(.counts, loops: 1, known: { known }, answer: { answered.resume(returning: $0) })
      survey.add(.counts(subscriptions: 6))
    }
    #expect(answer == .counts(sum))
  }

  @Test("channels of several event loops are added up by name, no more than the broker wants")
  func channels() {
    func found(_ numbers: [String: UInt64], most: UInt32 = 2) -> LoopSurvey.Part {
      var first = FirstChannels(most)
      for (name, clients) in numbers { first.add(.init(channel(name), clients: clients)) }
      return .channels(first)
    }
    let survey = Survey.channels(.everything, ChannelLimit(channels: 2, bytes: .max))
    let parts = [found(["b": 1, "c": 1, "d": 1]), found(["c": 5, "e": 1]), found([:])]
    let sum = LoopSurvey.findings(parts, of: survey, GatewayCounts(name: "", version: ""))
    let expected = ChannelCounts([.init(channel("b"), clients: 1), .init(channel("c"), clients: 6)], hasMore: true)
    #expect(sum == .channels(expected))
  }

  @Test("a gateway is named after its machine and its number, and says how long it has been there")
  func identity() {
    let name = GatewayIdentity.name(of: 255)
    #expect(name.hasSuffix("-00000000000000ff") && name.count > 17)
    let census = ClientCensus()
    for user in ["ann", "ann", "", "", "e\u{301}", "\u{E9}"] { census.entered(user) }
    let identity = GatewayIdentity(name: name, version: "v", census: census, startedAt: 1_000)
    let counts = identity.counts(channels: 5, at: 9_999)
    #expect(counts == GatewayCounts(name: name, version: "v", uptime: 8, clients: 6, users: 4, channels: 5))
    for user in ["ann", "", "", "nobody"] { census.left(user) }
    #expect(census.numbers == (3, 3))
  }
}

/// What surveys have found, which answer on the thread of whoever tells them the last part.
final class FoundBox: Sendable {
  private let found = Mutex<[Findings]>([])

  var all: [Findings] { found.withLock { $0 } }

  func survey(
    _ survey: Survey, loops: Int = 1, known: GatewayCounts = GatewayCounts(name: "", version: "")
  ) -> LoopSurvey {
    LoopSurvey(survey, loops: loops, known: { known }, runElsewhere: { $0() }) { [self] findings in
      found.withLock { $0.append(findings) }
    }
  }
}
