import Foundation
import Testing
import Wire

@testable import Apps

/// Whatever one user does, what is kept of it has an end, and others go on.
@Suite("State: what one user can make grow")
struct StateLimitTests {
  static let hour: Int64 = 3_600_000

  @Test("a flood of recorders leaves one small record with one time, and is refused with a sentence")
  func recorders() throws {
    let scene = StateScene { $0.changesPerMinute = 60_000 }
    for number in 0..<20 { try scene.call("eve", "state.begin", #"{"to":"u\#(number)"}"#) }
    let error = try #require(scene.refusal("eve", "state.begin", #"{"to":"one-more"}"#))
    #expect(error.code == 106 && error.message.contains("20 recorders are open"))
    #expect(scene.recordCount == 1)
    // The limit refuses neither a recorder that is open already nor other people's.
    try scene.call("eve", "state.begin", #"{"to":"u3"}"#)
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    // Recorders whose time is over make room for others.
    try scene.advance(180_001)
    for round in 0..<30 {
      for number in 0..<20 { try scene.call("eve", "state.begin", #"{"to":"v\#(round)-\#(number)"}"#) }
      try scene.advance(180_001)
    }
    #expect(try #require(try scene.person("eve")).recordings.count == 20)
    #expect(scene.recordCount == 1, "ada's is forgotten by now")
    try scene.advance(2 * Self.hour)
    #expect(scene.recordCount == 0)
  }

  @Test("changes in a minute are counted, and come back with time")
  func changes() throws {
    let scene = StateScene { $0.changesPerMinute = 6 }
    for number in 0..<3 { try scene.call("eve", "state.block", #"{"user":"u\#(number)"}"#) }
    for number in 0..<2 { try scene.call("eve", "state.unblock", #"{"user":"u\#(number)"}"#) }
    try scene.call("eve", "state.settings", #"{"limit":30000}"#)
    for (method, json) in [
      ("state.begin", #"{"to":"u0"}"#), ("state.block", #"{"user":"u1"}"#), ("state.unblock", #"{"user":"u2"}"#),
      ("state.settings", #"{"limit":40000}"#),
    ] {
      #expect(scene.refusal("eve", method, json)?.code == 111, "\(method)")
    }
    // What changes nothing costs nothing.
    try scene.call("eve", "state.block", #"{"user":"u2"}"#)
    try scene.call("eve", "state.settings")
    try scene.advance(10_000)
    try scene.call("eve", "state.unblock", #"{"user":"u2"}"#)
    #expect(scene.refusal("eve", "state.begin", #"{"to":"u0"}"#)?.code == 111)
    // A clock that was set back by a year takes nothing away for longer than a minute.
    try scene.advance(60_000)
    scene.now -= 365 * 24 * Self.hour
    try scene.call("eve", "state.begin", #"{"to":"u0"}"#)
  }

  @Test("people are blocked up to a number, and who is unblocked makes room")
  func blocks() throws {
    let scene = StateScene { $0.blocks = 3 }
    for number in 0..<3 { try scene.call("eve", "state.block", #"{"user":"u\#(number)"}"#) }
    let error = try #require(scene.refusal("eve", "state.block", #"{"user":"u3"}"#))
    #expect(error.code == 106 && error.message.contains("you block 3 people"))
    try scene.call("eve", "state.block", #"{"user":"u1"}"#)
    try scene.call("eve", "state.unblock", #"{"user":"u1"}"#)
    try scene.call("eve", "state.block", #"{"user":"u3"}"#)
    #expect(try #require(try scene.person("eve")).blocks == 3)
  }

  @Test("threads wait for an answer up to a number; an answer, an end and the other's silence make room")
  func threads() throws {
    let scene = StateScene { $0.waitingThreads = 2 }
    try scene.send("eve", to: "ada")
    try scene.send("eve", to: "bob")
    try scene.call("eve", "state.begin", #"{"to":"cy"}"#)
    let third = try scene.prepare("eve", to: "cy")
    #expect(scene.refusal("eve", "state.send", third.json)?.code == 106)
    // The limit counts States that wait for an answer, so an answer is taken at any time.
    try scene.send("cy", to: "eve")
    #expect(try scene.call("eve", "state.send", third.json)["phase"] as? String == "revealed")
    try scene.send("ada", to: "eve")
    try scene.send("eve", to: "dan")
    try scene.call("eve", "state.begin", #"{"to":"fay"}"#)
    #expect(scene.refusal("eve", "state.send", try scene.prepare("eve", to: "fay").json)?.code == 106)
    try scene.advance(24 * Self.hour)
    try scene.send("eve", to: "fay")
  }

  @Test("pictures that are being taken in count as those that are there")
  func uploads() throws {
    let scene = StateScene { $0.unsentPictures = 2 }
    for number in 0..<2 {
      try scene.call("eve", "state.picture.added", Self.upload(number), source: .gateway)
    }
    #expect(scene.refusal("eve", "state.picture.added", Self.upload(2), source: .gateway)?.code == 106)
    // Whole now.
    try scene.call("eve", "state.picture.added", Self.upload(0, #","type":"image/png""#), source: .gateway)
    try scene.advance(Self.hour)
    #expect(scene.discarded.count == 2 && scene.recordCount == 0)
  }

  @Test("bytes of one user's pictures are counted while they are kept, whatever becomes of them")
  func pictureBytes() throws {
    let scene = StateScene { $0.pictureBytes = 4000 }
    try scene.send("eve", to: "ada")
    try scene.send("eve", to: "bob")
    #expect(try #require(try scene.person("eve")).bytes == 4000)
    let error = try #require(
      scene.refusal("eve", "state.picture.added", Self.upload(0), source: .gateway))
    #expect(error.code == 106 && error.message.contains("4000 bytes"))
    // Answered, revealed and ended; or not answered; or not sent: each gives its bytes back.
    try scene.send("ada", to: "eve")
    try scene.advance(24 * Self.hour)
    #expect(try scene.person("eve")?.bytes ?? 0 == 0 && scene.person("ada")?.bytes ?? 0 == 0)
    _ = try scene.upload("eve")
    try scene.advance(Self.hour)
    #expect(try scene.person("eve")?.bytes ?? 0 == 0)
  }

  private static func upload(_ number: Int, _ more: String = "", upload: UInt8 = 1) -> String {
    let key = Data(repeating: 9, count: 32).base64EncodedString()
    let name = Data(repeating: upload, count: 16).base64EncodedString()
    let id = String(repeating: "0", count: 22) + "\(number)"
    return #"{"id":"\#(id)","bytes":100000,"key":"\#(key)","upload":"\#(name)"\#(more)}"#
  }

  @Test("an upload's key is for its owner and this upload, until it is sent; what is not whole cannot be sent")
  func uploadKeys() throws {
    let scene = StateScene()
    try scene.call("ada", "state.picture.added", Self.upload(1), source: .gateway)
    try scene.call("ada", "state.picture.added", Self.upload(2), source: .gateway)
    let id = String(repeating: "0", count: 22) + "1"
    func question(_ upload: UInt8) -> String {
      #"{"id":"\#(id)","upload":"\#(Data(repeating: upload, count: 16).base64EncodedString())"}"#
    }
    let reply = try scene.call("ada", "state.picture.upload", question(1), source: .gateway)
    #expect(reply["key"] as? String == Data(repeating: 9, count: 32).base64EncodedString())
    #expect(scene.refusal("ada", "state.picture.upload", question(2), source: .gateway) == StateError.notRevealed)
    #expect(scene.refusal("bob", "state.picture.upload", question(1), source: .gateway) == StateError.notRevealed)
    #expect(scene.refusal("ada", "state.picture.upload", question(1)) == .methodNotFound)
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    let sending = #"{"to":"bob","front":"\#(id)","rear":"\#(String(repeating: "0", count: 22))2"}"#
    #expect(scene.refusal("ada", "state.send", sending) == StateError.unknownPicture)
    let isPNG = #","type":"image/png""#
    for number in [1, 2] {
      try scene.call("ada", "state.picture.added", Self.upload(number, isPNG), source: .gateway)
    }
    // A second upload that has only begun takes nothing from the first, which is whole.
    #expect(
      scene.refusal("ada", "state.picture.added", Self.upload(1, upload: 2), source: .gateway)
        == StateError.takenPicture)
    try scene.call("ada", "state.send", sending)
    #expect(scene.refusal("ada", "state.picture.upload", question(1), source: .gateway) == StateError.notRevealed)
  }

  @Test("keys and ids have their lengths")
  func lengths() throws {
    let scene = StateScene()
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    let key = String(repeating: "k", count: 129)
    let sending = try scene.prepare("ada", to: "bob", #","key":"\#(key)""#)
    #expect(scene.refusal("ada", "state.send", sending.json)?.code == 107)
    #expect(scene.refusal(String(repeating: "u", count: 201), "state.settings", "{}")?.code == 107)
    try scene.call("ada", "state.send", sending.json.replacingOccurrences(of: key, with: String(key.dropLast())))
  }

  @Test("what needs a key that is not on the disk yet is asked to be run again, and changes nothing")
  func later() throws {
    let scene = StateScene()
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    let sending = try scene.prepare("ada", to: "bob")
    let stored = scene.storedText
    scene.vault.isPrepared = false
    for (method, json, source) in [
      ("state.send", sending.json, AppCall.Source.client), ("state.picture.added", Self.upload(1), .gateway),
    ] {
      let command = try StateScene.command(method, json, by: "ada", source)
      let call = AppCall(command, caller: ClientInfo(user: "ada", client: "c"), source: source, key: .text("k"))
      let decision = try scene.app.call(call, scene)
      #expect(decision.answer == .later && decision.effects.isEmpty)
    }
    #expect(scene.storedText == stored)
    scene.vault.isPrepared = true
    try scene.call("ada", "state.send", sending.json)
  }

  @Test("of what may have ended, nothing is shown while the clock waits to be confirmed, and nothing is destroyed")
  func doubt() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob", #","caption":"at the sea""#)
    try scene.send("bob", to: "ada")
    let id = try #require((scene.entry("ada", "bob")?["mine"] as? [String: Any])?["front"] as? String)
    scene.latest = scene.now + 24 * Self.hour - 1
    #expect(scene.pictureKey(id, for: "bob") != nil)
    scene.latest = scene.now + 24 * Self.hour
    let refusal = scene.refusal("bob", "state.picture.key", #"{"id":"\#(id)"}"#, source: .gateway)
    #expect(refusal?.temporary == true && refusal?.message.contains("clock") == true)
    try scene.runTimers()
    #expect(scene.discarded.isEmpty && scene.phases("ada", "bob") == "revealed/revealed")
    // The entry of ada's list still says that the State was shown, without the caption.
    let channel = try ChannelName("state.threads:ada")
    let entry = try #require(try scene.app.entry("bob", of: channel, scene))
    #expect(String(decoding: entry.data, as: UTF8.self).contains("at the sea"))
    let withheld = scene.app.withheld(entry.data, of: channel, at: scene.latest)
    #expect(!String(decoding: withheld, as: UTF8.self).contains("at the sea"))
    #expect(String(decoding: withheld, as: UTF8.self).contains(id))
    #expect(scene.app.withheld(entry.data, of: channel, at: scene.latest - 1) == entry.data)
  }
}
