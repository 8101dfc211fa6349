import Testing
import Wire

@testable import Coverage

@Suite("Why a publication did or did not reach a user")
struct ExplanationTests {
  static let channel: ChannelName = {
    guard let name = try? ChannelName("chat:7") else { preconditionFailure("chat:7 is a name") }
    return name
  }()

  static func facts(
    _ offset: UInt64, top: UInt64 = 100, tags: [String: String]? = [:], isApps: Bool = false
  ) -> PublicationFacts {
    PublicationFacts(
      channel: channel, position: StreamPosition(epoch: "e", offset: offset),
      top: StreamPosition(epoch: "e", offset: top),
      publication: tags.map { Publication(offset: offset, time: 60_000, data: [], tags: $0) }, isApps: isApps)
  }

  static func interval(
    from: UInt64, since: UInt64? = nil, recovered: Bool = false, filter: TagFilter? = nil, audience: TagFilter? = nil,
    reach: CoverageReach? = nil, end: CoverageEnd.Cause? = nil, code: UInt32 = 0, isConflated: Bool = false
  ) -> CoverageInterval {
    CoverageInterval(
      client: "phone",
      start: CoverageStart(
        position: StreamPosition(epoch: "e", offset: from),
        since: since.map { StreamPosition(epoch: "e", offset: $0) }, recovered: recovered, filter: filter,
        audience: audience, isConflated: isConflated, at: 30_000),
      reach: reach, end: end.map { CoverageEnd($0, code: code, at: 90_000) })
  }

  static func explain(
    _ facts: PublicationFacts, _ intervals: [CoverageInterval], mayKnow: Bool = true, unanswered: UInt32 = 0,
    keptSince: Int64 = 0, lost: UInt64 = 0
  ) -> Explanation {
    Explanation(
      facts, user: "42",
      found: [CoverageFindings(intervals: intervals, keptSince: keptSince, lostRecords: lost)], unanswered: unanswered,
      mayKnowExclusions: mayKnow)
  }

  private static let far = CoverageReach(covered: 50, written: 50)
  private static let red = TagFilter.equal(key: "colour", "red")

  /// One row for each kind of ending: an interval, the offset that is asked about, and what is found.
  static let table: [(CoverageInterval, UInt64, CoverageFinding)] = [
    (interval(from: 10, reach: far), 11, .delivered),
    (interval(from: 10, reach: far), 50, .delivered),
    (interval(from: 10, reach: far), 51, .underWay),
    (interval(from: 10, reach: far), 10, .before),
    (interval(from: 10, reach: far, end: .unsubscribed), 51, .after),
    (interval(from: 10, since: 5, recovered: true, reach: far), 6, .recovered),
    (interval(from: 10, since: 5, recovered: true, reach: far), 5, .claimed),
    (interval(from: 10, since: 5, reach: far), 6, .gap),
    (interval(from: 10, since: 5, reach: far), 11, .delivered),
    (interval(from: 10, end: .died), 11, .perhaps(.died)),
    (interval(from: 10, end: .died), 10, .before),
    (interval(from: 10, reach: .init(covered: 30, written: 25), end: .died), 25, .delivered),
    (interval(from: 10, reach: .init(covered: 30, written: 25), end: .died), 26, .perhaps(.died)),
    (interval(from: 10, reach: .init(covered: 30, written: 25), end: .died), 31, .perhaps(.died)),
    (interval(from: 10, reach: .init(covered: 30, written: 25, unsure: 5), end: .died), 21, .perhaps(.died)),
    (interval(from: 10, filter: red, reach: .init(covered: 30, written: 25), end: .died), 31, .filtered(by: .own)),
    (interval(from: 10, filter: red, end: .died), 11, .filtered(by: .own)),
    (interval(from: 10, audience: red, end: .died), 11, .perhaps(.died)),
    (interval(from: 10), 11, .perhaps(.notAsked)),
    (interval(from: 10, reach: .init(covered: 50, written: 40), end: .disconnected, code: 3008), 41, .unwritten),
    (interval(from: 10, reach: .init(covered: 50, written: 40), end: .disconnected, code: 3008), 40, .delivered),
    (interval(from: 10, reach: .init(covered: 50, written: 40)), 41, .underWay),
    (interval(from: 10, reach: .init(covered: 50, written: 50, unsure: 2), end: .gone), 48, .delivered),
    (interval(from: 10, reach: .init(covered: 50, written: 50, unsure: 2), end: .gone), 49, .perhaps(.queued)),
    (interval(from: 10, reach: .init(covered: 50, written: 0, isUnsent: true), end: .gone), 20, .unsent),
    (interval(from: 10, filter: red, reach: far), 20, .filtered(by: .own)),
    (interval(from: 10, audience: red, reach: far), 20, .filtered(by: .audience)),
    (interval(from: 10, reach: far, isConflated: true), 20, .perhaps(.conflated)),
    (interval(from: 0, end: .refused, code: 106), 20, .refused),
  ]

  @Test("each ending of an interval says what it must of each offset", arguments: table.indices)
  func findings(_ row: Int) {
    let (interval, offset, finding) = Self.table[row]
    #expect(interval.finding(of: Self.facts(offset)) == finding, "row \(row)")
  }

  @Test("a recovery whose answer had not left the connection is not called delivered")
  func unsureRecovery() {
    let interval = Self.interval(
      from: 10, since: 5, recovered: true, reach: .init(covered: 10, written: 10, unsure: 3), end: .gone)
    #expect(interval.finding(of: Self.facts(7)) == .recovered)
    #expect(interval.finding(of: Self.facts(8)) == .perhaps(.queued))
  }

  @Test("one device that got it is enough, and the answer names it and the time")
  func oneDevice() {
    let away = Self.interval(from: 1, reach: .init(covered: 5, written: 5), end: .unsubscribed)
    let explanation = Self.explain(Self.facts(20), [away, Self.interval(from: 10, reach: Self.far, end: .gone)])
    #expect(explanation.verdict == .delivered)
    #expect(
      explanation.sentence
        == "Yes: publication 20 of chat:7 reached user 42: written to the socket of connection phone between "
        + "1970-01-01T00:01:00Z and 1970-01-01T00:01:30Z.")
    #expect(explanation.devices.count == 2)
  }

  @Test("who was away is told why, and what became of them")
  func away() {
    let slow = Self.interval(
      from: 1, reach: .init(covered: 5, written: 5), end: .disconnected, code: 3008)
    let alone = Self.explain(Self.facts(20), [slow])
    #expect(alone.verdict == .away)
    #expect(alone.sentence.contains("read too slowly (3008)"))
    #expect(alone.sentence.contains("nobody of theirs has come back"))
    let back = Self.explain(Self.facts(20), [slow, Self.interval(from: 30, reach: Self.far)])
    #expect(back.verdict == .away && back.sentence.contains("without asking for what was before"))
    let gap = Self.explain(Self.facts(20), [slow, Self.interval(from: 30, since: 5, reach: Self.far)])
    #expect(gap.verdict == .gap && gap.sentence.contains("could not be had whole"))
  }

  @Test("a block looks like no subscription to whoever may not know of it", arguments: [true, false])
  func blocks(_ mayKnow: Bool) {
    let excluded = Self.interval(from: 1, reach: .init(covered: 5, written: 5), end: .excluded)
    let hidden = Self.interval(from: 1, audience: Self.red, reach: Self.far)
    let nothing = Self.explain(Self.facts(20, isApps: true), [], mayKnow: mayKnow)
    for (interval, verdict) in [(excluded, Explanation.Verdict.away), (hidden, .filtered)] {
      let explanation = Self.explain(Self.facts(20, isApps: true), [interval], mayKnow: mayKnow)
      #expect(explanation.verdict == (mayKnow ? verdict : .notSubscribed))
      if !mayKnow { #expect(explanation.json == nothing.json) }
    }
  }

  @Test("without the publication's tags nobody is told that a filter let it through, or that there is one")
  func unknownTags() {
    let filtered = Self.interval(from: 1, filter: Self.red, reach: Self.far)
    #expect(Self.explain(Self.facts(20, tags: nil), [filtered]).verdict == .perhaps)
    let plain = Self.interval(from: 1, reach: Self.far)
    #expect(Self.explain(Self.facts(20, tags: nil), [plain]).verdict == .delivered)
    let hiding = Self.explain(Self.facts(20, tags: nil, isApps: true), [plain], mayKnow: false)
    #expect(hiding.devices.map(\.finding) == [.perhaps(.filterUnknown)])
  }

  @Test("nothing is denied where somebody who may know was not heard")
  func unknown() {
    #expect(Self.explain(Self.facts(20), []).verdict == .notSubscribed)
    #expect(Self.explain(Self.facts(20), [], unanswered: 1).verdict == .unknown)
    #expect(Self.explain(Self.facts(20), [], keptSince: 70_000).verdict == .unknown)
    #expect(Self.explain(Self.facts(20), [], lost: 1).verdict == .unknown)
    let none = Explanation(Self.facts(20), user: "42", found: [], unanswered: 0, mayKnowExclusions: true)
    #expect(none.verdict == .unknown && none.notes.contains(.noGateway))
    #expect(Self.explain(Self.facts(101), []).verdict == .noSuchPublication)
    #expect(Self.explain(Self.facts(101), []).sentence.contains("the newest one is 100"))
  }

  @Test("the answer for programs has a word for everything, and is JSON")
  func json() throws {
    for (interval, offset, _) in Self.table {
      let explanation = Self.explain(Self.facts(offset), [interval])
      let fields = try #require(try JSONValue(parsing: explanation.json).object)
      #expect(fields["verdict"]?.string == explanation.verdict.rawValue)
      #expect(fields["sentence"]?.string == explanation.sentence)
      #expect(fields["subscriptions"]?.array?.count == 1)
    }
  }
}
