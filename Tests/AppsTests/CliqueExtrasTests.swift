import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: replies and mentions")
struct CliqueExtrasTests {
  private func say(_ scene: CliqueScene, _ user: String, _ id: String, _ more: String) throws -> String {
    try scene.said(user, "send", #"{"conversation":"\#(id)","text":"hi"\#(more)}"#)
  }

  @Test("a reply names a message of the conversation, which stays when its text is changed")
  func reply() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    #expect(try say(scene, "bob", id, #","reply":1,"key":"k""#).contains("\"offset\":2"))
    #expect(
      try scene.history("ann", id)?.last.map { String(decoding: $0.data, as: UTF8.self) }
        == #"{"text":"hi","key":"k","reply":1}"#)
    try scene.change("bob", id, 2, #"{"text":"ho"}"#)
    #expect(
      try scene.history("ann", id)?.last.map { String(decoding: $0.data, as: UTF8.self) }
        == #"{"text":"ho","key":"k","reply":1}"#)
    #expect(try say(scene, "bob", id, #","reply":4"#).contains("beyond the last message"))
    #expect(try say(scene, "bob", id, #","reply":0"#).contains("from 1"))
    #expect(try say(scene, "bob", id, #","reply":"1""#).contains("whole number"))
  }

  @Test("members alone are mentioned, in a tag that the phones of the conversation see")
  func mentions() throws {
    let scene = CliqueScene()
    let pair = try scene.befriend("ann", "b|b")
    #expect(try say(scene, "ann", pair, #","mentions":["b|b","b|b"]"#).contains("\"offset\":2"))
    #expect(try scene.history("b|b", pair)?.last?.tags == ["mentions": "|b%7Cb|"])
    #expect(try say(scene, "ann", pair, #","mentions":["eve"]"#).contains("not in the conversation"))
    _ = try scene.befriend("ann", "eve")
    let reply = try scene.call("ann", "group.create", #"{"members":["b|b","eve"]}"#)
    let group = String(reply.split(separator: "\"")[3])
    #expect(try say(scene, "ann", group, #","mentions":["eve","ann"],"reply":null"#).contains("\"offset\":1"))
    #expect(try scene.history("eve", group)?.last?.tags == ["mentions": "|eve||ann|"])
    #expect(try say(scene, "ann", group, #","mentions":["joe"]"#).contains("not in the conversation"))
    let many = (0...50).map { "\"u\($0)\"" }.joined(separator: ",")
    #expect(try say(scene, "ann", group, ",\"mentions\":[\(many)]").contains("at most 50"))
    #expect(try say(scene, "ann", group, #","mentions":"eve""#).contains("list"))
    #expect(try say(scene, "ann", group, #","mentions":[]"#).contains("\"offset\":2"))
    #expect(try scene.history("eve", group)?.last?.tags == [:])
  }

  @Test("a request has neither, whether or not it reaches anybody; and its answer may have both")
  func requests() throws {
    let (silent, other) = (CliqueScene(), CliqueScene())
    try other.call("bob", "block", #"{"person":"ann"}"#)
    for scene in [silent, other] {
      #expect(try scene.said("ann", "send", #"{"to":"bob","text":"hi","reply":1}"#).contains("of a request"))
      #expect(scene.streams.isEmpty)
    }
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.call("ann", "disconnect", #"{"person":"bob"}"#)
    #expect(try say(scene, "bob", id, #","mentions":["ann"]"#).contains("of a request"))
    try scene.call("ann", "send", #"{"to":"bob","text":"again"}"#)
    #expect(try say(scene, "bob", id, #","mentions":["ann"],"reply":1"#).contains("\"offset\":3"))
  }

  @Test("one who is blocked replies and mentions as before, and nobody hears of it")
  func blocked() throws {
    let (silent, other) = (CliqueScene(), CliqueScene())
    let id = silent.pair("ann", "bob")
    for scene in [silent, other] { _ = try scene.befriend("ann", "bob") }
    try other.call("ann", "block", #"{"person":"bob"}"#)
    for more in [#","reply":1,"mentions":["ann"]"#, #","reply":9"#, #","mentions":["eve"]"#] {
      #expect(try say(silent, "bob", id, more) == say(other, "bob", id, more))
    }
    let (mine, twin) = (try silent.history("bob", id), try other.history("bob", id))
    #expect(mine?.map(\.data) == twin?.map(\.data) && mine?.map(\.tags) == twin?.map(\.tags))
    try other.call("ann", "unblock", #"{"person":"bob"}"#)
    #expect(try other.chat("ann", id) == ["hello"])
  }
}
