import Foundation
import Testing
import Wire

@testable import Apps

@Suite("State: reactions to a reveal")
struct StateReactionTests {
  static let day: Int64 = 24 * 3_600_000

  private func revealed(_ configure: (inout StateRules) -> Void = { _ in }) throws -> StateScene {
    let scene = StateScene(configure)
    try scene.send("ada", to: "bob")
    try scene.send("bob", to: "ada")
    return scene
  }

  private func react(_ scene: StateScene, _ user: String, _ other: String, _ text: String?) throws {
    let reaction = text.map { #","reaction":"\#($0)""# } ?? ""
    try scene.call(user, "state.react", #"{"with":"\#(other)"\#(reaction)}"#)
  }

  private func refusal(_ scene: StateScene, _ user: String, _ other: String) -> ClientError? {
    scene.refusal(user, "state.react", #"{"with":"\#(other)","reaction":"👍"}"#)
  }

  /// What somebody is shown of both reactions: mine, theirs.
  private func shown(_ scene: StateScene, _ user: String, _ other: String) -> [String?] {
    ["mine", "theirs"].map { (scene.entry(user, other)?[$0] as? [String: Any])?["reaction"] as? String }
  }

  @Test("both see it, the other is told that it is there, and the log holds it encrypted")
  func reacts() throws {
    let scene = try revealed()
    let (since, until) = (scene.now, scene.now + Self.day)
    try scene.advance(1000)
    try react(scene, "ada", "bob", "🔥")
    #expect(shown(scene, "ada", "bob") == ["🔥", nil] && shown(scene, "bob", "ada") == [nil, "🔥"])
    #expect(!scene.storedText.contains("🔥"))
    #expect(scene.notices("ada") == ["sent", "revealed"])
    let notice = try #require(scene.published.last { $0.channel == "state.events:bob" }?.data)
    #expect(Set(notice.keys) == ["event", "with", "since", "until"])
    #expect(notice["event"] as? String == "reacted" && notice["with"] as? String == "ada")
    #expect(notice["since"] as? Int64 == since && notice["until"] as? Int64 == until)
    #expect(scene.entry("bob", "ada")?["unread"] as? Bool == true, "nobody has looked yet")
    // Each of the two reacts: ada for the first time, and bob in place of his first reaction.
    try react(scene, "bob", "ada", "👀")
    try react(scene, "ada", "bob", "❤️")
    #expect(shown(scene, "ada", "bob") == ["❤️", "👀"] && shown(scene, "bob", "ada") == ["👀", "❤️"])
    #expect(scene.notices("bob") == ["received", "revealed", "reacted", "reacted"])
    #expect(scene.notices("ada") == ["sent", "revealed", "reacted"])
    #expect(scene.told.count == 2, "no backend is told")
  }

  @Test("the same again changes nothing; what is taken back is gone for both, and nobody is told")
  func takesBack() throws {
    let scene = try revealed()
    try react(scene, "ada", "bob", "🔥")
    let (stored, published) = (scene.storedText, scene.published.count)
    try react(scene, "ada", "bob", "🔥")
    #expect(scene.storedText == stored && scene.published.count == published)
    try react(scene, "ada", "bob", nil)
    #expect(shown(scene, "ada", "bob") == [nil, nil] && shown(scene, "bob", "ada") == [nil, nil])
    try react(scene, "ada", "bob", nil)
    #expect(scene.published.count == published)
  }

  @Test("nothing is said to what is not revealed, and nothing is left of it when the reveal is over")
  func phases() throws {
    let scene = StateScene()
    #expect(refusal(scene, "ada", "bob") == StateError.nothingRevealed)
    try scene.send("ada", to: "bob")
    for (user, other) in [("ada", "bob"), ("bob", "ada")] {
      #expect(refusal(scene, user, other) == StateError.nothingRevealed)
    }
    try scene.send("bob", to: "ada")
    try react(scene, "ada", "bob", "🔥")
    try react(scene, "bob", "ada", "🔥")
    try scene.call("ada", "state.seen", #"{"with":"bob"}"#)
    try scene.send("bob", to: "ada")
    #expect(refusal(scene, "ada", "bob") == StateError.nothingRevealed)
    try scene.send("ada", to: "bob")
    #expect(shown(scene, "ada", "bob") == [nil, nil], "this is another reveal")
    try react(scene, "ada", "bob", "🔥")
    try scene.advance(Self.day - 1, runsTimers: false)
    try react(scene, "ada", "bob", "👀")
    try scene.advance(1, runsTimers: false)
    #expect(refusal(scene, "ada", "bob") == StateError.nothingRevealed)
    try scene.runTimers()
    #expect(!scene.storedText.contains("box") && scene.scrubs > 0)
    try scene.advance(Self.day)
    #expect(scene.recordCount == 0 && scene.listedCount == 0)
  }

  @Test("a block hides what is said from then on, and who is blocked cannot tell")
  func block() throws {
    let (blocked, silent) = (try revealed(), try revealed())
    for scene in [blocked, silent] { try react(scene, "bob", "ada", "👀") }
    try blocked.call("bob", "state.block", #"{"user":"ada"}"#)
    for scene in [blocked, silent] {
      try react(scene, "ada", "bob", "🔥")
      try scene.advance(1000)
    }
    #expect(blocked.entry("ada", "bob") as NSDictionary? == silent.entry("ada", "bob") as NSDictionary?)
    #expect(shown(blocked, "ada", "bob") == ["🔥", "👀"])
    #expect(blocked.notices("ada") == silent.notices("ada"))
    #expect(blocked.notices("bob") == ["received", "revealed", "ended"])
    #expect(blocked.entry("bob", "ada")?["theirs"] == nil)
    #expect(refusal(blocked, "bob", "ada") == StateError.blocking)
    try blocked.call("bob", "state.unblock", #"{"user":"ada"}"#)
    #expect(refusal(blocked, "bob", "ada") == StateError.nothingRevealed)
  }

  @Test("reactions cost changes, and wait for the key of the hour and for a clock that is in doubt")
  func limits() throws {
    let scene = try revealed { $0.changesPerMinute = 1 }
    try scene.advance(60_000)
    try react(scene, "ada", "bob", "🔥")
    #expect(refusal(scene, "ada", "bob")?.code == 111)
    try react(scene, "ada", "bob", "🔥")
    try scene.advance(60_000)
    scene.vault.isPrepared = false
    let command = try AppCommand("state.react", Array(#"{"with":"bob","reaction":"👍"}"#.utf8), by: "ada")
    let call = AppCall(command, caller: ClientInfo(user: "ada", client: "c"), key: .text("k"))
    let decision = try scene.app.call(call, scene)
    #expect(decision.answer == .later && decision.effects.isEmpty)
    scene.vault.isPrepared = true
    scene.latest = scene.now + 2 * Self.day
    #expect(refusal(scene, "ada", "bob")?.temporary == true)
    // The list says that something was revealed, without what was said to it.
    let channel = try ChannelName("state.threads:ada")
    let entry = try #require(try scene.app.entry("bob", of: channel, scene))
    #expect(String(decoding: entry.data, as: UTF8.self).contains("🔥"))
    let withheld = scene.app.withheld(entry.data, of: channel, at: scene.latest)
    #expect(!String(decoding: withheld, as: UTF8.self).contains("🔥"))
  }
}
