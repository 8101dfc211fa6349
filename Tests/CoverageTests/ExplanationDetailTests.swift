import Testing
import Wire

@testable import Coverage

@Suite("What an answer to why names, and what it leaves out")
struct ExplanationDetailTests {
  private static let red = TagFilter.equal(key: "colour", "red")
  private static let far = CoverageReach(covered: 50, written: 50)

  private func json(_ explanation: Explanation) throws -> JSONObject {
    try #require(try JSONValue(parsing: explanation.json).object)
  }

  @Test("the filter that held a publication back is named, the client's and the app's")
  func filters() throws {
    let own = ExplanationTests.explain(
      ExplanationTests.facts(20), [ExplanationTests.interval(from: 10, filter: Self.red, reach: Self.far)])
    #expect(own.sentence.contains(#"does not let it through: colour is "red""#))
    let fields = try #require(try json(own)["subscriptions"]?.array?.first?.object)
    #expect(fields["filter"]?.string == #"colour is "red""# && fields["audience"] == nil)
    let app = ExplanationTests.explain(
      ExplanationTests.facts(20), [ExplanationTests.interval(from: 10, audience: Self.red, reach: Self.far)])
    #expect(app.verdict == .filtered && app.sentence.contains(#"may see: colour is "red""#))
    #expect(try json(app)["subscriptions"]?.array?.first?.object?["audience"]?.string == #"colour is "red""#)
  }

  @Test("where the publication is not kept any more, the filter is named, and what follows if it let it through")
  func unknownTags() {
    let interval = ExplanationTests.interval(from: 10, filter: Self.red, reach: Self.far, end: .gone)
    let explanation = ExplanationTests.explain(ExplanationTests.facts(20, tags: nil), [interval])
    #expect(explanation.verdict == .perhaps)
    #expect(explanation.sentence.contains(#"with the filter colour is "red", and the publication is not kept"#))
    #expect(explanation.sentence.contains("if it was let through, it was written to the socket"))
    let recovered = ExplanationTests.interval(
      from: 30, since: 10, recovered: true, filter: Self.red, reach: Self.far, end: .gone)
    let other = ExplanationTests.explain(ExplanationTests.facts(20, tags: nil), [recovered])
    #expect(other.sentence.contains("sent with the answer to the subscribe"))
  }

  @Test("of a process that died it is said up to where it is known what it had sent, and why not further")
  func died() {
    let noted = ExplanationTests.interval(from: 10, reach: CoverageReach(covered: 40, written: 40), end: .died)
    let sure = ExplanationTests.explain(ExplanationTests.facts(40), [noted])
    #expect(sure.verdict == .delivered)
    let after = ExplanationTests.explain(ExplanationTests.facts(41), [noted])
    #expect(after.verdict == .perhaps)
    #expect(after.sentence.contains("everything up to 40 was written to its socket"))
    #expect(after.sentence.contains("its gateway's process died at some time after 1970-01-01T00:01:30Z"))
    let none = ExplanationTests.explain(
      ExplanationTests.facts(41), [ExplanationTests.interval(from: 10, end: .died)])
    #expect(none.sentence.contains("no more than that it began, at offset 10"))
  }

  @Test("in a lane that leaves out what is replaced, it is said whether something newer has replaced it")
  func conflated() {
    var facts = ExplanationTests.facts(20)
    let interval = ExplanationTests.interval(from: 10, reach: Self.far, isConflated: true)
    #expect(ExplanationTests.explain(facts, [interval]).sentence.contains("the newest of each key goes out"))
    facts.isNewestOfKey = true
    #expect(ExplanationTests.explain(facts, [interval]).sentence.contains("nothing newer has replaced this one"))
  }

  @Test("that something is sealed is told to whoever may know of it, and to nobody else", arguments: [true, false])
  func seals(_ mayKnow: Bool) throws {
    for seal in [PublicationFacts.Seal.untilAnswered, .forEver] {
      var facts = ExplanationTests.facts(20, isApps: true)
      facts.seal = seal
      let explanation = ExplanationTests.explain(
        facts, [ExplanationTests.interval(from: 10, reach: Self.far)], mayKnow: mayKnow)
      #expect(explanation.verdict == .delivered)
      #expect(try json(explanation)["sealed"]?.string == (mayKnow ? seal.rawValue : nil))
      #expect(explanation.noteSentences.contains { $0.contains("sealed") } == mayKnow)
    }
  }

  // MARK: What an app keeps to itself

  /// A subscription of which an app changed twice what it shows.
  private static let changed: [CoverageInterval] = {
    var first = ExplanationTests.interval(from: 1, reach: CoverageReach(covered: 10, written: 10), end: .refiltered)
    var second = ExplanationTests.interval(
      from: 10, audience: red, reach: CoverageReach(covered: 20, written: 20), end: .refiltered)
    var third = ExplanationTests.interval(from: 20, reach: far, end: .excluded)
    first.end?.at = 40_000
    second.start.at = 40_000
    second.end?.at = 50_000
    third.start.at = 50_000
    return [first, second, third]
  }()

  @Test("where the app changes what it shows, neither part says of the other's publications that it was not there")
  func sequels() {
    for (offset, count) in [(5, 1), (15, 1), (25, 1)] as [(UInt64, Int)] {
      let explanation = ExplanationTests.explain(ExplanationTests.facts(offset, isApps: true), Self.changed)
      #expect(explanation.devices.count == count, "\(offset): \(explanation.devices)")
      #expect(explanation.verdict == (offset == 15 ? .filtered : .delivered))
    }
    let after = ExplanationTests.explain(ExplanationTests.facts(60, isApps: true), Self.changed)
    #expect(after.verdict == .away && after.sentence.contains("the app no longer let the user see"))
  }

  @Test("what was delivered does not tell whoever may not know that the app showed less later, or ended it")
  func veil() {
    // Somebody who was shown everything, and then unsubscribed.
    let plain = ExplanationTests.interval(from: 1, reach: Self.far, end: .unsubscribed)
    for offset in [5, 25] as [UInt64] {
      let facts = ExplanationTests.facts(offset, isApps: true)
      let veiled = ExplanationTests.explain(facts, Self.changed, mayKnow: false)
      #expect(veiled.verdict == .delivered)
      #expect(veiled.json == ExplanationTests.explain(facts, [plain], mayKnow: false).json)
    }
  }

  @Test("an end by the app is not named beside what did not get out before it either")
  func veiledEnds() {
    let endings: [(CoverageReach, CoverageFinding)] = [
      (CoverageReach(covered: 50, written: 40), .unwritten),
      (CoverageReach(covered: 50, written: 50, unsure: 50), .perhaps(.queued)),
      (CoverageReach(covered: 50, written: 0, isUnsent: true), .unsent),
    ]
    for (reach, finding) in endings {
      let interval = ExplanationTests.interval(from: 1, reach: reach, end: .excluded)
      let facts = ExplanationTests.facts(45, isApps: true)
      let veiled = ExplanationTests.explain(facts, [interval], mayKnow: false)
      #expect(veiled.devices.map(\.finding) == [finding])
      let told = veiled.sentence + String(decoding: veiled.json, as: UTF8.self)
      #expect(!told.contains("the app") && !told.contains("excluded"))
      #expect(ExplanationTests.explain(facts, [interval]).sentence.contains("the app no longer let the user see"))
    }
  }
}
