import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: profiles")
struct CliqueProfileTests {
  static let hour: Int64 = 3_600_000
  static let day = 24 * hour

  /// Of whom a reader sees a profile, and under which names, by the method and by the channel.
  static func names(_ scene: CliqueScene, _ reader: String, _ people: String...) throws -> [String] {
    try people.map { user in
      let answer = try scene.call(reader, "profiles", #"{"people":["\#(user)"]}"#)
      let name = try Self.name(in: answer)
      let shown = try scene.entries(reader, "people")[user].map { String(decoding: $0.data, as: UTF8.self) }
      let other = try shown.map { try Self.name(of: $0) } ?? "-"
      // One's own profile stands in a channel of its own.
      return user == reader || name == other ? name : "\(name), in the channel \(other)"
    }
  }

  private static func name(in answer: String) throws -> String {
    let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
    let people = try #require(object?["people"] as? [[String: Any]])
    return people.first.map { $0["name"] as? String ?? "" } ?? "-"
  }

  private static func name(of entry: String) throws -> String {
    let object = try JSONSerialization.jsonObject(with: Data(entry.utf8)) as? [String: Any]
    return object?["name"] as? String ?? ""
  }

  static func scene(_ change: (inout CliqueRules) -> Void = { _ in }) throws -> CliqueScene {
    var rules = CliqueRules()
    change(&rules)
    let scene = CliqueScene(rules)
    for (user, name) in [("ann", "Ann"), ("bob", "Bob"), ("eve", "Eve")] {
      try scene.call(user, "profile.set", #"{"name":"\#(name)"}"#)
    }
    return scene
  }

  @Test("What is said stays until something else is said; empty texts remove, and nothing else is taken")
  func change() throws {
    let scene = CliqueScene()
    func set(_ json: String) throws -> String { try scene.said("ann", "profile.set", json) }
    let time = scene.now
    let first = try set(#"{"name":"  Ann\u0000 \u202eB ","fields":{"university":"TU"}}"#)
    #expect(first == #"{"user":"ann","name":"Ann B","fields":{"university":"TU"},"changed":\#(time)}"#)
    #expect(try scene.entry("ann", "profile", "profile") == "\(first) \(time) \(Int64.max)")
    scene.now += 5
    #expect(try set(#"{"name":"Ann B"}"#) == first, "nothing has changed")
    #expect(try set(#"{"fields":{"university":null}}"#) == #"{"user":"ann","name":"Ann B","changed":\#(time + 5)}"#)
    #expect(try set(#"{"name":""}"#) == #"{"user":"ann"}"#)
    #expect(try scene.entry("ann", "profile", "profile") == nil)
    #expect(scene.records["profile/ann"] == nil)
    for (json, part) in [
      (#"{}"#, "say what is to change"), (#"{"name":7}"#, "`name` must be a text"),
      (#"{"name":"\u200b\u2060"}"#, "nothing that can be seen"), (#"{"fields":[]}"#, "`fields` is an object"),
      (#"{"fields":{"shoe":"42"}}"#, "those that the server names: university"),
      (#"{"fields":{"university":7}}"#, "`fields` must be a text"), (#"{"picture":{"id":""}}"#, "`picture` is"),
      (#"{"picture":{"id":"abc"}}"#, "picture is unknown"),
      (#"{"name":"\#(String(repeating: "é", count: 81))"}"#, "81 characters"),
      (#"{"fields":{"university":"\#(String(repeating: "x", count: 101))"}}"#, "101 characters"),
    ] { #expect(try set(json).contains(part), "\(json)") }
    #expect(scene.records["profile/ann"] == nil)
  }

  @Test("A name is a name in every script, and what cannot be seen is no part of it")
  func cleaned() {
    for (text, cleaned) in [
      ("Ann", "Ann"), (" \u{9}Ann \n\n B\u{0}", "Ann B"), ("\u{202E}Ann\u{2066}", "Ann"), ("👩‍👩‍👧", "👩‍👩‍👧"),
      ("نام\u{200C}ها", "نام\u{200C}ها"), ("\u{200D}\u{301} ", ""), ("\u{3164}", ""), ("", ""),
      ("Zo\u{65}\u{308}", "Zo\u{65}\u{308}"),
    ] { #expect(Array(PersonalText.cleaned(text).utf8) == Array(cleaned.utf8), "\(text.unicodeScalars)") }
  }

  @Test("A day's changes are counted, and what changes nothing is not")
  func limits() throws {
    let scene = CliqueScene()
    for count in 0..<25 { try scene.call("ann", "profile.set", #"{"name":"Ann \#(count)"}"#) }
    try scene.call("ann", "profile.set", #"{"name":"Ann 24"}"#)
    func limit(_ json: String) throws -> AppLimit? {
      let error = try #require(throws: ClientError.self) { try scene.call("ann", "profile.set", json) }
      #expect(error.code == 106)
      return error.limit
    }
    #expect(try limit(#"{"name":"Ann"}"#) == .cliqueProfileChangesPerDay)
    #expect(try limit(#"{"name":"\#(String(repeating: "x", count: 81))"}"#) == .cliqueProfileText)
    try scene.pass(Self.hour)
    try scene.call("ann", "profile.set", #"{"name":""}"#)
    try scene.pass(Self.day)
    #expect(scene.records.isEmpty)
  }

  @Test("The table of who sees whom", arguments: PairState.Sight.allCases)
  func table(sight: PairState.Sight) {
    for (group, crossed) in [(false, false), (false, true), (true, false), (true, true)] {
      let seen = ProfileSight.of(isSelf: false, sight, sharesGroup: group, hasCrossed: crossed)
      switch sight {
      case .blocked: #expect(seen == .nothing)
      case .active, .ended, .asked: #expect(seen == .all)
      case .asking: #expect(seen == (group ? .all : crossed ? .whileCrossed : .name))
      case .nothing: #expect(seen == (group ? .all : crossed ? .whileCrossed : .nothing))
      }
      #expect(ProfileSight.of(isSelf: true, sight, sharesGroup: group, hasCrossed: crossed) == .all)
    }
  }

  @Test("Nobody sees a stranger, whoever asks sees no more by asking, and whoever is asked sees who asks")
  func requests() throws {
    let scene = try Self.scene()
    #expect(try Self.names(scene, "ann", "ann", "bob", "nobody") == ["Ann", "-", "-"])
    try scene.call("ann", "send", #"{"to":"bob","text":"hi"}"#)
    #expect(try Self.names(scene, "ann", "bob") == ["-"])
    #expect(try Self.names(scene, "bob", "ann") == ["Ann"])
    try scene.call("ann", "profile.set", #"{"name":"Anna"}"#)
    #expect(try Self.names(scene, "bob", "ann") == ["Anna"])
    try scene.call("bob", "decline", #"{"person":"ann"}"#)
    #expect(try Self.names(scene, "bob", "ann") == ["-"])
    try scene.call("bob", "send", #"{"to":"ann","text":"or yes"}"#)
    #expect(try Self.names(scene, "bob", "ann") == ["Anna"])
    #expect(try Self.names(scene, "ann", "bob") == ["Bob"])
    try scene.call("bob", "disconnect", #"{"person":"ann"}"#)
    #expect(try Self.names(scene, "bob", "ann") == ["-"])
    try scene.call("bob", "profile.set", #"{"name":"Robert"}"#)
    #expect(try Self.names(scene, "ann", "bob") == ["Robert"], "as long as the conversation is in the list")
    try scene.call("ann", "disconnect", #"{"person":"bob"}"#)
    #expect(try Self.names(scene, "ann", "bob") == ["-"])
  }

  @Test("Who crossed sees the profile until the crossing passes, and who has asked meanwhile the name as it was")
  func crossings() throws {
    let scene = try Self.scene()
    for user in ["ann", "bob", "eve"] { try scene.call(user, "enter", #"{"place":"park"}"#) }
    try scene.pass(Self.hour / 2)
    #expect(try Self.names(scene, "ann", "bob", "eve") == ["Bob", "Eve"])
    try scene.call("ann", "send", #"{"to":"bob","text":"hi"}"#)
    try scene.call("eve", "invisible", #"{"on":true}"#)
    #expect(try Self.names(scene, "ann", "eve") == ["-"])
    #expect(try Self.names(scene, "eve", "ann") == ["-"])
    try scene.call("eve", "invisible", #"{"on":false}"#)
    try scene.call("bob", "profile.set", #"{"name":"Robert"}"#)
    #expect(try Self.names(scene, "ann", "bob", "eve") == ["Robert", "Eve"])
    try scene.pass(2 * Self.day)
    #expect(try Self.names(scene, "ann", "bob", "eve") == ["Bob", "-"])
    #expect(try Self.names(scene, "bob", "ann", "eve") == ["Ann", "-"])
    try scene.pass(14 * Self.day)
    #expect(try Self.names(scene, "ann", "bob") == ["-"])
    #expect(try Self.names(scene, "bob", "ann") == ["-"])
  }

  @Test("Members of a group see each other as long as they are members")
  func groups() throws {
    let scene = try Self.scene()
    _ = try scene.befriend("ann", "bob")
    _ = try scene.befriend("ann", "eve")
    #expect(try Self.names(scene, "bob", "eve") == ["-"])
    let reply = try scene.call("ann", "group.create", #"{"members":["bob","eve"]}"#)
    let id = String(reply.split(separator: "\"")[3])
    #expect(try Self.names(scene, "bob", "eve") == ["Eve"])
    try scene.call("eve", "profile.set", #"{"name":"Evelyn"}"#)
    #expect(try Self.names(scene, "bob", "eve", "ann") == ["Evelyn", "Ann"])
    try scene.call("ann", "group.remove", #"{"conversation":"\#(id)","person":"eve"}"#)
    #expect(try Self.names(scene, "bob", "eve", "ann") == ["-", "Ann"])
    #expect(try Self.names(scene, "eve", "bob", "ann") == ["-", "Ann"])
    try scene.call("ann", "group.add", #"{"conversation":"\#(id)","members":["eve"]}"#)
    #expect(try Self.names(scene, "eve", "bob") == ["Bob"])
    #expect(try Self.names(scene, "bob", "eve") == ["Evelyn"])
    try scene.call("bob", "group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(try Self.names(scene, "eve", "bob") == ["-"])
  }

  @Test("A channel that is opened has all whom its reader may see, and only the reader may open it")
  func opened() throws {
    let scene = try Self.scene()
    _ = try scene.befriend("ann", "bob")
    try scene.call("eve", "send", #"{"to":"ann","text":"hi"}"#)
    let channel = try ChannelName("clique.people:ann")
    #expect(try Set(scene.app.keys(of: channel, scene)) == ["bob", "eve"])
    for name in ["people", "profile"] {
      #expect(try scene.isAdmitted("ann", "clique.\(name):ann"))
      #expect(try !scene.isAdmitted("bob", "clique.\(name):ann"))
    }
    #expect(try scene.app.entry("ann", of: channel, scene) == nil, "one's own stands in a channel of its own")
    try scene.call("bob", "profile.set", #"{"name":"Bob","fields":{"university":"TU"}}"#)
    let entry = try #require(try scene.app.entry("bob", of: channel, scene))
    #expect(String(decoding: entry.data, as: UTF8.self) == #"{"user":"bob","name":"Bob","fields":{"university":"TU"}}"#)
    #expect(try Self.names(scene, "ann", "bob") == ["Bob"])
    var other = CliqueRules()
    other.profileFields = ["shoe"]
    let hidden = try Clique(other).entry("bob", of: channel, scene)
    #expect(hidden.map { String(decoding: $0.data, as: UTF8.self) } == #"{"user":"bob","name":"Bob"}"#)
  }

  @Test("Profiles are asked for by name: those that the caller may see, in their order")
  func asked() throws {
    let scene = try Self.scene()
    _ = try scene.befriend("ann", "bob")
    let answer = try scene.call("ann", "profiles", #"{"people":["eve","bob","nobody","ann","bob"]}"#)
    #expect(answer == #"{"people":[{"user":"bob","name":"Bob"},{"user":"ann","name":"Ann"}]}"#)
    let many = (0...100).map { #""u\#($0)""# }.joined(separator: ",")
    #expect(try scene.said("ann", "profiles", #"{"people":[\#(many)]}"#).contains("more than 100"))
    #expect(try scene.said("ann", "profiles").contains("`people` is missing"))
  }

  // MARK: Deletion

  @Test("A deletion takes the profile, its frozen versions and the names that others were shown")
  func forgotten() throws {
    let scene = try Self.scene()
    _ = try scene.befriend("ann", "bob")
    for user in ["ann", "eve"] { try scene.call(user, "enter", #"{"place":"park"}"#) }
    try scene.pass(Self.hour)
    try scene.call("eve", "send", #"{"to":"ann","text":"hi"}"#)
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    try scene.call("ann", "profile.set", #"{"name":"Anna"}"#)
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    #expect(try scene.entry("bob", "blocked", "ann")?.contains("\"name\":\"Ann\"") == true)
    let sought = SoughtUsers(["ann"])
    #expect(scene.app.channels(of: "ann").map(\.string).contains("clique.profile:ann"))
    for _ in 0..<2 {
      for key in scene.records.keys.sorted() {
        if let decision = try scene.app.forget(sought, in: key, scene) { try scene.apply(decision.effects) }
      }
    }
    for (key, record) in scene.records {
      let text = String(decoding: record.data, as: UTF8.self)
      #expect(!text.contains("Ann") && !text.contains("\"ann\""), "\(key) \(text)")
    }
    #expect(try scene.entry("bob", "blocked", "ann") == nil)
    #expect(try Self.names(scene, "eve", "ann") == ["-"])
    #expect(try Self.names(scene, "bob", "ann") == ["-"])
    // Whoever comes back under the same id is nobody's acquaintance.
    try scene.call("ann", "profile.set", #"{"name":"Another"}"#)
    #expect(try Self.names(scene, "bob", "ann") == ["-"])
  }
}
