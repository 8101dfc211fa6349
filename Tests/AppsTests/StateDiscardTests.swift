import Foundation
import Testing
import Wire

@testable import Apps

/// What somebody throws away before it is sent frees its place at once, and does not come back.
@Suite("State: discarding pictures and recorders")
struct StateDiscardTests {
  static let hour: Int64 = 3_600_000

  private func list(_ ids: [String]) -> String { ids.map { "\"\($0)\"" }.joined(separator: ",") }

  private func discard(_ scene: StateScene, _ user: String, _ ids: [String]) throws {
    try scene.call(user, "state.discard", #"{"pictures":[\#(list(ids))]}"#)
  }

  private static func added(_ id: String, _ more: String = "") -> String {
    let key = Data(repeating: 9, count: 32).base64EncodedString()
    return #"{"id":"\#(id)","bytes":100,"key":"\#(key)"\#(more)}"#
  }

  // MARK: Pictures

  @Test("a picture that is discarded frees its place and its bytes, its key is erased and its file deleted")
  func frees() throws {
    let scene = StateScene {
      $0.unsentPictures = 2
      $0.pictureBytes = 2000
    }
    let pictures = [try scene.upload("ada"), try scene.upload("ada")]
    #expect(throws: ClientError.self) { try scene.upload("ada") }
    try discard(scene, "ada", pictures)
    #expect(scene.discarded == Set(pictures) && scene.scrubs == 1)
    #expect(!scene.storedText.contains("box"))
    #expect(try scene.person("ada")?.unsent == [] && scene.person("ada")?.bytes == 0)
    let another = try scene.prepare("ada", to: "bob")
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    try scene.call("ada", "state.send", another.json)
    try scene.advance(Self.hour)
    #expect(scene.discarded == Set(pictures), "nothing is deleted for having been barred")
  }

  @Test("the id of a discarded picture takes no upload for a while: neither one that was under way nor a repeated one")
  func barred() throws {
    let scene = StateScene()
    let id = "begun-0123456789abcdef0123"
    try scene.call("ada", "state.picture.added", Self.added(id, #","upload":"AAAA""#), source: .gateway)
    try discard(scene, "ada", [id])
    let whole = Self.added(id, #","type":"image/png","upload":"AAAA""#)
    #expect(scene.refusal("ada", "state.picture.added", whole, source: .gateway) == StateError.takenPicture)
    let key = #"{"id":"\#(id)","upload":"AAAA"}"#
    #expect(scene.refusal("ada", "state.picture.upload", key, source: .gateway) == StateError.notRevealed)
    // An id stays taken, too, where its picture is discarded before the broker was told of it.
    let unknown = "unknown-0123456789abcdef01"
    try discard(scene, "ada", [unknown])
    #expect(
      scene.refusal("ada", "state.picture.added", Self.added(unknown, #","type":"image/png""#), source: .gateway)
        == StateError.takenPicture)
    // A gateway that was away asks which of its pictures are gone, and hears of both.
    let gone = try scene.call("-", "state.picture.gone", #"{"ids":["\#(id)","\#(unknown)"]}"#, source: .gateway)
    #expect(gone["gone"] as? [String] == [id, unknown])
    try scene.advance(StatePicture.barredLifetime)
    #expect(scene.recordCount == 0)
    try scene.call("ada", "state.picture.added", whole, source: .gateway)
  }

  @Test("only one's own pictures that were not sent are discarded, and nobody learns which ids exist")
  func others() throws {
    let scene = StateScene()
    let theirs = try scene.upload("bob")
    try discard(scene, "ada", [theirs])
    try discard(scene, "ada", [theirs])
    #expect(try scene.discarded.isEmpty && scene.person("bob")?.unsent == [theirs])
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    let sending = try scene.prepare("ada", to: "bob")
    try scene.call("ada", "state.send", sending.json)
    let spare = try scene.upload("ada")
    let error = scene.refusal("ada", "state.discard", #"{"pictures":[\#(list([spare, sending.front]))]}"#)
    #expect(error?.code == 435 && error?.message.contains("nothing was discarded") == true)
    #expect(try #require(try scene.person("ada")).unsent == [spare])
    #expect(scene.phases("ada", "bob") == "sent/received")
    // A gateway that discards for a client is refused, and obeyed, in the same cases.
    let sent = #"{"id":"\#(sending.front)"}"#
    #expect(scene.refusal("ada", "state.picture.discard", sent, source: .gateway)?.code == 435)
    try scene.call("ada", "state.picture.discard", #"{"id":"\#(spare)"}"#, source: .gateway)
    #expect(scene.discarded == [spare])
  }

  @Test("a repeated call changes nothing and costs nothing; ids that somebody makes up cost")
  func cost() throws {
    let scene = StateScene { $0.changesPerMinute = 3 }
    let pictures = [try scene.upload("ada"), try scene.upload("ada")]
    try discard(scene, "ada", pictures)
    for _ in 0..<10 { try discard(scene, "ada", pictures) }
    #expect(scene.scrubs == 1)
    let made = (0..<2).map { "made-up-0123456789abcdef-\($0)" }
    let records = scene.recordCount
    #expect(scene.refusal("ada", "state.discard", #"{"pictures":[\#(list(made))]}"#)?.code == 111)
    #expect(scene.recordCount == records)
  }

  // MARK: Recorders

  private func begin(_ scene: StateScene, _ other: String) throws -> Int64? {
    try scene.call("ada", "state.begin", #"{"to":"\#(other)"}"#)["deadline"] as? Int64
  }

  @Test("a recorder that is given up frees its place and its pictures, and nothing can be sent with it")
  func givesUp() throws {
    let scene = StateScene { $0.openRecorders = 1 }
    _ = try begin(scene, "bob")
    let sending = try scene.prepare("ada", to: "bob")
    #expect(scene.refusal("ada", "state.begin", #"{"to":"cy"}"#)?.code == 106)
    let pictures = list([sending.front, sending.rear])
    try scene.call("ada", "state.cancel", #"{"to":"bob","pictures":[\#(pictures)]}"#)
    #expect(scene.discarded == [sending.front, sending.rear])
    #expect(scene.refusal("ada", "state.send", sending.json) == StateError.notBegun)
    #expect(scene.phases("ada", "bob") == "idle/idle" && scene.published.isEmpty)
    _ = try begin(scene, "cy")
    try scene.send("bob", to: "ada")
    try scene.call("ada", "state.cancel", #"{"to":"cy"}"#)
    try scene.call("ada", "state.cancel", #"{"to":"cy"}"#)
    #expect(scene.phases("ada", "bob") == "received/sent")
    try scene.advance(72 * Self.hour)
    #expect(scene.recordCount == 0)
  }

  @Test("to give up and begin again gives no more time, and after the deadline another begins")
  func noMoreTime() throws {
    let scene = StateScene()
    let deadline = try #require(try begin(scene, "bob"))
    try scene.advance(30_000)
    try scene.call("ada", "state.cancel", #"{"to":"bob"}"#)
    try scene.advance(30_000)
    #expect(try begin(scene, "bob") == deadline)
    let sending = try scene.prepare("ada", to: "bob")
    try scene.call("ada", "state.cancel", #"{"to":"bob"}"#)
    #expect(scene.refusal("ada", "state.send", sending.json) == StateError.notBegun)
    try scene.advance(deadline - scene.now)
    #expect(try scene.person("ada")?.recordings.isEmpty ?? true, "it is forgotten with its deadline")
    #expect(scene.refusal("ada", "state.send", sending.json) == StateError.notBegun)
    #expect(try #require(try begin(scene, "bob")) == scene.now + 180_000)
    try scene.call("ada", "state.send", sending.json)
  }

  @Test("a recorder for an answer is given up, and the answer can still be recorded in the time that is left")
  func answer() throws {
    let scene = StateScene()
    try scene.send("bob", to: "ada")
    let deadline = try begin(scene, "bob")
    try scene.call("ada", "state.cancel", #"{"to":"bob"}"#)
    #expect(scene.phases("ada", "bob") == "received/sent" && scene.notices("bob") == ["sent"])
    #expect(try begin(scene, "bob") == deadline)
    #expect(try scene.send("ada", to: "bob")["phase"] as? String == "revealed")
  }

  @Test("where a picture was sent already, nothing is given up")
  func sent() throws {
    let scene = StateScene()
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    let sending = try scene.prepare("ada", to: "bob")
    try scene.call("ada", "state.send", sending.json)
    let pictures = list([sending.front, sending.rear])
    #expect(scene.refusal("ada", "state.cancel", #"{"to":"bob","pictures":[\#(pictures)]}"#)?.code == 435)
    #expect(scene.phases("ada", "bob") == "sent/received" && scene.discarded.isEmpty)
  }
}
