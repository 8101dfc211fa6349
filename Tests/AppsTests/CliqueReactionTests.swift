import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: reactions")
struct CliqueReactionTests {
  private func react(
    _ scene: CliqueScene, _ user: String, _ id: String, _ offset: Int, _ reaction: String
  ) throws -> String {
    try scene.said(user, "react", #"{"conversation":"\#(id)","offset":\#(offset),"reaction":"\#(reaction)"}"#)
  }

  /// What somebody reads of the reactions: `1/bob 👍`.
  private func seen(_ scene: CliqueScene, _ user: String, _ id: String) throws -> [String] {
    try scene.members(user, "reactions", id).map { line in
      let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { return line }
      return parts[0] + " " + (parts[1].split(separator: "\"").dropFirst(3).first.map(String.init) ?? parts[1])
    }
  }

  private func kept(_ scene: CliqueScene) -> [String] {
    scene.records.keys.filter { $0.hasPrefix("reactions/") }.sorted()
  }

  private func found(_ scene: CliqueScene, _ members: [String] = ["bob", "eve"]) throws -> String {
    let people = ["ann"] + members
    for (index, a) in people.enumerated() { for b in people[(index + 1)...] { _ = try scene.befriend(a, b) } }
    let names = members.map { "\"\($0)\"" }.joined(separator: ",")
    let reply = try scene.call("ann", "group.create", #"{"members":[\#(names)]}"#)
    return String(reply.split(separator: "\"")[3])
  }

  private func say(_ scene: CliqueScene, _ user: String, _ id: String, _ text: String = "m") throws {
    try scene.call(user, "send", #"{"conversation":"\#(id)","text":"\#(text)"}"#)
  }

  // MARK: The table

  @Test("each cell: what is shown, and what is kept for those between whom and the person a block lies")
  func cells() throws {
    let message = Publication(offset: 7, time: 5, data: Array(#"{"text":"m"}"#.utf8), tags: ["hidden": "|joe|"])
    let first = CliqueReaction.after(nil, "👍", to: message, at: 10, keptFrom: [])
    #expect(first.text == "👍" && first.time == 10 && first.kept == nil && first.ends == 5 + 366 * CliqueRules.day)
    #expect(CliqueReaction.after(first, "👍", to: message, at: 11, keptFrom: []) == first, "the same again")
    let under = CliqueReaction.after(first, "👎", to: message, at: 12, keptFrom: ["bob", "joe"])
    #expect(under.kept == [.init(user: "bob", text: "👍", time: 10)], "joe does not get the message at all")
    let again = CliqueReaction.after(under, "🎉", to: message, at: 13, keptFrom: ["bob", "eve"])
    #expect(
      again.kept == [.init(user: "bob", text: "👍", time: 10), .init(user: "eve", text: "👎", time: 12)],
      "bob goes on with what he knew")
    let after = CliqueReaction.after(again, "🎉", to: message, at: 14, keptFrom: [])
    #expect(after.kept == nil && after.time == 13, "said anew, all see it, and its time stays")
    #expect(
      CliqueReaction.after(nil, "👍", to: message, at: 10, keptFrom: ["bob"]).kept
        == [.init(user: "bob", text: nil, time: nil)])
  }

  @Test("one reaction per person and message, which is changed and taken back, for all who read the chat")
  func life() throws {
    for isGroup in [false, true] {
      let scene = CliqueScene()
      let id = isGroup ? try found(scene, ["bob"]) : try scene.befriend("ann", "bob")
      try say(scene, "ann", id)
      #expect(try react(scene, "bob", id, 1, "👍") == "{}")
      #expect(try react(scene, "ann", id, 1, "🏳️‍🌈") == "{}")
      #expect(try react(scene, "bob", id, 1, "❤️") == "{}")
      for user in ["ann", "bob"] { #expect(try seen(scene, user, id) == ["1/ann 🏳️‍🌈", "1/bob ❤️"]) }
      #expect(try react(scene, "bob", id, 1, "") == "{}")
      #expect(try react(scene, "bob", id, 1, "") == "{}", "there is none any more")
      for user in ["ann", "bob"] { #expect(try seen(scene, user, id) == ["1/ann 🏳️‍🌈"]) }
      #expect(kept(scene) == ["reactions/\(id)/ann"])
      #expect(try !scene.isAdmitted("joe", "clique.reactions:\(id)"))
    }
  }

  @Test("only messages that one sees are reacted to, with one sign")
  func refusals() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for wrong in ["👍👍", "ab", " ", "\\n", "\\u200d", "👩🏽‍❤️‍💋‍👨🏿", "a\(String(repeating: "\\u0301", count: 16))"] {
      #expect(try react(scene, "bob", id, 1, wrong).contains("one emoji"), "\(wrong)")
    }
    for offset in [2, 99] { #expect(try react(scene, "bob", id, offset, "👍").contains("no message of this offset")) }
    #expect(try react(scene, "bob", id, 0, "👍").contains("from 1"))
    #expect(try react(scene, "eve", id, 1, "👍").contains("no such conversation"))
    #expect(try scene.said("bob", "react", #"{"conversation":"\#(id)","offset":1}"#).contains("`reaction` is missing"))
    try scene.change("ann", id, 1, #"{"text":"edited"}"#)
    #expect(try react(scene, "bob", id, 2, "👍").contains("no message"), "a notice is no message")
    try scene.change("ann", id, 1, nil)
    #expect(try react(scene, "bob", id, 1, "👍").contains("no message"), "it was removed")
    let group = try found(scene)
    try say(scene, "ann", group)
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    try say(scene, "ann", group)
    #expect(try react(scene, "bob", group, 1, "👍") == "{}")
    #expect(try react(scene, "bob", group, 2, "👍").contains("no message"), "it is kept from him")
    #expect(try react(scene, "bob", id, 1, "👍").contains("blocked this person"))
    #expect(try react(scene, "eve", group, 2, "👍") == "{}")
    #expect(try seen(scene, "bob", group) == ["1/bob 👍"], "and so is that somebody reacts to it")
    #expect(try seen(scene, "ann", group) == ["2/eve 👍"])
  }

  // MARK: Its end

  @Test("reactions go with the message, with the member who leaves, and when the message is too old")
  func ends() throws {
    let scene = CliqueScene()
    let group = try found(scene)
    try say(scene, "ann", group)
    try say(scene, "ann", group)
    for user in ["ann", "bob", "eve"] { for offset in [1, 2] { _ = try react(scene, user, group, offset, "👍") } }
    #expect(try seen(scene, "ann", group).count == 6)
    try scene.change("ann", group, 1, nil)
    #expect(try seen(scene, "ann", group) == ["2/ann 👍", "2/bob 👍", "2/eve 👍"])
    try scene.call("ann", "group.remove", #"{"conversation":"\#(group)","person":"eve"}"#)
    try scene.call("bob", "group.leave", #"{"conversation":"\#(group)"}"#)
    #expect(try seen(scene, "ann", group) == ["2/ann 👍"])
    try scene.pass(367 * CliqueRules.day)
    #expect(try seen(scene, "ann", group) == [] && kept(scene) == [])

    let id = try scene.befriend("joe", "bob")
    _ = try react(scene, "bob", id, 1, "👍")
    try scene.call("joe", "disconnect", #"{"person":"bob"}"#)
    #expect(try seen(scene, "bob", id) == ["1/bob 👍"], "who stays goes on reading")
    #expect(try react(scene, "bob", id, 1, "👎").contains("no such conversation"))
    #expect(try react(scene, "bob", id, 1, "") == "{}", "and may take it back")
    #expect(try seen(scene, "bob", id) == [])
  }

  @Test("one who comes later sees no reaction to what was said before")
  func terms() throws {
    let scene = CliqueScene()
    let group = try found(scene, ["bob"])
    _ = try scene.befriend("ann", "joe")
    try say(scene, "ann", group)
    _ = try react(scene, "bob", group, 1, "👍")
    try scene.call("ann", "group.add", #"{"conversation":"\#(group)","members":["joe"]}"#)
    _ = try react(scene, "ann", group, 1, "👍")
    #expect(try react(scene, "joe", group, 1, "👍").contains("no message"))
    try say(scene, "ann", group)
    let last = Int(try scene.top(of: ChannelName("clique.chat:\(group)")))
    _ = try react(scene, "bob", group, last, "🎉")
    #expect(try seen(scene, "joe", group) == ["\(last)/bob 🎉"])
    #expect(try seen(scene, "bob", group).count == 3)
  }

  @Test("each person has so many reactions in a conversation, and one more takes the place of the oldest message's")
  func limit() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for _ in 0...Clique.maximumReactions { try say(scene, "ann", id) }
    for offset in 2...Clique.maximumReactions + 2 { #expect(try react(scene, "bob", id, offset, "👍") == "{}") }
    #expect(try seen(scene, "ann", id).count == Clique.maximumReactions)
    #expect(try !seen(scene, "ann", id).contains("2/bob 👍"))
    #expect(try react(scene, "ann", id, 2, "👍") == "{}", "she has her own number")
    do {
      try scene.call("bob", "react", #"{"conversation":"\#(id)","offset":1,"reaction":"👍"}"#)
      Issue.record("it was taken")
    } catch let error as ClientError {
      #expect(error.limit == .cliqueReactions)
    }
  }

  // MARK: Blocks

  @Test("what a blocked person reacts never reaches the one who blocks, in a conversation of two and in a group")
  func blocked() throws {
    for isGroup in [false, true] {
      let scene = CliqueScene()
      let id = isGroup ? try found(scene) : try scene.befriend("ann", "bob")
      for _ in 0..<3 { try say(scene, "ann", id) }
      _ = try react(scene, "bob", id, 1, "👍")
      try scene.call("ann", "block", #"{"person":"bob"}"#)
      #expect(try react(scene, "bob", id, 1, "👎") == "{}")
      #expect(try react(scene, "bob", id, 2, "🎉") == "{}")
      #expect(try seen(scene, "bob", id) == ["1/bob 👎", "2/bob 🎉"])
      if isGroup {
        #expect(try seen(scene, "ann", id) == ["1/bob 👍"])
        #expect(try seen(scene, "eve", id) == ["1/bob 👎", "2/bob 🎉"])
        _ = try react(scene, "ann", id, 2, "👍")
        #expect(try seen(scene, "bob", id) == ["1/bob 👎", "2/bob 🎉"], "nor hers him")
        #expect(try seen(scene, "eve", id).contains("2/ann 👍"))
      } else {
        #expect(try !scene.isAdmitted("ann", "clique.reactions:\(id)"))
        #expect(try react(scene, "ann", id, 2, "👍").contains("blocked this person"))
      }
      try scene.call("ann", "unblock", #"{"person":"bob"}"#)
      let own = isGroup ? ["2/ann 👍"] : []
      #expect(try seen(scene, "ann", id) == ["1/bob 👍"] + own, "not after the block either")
      #expect(try react(scene, "bob", id, 2, "🎉") == "{}")
      #expect(try seen(scene, "ann", id) == ["1/bob 👍"] + own + ["2/bob 🎉"], "said anew, it does")
      #expect(try react(scene, "bob", id, 1, "") == "{}")
      #expect(try seen(scene, "ann", id) == own + ["2/bob 🎉"])
    }
  }

  @Test("what is taken back under a block is gone for everybody")
  func takenBack() throws {
    let scene = CliqueScene()
    let id = try found(scene)
    try say(scene, "eve", id)
    _ = try react(scene, "bob", id, 1, "👍")
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    _ = try react(scene, "bob", id, 1, "👎")
    _ = try react(scene, "bob", id, 1, "")
    for user in ["ann", "bob", "eve"] { #expect(try seen(scene, user, id) == []) }
    let entry = AppEntry(
      data: [], score: 0, tags: ["hidden": "|ann||joe|", FormerVersions.tag: former("ann")], info: nil)
    let removal = Publication(data: [], tags: entry.tags).audienceTagsOfRemoval
    #expect(removal == ["hidden": "|joe|"], "who saw an older version hears of it, who saw none does not")
  }

  private func former(_ user: String) -> String {
    var former = FormerVersions()
    former.keep(Array("{}".utf8), for: user)
    return former.text ?? ""
  }

  // MARK: Data of a user

  @Test("a user's reactions go with the user's data, and others' do not name the user any more")
  func forgetting() throws {
    let scene = CliqueScene()
    let id = try found(scene)
    try say(scene, "ann", id)
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    for user in ["ann", "bob", "eve"] { _ = try react(scene, user, id, 1, "👍") }
    let sought = SoughtUsers(["bob"])
    for key in scene.records.keys.sorted() {
      if let decision = try scene.app.forget(sought, in: key, scene) { try scene.apply(decision.effects) }
    }
    #expect(try seen(scene, "eve", id) == ["1/ann 👍", "1/eve 👍"])
    for key in scene.records.keys { #expect(try scene.app.forget(sought, in: key, scene) == nil, "\(key)") }
    for (key, entry) in scene.maps[try ChannelName("clique.reactions:\(id)")] ?? [:] {
      #expect(!sought.areNamed(by: Publication(data: entry.data, info: entry.info, tags: entry.tags)), "\(key)")
    }
    #expect(scene.records.values.allSatisfy { !String(decoding: $0.data, as: UTF8.self).contains("\"bob\"") })
  }
}
