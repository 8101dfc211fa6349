import Testing
import Wire

@Suite("Inspections on the link")
struct InspectionCodingTests {
  private func name(_ text: String) throws -> ChannelName { try ChannelName(text) }

  @Test("a survey and a request say the same when they are read again")
  func thereAndBack() throws {
    let channel = try name("chat:7")
    let visible = [NamePattern("chat:*"), NamePattern("news")]
    let subjects: [Inspection] = [
      .channel(channel), .user("ann"), .client("c1"), .access(user: "", .history, channel),
    ]
    for subject in subjects {
      for visible in [nil, visible] {
        let request = InspectRequest(subject, visible: visible)
        let survey = LinkSurvey(id: 3, .inspect(request))
        #expect(try LinkSurvey(bytes: survey.bytes) == survey)
        let asked = LinkRequest(id: 1, oldestPending: 1, request: .inspect(request))
        #expect(try LinkRequest(bytes: asked.bytes) == asked)
      }
    }
    let top = LinkSurvey(id: 3, .top)
    #expect(try LinkSurvey(bytes: top.bytes) == top)
    let requests: [BrokerRequest] = [
      .top(visible: visible), .once(OnceKey(owner: "o", key: "k"), .historyRemove(channel)),
      .edit(.init(channel: channel, offset: 1, data: nil, editor: nil, idempotencyKey: "k")),
    ]
    for request in requests {
      let asked = LinkRequest(id: 1, oldestPending: 1, request: request)
      #expect(try LinkRequest(bytes: asked.bytes) == asked)
    }
  }

  @Test("findings are JSON, and what a gateway sends that is none is refused")
  func findings() throws {
    let found = LinkFindings(id: 1, .inspected(Array(#"{"a":1}"#.utf8)))
    #expect(try LinkFindings(bytes: found.bytes) == found)
    for text in ["", "7", #"{"a":1},"b":2"#, "{"] {
      let hostile = LinkFindings(id: 1, .inspected(Array(text.utf8)))
      #expect(throws: MalformedMessage.self) { try LinkFindings(bytes: hostile.bytes) }
    }
    let endless = Array(#"{"a":""#.utf8) + Array(repeating: UInt8(ascii: "x"), count: InspectRequest.answerBytes)
    let long = LinkFindings(id: 1, .inspected(endless + Array(#""}"#.utf8)))
    #expect(throws: MalformedMessage.self) { try LinkFindings(bytes: long.bytes) }
  }

  @Test("top findings are added up by channel, and keep to the first")
  func top() throws {
    func client(_ name: String, _ waiting: UInt64) -> TopFindings.Client {
      .init(client: name, user: "u", address: "a", waitingBytes: waiting, subscriptions: waiting)
    }
    var sum = TopFindings(
      channels: [.init(try name("a"), subscribers: 1, bytesPerSecond: 10)], slowest: [client("x", 1)])
    sum.add(
      TopFindings(
        channels: [
          .init(try name("b"), subscribers: 1, bytesPerSecond: 15),
          .init(try name("a"), subscribers: 2, bytesPerSecond: 10),
        ], slowest: [client("y", 2)]))
    #expect(sum.channels.map(\.channel.string) == ["a", "b"])
    #expect(sum.channels.first?.bytesPerSecond == 20 && sum.channels.first?.subscribers == 3)
    #expect(sum.slowest.map(\.client) == ["y", "x"])
    let found = LinkFindings(id: 1, .top(sum))
    #expect(try LinkFindings(bytes: found.bytes) == found)
    for number in 0..<200 { sum.add(TopFindings(busiest: [client("c\(number)", UInt64(number))])) }
    #expect(sum.busiest.count == TopFindings.most && sum.busiest.first?.client == "c199")
  }

  @Test("a request in a request in a request is refused, not followed")
  func nested() throws {
    var request = BrokerRequest.historyRemove(try name("a"))
    for _ in 0..<1000 { request = .once(OnceKey(owner: "", key: ""), request) }
    let asked = LinkRequest(id: 1, oldestPending: 1, request: request)
    #expect(throws: MalformedMessage.self) { try LinkRequest(bytes: asked.bytes) }
  }

  @Test("the beginning of a name is taken as it is, with * and ? in it")
  func beginning() throws {
    let pattern = try #require(ChannelPattern(beginning: "a*b?"))
    let (literal, other) = (try name("a*b?c"), try name("axbyc"))
    #expect(pattern.matches(literal) && !pattern.matches(other))
    #expect(ChannelPattern(beginning: "")?.matches(other) == true)
    let survey = LinkSurvey(id: 1, .channels(pattern, ChannelLimit(channels: 1, bytes: 1)))
    #expect(try LinkSurvey(bytes: survey.bytes) == survey)
  }
}
