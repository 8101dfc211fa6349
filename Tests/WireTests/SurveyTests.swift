import Testing

@testable import Wire

@Suite("Surveys: patterns, sums, and their messages")
struct SurveyTests {
  private static func channel(_ name: String) -> ChannelName {
    guard let channel = try? ChannelName(name) else { preconditionFailure("\(name) is no channel name") }
    return channel
  }

  private static func counts(_ numbers: [String: UInt64], hasMore: Bool = false) -> ChannelCounts {
    ChannelCounts(numbers.map { .init(channel($0.key), clients: $0.value) }, hasMore: hasMore)
  }

  @Test(
    "a pattern means whole names: * any characters, ? one, everything else itself",
    arguments: [
      ("", ["a", "chat:1"], []), ("*", ["a", "é"], []),
      ("chat:*", ["chat:", "chat:1", "chat:a:b"], ["chat", "xchat:1"]),
      ("chat:?", ["chat:1", "chat:é", "chat:😀"], ["chat:", "chat:12", "chat:é1"]),
      ("*:room", ["a:room", ":room", "a:room:room"], ["a:rooms", "room"]),
      ("a*b*c", ["abc", "axbxc", "abcbc", "aabbcc"], ["ab", "abcd", "acb"]), ("**", ["x"], []),
      ("*?*?*", ["ab", "éé"], ["a", "é"]), ("?*y", ["éy", "xyy"], ["y", "éx"]), ("[ab]", ["[ab]"], ["a", "b"]),
      ("*??ab", ["xéab"], ["éab", "ab"]),
    ] as [(String, [String], [String])])
  func patterns(text: String, fitting: [String], others: [String]) throws {
    let pattern = try #require(ChannelPattern(text))
    #expect(pattern.text == text)
    for name in fitting { #expect(pattern.matches(Self.channel(name)), "\(name)") }
    for name in others { #expect(!pattern.matches(Self.channel(name)), "\(name)") }
  }

  @Test("a pattern finds what the plainest matcher finds")
  func patternsAgainstModel() throws {
    func fits(_ pattern: Substring, _ name: Substring) -> Bool {
      guard let first = pattern.first else { return name.isEmpty }
      if first == "*" {
        return fits(pattern.dropFirst(), name) || !name.isEmpty && fits(pattern, name.dropFirst())
      }
      guard let letter = name.first, first == "?" || first == letter else { return false }
      return fits(pattern.dropFirst(), name.dropFirst())
    }
    var random = SeededRandom(seed: 7)
    func text(_ letters: [Character], _ length: ClosedRange<Int>) -> String {
      String((0..<Int.random(in: length, using: &random)).map { _ in letters.randomElement(using: &random) ?? "a" })
    }
    for _ in 0..<5000 {
      let pattern = text(["a", "b", "é", "*", "?"], 1...6)
      let name = text(["a", "b", "é"], 1...6)
      let matches = try #require(ChannelPattern(pattern)).matches(Self.channel(name))
      #expect(matches == fits(pattern[...], name[...]), "\(pattern) \(name)")
    }
  }

  @Test("a pattern that takes every comparison is still found soon, and a longer one is none")
  func longest() throws {
    let name = Self.channel(String(repeating: "a", count: 255))
    let text = String(repeating: "*a", count: 127)
    let (fitting, other) = (try #require(ChannelPattern(text)), try #require(ChannelPattern(text + "b")))
    #expect(fitting.matches(name) && !other.matches(name))
    #expect(ChannelPattern(text + "bb") == nil)
  }

  @Test("sums of the first channels are the first of the sums, however many channels each side names")
  func sums() {
    var random = SeededRandom(seed: 11)
    for round in 0..<1000 {
      var limit = ChannelLimit(channels: .random(in: 1...8, using: &random), bytes: .max)
      if round % 2 == 0 { limit.bytes = .random(in: 1...400, using: &random) }
      var all: [String: UInt64] = [:]
      var sum = ChannelCounts()
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        var side: [String: UInt64] = [:]
        for _ in 0..<Int.random(in: 0...12, using: &random) {
          let length = Int.random(in: 1...40, using: &random)
          let letter = ["a", "b", "c", "d"].randomElement(using: &random) ?? "a"
          side[String(repeating: letter, count: length)] = .random(in: 1...9, using: &random)
        }
        all.merge(side) { $0 + $1 }
        var told = Self.counts(side)
        told.cut(to: limit)
        sum.add(told)
        sum.cut(to: limit)
      }
      var expected = Self.counts(all)
      #expect(expected.entries.starts(with: sum.entries) && sum.hasMore == (sum.entries.count < all.count))
      expected.cut(to: limit)
      // Where the bytes do not limit it, the sum names as many channels as may be.
      if limit.bytes == .max { #expect(sum == expected) }
    }
  }

  @Test("two sides with more than they name make no sum behind what either of them names")
  func horizon() {
    var sum = Self.counts(["a": 1, "c": 1], hasMore: true)
    sum.add(Self.counts(["b": 2, "c": 2, "d": 2]))
    #expect(sum == Self.counts(["a": 1, "b": 2, "c": 3], hasMore: true))
    sum.add(Self.counts(["a": 4, "b": 4], hasMore: true))
    #expect(sum == Self.counts(["a": 5, "b": 6], hasMore: true))
    sum.add(ChannelCounts())
    #expect(sum == Self.counts(["a": 5, "b": 6], hasMore: true))
    var full = Self.counts(["a": .max])
    full.add(Self.counts(["a": 1]))
    #expect(full == Self.counts(["a": .max]))
  }

  @Test("an answer keeps to its bytes, but for its first channel, and says what it leaves out")
  func bytes() {
    let all = Self.counts(["a": 1, "b": 2, "c": 3])
    func cut(_ channels: UInt32, _ bytes: UInt32) -> ChannelCounts {
      var counts = all
      counts.cut(to: ChannelLimit(channels: channels, bytes: bytes))
      return counts
    }
    #expect(cut(3, 1000) == all)
    #expect(cut(2, 1000) == Self.counts(["a": 1, "b": 2], hasMore: true))
    #expect(cut(3, 100) == Self.counts(["a": 1, "b": 2], hasMore: true))
    #expect(cut(0, 0) == Self.counts(["a": 1], hasMore: true))
    #expect(all.filtered { $0.string != "b" } == Self.counts(["a": 1, "c": 3]))
  }

  @Test("channels out of order, twice, or fewer than none are malformed")
  func malformed() {
    func findings(_ names: [String], hasMore: Bool) -> [UInt8] {
      var sink: [UInt8] = []
      sink.write(UInt64(1))
      sink.write(byte: 2)
      sink.write(flag: hasMore)
      sink.write(UInt64(names.count))
      for name in names {
        sink.write(name)
        sink.write(UInt64(3))
      }
      return sink
    }
    #expect(throws: Never.self) { try LinkFindings(bytes: findings(["a", "b"], hasMore: true)) }
    for names in [["b", "a"], ["a", "a"], ["a", ""]] {
      #expect(throws: MalformedMessage.self) { try LinkFindings(bytes: findings(names, hasMore: false)) }
    }
    #expect(throws: MalformedMessage.self) { try LinkFindings(bytes: findings([], hasMore: true)) }
    var long: [UInt8] = []
    long.write(UInt64(1))
    long.write(byte: 2)
    long.write(String(repeating: "a", count: ChannelPattern.maximumLength + 1))
    long.write(UInt64(1))
    long.write(UInt64(1))
    #expect(throws: MalformedMessage.self) { try LinkSurvey(bytes: long) }
  }
}

extension LinkMessageTests {
  static func surveyExamples(_ channel: ChannelName, _ other: ChannelName) -> [Example] {
    guard let pattern = ChannelPattern("chat:*\u{E9}?") else { return [] }
    let gateway = GatewayCounts(
      name: "host-1", version: "Fanfare 1", uptime: .max, clients: 1, users: 2, subscriptions: 3, channels: 4)
    let counts = ChannelCounts([.init(channel, clients: 3), .init(other, clients: .max)], hasMore: true)
    let info = ServerInfo(
      broker: .init(version: "", uptime: 0, channels: 1, publications: .max),
      gateways: [.init(.max, gateway), .init(0, GatewayCounts(name: "", version: ""))], unanswered: .max)
    let surveys: [Survey] = [.counts, .channels(pattern, .init(channels: .max, bytes: 0))]
    let findings: [Findings] = [.counts(gateway), .channels(counts), .channels(ChannelCounts())]
    let requests: [BrokerRequest] = [.info, .channelCounts(pattern), .channelCounts(.everything)]
    let responses: [BrokerResponse] = [
      .info(info), .channelCounts(counts, unanswered: 0), .channelCounts(ChannelCounts(), unanswered: .max),
    ]
    var examples: [Example] = []
    for survey in surveys {
      examples.append(
        Example(name: "survey", bytes: LinkSurvey(id: 1 << 40, survey).bytes) { (bytes) throws(MalformedMessage) in
          try LinkSurvey(bytes: bytes).bytes
        })
    }
    for findings in findings {
      examples.append(
        Example(name: "findings", bytes: LinkFindings(id: 1, findings).bytes) { (bytes) throws(MalformedMessage) in
          try LinkFindings(bytes: bytes).bytes
        })
    }
    for request in requests {
      examples.append(
        Example(name: "survey request", bytes: LinkRequest(id: 1, oldestPending: 1, request: request).bytes) {
          (bytes) throws(MalformedMessage) in try LinkRequest(bytes: bytes).bytes
        })
    }
    for response in responses {
      examples.append(
        Example(name: "survey reply", bytes: LinkReply(id: 1, response: response).bytes) {
          (bytes) throws(MalformedMessage) in try LinkReply(bytes: bytes).bytes
        })
    }
    return examples
  }

  @Test("what surveys say survives the pipe of bytes, bodies and all")
  func surveyValues() throws {
    let channel = try ChannelName("a")
    let bodies: [LinkBody] = [
      .survey(LinkSurvey(id: 3, .channels(.everything, .init(channels: 5, bytes: 6)))),
      .survey(LinkSurvey(id: 3, .counts)),
      .findings(LinkFindings(id: 3, .channels(ChannelCounts([.init(channel, clients: 1)])))),
      .findings(LinkFindings(id: 3, .counts(GatewayCounts(name: "n", version: "v", uptime: 1, users: 2)))),
    ]
    for body in bodies {
      let message = LinkMessage(session: 1, sequence: 2, body: body)
      #expect(LinkMessage(header: try LinkHeader(bytes: message.header.bytes), bytes: body.bytes) == message)
      #expect(message.cost > 64)
    }
  }
}
