import Testing
import Wire

@testable import Apps

@Suite("Clique: who is in groups, for whoever helps people")
struct CliqueGroupStandingTests {
  private func groups(_ query: UserRequest.Groups, _ scene: CliqueScene) throws -> String {
    String(decoding: try scene.app.groups(query, scene), as: UTF8.self)
  }

  private func found(_ scene: CliqueScene, _ key: String) throws -> String {
    let reply = try scene.call(
      "ann", "group.create", #"{"members":["bob","eve"],"name":"Sunday"}"#, key: key)
    return String(reply.split(separator: "\"")[3])
  }

  @Test("a user's groups, and one by its id, show members and blocks, and neither its name nor what was written")
  func members() throws {
    let scene = CliqueScene()
    for friend in ["bob", "eve"] { _ = try scene.befriend("ann", friend) }
    let created = scene.now
    let id = try found(scene, "g1")
    try scene.call("bob", "send", #"{"conversation":"\#(id)","text":"hello"}"#)
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    let group =
      #"{"conversation":"\#(id)","founder":"ann","created":\#(created),"members":["ann","bob","eve"],"absent":[],"#
      + #""admins":["ann"],"links":0,"blocks":[{"by":"ann","of":"bob"}]}"#
    for user in ["ann", "bob", "eve"] { #expect(try groups(.of(user: user), scene) == #"{"groups":[\#(group)]}"#) }
    #expect(try groups(.one(id), scene) == #"{"groups":[\#(group)]}"#)
    #expect(try groups(.of(user: "joe"), scene) == #"{"groups":[]}"#)
    #expect(try groups(.one("g" + String(repeating: "0", count: 32)), scene) == #"{"groups":[]}"#)
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    let second = try found(scene, "g2")
    #expect(try groups(.of(user: "bob"), scene).contains(second))
    #expect(throws: ClientError.self) { try groups(.of(user: "a\u{1}"), scene) }
  }

  @Test("administrators are named, absent ones too, and links that hold are counted, without a word of them")
  func administrators() throws {
    let scene = CliqueScene()
    for friend in ["bob", "eve"] { _ = try scene.befriend("ann", friend) }
    let id = try found(scene, "g1")
    try scene.call("ann", "group.appoint", #"{"conversation":"\#(id)","person":"eve"}"#)
    let link = try scene.call("eve", "group.link", #"{"conversation":"\#(id)","lifetime":60000}"#)
    try scene.call("ann", "group.link", #"{"conversation":"\#(id)"}"#)
    #expect(try groups(.one(id), scene).contains(#""admins":["ann","eve"],"links":2,"#))
    let secret = try #require(link.split(separator: "\"").first { $0.hasPrefix(id) }).dropFirst(id.count + 1)
    #expect(try !groups(.one(id), scene).contains(secret))
    scene.now += 60_000
    #expect(try groups(.one(id), scene).contains(#""links":1,"#), "one has ended, though the record still has it")
    try scene.call("ann", "group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(try groups(.one(id), scene).contains(#""admins":["eve"],"links":0,"#), "the link's maker has left")
  }

  @Test("somebody who blocks the founder is no member, and the group says so to whoever helps")
  func absent() throws {
    let scene = CliqueScene()
    for friend in ["bob", "eve"] { _ = try scene.befriend("ann", friend) }
    try scene.call("eve", "block", #"{"person":"ann"}"#)
    let id = try found(scene, "g1")
    #expect(try groups(.one(id), scene).contains(#""members":["ann","bob"],"absent":["eve"]"#))
    #expect(try groups(.of(user: "eve"), scene) == #"{"groups":[]}"#)
  }
}
