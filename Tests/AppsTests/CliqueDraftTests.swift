import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: drafts")
struct CliqueDraftTests {
  private func write(_ scene: CliqueScene, _ user: String, _ id: String, _ text: String) throws -> String {
    try scene.said(user, "draft", #"{"conversation":"\#(id)","text":"\#(text)"}"#)
  }

  private func drafts(_ scene: CliqueScene, _ user: String) throws -> [String: String] {
    try scene.entries(user, "drafts").mapValues { String(decoding: $0.data, as: UTF8.self) }
  }

  /// What is kept of somebody's drafts on the disk.
  private func kept(_ scene: CliqueScene, _ user: String) -> [String] {
    scene.records.keys.filter { $0.hasPrefix("draft/\(user)/") || $0 == "drafts/\(user)" }.sorted()
  }

  private func found(_ scene: CliqueScene) throws -> String {
    _ = try scene.befriend("ann", "bob")
    return String(try scene.call("ann", "group.create", #"{"members":["bob"]}"#).split(separator: "\"")[3])
  }

  @Test("a draft is what was written last, with its reply; \"\" removes it, and nobody else sees any of it")
  func life() throws {
    for isGroup in [false, true] {
      let scene = CliqueScene()
      let id = isGroup ? try found(scene) : try scene.befriend("ann", "bob")
      try scene.call("bob", "send", #"{"conversation":"\#(id)","text":"hi"}"#)
      #expect(try write(scene, "ann", id, "see") == "{}")
      #expect(try drafts(scene, "ann") == [id: #"{"text":"see","time":\#(scene.now)}"#])
      try scene.pass(1000)
      #expect(try scene.said("ann", "draft", #"{"conversation":"\#(id)","text":"see you","reply":1}"#) == "{}")
      #expect(try drafts(scene, "ann") == [id: #"{"text":"see you","reply":1,"time":\#(scene.now)}"#])
      #expect(try drafts(scene, "bob") == [:])
      #expect(try scene.isAdmitted("ann", "clique.drafts:ann"))
      #expect(try !scene.isAdmitted("bob", "clique.drafts:ann"))
      #expect(try write(scene, "ann", id, "") == "{}")
      #expect(try write(scene, "ann", id, "") == "{}", "there is none any more")
      #expect(try drafts(scene, "ann") == [:] && kept(scene, "ann") == [])
    }
  }

  @Test("the message removes the draft, whoever reads it, and in whatever state the conversation is")
  func sent() throws {
    // What bob does before ann, who has a draft, writes to him.
    let scenes: [(String, (CliqueScene, String) throws -> Void)] = [
      ("open", { _, _ in }),
      ("blocked", { scene, _ in try scene.call("bob", "block", #"{"person":"ann"}"#) }),
      ("ended", { scene, _ in try scene.call("bob", "disconnect", #"{"person":"ann"}"#) }),
    ]
    for (name, prepare) in scenes {
      let scene = CliqueScene()
      let id = try scene.befriend("ann", "bob")
      #expect(try write(scene, "ann", id, "see") == "{}")
      #expect(try write(scene, "bob", id, "well") == "{}")
      try prepare(scene, id)
      #expect(try drafts(scene, "ann").count == 1, "\(name)")
      try scene.call("ann", "send", #"{"to":"bob","text":"another text"}"#)
      #expect(try drafts(scene, "ann") == [:] && kept(scene, "ann") == [], "\(name)")
      #expect(try drafts(scene, "bob").count == (name == "ended" ? 0 : 1), "\(name): his own is his own")
    }
    let scene = CliqueScene()
    let group = try found(scene)
    for user in ["ann", "bob"] { #expect(try write(scene, user, group, "see") == "{}") }
    try scene.call("ann", "send", #"{"conversation":"\#(group)","text":"see you"}"#)
    #expect(try drafts(scene, "ann") == [:])
    #expect(try drafts(scene, "bob").keys.sorted() == [group])
    #expect(try scene.chat("bob", group)?.last == "see you")
  }

  @Test("requests have drafts on both sides, which go with a decline, a withdrawal and the end of the request")
  func requests() throws {
    for end in ["decline", "disconnect", "time", "send"] {
      let scene = CliqueScene()
      try scene.call("ann", "send", #"{"to":"bob","text":"hi"}"#)
      let id = scene.pair("ann", "bob")
      for user in ["ann", "bob"] { #expect(try write(scene, user, id, "well") == "{}") }
      switch end {
      case "decline":
        try scene.call("bob", "decline", #"{"person":"ann"}"#)
        #expect(try drafts(scene, "bob") == [:])
        #expect(try drafts(scene, "ann").count == 1, "as if nobody answered")
        try scene.pass(15 * CliqueRules.day)
      case "disconnect": try scene.call("ann", "disconnect", #"{"person":"bob"}"#)
      case "time": try scene.pass(15 * CliqueRules.day)
      default:
        try scene.call("bob", "send", #"{"to":"ann","text":"hello"}"#)
        #expect(try drafts(scene, "bob") == [:])
        #expect(try drafts(scene, "ann").count == 1)
        try scene.call("ann", "send", #"{"to":"bob","text":"so"}"#)
      }
      for user in ["ann", "bob"] { #expect(try drafts(scene, user) == [:] && kept(scene, user) == [], "\(end)") }
    }
  }

  @Test("a draft goes when the conversation leaves the list, and stays through one's own block")
  func leaving() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for user in ["ann", "bob"] { #expect(try write(scene, user, id, "well") == "{}") }
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    #expect(try write(scene, "ann", id, "no").contains("blocked this person"))
    #expect(try drafts(scene, "ann")[id]?.contains("well") == true)
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    try scene.call("ann", "disconnect", #"{"person":"bob"}"#)
    #expect(try drafts(scene, "ann") == [:])
    #expect(try drafts(scene, "bob").count == 1, "ended, it still stands in his list")
    try scene.call("bob", "disconnect", #"{"person":"ann"}"#)
    #expect(try drafts(scene, "bob") == [:] && kept(scene, "bob") == [])
    let group = try found(scene)
    for user in ["ann", "bob"] { #expect(try write(scene, user, group, "well") == "{}") }
    try scene.call("ann", "group.remove", #"{"conversation":"\#(group)","person":"bob"}"#)
    #expect(try drafts(scene, "bob") == [:] && kept(scene, "bob") == [])
    try scene.call("ann", "group.leave", #"{"conversation":"\#(group)"}"#)
    #expect(try drafts(scene, "ann") == [:] && kept(scene, "ann") == [])
  }

  @Test("a draft ends 30 days after its last change, in conversations of two and groups")
  func end() throws {
    for isGroup in [false, true] {
      let scene = CliqueScene()
      let id = isGroup ? try found(scene) : try scene.befriend("ann", "bob")
      #expect(try write(scene, "ann", id, "a") == "{}")
      try scene.pass(20 * CliqueRules.day)
      #expect(try write(scene, "ann", id, "b") == "{}")
      try scene.pass(29 * CliqueRules.day)
      #expect(try drafts(scene, "ann").count == 1)
      try scene.pass(2 * CliqueRules.day)
      #expect(try drafts(scene, "ann") == [:] && kept(scene, "ann") == [])
      #expect(try write(scene, "ann", id, "again") == "{}")
      #expect(try drafts(scene, "ann").count == 1)
    }
  }

  @Test("only conversations of one's own list have drafts, of the length of a message, and so many of them")
  func limits() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    #expect(try write(scene, "eve", id, "x").contains("no such conversation"))
    #expect(try scene.said("ann", "draft", #"{"person":"eve","text":"x"}"#).contains("no such conversation"))
    #expect(try scene.said("ann", "draft", #"{"conversation":"\#(id)"}"#).contains("`text` is missing"))
    #expect(try scene.said("ann", "draft", #"{"conversation":"\#(id)","text":"x","reply":9}"#).contains("beyond"))
    #expect(try write(scene, "ann", id, String(repeating: "x", count: 4001)).contains("4001 characters"))
    for number in 0..<Clique.maximumDrafts {
      #expect(try write(scene, "ann", try scene.befriend("friend\(number)", "ann"), "x") == "{}")
    }
    do {
      try scene.call("ann", "draft", #"{"conversation":"\#(id)","text":"one more"}"#)
      Issue.record("it was kept")
    } catch let error as ClientError {
      #expect(error.limit == .cliqueDrafts)
    }
    #expect(try write(scene, "ann", scene.pair("ann", "friend7"), "y") == "{}", "it has one already")
    try scene.call("ann", "send", #"{"to":"friend7","text":"y"}"#)
    #expect(try write(scene, "ann", id, "one more") == "{}")
  }

  @Test("sending looks at no more records than it did, for people without a draft there")
  func lookups() throws {
    let scene = CliqueScene()
    let (id, other) = (try scene.befriend("ann", "bob"), try scene.befriend("ann", "eve"))
    #expect(try write(scene, "ann", other, "to eve") == "{}")
    #expect(try write(scene, "bob", id, "his") == "{}")
    let command = try AppCommand(
      "clique.send", Array(#"{"conversation":"\#(id)","text":"hi"}"#.utf8), by: "ann")
    let before = scene.lookups
    let decision = try scene.app.call(
      AppCall(command, caller: ClientInfo(user: "ann", client: "c"), key: .text("k")), scene)
    #expect(scene.lookups == before + 1)
    #expect(decision.effects.count == 2)
  }

  @Test("drafts go with their author's data, and stay where the other's is deleted")
  func forgetting() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for user in ["ann", "bob"] { #expect(try write(scene, user, id, "well") == "{}") }
    let sought = SoughtUsers(["ann"])
    for key in scene.records.keys.sorted() {
      if let decision = try scene.app.forget(sought, in: key, scene) { try scene.apply(decision.effects) }
    }
    #expect(kept(scene, "ann") == [])
    #expect(try drafts(scene, "bob").count == 1)
    #expect(scene.app.channels(of: "ann").map(\.string).contains("clique.drafts:ann"))
    for key in scene.records.keys { #expect(try scene.app.forget(sought, in: key, scene) == nil, "\(key)") }
  }
}
