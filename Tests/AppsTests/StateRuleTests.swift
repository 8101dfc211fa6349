import Apps
import Foundation
import Testing
import Wire

@Suite("State: limits, blocks and strangers")
struct StateRuleTests {
  static let hour: Int64 = 3_600_000

  // MARK: Time to record

  @Test("a send comes within the limit and the grace; too late is an error, and the seal stays")
  func timeLimit() throws {
    for (over, expected) in [(Int64(0), nil), (1, StateError.tooLate)] {
      let scene = StateScene()
      try scene.send("ada", to: "bob", #","reply_limit":10000"#)
      let begun = try scene.call("bob", "state.begin", #"{"to":"ada"}"#)
      #expect(begun["limit"] as? Int64 == 10_000)
      #expect(begun["deadline"] as? Int64 == scene.now + 70_000)
      let answer = try scene.prepare("bob", to: "ada")
      try scene.advance(70_000 + over)
      #expect(scene.refusal("bob", "state.send", answer.json) == expected)
      if expected != nil {
        #expect(scene.phases("ada", "bob") == "sent/received")
        #expect(scene.refusal("bob", "state.send", answer.json) == expected)
        try scene.call("bob", "state.begin", #"{"to":"ada"}"#)
        #expect(try scene.call("bob", "state.send", answer.json)["phase"] as? String == "revealed")
      }
    }
  }

  @Test("to begin again does not give more time")
  func beginTwice() throws {
    let scene = StateScene()
    let first = try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    try scene.advance(30_000)
    let second = try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    #expect(second["deadline"] as? Int64 == first["deadline"] as? Int64)
    #expect(second["now"] as? Int64 == scene.now)
  }

  @Test("without begin nothing is sent, and a recorder that is left open is forgotten")
  func withoutBegin() throws {
    let scene = StateScene()
    let sending = try scene.prepare("ada", to: "bob")
    #expect(scene.refusal("ada", "state.send", sending.json) == StateError.notBegun)
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    try scene.advance(3 * Self.hour)
    #expect(scene.recordCount == 0)
  }

  @Test("the limit is the one that came along, else one's own, else the server's")
  func limits() throws {
    let scene = StateScene()
    #expect(try scene.call("ada", "state.begin", #"{"to":"x"}"#)["limit"] as? Int64 == 120_000)
    #expect(try scene.call("bob", "state.settings", #"{"limit":45000}"#)["limit"] as? Int64 == 45_000)
    #expect(try scene.call("bob", "state.begin", #"{"to":"x"}"#)["limit"] as? Int64 == 45_000)
    try scene.send("ada", to: "bob")
    #expect(scene.entry("bob", "ada")?["limit"] as? Int64 == 45_000)
    try scene.send("ada", to: "cy", #","reply_limit":20000"#)
    #expect(try scene.call("cy", "state.begin", #"{"to":"ada"}"#)["limit"] as? Int64 == 20_000)
    #expect(scene.refusal("bob", "state.settings", #"{"limit":4999}"#)?.code == 107)
    #expect(scene.refusal("bob", "state.settings", #"{"limit":600001}"#)?.code == 107)
    try scene.call("bob", "state.settings", #"{"limit":0}"#)
    #expect(try scene.call("bob", "state.settings")["limit"] as? Int64 == 120_000)
  }

  // MARK: Blocks

  @Test("a blocked one sends into silence: sent, then expired, and the other hears nothing")
  func blockedSends() throws {
    let scene = StateScene()
    try scene.call("bob", "state.block", #"{"user":"ada"}"#)
    #expect(scene.entry("bob", "ada")?["blocked"] as? Bool == true)
    try scene.send("ada", to: "bob")
    #expect(scene.phases("ada", "bob") == "sent/idle")
    #expect(scene.notices("bob") == [])
    try scene.advance(24 * Self.hour)
    #expect(scene.phases("ada", "bob") == "expired/idle")
    #expect(scene.notices("bob") == [])
    #expect(scene.notices("ada") == ["sent", "expired"])
    #expect(scene.refusal("bob", "state.begin", #"{"to":"ada"}"#) == StateError.blocking)
  }

  @Test("to block destroys what the blocker had sealed, and tells nobody")
  func blockAfterSending() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    let before = scene.entry("bob", "ada") as NSDictionary?
    let notices = scene.published.count
    try scene.call("ada", "state.block", #"{"user":"bob"}"#)
    #expect(scene.discarded.count == 2)
    #expect(scene.scrubs == 1)
    #expect(scene.entry("bob", "ada") as NSDictionary? == before)
    #expect(scene.published.count == notices)
    try scene.send("bob", to: "ada")
    #expect(scene.phases("ada", "bob") == "idle/sent")
    #expect(scene.vault.released == 0)
  }

  @Test("after a reveal, a block takes it from the blocker alone; two blocks erase it")
  func blockAfterReveal() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    try scene.send("bob", to: "ada")
    let id = try #require((scene.entry("ada", "bob")?["mine"] as? [String: Any])?["front"] as? String)
    try scene.call("ada", "state.block", #"{"user":"bob"}"#)
    #expect(scene.phases("ada", "bob") == "idle/revealed")
    #expect(scene.pictureKey(id, for: "ada") == nil)
    #expect(scene.pictureKey(id, for: "bob") != nil)
    try scene.call("bob", "state.block", #"{"user":"ada"}"#)
    #expect(scene.pictureKey(id, for: "bob") == nil)
    #expect(scene.discarded.count == 4)
    try scene.call("ada", "state.unblock", #"{"user":"bob"}"#)
    try scene.call("bob", "state.unblock", #"{"user":"ada"}"#)
    try scene.advance(Self.hour)
    #expect(scene.recordCount == 0)
    #expect(scene.listedCount == 0)
  }

  @Test("who unblocks is not shown what came meanwhile, before they send themselves")
  func unblock() throws {
    let scene = StateScene()
    try scene.call("bob", "state.block", #"{"user":"ada"}"#)
    try scene.send("ada", to: "bob")
    try scene.call("bob", "state.unblock", #"{"user":"ada"}"#)
    #expect(scene.phases("ada", "bob") == "sent/idle")
    #expect(try scene.send("bob", to: "ada")["phase"] as? String == "revealed")
    #expect(scene.phases("ada", "bob") == "revealed/revealed")
  }

  // MARK: Pictures

  @Test("only one's own pictures that nobody sent yet can be sent, and two of them")
  func pictures() throws {
    let scene = StateScene()
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    try scene.call("bob", "state.begin", #"{"to":"ada"}"#)
    let stolen = try scene.prepare("bob", to: "bob").json
    #expect(
      scene.refusal("ada", "state.send", stolen) == StateError.unknownPicture)
    let id = try scene.upload("ada")
    #expect(
      scene.refusal("ada", "state.send", #"{"to":"bob","front":"\#(id)","rear":"\#(id)"}"#)?.code == 107)
    #expect(
      scene.refusal("ada", "state.send", #"{"to":"bob","front":"\#(id)","rear":"../../etc/passwd"}"#)
        == StateError.unknownPicture)
    let used = try scene.prepare("ada", to: "bob")
    try scene.call("ada", "state.send", used.json)
    try scene.call("ada", "state.begin", #"{"to":"cy"}"#)
    let again = used.json.replacingOccurrences(of: #""to":"bob""#, with: #""to":"cy""#)
    #expect(scene.refusal("ada", "state.send", again) == StateError.unknownPicture)
  }

  @Test("a picture that nobody sends is discarded after an hour, and only so many may wait")
  func unsent() throws {
    let scene = StateScene { $0.unsentPictures = 3 }
    for _ in 0..<3 { _ = try scene.upload("ada") }
    #expect(throws: ClientError.self) { try scene.upload("ada") }
    _ = try scene.upload("bob")
    try scene.advance(Self.hour)
    #expect(scene.discarded.count == 4)
    #expect(scene.recordCount == 0)
    _ = try scene.upload("ada")
  }

  @Test("a picture added again keeps its owner; one that was sent is never replaced")
  func addedAgain() throws {
    let scene = StateScene()
    let id = try scene.upload("ada")
    let key = Data(repeating: 9, count: 32).base64EncodedString()
    let json = #"{"id":"\#(id)","type":"image/png","bytes":7,"key":"\#(key)"}"#
    #expect(scene.refusal("bob", "state.picture.added", json, source: .gateway) == StateError.takenPicture)
    try scene.call("ada", "state.picture.added", json, source: .gateway)
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    let rear = try scene.upload("ada")
    try scene.call("ada", "state.send", #"{"to":"bob","front":"\#(id)","rear":"\#(rear)"}"#)
    #expect(scene.refusal("ada", "state.picture.added", json, source: .gateway) == StateError.takenPicture)
    try scene.send("bob", to: "ada")
    #expect(scene.pictureKey(id, for: "bob") == Array(repeating: 9, count: 32))
  }

  @Test("the keys of pictures are for gateways, and gateways send nothing in a user's name")
  func sources() throws {
    let scene = StateScene()
    for method in ["state.picture.added", "state.picture.key", "state.nothing"] {
      #expect(scene.refusal("ada", method, "{}") == .methodNotFound)
    }
    for (method, json) in [
      ("state.settings", "{}"), ("state.block", #"{"user":"bob"}"#), ("state.begin", #"{"to":"bob"}"#),
    ] { #expect(scene.refusal("ada", method, json, source: .gateway) == .methodNotFound) }
  }

  // MARK: Strangers

  @Test("channels are their user's alone, byte by byte")
  func admission() throws {
    let scene = StateScene()
    for name in ["state.threads", "state.events"] {
      let channel = try ChannelName(name + ":caf\u{E9}")
      _ = try scene.app.admit("caf\u{E9}", to: channel, scene)
      for user in ["cafe\u{301}", "caf", "caf\u{E9}x", "", "CAF\u{C9}"] {
        #expect(throws: ClientError.self) { try scene.app.admit(user, to: channel, scene) }
      }
    }
    #expect(throws: ClientError.self) { try scene.app.admit("a", to: try ChannelName("state.other:a"), scene) }
    #expect(throws: ClientError.self) { try scene.app.admit("a", to: try ChannelName("state.threads:"), scene) }
  }

  @Test("the list keeps no changes: there an entry's encrypted words and their key would outlive the reveal")
  func listWithoutChanges() throws {
    for isShared in [false, true] {
      let threads = try #require(StateApp.namespaces(isShared: isShared)["state.threads"])
      #expect(threads.kind == .map && threads.mapMode == .persistent && !threads.keepsHistory)
    }
  }

  @Test("users whose ids look alike have threads of their own")
  func lookalikes() throws {
    let scene = StateScene()
    try scene.send("ada", to: "caf\u{E9}")
    #expect(scene.phase("caf\u{E9}", "ada") == "received")
    #expect(scene.lists["state.threads:cafe\u{301}"]?.isEmpty != false || scene.lists.count == 2)
    #expect(try scene.send("cafe\u{301}", to: "ada")["phase"] as? String == "sent")
    // The separator may stand in a name.
    try scene.send("a:1", to: "b")
    #expect(try scene.send("b", to: "a")["phase"] as? String == "sent")
    #expect(try scene.send("1:b", to: "a")["phase"] as? String == "sent")
  }

  @Test(
    "requests that make no sense are refused with a sentence",
    arguments: [
      #"{}"#, #"[]"#, #"{"to":""}"#, #"{"to":"ada"}"#, #"{"to":7}"#, #"{"to":"a\u0000b"}"#, "",
      #"{"to":"\#(String(repeating: "x", count: 201))"}"#,
    ])
  func nonsense(json: String) {
    let scene = StateScene()
    #expect(scene.refusal("ada", "state.begin", json)?.code == 107)
    #expect(scene.recordCount == 0)
  }

  @Test("a caption has its limit, in characters and in bytes")
  func captions() throws {
    let scene = StateScene()
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    for text in [String(repeating: "x", count: 281), "e" + String(repeating: "\u{301}", count: 2000)] {
      let sending = try scene.prepare("ada", to: "bob", #","caption":"\#(text)""#)
      #expect(scene.refusal("ada", "state.send", sending.json)?.code == 107)
    }
    let sending = try scene.prepare("ada", to: "bob", #","caption":"\#(String(repeating: "é", count: 280))""#)
    try scene.call("ada", "state.send", sending.json)
  }
}
