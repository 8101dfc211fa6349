import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: crossings")
struct CliqueCrossingTests {
  private let minute: Int64 = 60_000

  private func people(_ scene: CliqueScene, _ user: String, _ order: String = "recent") throws -> String {
    try scene.call(user, "crossings", #"{"order":"\#(order)"}"#)
  }

  @Test("two people in a place at the same time have crossed, for as long as the window lasts")
  func crossed() throws {
    let scene = CliqueScene()
    try scene.call("ann", "enter", #"{"place":"park"}"#)
    try scene.pass(10 * minute)
    let met = scene.now
    try scene.call("bob", "enter", #"{"place":"park"}"#)
    try scene.call("eve", "enter", #"{"place":"café"}"#)
    try scene.pass(5 * minute)
    try scene.call("ann", "leave", #"{"place":"park"}"#)
    let entry = """
      {"user":"ann","seen":\(scene.now),"total":300000,"together":false,\
      "latest":[{"place":"park","time":\(met),"minutes":5}]}
      """
    #expect(try scene.entry("bob", "crossings", "ann") == "\(entry) \(scene.now) \(scene.now + 86_400_000)")
    #expect(try people(scene, "bob") == #"{"people":[\#(entry)]}"#)
    #expect(try people(scene, "eve") == #"{"people":[]}"#)
    try scene.pass(24 * 60 * minute)
    #expect(try people(scene, "bob") == #"{"people":[]}"#)
    #expect(try scene.entry("bob", "crossings", "ann") == nil)
    try scene.pass(24 * 60 * minute)
    #expect(scene.records.isEmpty)
  }

  @Test("a phone that dies leaves after the longest visit, and time in two places at once counts once")
  func longest() throws {
    let scene = CliqueScene()
    for place in ["park", "town"] {
      for user in ["ann", "bob"] { try scene.call(user, "enter", #"{"place":"\#(place)"}"#) }
    }
    try scene.pass(4 * 60 * minute)
    #expect(try people(scene, "ann").contains(#""total":10800000,"together":false"#))
    #expect(scene.records.keys.allSatisfy { !$0.hasPrefix("person/") })
  }

  @Test("the two orders are those of the last meeting and of the time together")
  func orders() throws {
    let scene = CliqueScene()
    for user in ["ann", "bob"] { try scene.call(user, "enter", #"{"place":"park"}"#) }
    try scene.pass(10 * minute)
    try scene.call("bob", "leave", #"{"place":"park"}"#)
    try scene.call("eve", "enter", #"{"place":"park"}"#)
    try scene.pass(minute)
    try scene.call("eve", "leave", #"{"place":"park"}"#)
    for (order, first) in [("recent", "eve"), ("time", "bob")] {
      #expect(try people(scene, "ann", order).hasPrefix(#"{"people":[{"user":"\#(first)""#))
    }
    #expect(throws: ClientError.self) { try people(scene, "ann", "name") }
  }

  @Test("the invisible and the blocked are in nobody's crossings, and see nobody there")
  func hidden() throws {
    let scene = CliqueScene()
    for user in ["ann", "bob", "eve"] { try scene.call(user, "enter", #"{"place":"park"}"#) }
    try scene.pass(minute)
    try scene.call("ann", "invisible", #"{"on":true}"#)
    #expect(try people(scene, "ann") == #"{"people":[]}"#)
    #expect(try scene.entries("bob", "crossings").keys.sorted() == ["eve"])
    #expect(try scene.call("ann", "enter", #"{"place":"park"}"#) == #"{"visible":false}"#)
    try scene.call("ann", "invisible", #"{"on":false}"#)
    #expect(try scene.entries("bob", "crossings").keys.sorted() == ["ann", "eve"])
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    #expect(try scene.entries("bob", "crossings").keys.sorted() == ["eve"])
    #expect(try scene.entries("ann", "crossings").keys.sorted() == ["bob", "eve"], "it would tell of the block")
    try scene.call("ann", "enter", #"{"place":"park"}"#)
    #expect(try scene.entries("bob", "crossings").keys.sorted() == ["eve"])
  }

  @Test("who is blocked goes on seeing where the other was at that moment, as if the other's phone had died")
  func lastSeen() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for user in ["ann", "bob"] { try scene.call(user, "enter", #"{"place":"park"}"#) }
    try scene.pass(minute)
    let (shown, listed) = (try scene.entry("bob", "crossings", "ann"), try scene.entry("bob", "list", id))
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    #expect(try scene.entry("bob", "crossings", "ann") == shown && shown != nil)
    #expect(try scene.entry("bob", "list", id) == listed)
    #expect(try scene.entry("ann", "crossings", "bob") == nil)
    try scene.pass(minute)
    try scene.call("ann", "leave", #"{"place":"park"}"#)
    for user in ["ann", "bob"] { try scene.call(user, "enter", #"{"place":"café"}"#) }
    #expect(try people(scene, "bob").contains(#""total":120000,"together":true,"latest":[{"place":"park""#))
    #expect(try !people(scene, "bob").contains("café"))
    try scene.pass(4 * 60 * minute)
    #expect(try scene.entry("bob", "crossings", "ann")?.contains(#""total":10800000,"together":false"#) == true)
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    #expect(try people(scene, "bob").contains(#""total":10800000"#), "lifting the block shows no more than the block")
    #expect(try people(scene, "ann") == #"{"people":[]}"#)
    try scene.pass(24 * 60 * minute)
    #expect(try scene.entry("bob", "crossings", "ann") == nil)
    #expect(try scene.record(Clique.Pair.self, Clique.Key.pair(id))?.markA.lastSeen == nil)
  }

  // MARK: What it costs

  /// Keys of the records that a command writes or erases.
  private func written(_ scene: CliqueScene, _ user: String, _ method: String, _ place: String) throws -> [String] {
    let before = scene.records.mapValues(\.data)
    try scene.call(user, method, #"{"place":"\#(place)"}"#)
    let after = scene.records.mapValues(\.data)
    return Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }.sorted()
  }

  @Test("entering a place writes three small records, leaving it one and staying none, however many are there")
  func cost() throws {
    let scene = CliqueScene()
    for number in 0..<300 { try scene.call("u\(number)", "enter", #"{"place":"stadium"}"#) }
    #expect(
      try written(scene, "ann", "enter", "stadium") == ["places/stadium", "visitor/stadium/300", "visits/ann"])
    #expect(scene.records.values.allSatisfy { $0.data.count < 300 })
    for _ in 0..<10 { #expect(try written(scene, "ann", "enter", "stadium") == []) }
    try scene.pass(20 * minute)
    #expect(try written(scene, "u299", "enter", "stadium") == ["visits/u299"])
    // Whoever has been there for long, and much came and went since, is given a place among the last again.
    #expect(try written(scene, "u0", "enter", "stadium") == ["places/stadium", "visitor/stadium/301", "visits/u0"])
    #expect(try written(scene, "ann", "leave", "stadium") == ["visits/ann"])
    #expect(try written(scene, "ann", "leave", "stadium") == [])
  }

  @Test("many visits that end together are a small decision each, and every one of them ends")
  func endTogether() throws {
    let scene = CliqueScene()
    for number in 0..<200 {
      for place in ["stadium", "town"] { try scene.call("u\(number)", "enter", #"{"place":"\#(place)"}"#) }
    }
    // The server was away for a day.
    scene.now += 25 * 60 * minute
    var decisions = 0
    while let (key, _) = scene.records.compactMap({ key, record in record.due.map { (key, $0) } })
      .filter({ $0.1 <= scene.now }).min(by: { ($0.1, $0.0) < ($1.1, $1.0) })
    {
      let decision = try scene.app.due(key, scene)
      #expect(decision.effects.count <= 8)
      try scene.apply(decision.effects)
      decisions += 1
      try #require(decisions < 2000)
    }
    #expect(try people(scene, "u7").contains(#""together":true"#) == false)
    try scene.pass(48 * 60 * minute)
    #expect(scene.records.isEmpty)
  }

  @Test("whoever stays all day is met by those who come late, and it is one long meeting with who stays too")
  func allDay() throws {
    var rules = CliqueRules()
    rules.maximumMeetings = 4
    let scene = CliqueScene(rules)
    for user in ["ann", "bob"] { try scene.call(user, "enter", #"{"place":"office"}"#) }
    let start = scene.now
    for number in 0..<20 {
      try scene.call("u\(number)", "enter", #"{"place":"office"}"#)
      try scene.pass(20 * minute)
      try scene.call("u\(number)", "leave", #"{"place":"office"}"#)
      for user in ["ann", "bob"] { try scene.call(user, "enter", #"{"place":"office"}"#) }
    }
    try scene.call("eve", "enter", #"{"place":"office"}"#)
    try scene.pass(minute)
    #expect(try people(scene, "eve").contains(#"{"user":"ann""#))
    let entry = """
      {"user":"bob","seen":\(scene.now),"total":\(401 * minute),"together":true,\
      "latest":[{"place":"office","time":\(start),"minutes":401}]}
      """
    #expect(try people(scene, "ann").contains(entry))
  }

  @Test("who is near in numbers is looked at, and no more of them than the limit")
  func crowded() throws {
    var rules = CliqueRules()
    (rules.maximumMeetings, rules.maximumCrossed) = (2, 3)
    let scene = CliqueScene(rules)
    for number in 0..<12 {
      try scene.call("u\(number)", "enter", #"{"place":"stadium"}"#)
      try scene.pass(minute)
    }
    let crossed = { (user: String) in try scene.app.keys(of: ChannelName("clique.crossings:\(user)"), scene).sorted() }
    #expect(try crossed("u11") == ["u10", "u9"])
    #expect(try crossed("u5") == ["u4", "u6", "u7"])
    rules.maximumLooks = 1
    #expect(try Clique(rules).keys(of: ChannelName("clique.crossings:u11"), scene).count == 1)
    try scene.pass(40 * 60 * minute)
    #expect(scene.records.isEmpty)
  }

  @Test("places are come to so many times a day, and are so many at once")
  func limits() throws {
    var rules = CliqueRules()
    (rules.visitsPerDay, rules.maximumPlaces, rules.maximumVisits) = (24, 2, 4)
    let scene = CliqueScene(rules)
    let enter = { (place: String) in try scene.said("ann", "enter", #"{"place":"\#(place)"}"#) }
    for place in ["a", "b"] { #expect(try enter(place) == #"{"visible":true}"#) }
    #expect(try enter("c").contains("you are in 2 places"))
    for _ in 0..<4 {
      try scene.call("ann", "leave", #"{"place":"a"}"#)
      #expect(try enter("a") == #"{"visible":true}"#)
    }
    try scene.call("ann", "leave", #"{"place":"a"}"#)
    #expect(try enter("a").contains("24 places a day"))
    let visits = try #require(try scene.record(Clique.Visits.self, "visits/ann"))
    #expect(visits.visits.count == 4 && visits.visits.contains { $0.place == "b" && $0.end == 0 })
    try scene.pass(60 * minute)
    #expect(try enter("a") == #"{"visible":true}"#)
  }

  @Test("crossings before a block are gone for who blocked, and the place where both are counts with the next one")
  func afterBlock() throws {
    let scene = CliqueScene()
    for user in ["ann", "bob"] { try scene.call(user, "enter", #"{"place":"park"}"#) }
    try scene.pass(minute)
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    try scene.pass(minute)
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    try scene.pass(minute)
    #expect(try people(scene, "ann") == #"{"people":[]}"#)
    for user in ["ann", "bob"] { try scene.call(user, "enter", #"{"place":"town"}"#) }
    try scene.pass(minute)
    #expect(try people(scene, "ann").contains(#""total":60000,"together":true,"latest":[{"place":"town""#))
    try scene.pass(41 * 24 * 60 * minute)
    #expect(scene.records.isEmpty)
  }

  @Test("records of crossings of an older data folder go when their time comes, a few at a time")
  func former() throws {
    let scene = CliqueScene()
    let users = (0..<150).map { "u\($0)" }
    try scene.plant(
      "place/stadium",
      Clique.FormerPlace(name: "stadium", visits: users.map { .init(user: $0, until: scene.now + 1000) }))
    for (index, user) in users.enumerated() {
      try scene.plant("crossed/" + user, Clique.FormerCrossing(a: "any", b: "thing"))
      for other in users[(index + 1)...].prefix(20) {
        try scene.plant("crossing/" + scene.pair(user, other), Clique.FormerCrossing(a: user, b: other))
      }
    }
    var largest = 0
    while let place = scene.records["place/stadium"] {
      scene.now = try #require(place.due)
      let effects = try scene.app.due("place/stadium", scene).effects
      largest = max(largest, effects.count)
      try scene.apply(effects)
    }
    #expect(largest <= 150)
    #expect(scene.records.isEmpty)
    try scene.call("u1", "enter", #"{"place":"stadium"}"#)
    #expect(try people(scene, "u1") == #"{"people":[]}"#)
  }
}
