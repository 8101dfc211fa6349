import Testing
import Wire

@testable import Apps

@Suite("Clique: groups and crossings")
struct CliqueGroupTests {
  private let minute: Int64 = 60_000

  private func group(_ scene: CliqueScene) throws -> String {
    for friend in ["bob", "eve"] { _ = try scene.befriend("ann", friend) }
    let reply = try scene.call("ann", "group.create", #"{"members":["bob","eve","bob"],"name":"Sunday"}"#, key: "g1")
    return String(reply.split(separator: "\"")[3])
  }

  @Test("a group is founded once, of people who talk to the founder, and all of it write and read")
  func life() throws {
    let scene = CliqueScene()
    let id = try group(scene)
    #expect(try scene.call("ann", "group.create", #"{"members":["bob","eve"]}"#, key: "g1").contains(id))
    #expect(throws: ClientError.self) { try scene.call("bob", "group.create", #"{"members":["eve"]}"#) }
    try scene.call("bob", "send", #"{"conversation":"\#(id)","text":"hi all"}"#)
    for user in ["ann", "bob", "eve"] {
      #expect(try scene.chat(user, id) == ["hi all"])
      #expect(try scene.field("unread", user, id) == (user == "bob" ? "0" : "1"))
      #expect(try scene.field("name", user, id) == "Sunday")
    }
    #expect(try scene.chat("joe", id) == nil)
    #expect(throws: Clique.noConversation) { try scene.call("joe", "send", #"{"conversation":"\#(id)","text":"x"}"#) }
    try scene.call("bob", "group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(try scene.chat("bob", id) == nil)
    #expect(try scene.state("bob", id) == nil)
    #expect(try scene.chat("ann", id)?.last == #"{"event":"left","user":"bob"}"#)
    // Nobody said anything by that.
    #expect(try scene.field("last", "eve", id) == "hi all")
    #expect(try scene.field("unread", "eve", id) == "1")
    for user in ["ann", "eve"] { try scene.call(user, "group.leave", #"{"conversation":"\#(id)"}"#) }
    #expect(scene.records["group/\(id)"] == nil)
  }

  @Test("two of a group who block one another get none of each other's new messages, nor see each other there")
  func block() throws {
    let scene = CliqueScene()
    let id = try group(scene)
    try scene.call("bob", "send", #"{"conversation":"\#(id)","text":"old"}"#)
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    try scene.call("bob", "send", #"{"conversation":"\#(id)","text":"by bob"}"#)
    try scene.call("ann", "send", #"{"conversation":"\#(id)","text":"by ann"}"#)
    #expect(try scene.chat("ann", id) == ["old", "by ann"])
    #expect(try scene.chat("bob", id) == ["old", "by bob"])
    #expect(try scene.chat("eve", id) == ["old", "by bob", "by ann"])
    #expect(try scene.field("last", "bob", id) == "by bob")
    let channel = try ChannelName("clique.chat:\(id)")
    for (user, other) in [("ann", "bob"), ("bob", "ann")] {
      let audience = try #require(try scene.app.admit(user, to: channel, scene).audience)
      #expect(!audience.passes(["user": other]))
      #expect(audience.passes(["user": "eve"]))
    }
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    try scene.call("bob", "send", #"{"conversation":"\#(id)","text":"again"}"#)
    #expect(try scene.chat("ann", id) == ["old", "by ann", "again"])
  }

  @Test("somebody who has blocked the founder is added in appearance only")
  func absent() throws {
    let scene = CliqueScene()
    let (_, _) = (try scene.befriend("ann", "bob"), try scene.befriend("ann", "eve"))
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    let reply = try scene.call("ann", "group.create", #"{"members":["bob","eve"]}"#)
    let id = String(reply.split(separator: "\"")[3])
    #expect(try scene.chat("bob", id) == nil)
    #expect(try scene.state("bob", id) == nil)
    #expect(try scene.field("members", "ann", id)?.contains("bob") == true)
  }

  // MARK: Crossings

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
    #expect(scene.records.keys.allSatisfy { !$0.hasPrefix("place/") && !$0.hasPrefix("person/") })
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
    #expect(try scene.entries("ann", "crossings").keys.sorted() == ["eve"])
    try scene.call("ann", "enter", #"{"place":"park"}"#)
    #expect(try scene.entries("bob", "crossings").keys.sorted() == ["eve"])
  }

  @Test("a full place makes room, and nobody meets more than the limit at once")
  func crowded() throws {
    var rules = CliqueRules()
    (rules.maximumVisitors, rules.maximumMeetings, rules.maximumCrossed) = (6, 2, 3)
    let scene = CliqueScene(rules)
    for number in 0..<12 {
      try scene.call("u\(number)", "enter", #"{"place":"stadium"}"#)
      try scene.pass(minute)
    }
    let place = try #require(try scene.record(Clique.Place.self, "place/stadium"))
    #expect(place.visits.map(\.user) == (6..<12).map { "u\($0)" })
    #expect(try scene.entries("u11", "crossings").keys.sorted() == ["u10", "u9"])
    try scene.pass(28 * 60 * minute)
    #expect(scene.records.isEmpty)
  }
}
