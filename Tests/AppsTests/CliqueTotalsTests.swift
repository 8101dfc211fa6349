import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: totals")
struct CliqueTotalsTests {
  private func totals(_ scene: CliqueScene, _ user: String) throws -> [Int] {
    let answer = try scene.call(user, "totals")
    let channel = try ChannelName("clique.totals:\(user)")
    let shown = try scene.app.entry("all", of: channel, scene)
    #expect(shown.map { String(decoding: $0.data, as: UTF8.self) } == answer, "the channel shows what the call answers")
    let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Int]
    return ["conversations", "messages", "requests"].map { object?[$0] ?? -1 }
  }

  private func say(_ scene: CliqueScene, _ user: String, _ id: String, _ count: Int = 1, _ text: String = "m") throws {
    for _ in 0..<count { try scene.call(user, "send", #"{"conversation":"\#(id)","text":"\#(text)"}"#) }
  }

  private func keep(_ scene: CliqueScene, _ user: String, _ id: String, _ what: String) throws {
    try scene.call(user, "keep", #"{"conversation":"\#(id)",\#(what)}"#)
  }

  @Test("unread conversations and groups, their messages and open requests are counted, each by what the list shows")
  func counts() throws {
    let scene = CliqueScene()
    #expect(try totals(scene, "ann") == [0, 0, 0])
    let id = try scene.befriend("ann", "bob")
    _ = try scene.befriend("ann", "eve")
    let group = String(try scene.call("bob", "group.create", #"{"members":["ann"]}"#).split(separator: "\"")[3])
    try say(scene, "bob", id, 2)
    try say(scene, "bob", group, 3)
    try scene.call("joe", "send", #"{"to":"ann","text":"hi"}"#)
    try scene.call("joe", "send", #"{"to":"ann","text":"there"}"#)
    #expect(try totals(scene, "ann") == [2, 5, 1], "the two messages of a request are one request")
    #expect(try totals(scene, "bob") == [0, 0, 0])
    #expect(try totals(scene, "joe") == [0, 0, 0], "one's own request is not open")
    try scene.call("ann", "read", #"{"conversation":"\#(id)","offset":3}"#)
    #expect(try totals(scene, "ann") == [1, 3, 1])
    try say(scene, "ann", group)
    #expect(try totals(scene, "ann") == [0, 0, 1], "who answers has read")
    try scene.call("ann", "decline", #"{"person":"joe"}"#)
    #expect(try totals(scene, "ann") == [0, 0, 0])
    try say(scene, "bob", id, 150)
    #expect(try totals(scene, "ann") == [1, 100, 0])
    try scene.call("bob", "disconnect", #"{"person":"ann"}"#)
    #expect(try totals(scene, "ann") == [0, 0, 0], "what has ended is not unread")
  }

  @Test("muted and archived conversations do not count; an archived one that comes back does")
  func keeping() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try say(scene, "bob", id, 2)
    try keep(scene, "ann", id, #""muted":true"#)
    #expect(try totals(scene, "ann") == [0, 0, 0])
    try keep(scene, "ann", id, #""muted":false"#)
    #expect(try totals(scene, "ann") == [1, 2, 0])
    try keep(scene, "ann", id, #""archived":true"#)
    #expect(try totals(scene, "ann") == [0, 0, 0])
    try say(scene, "bob", id)
    #expect(try totals(scene, "ann") == [1, 3, 0])
    try keep(scene, "ann", id, #""archived":true,"muted":true"#)
    try say(scene, "bob", id)
    #expect(try totals(scene, "ann") == [0, 0, 0])
  }

  @Test("what people write is never taken for a field of the list")
  func texts() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    let text = #"\",\"unread\":99,\"muted\":true,\"state\":\"request_in\"\"#
    try say(scene, "bob", id, 1, text + #"\"#)
    #expect(try scene.field("last", "ann", id)?.contains(#""unread":99"#) == true)
    #expect(try totals(scene, "ann") == [1, 1, 0])
    try scene.call("joe", "send", #"{"to":"ann","text":"\"unread\":0,\"unread\":7"}"#)
    #expect(try totals(scene, "ann") == [1, 1, 1])
  }

  @Test("the sums are those of the list, whatever happens", arguments: 0..<20)
  func sums(seed: Int) throws {
    var random = CliqueRandom(seed: UInt64(seed) + 7000)
    let scene = CliqueScene()
    let friends = ["bob", "eve", "joe"]
    for friend in friends.dropLast() { _ = try scene.befriend("ann", friend) }
    for count in 0..<80 {
      let friend = random.pick(friends)
      let id = scene.pair("ann", friend)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4: _ = try scene.said(friend, "send", #"{"to":"ann","text":"m\#(count)"}"#)
      case 4: _ = try scene.said("ann", "send", #"{"to":"\#(friend)","text":"a"}"#)
      case 5:
        let top = try scene.top(of: ChannelName("clique.chat:\(id)"))
        _ = try scene.said("ann", "read", #"{"conversation":"\#(id)","offset":\#(top)}"#)
      case 6:
        let (field, on) = (random.pick(["muted", "archived", "pinned"]), Bool.random(using: &random))
        _ = try scene.said("ann", "keep", #"{"conversation":"\#(id)","\#(field)":\#(on)}"#)
      case 7: _ = try scene.said("ann", random.pick(["block", "unblock"]), #"{"person":"\#(friend)"}"#)
      case 8: _ = try scene.said("ann", random.pick(["accept", "decline"]), #"{"person":"\#(friend)"}"#)
      default: _ = try scene.said(friend, "disconnect", #"{"person":"ann"}"#)
      }
      var expected = [0, 0, 0]
      for entry in try scene.entries("ann", "list").values {
        let object = try JSONSerialization.jsonObject(with: Data(entry.data)) as? [String: Any] ?? [:]
        let unread = object["unread"] as? Int ?? 0
        if unread == 0 { continue }
        if object["state"] as? String == "request_in" {
          expected[2] += 1
        } else if object["muted"] == nil, object["archived"] == nil {
          expected[0] += 1
          expected[1] += unread
        }
      }
      try #require(try totals(scene, "ann") == expected, "after \(count) steps")
    }
  }
}
