import Log
import Testing
import Wire

@testable import Broker

@Suite("Surveys of the gateways, through the broker")
struct SurveyTests {
  private func scene(
    _ gateways: UInt64..., change: (inout BrokerConfiguration) -> Void = { _ in }
  ) -> BrokerScene {
    let scene = BrokerScene(change)
    for gateway in gateways {
      scene.hello(gateway)
      _ = scene.hears(gateway)
    }
    return scene
  }

  private func counts(_ clients: UInt64) -> GatewayCounts {
    GatewayCounts(name: "g", version: "v", uptime: 7, clients: clients, users: 1, subscriptions: 2, channels: 3)
  }

  private func channels(_ numbers: [ChannelName: UInt64], hasMore: Bool = false) -> ChannelCounts {
    ChannelCounts(numbers.map { .init($0.key, clients: $0.value) }, hasMore: hasMore)
  }

  private func find(_ id: UInt64, _ findings: Findings, _ gateway: UInt64, _ scene: BrokerScene) {
    scene.send(.findings(LinkFindings(id: id, findings)), from: gateway)
  }

  private func info(_ response: BrokerResponse?) -> ServerInfo? {
    if case .info(let info)? = response { info } else { nil }
  }

  @Test("every gateway is asked, and the service is answered when the last one has told what it found")
  func everyGateway() {
    let scene = scene(2, 1) { $0.version = "Fanfare 9" }
    scene.pass(0)
    scene.request(1, .subscribe("m"))
    scene.publish(2, "m", "1")
    scene.pass(5_000)
    for gateway in [1, 2] as [UInt64] { _ = scene.hears(gateway) }
    #expect(scene.serve(1, .info) == nil)
    #expect(scene.hears(1) == [.survey(1, .counts)] && scene.hears(2) == [.survey(1, .counts)])
    find(1, .counts(counts(20)), 2, scene)
    find(1, .counts(counts(30)), 2, scene)
    #expect(scene.answers[1] == nil)
    find(1, .counts(counts(10)), 1, scene)
    let broker = ServerInfo.Broker(version: "Fanfare 9", uptime: 5, channels: 1, publications: 1)
    #expect(
      info(scene.answers[1])
        == ServerInfo(broker: broker, gateways: [.init(1, counts(10)), .init(2, counts(20))], unanswered: 0))
    #expect(scene.core.surveys.count == 0)
    // An answer that nobody waits for is no news.
    find(1, .counts(counts(40)), 1, scene)
    find(7, .channels(ChannelCounts()), 1, scene)
    #expect(scene.hears(1).isEmpty)
  }

  @Test("where there is no gateway, the answer is the broker's alone, and comes at once")
  func noGateway() {
    let scene = BrokerScene()
    #expect(info(scene.ask(.info))?.gateways == [])
    #expect(scene.ask(.channelCounts(.everything)) == .channelCounts(ChannelCounts(), unanswered: 0))
  }

  @Test("clients are added up by channel: the first by name, as many as one answer may hold")
  func sums() throws {
    let scene = scene(1, 2) { $0.maximumPageSize = 3 }
    let pattern = try #require(ChannelPattern("chat:*"))
    _ = scene.serve(1, .channelCounts(pattern))
    guard case .survey(1, .channels(pattern, let limit))? = scene.hears(1).first else {
      Issue.record("no survey")
      return
    }
    #expect(limit.channels == 3 && limit.bytes == 4 << 20)
    find(1, .channels(channels(["chat:b": 1, "chat:c": 2, "chat:e": 4])), 1, scene)
    find(1, .channels(channels(["chat:a": 1, "chat:c": 3, "chat:d": 1], hasMore: true)), 2, scene)
    let expected = channels(["chat:a": 1, "chat:b": 1, "chat:c": 5], hasMore: true)
    #expect(scene.answers[1] == .channelCounts(expected, unanswered: 0))
  }

  @Test("a gateway asks in the same way, and gets its answer over the link")
  func gatewayAsks() {
    let scene = scene(1)
    scene.request(5, .channelCounts(.everything))
    #expect(scene.hears().count == 1)
    find(1, .channels(channels(["a": 1])), 1, scene)
    #expect(scene.hears() == [.reply(5, .channelCounts(channels(["a": 1]), unanswered: 0))])
  }

  @Test("a gateway that lives and does not answer in time is missing from the answer, which says so")
  func late() {
    let scene = scene(1, 2)
    _ = scene.serve(1, .info)
    find(1, .counts(counts(10)), 1, scene)
    #expect(scene.core.nextDeadline(at: scene.time) == scene.time.monotonic + 2_000)
    scene.pass(1_999)
    #expect(scene.answers[1] == nil)
    scene.pass(1)
    let answer = info(scene.answers[1])
    #expect(answer?.gateways == [.init(1, counts(10))] && answer?.unanswered == 1)
    #expect(scene.core.surveys.nextDeadline == nil)
    _ = scene.hears(2)
    find(1, .counts(counts(20)), 2, scene)
    #expect(scene.hears(2).isEmpty)
    #expect(info(scene.serve(2, .info)) == nil)
  }

  @Test("gateways never have longer than until they are taken for gone")
  func shortTimeout() {
    let scene = scene(1) { $0.gatewayTimeout = 1_000 }
    _ = scene.serve(1, .channelCounts(.everything))
    scene.pass(1_000)
    #expect(scene.answers[1] == .channelCounts(ChannelCounts(), unanswered: 1))
  }

  @Test("a gateway that departs is not waited for; one whose session broke is asked again in the next, and counts once")
  func linkLost() {
    let scene = scene(1, 2)
    _ = scene.serve(1, .info)
    _ = scene.hears(2)
    find(1, .counts(counts(10)), 1, scene)
    scene.hello(2, session: 2)
    #expect(scene.hears(2) == [.welcome, .survey(1, .counts)])
    #expect(scene.answers[1] == nil)
    find(1, .counts(counts(20)), 2, scene)
    #expect(info(scene.answers[1])?.gateways == [.init(1, counts(10)), .init(2, counts(20))])
    _ = scene.serve(2, .info)
    find(2, .counts(counts(10)), 1, scene)
    scene.send(.goodbye, from: 2)
    #expect(info(scene.answers[2])?.gateways == [.init(1, counts(10))])
    #expect(info(scene.answers[2])?.unanswered == 0)
    // Gateway 2 has gone, and so is not asked.
    _ = scene.hears(2)
    _ = scene.serve(3, .info)
    #expect(scene.hears(2).isEmpty)
    find(3, .counts(counts(10)), 1, scene)
    #expect(info(scene.answers[3])?.unanswered == 0)
  }

  @Test("a gateway that answers what it was not asked has its link reset")
  func wrongKind() {
    let scene = scene(1)
    _ = scene.serve(1, .info)
    _ = scene.hears()
    find(1, .channels(ChannelCounts()), 1, scene)
    #expect(scene.hears() == [.reset])
    scene.hello(1, session: 2)
    #expect(scene.hears() == [.welcome, .survey(1, .counts)])
  }

  @Test("so many surveys are under way at a time, and one more is refused as temporary")
  func limit() {
    let scene = scene(1)
    for number in 1...UInt64(PendingSurveys.limit) { #expect(scene.serve(number, .info) == nil) }
    #expect(scene.ask(.info)?.errorCode == 111)
    #expect(scene.ask(.channelCounts(.everything))?.errorCode == 111)
    find(1, .counts(counts(1)), 1, scene)
    #expect(scene.ask(.info) == nil)
  }

  @Test("a survey does not reset a link whose window is full, though a publication would")
  func fullWindow() {
    let scene = scene(1) { $0.linkWindowBytes = 400 }
    scene.request(1, .subscribe("m"))
    scene.publish(2, "m", "1")
    _ = scene.hears()
    _ = scene.serve(1, .info)
    #expect(scene.hears() == [.survey(1, .counts)])
    find(1, .counts(counts(1)), 1, scene)
    #expect(info(scene.answers[1])?.unanswered == 0)
    scene.publish(3, "m", "2")
    #expect(scene.hears().contains(.reset))
  }

  // MARK: Services

  private func read(_ method: String, _ parameters: String) throws -> BrokerRequest {
    try ServiceRequest.read([Array(method.utf8), Array(parameters.utf8)]).request
  }

  @Test("info and channels are read as they are written; a pattern is short, and no company for a prefix")
  func reading() throws {
    let pattern = try #require(ChannelPattern("chat:*"))
    #expect(try read("info", "") == .info)
    #expect(try read("channels", "") == .channels(prefix: ""))
    #expect(try read("channels", #"{"prefix":"chat:"}"#) == .channels(prefix: "chat:"))
    #expect(try read("channels", #"{"pattern":"chat:*"}"#) == .channelCounts(pattern))
    #expect(try read("channels", #"{"pattern":""}"#) == .channelCounts(.everything))
    let long = String(repeating: "a", count: ChannelPattern.maximumLength + 1)
    for wrong in [#"{"pattern":"a","prefix":"a"}"#, #"{"pattern":1}"#, #"{"pattern":"\#(long)"}"#] {
      #expect(throws: ClientError.self, "\(wrong)") { try read("channels", wrong) }
    }
  }

  private func written(_ response: BrokerResponse) -> String {
    String(decoding: ServiceReply.frames(for: response, binaryData: false).result, as: UTF8.self)
  }

  @Test("a service reads names and numbers, and that something is missing only where it is")
  func writing() {
    let two = channels(["b\"": 2, "a": 1])
    #expect(
      written(.channelCounts(two, unanswered: 0)) == #"{"channels":["a","b\""],"counts":{"a":1,"b\"":2}}"#)
    #expect(
      written(.channelCounts(channels(["a": 1], hasMore: true), unanswered: 0))
        == #"{"channels":["a"],"counts":{"a":1},"partial":true}"#)
    #expect(
      written(.channelCounts(ChannelCounts(), unanswered: 3))
        == #"{"channels":[],"counts":{},"partial":true,"unanswered":3}"#)
    let broker = ServerInfo.Broker(version: "v", uptime: 5, channels: 6, publications: 7)
    let about = #""broker":{"version":"v","uptime":5,"num_channels":6,"num_publications":7}"#
    #expect(
      written(.info(ServerInfo(broker: broker, gateways: [.init(255, counts(4))], unanswered: 0)))
        == #"{"nodes":[{"uid":"00000000000000ff","name":"g","version":"v","num_clients":4,"num_users":1,"#
        + #""num_subs":2,"num_channels":3,"uptime":7}],\#(about)}"#)
    #expect(
      written(.info(ServerInfo(broker: broker, gateways: [], unanswered: 1)))
        == #"{"nodes":[],\#(about),"partial":true,"unanswered":1}"#)
  }
}
