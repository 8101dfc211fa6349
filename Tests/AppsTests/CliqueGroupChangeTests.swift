import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: changes of groups")
struct CliqueGroupChangeTests {
  private static let day: Int64 = 24 * 3_600_000

  /// A group of ann, who founded it, and bob. All four talk with ann; eve and joe are outside.
  private func found(_ scene: CliqueScene) throws -> String {
    for friend in ["bob", "eve", "joe"] { _ = try scene.befriend("ann", friend) }
    let reply = try scene.call("ann", "group.create", #"{"members":["bob"],"name":"Sunday"}"#)
    return String(reply.split(separator: "\"")[3])
  }

  private func say(_ scene: CliqueScene, _ user: String, _ id: String, _ text: String) throws {
    try scene.call(user, "send", #"{"conversation":"\#(id)","text":"\#(text)"}"#)
  }

  private func of(_ id: String, _ person: String) -> String { #"{"conversation":"\#(id)","person":"\#(person)"}"# }

  private func add(_ scene: CliqueScene, _ user: String, _ id: String, _ members: String...) throws -> String {
    let names = members.map { "\"\($0)\"" }.joined(separator: ",")
    return try scene.said(user, "group.add", #"{"conversation":"\#(id)","members":[\#(names)]}"#)
  }

  private func link(_ scene: CliqueScene, _ user: String, _ id: String, _ more: String = "") throws -> String {
    let reply = try scene.call(user, "group.link", #"{"conversation":"\#(id)"\#(more)}"#)
    return String(reply.split(separator: "\"")[3])
  }

  private func join(_ scene: CliqueScene, _ user: String, _ link: String) throws -> String {
    try scene.said(user, "group.join", #"{"link":"\#(link)"}"#)
  }

  /// A field of a list entry that is a list of users, by the order in which it stands.
  private func users(_ field: String, _ scene: CliqueScene, _ user: String, _ id: String) throws -> [String] {
    let entry = try #require(try scene.entry(user, "list", id))
    let start = try #require(entry.range(of: "\"\(field)\":["))
    return entry[start.upperBound...].prefix { $0 != "]" }.split(separator: ",").map { $0.filter { $0 != "\"" } }
  }

  @Test("who is added sees and finds what is said from then on, and nothing from before")
  func added() throws {
    let scene = CliqueScene()
    let id = try found(scene)
    try say(scene, "bob", id, "word before")
    #expect(try add(scene, "ann", id, "eve") == "{}")
    #expect(try scene.chat("eve", id) == [#"{"event":"added","user":"eve"}"#])
    #expect(try scene.history("eve", id)?.last?.tags == ["actor": "ann"])
    #expect(try scene.field("last", "eve", id) == nil)
    #expect(try scene.field("unread", "eve", id) == "0")
    for user in ["ann", "bob", "eve"] { #expect(try users("members", scene, user, id) == ["ann", "bob", "eve"]) }
    try say(scene, "bob", id, "word after")
    #expect(try scene.chat("eve", id)?.last == "word after")
    #expect(try scene.chat("bob", id)?.first == "word before")
    #expect(try scene.field("unread", "eve", id) == "1")
    #expect(try scene.found("eve", "word") == ["clique.chat:\(id) 3"])
    #expect(try scene.found("ann", "word") == ["clique.chat:\(id) 1", "clique.chat:\(id) 3"])
    // A change of what was said before is no news for eve.
    let heard = try scene.chat("eve", id)
    try scene.change("bob", id, 1, #"{"text":"word changed"}"#)
    #expect(try scene.chat("eve", id) == heard)
    #expect(try scene.chat("ann", id)?.last == "word changed")
    #expect(try add(scene, "ann", id, "eve", "bob") == "{}", "adding twice is fine")
    #expect(try scene.chat("eve", id) == heard)
  }

  @Test("only administrators change the group, and only people who talk with them are added")
  func whoMay() throws {
    let scene = CliqueScene()
    let id = try found(scene)
    _ = try scene.befriend("bob", "eve")
    for (method, json) in [
      ("group.add", #"{"conversation":"\#(id)","members":["joe"]}"#), ("group.remove", of(id, "ann")),
      ("group.rename", #"{"conversation":"\#(id)","name":"x"}"#), ("group.appoint", of(id, "bob")),
      ("group.dismiss", of(id, "ann")), ("group.link", #"{"conversation":"\#(id)"}"#),
      ("group.links", #"{"conversation":"\#(id)"}"#), ("group.revoke", #"{"conversation":"\#(id)"}"#),
    ] {
      let records = scene.records.mapValues(\.data)
      #expect(try scene.said("bob", method, json).contains("only administrators"), "\(method)")
      #expect(throws: Clique.noConversation) { try scene.call("eve", method, json) }
      #expect(scene.records.mapValues(\.data) == records)
    }
    try scene.call("ann", "group.appoint", of(id, "bob"))
    #expect(try add(scene, "bob", id, "joe").contains("open conversation with you"))
    #expect(try add(scene, "bob", id, "eve") == "{}")
    #expect(try scene.said("ann", "group.appoint", of(id, "joe")).contains("not in the group"))
    #expect(try scene.said("ann", "group.remove", of(id, "ann")).contains("yourself"))
    #expect(
      try scene.said("ann", "group.add", #"{"conversation":"\#(scene.pair("ann", "bob"))","members":["joe"]}"#)
        .contains("no such conversation"))
  }

  @Test("who is removed loses the channel, and comes back only by an administrator, not by a link")
  func removed() throws {
    let scene = CliqueScene()
    let id = try found(scene)
    let open = try link(scene, "ann", id)
    try say(scene, "ann", id, "early")
    try scene.call("ann", "group.remove", of(id, "bob"))
    for namespace in ["chat", "receipts", "typing"] {
      #expect(scene.readmitted.contains("bob clique.\(namespace):\(id)"))
      #expect(try !scene.isAdmitted("bob", "clique.\(namespace):\(id)"))
    }
    #expect(try scene.state("bob", id) == nil)
    #expect(try scene.found("bob", "early").isEmpty)
    #expect(try scene.chat("ann", id)?.last == #"{"event":"removed","user":"bob"}"#)
    #expect(throws: Clique.noConversation) { try scene.call("bob", "send", #"{"conversation":"\#(id)","text":"x"}"#) }
    let refused = try join(scene, "bob", open)
    #expect(refused == "\(CliqueCommand.GroupLink.ended)")
    try say(scene, "ann", id, "meanwhile")
    #expect(try add(scene, "ann", id, "bob") == "{}")
    #expect(try scene.chat("bob", id) == [#"{"event":"added","user":"bob"}"#])
    // Who leaves by themselves comes back by the link.
    try scene.call("bob", "group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(try join(scene, "bob", open).contains(id))
    #expect(try scene.chat("bob", id) == [#"{"event":"joined","user":"bob"}"#])
  }

  @Test("administrators appoint and dismiss; when the last goes, the longest member becomes one")
  func administrators() throws {
    let scene = CliqueScene()
    let id = try found(scene)
    _ = try add(scene, "ann", id, "eve", "joe")
    #expect(try users("admins", scene, "joe", id) == ["ann"])
    #expect(try scene.said("ann", "group.dismiss", of(id, "ann")).contains("appoint somebody else"))
    try scene.call("ann", "group.appoint", of(id, "joe"))
    try scene.call("ann", "group.appoint", of(id, "joe"))
    #expect(try scene.chat("joe", id)?.filter { $0.contains("appointed") }.count == 1)
    try scene.call("joe", "group.dismiss", of(id, "ann"))
    #expect(try users("admins", scene, "ann", id) == ["joe"])
    #expect(try scene.said("ann", "group.rename", #"{"conversation":"\#(id)","name":"x"}"#).contains("administrators"))
    try scene.call("joe", "group.rename", #"{"conversation":"\#(id)","name":"Monday"}"#)
    #expect(try scene.field("name", "ann", id) == "Monday")
    #expect(try scene.chat("ann", id)?.last == #"{"event":"renamed","user":"joe","name":"Monday"}"#)
    try scene.call("joe", "group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(try users("admins", scene, "eve", id) == ["ann"])
    try scene.call("ann", "group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(try users("admins", scene, "eve", id) == ["bob"])
    try scene.call("bob", "group.remove", of(id, "eve"))
    try scene.call("bob", "group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(scene.records["group/\(id)"] == nil)
  }

  @Test("a group of an older data folder has its founder as the administrator")
  func older() throws {
    let scene = CliqueScene()
    let id = try found(scene)
    var group = try #require(try scene.record(Clique.Group.self, "group/\(id)"))
    for index in group.members.indices { group.members[index].administrator = nil }
    try scene.plant("group/\(id)", group)
    #expect(try scene.said("bob", "group.appoint", of(id, "bob")).contains("only administrators"))
    try scene.call("ann", "group.appoint", of(id, "bob"))
    #expect(try users("admins", scene, "bob", id) == ["ann", "bob"])
  }

  @Test("a link lets in so many people until its end, and until its maker is no administrator or revokes it")
  func links() throws {
    let scene = CliqueScene()
    let id = try found(scene)
    let once = try link(scene, "ann", id, #","uses":1"#)
    #expect(try join(scene, "bob", once).contains(id), "a member's joining changes nothing")
    #expect(try join(scene, "zoe", once).contains(id))
    #expect(try join(scene, "eve", once) == "\(CliqueCommand.GroupLink.ended)")
    #expect(try users("members", scene, "ann", id) == ["ann", "bob", "zoe"])
    let short = try link(scene, "ann", id, #","lifetime":60000"#)
    try scene.pass(59_999)
    #expect(try join(scene, "eve", short).contains(id))
    try scene.call("eve", "group.leave", #"{"conversation":"\#(id)"}"#)
    try scene.pass(1)
    #expect(try join(scene, "eve", short) == "\(CliqueCommand.GroupLink.ended)")
    #expect(try scene.call("ann", "group.links", #"{"conversation":"\#(id)"}"#) == #"{"links":[]}"#)
    try scene.call("ann", "group.appoint", of(id, "bob"))
    let bobs = try link(scene, "bob", id)
    try scene.call("ann", "group.dismiss", of(id, "bob"))
    #expect(try join(scene, "eve", bobs) == "\(CliqueCommand.GroupLink.ended)")
    let (first, second) = (try link(scene, "ann", id), try link(scene, "ann", id))
    let listed = try scene.call("ann", "group.links", #"{"conversation":"\#(id)"}"#)
    let names = listed.split(separator: "\"").enumerated().filter { $0.element.count == 8 }.map { String($0.element) }
    try #require(names.count == 2)
    #expect(!listed.contains(first.suffix(32)), "secrets are not told again")
    try scene.call("ann", "group.revoke", #"{"conversation":"\#(id)","id":"\#(names[0])"}"#)
    #expect(try join(scene, "eve", first) == "\(CliqueCommand.GroupLink.ended)")
    #expect(try join(scene, "eve", second).contains(id))
    try scene.call("ann", "group.revoke", #"{"conversation":"\#(id)"}"#)
    #expect(try join(scene, "joe", second) == "\(CliqueCommand.GroupLink.ended)")
  }

  @Test("no link but the one that was made opens a group, and its secret stands in no record")
  func secrets() throws {
    let scene = CliqueScene()
    let id = try found(scene)
    let link = try link(scene, "ann", id)
    let secret = String(link.suffix(32))
    for (_, record) in scene.records { #expect(!String(decoding: record.data, as: UTF8.self).contains(secret)) }
    let unknown = "g" + String(repeating: "0", count: 32)
    let ended = "\(CliqueCommand.GroupLink.ended)"
    for wrong in [
      "\(id).\(String(repeating: "0", count: 32))", "\(unknown).\(secret)", id, "\(id).", secret, "\(id).\(secret)x",
      "\(scene.pair("ann", "bob")).\(secret)", "\(id).\(secret.uppercased())",
    ] where wrong != link { #expect(try join(scene, "eve", wrong) == ended, "\(wrong)") }
    #expect(try join(scene, "eve", "").contains("`link` is missing"))
    for (more, words) in [
      (#","lifetime":999"#, "from 1000"), (#","lifetime":2592000001"#, "30 days"), (#","uses":0"#, "from 1 to 1000"),
      (#","uses":1001"#, "from 1 to 1000"),
    ] {
      #expect(try scene.said("ann", "group.link", #"{"conversation":"\#(id)"\#(more)}"#).contains(words))
    }
  }

  @Test("a gateway that repeats the command for a link gets the same link, and no second one")
  func repeatedLink() throws {
    let scene = CliqueScene()
    let id = try found(scene)
    let command = try AppCommand("clique.group.link", Array(#"{"conversation":"\#(id)"}"#.utf8), by: "ann")
    let call = AppCall(command, caller: ClientInfo(user: "ann", client: "c"), key: .text("k"))
    let first = try scene.app.call(call, scene)
    try scene.apply(first.effects)
    let second = try scene.app.call(call, scene)
    #expect(second.answer == first.answer)
    #expect(second.effects.isEmpty)
  }

  @Test("limits hold for those who are added and those who join")
  func limits() throws {
    var rules = CliqueRules()
    (rules.groupSize, rules.maximumGroups, rules.groupsPerDay) = (3, 2, 12)
    let scene = CliqueScene(rules)
    let id = try found(scene)
    let open = try link(scene, "ann", id)
    #expect(try add(scene, "ann", id, "eve", "joe").contains("the group has 3 members"))
    #expect(try users("members", scene, "ann", id) == ["ann", "bob"], "all or nobody")
    #expect(try join(scene, "eve", open).contains(id))
    #expect(try join(scene, "joe", open).contains("the group has 3 members"))
    try scene.call("eve", "group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(try join(scene, "eve", open).contains(id))
    try scene.call("eve", "group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(try join(scene, "eve", open).contains(id))
    try scene.call("eve", "group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(try join(scene, "eve", open).contains("founded or joined 12 groups"))
    try scene.pass(Self.day)
    try scene.call("ann", "group.leave", #"{"conversation":"\#(id)"}"#)
    for _ in 0..<2 { try scene.call("ann", "group.create", #"{"members":["eve"]}"#) }
    #expect(try join(scene, "eve", open) == "\(CliqueCommand.GroupLink.ended)", "its maker has left")
    let bobs = try link(scene, "bob", id)
    #expect(try join(scene, "eve", bobs).contains("you are in 2 groups"))
    _ = try scene.befriend("bob", "eve")
    #expect(try add(scene, "bob", id, "eve").contains("one of them is in 2 groups"))
  }
}
