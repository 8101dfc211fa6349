import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: groups")
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
    // Whoever blocks is spared the other's presence; the other is not to notice.
    for (user, other, sees) in [("ann", "bob", false), ("bob", "ann", true)] {
      let audience = try #require(try scene.app.admit(user, to: channel, scene).audience)
      #expect(audience.passes(["user": other]) == sees)
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

  @Test("a key founds one group, whatever became of it, and no second one when it is said again days later")
  func foundedOnce() throws {
    let scene = CliqueScene()
    for friend in ["bob", "eve"] { _ = try scene.befriend("ann", friend) }
    let found = { (members: String, key: String) in
      try scene.said("ann", "group.create", #"{"members":[\#(members)],"name":"Sunday","key":"\#(key)"}"#)
    }
    let first = try found(#""bob","eve""#, "k")
    let id = String(first.split(separator: "\"")[3])
    #expect(try found(#""bob","eve""#, "k") == first)
    #expect(try found(#""bob""#, "k").contains("another group"))
    #expect(try found(#""bob","eve""#, "other") != first)
    try scene.call("ann", "send", #"{"conversation":"\#(id)","text":"secret"}"#)
    for user in ["bob", "eve", "ann"] { try scene.call(user, "group.leave", #"{"conversation":"\#(id)"}"#) }
    #expect(try found(#""bob","eve""#, "k") == first, "answered, and not founded over what was said")
    #expect(scene.records["group/\(id)"] == nil)
    try scene.pass(8 * 24 * 60 * minute)
    #expect(try found(#""bob","eve""#, "k") != first)
    #expect(try found(#""bob","eve""#, String(repeating: "k", count: 65)).contains("at most 64 bytes"))
  }

  @Test("groups are founded, and people drawn into them, so many times a day")
  func groupRates() throws {
    var rules = CliqueRules()
    (rules.groupsPerDay, rules.invitationsPerDay) = (8, 12)
    let scene = CliqueScene(rules)
    for founder in ["ann", "eve", "joe"] { _ = try scene.befriend(founder, "bob") }
    let found = { (user: String) in try scene.said(user, "group.create", #"{"members":["bob"]}"#) }
    for _ in 0..<2 { #expect(try found("ann").contains("conversation")) }
    #expect(try found("ann").contains("you have founded 8 groups"))
    #expect(try found("eve").contains("conversation"))
    try scene.call("bob", "block", #"{"person":"joe"}"#)
    #expect(try found("joe").contains("one of them was made a member"), "who is blocked is told the same")
    try scene.pass(3 * 60 * minute)
    #expect(try found("joe").contains("conversation"))
  }

  @Test("who is blocked finds the other in as many groups as one can be in, as without the block")
  func fullOfGroups() throws {
    var rules = CliqueRules()
    rules.maximumGroups = 3
    for blocks in [false, true] {
      let scene = CliqueScene(rules)
      for friend in ["bob", "eve"] { _ = try scene.befriend("ann", friend) }
      if blocks { try scene.call("ann", "block", #"{"person":"bob"}"#) }
      for _ in 0..<3 {
        let reply = try scene.call("bob", "group.create", #"{"members":["ann"]}"#)
        try scene.call("bob", "group.leave", #"{"conversation":"\#(reply.split(separator: "\"")[3])"}"#)
      }
      #expect(try scene.said("bob", "group.create", #"{"members":["ann"]}"#).contains("in 3 groups"))
      if blocks { try scene.call("ann", "unblock", #"{"person":"bob"}"#) }
      #expect(try scene.said("bob", "group.create", #"{"members":["ann"]}"#).contains("in 3 groups"))
      // For whoever has nothing to do with the block, groups that ann never came to count as little as they are.
      #expect(try scene.said("eve", "group.create", #"{"members":["ann"]}"#).contains("in 3 groups") != blocks)
    }
  }
}
