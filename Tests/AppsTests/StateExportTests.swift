import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("State: pictures in an export of a user's data")
struct StateExportTests {
  private func picture(_ id: String, for user: String, _ scene: StateScene) throws -> AppPicture? {
    try scene.app.picture(in: StateKeys.picture + id, for: user, scene)
  }

  /// Two pictures of a user, sent to another.
  private func sent(_ user: String, to other: String, _ scene: StateScene) throws -> [String] {
    try scene.call(user, "state.begin", #"{"to":"\#(other)"}"#)
    let sending = try scene.prepare(user, to: other)
    try scene.call(user, "state.send", sending.json)
    return [sending.front, sending.rear]
  }

  @Test("what is sealed is for nobody, and what is revealed for the two")
  func revealed() throws {
    let scene = StateScene()
    let first = try sent("ada", to: "bob", scene)
    for id in first { for user in ["ada", "bob"] { #expect(try picture(id, for: user, scene) == nil) } }
    let second = try sent("bob", to: "ada", scene)
    for (ids, owner) in [(first, "ada"), (second, "bob")] {
      for id in ids {
        #expect(try picture(id, for: "eve", scene) == nil)
        for (user, other) in [("ada", "bob"), ("bob", "ada")] {
          let found = try #require(try picture(id, for: user, scene))
          #expect(found.owner == owner && found.with == other && found.type == "image/jpeg" && found.bytes == 1000)
          #expect(found.key == scene.pictureKey(id, for: user))
        }
      }
    }
    try scene.advance(24 * StateExchangeTests.hour)
    for id in first + second { #expect(try picture(id, for: "ada", scene) == nil, "the reveal is over") }
  }

  @Test("who blocks sees nothing of the other any more, and keeps what is shown of their own")
  func blocked() throws {
    let scene = StateScene()
    let first = try sent("ada", to: "bob", scene)
    let second = try sent("bob", to: "ada", scene)
    try scene.call("ada", "state.block", #"{"user":"bob"}"#)
    for id in first { #expect(try picture(id, for: "ada", scene) != nil) }
    for id in second { #expect(try picture(id, for: "ada", scene) == nil) }
    for id in first + second { #expect(try picture(id, for: "bob", scene) != nil, "nobody has told bob") }
  }

  @Test("an upload that was not sent is its owner's, while it is kept and its key can be had")
  func unsent() throws {
    let scene = StateScene()
    let id = try scene.upload("ada")
    let found = try #require(try picture(id, for: "ada", scene))
    #expect(found.with == nil && found.key.count == 32)
    #expect(try picture(id, for: "bob", scene) == nil)
    scene.vault.destroyedHours = [scene.now / StateExchangeTests.hour]
    #expect(try picture(id, for: "ada", scene) == nil)
    scene.vault.destroyedHours = []
    try scene.advance(scene.rules.pictureLifetime, runsTimers: false)
    #expect(try picture(id, for: "ada", scene) == nil)
    let key = String(repeating: "A", count: 43) + "="
    try scene.call(
      "ada", "state.picture.added", #"{"id":"begun-0123456789abcdef0","bytes":9,"key":"\#(key)"}"#, source: .gateway)
    #expect(try picture("begun-0123456789abcdef0", for: "ada", scene) == nil, "it is not whole")
  }

  @Test("while nobody knows whether a reveal has ended, the export says so and leaves nothing out in silence")
  func clockInDoubt() throws {
    let scene = StateScene()
    let ids = try sent("ada", to: "bob", scene)
    _ = try sent("bob", to: "ada", scene)
    scene.latest = scene.now + 25 * StateExchangeTests.hour
    #expect(throws: ClientError.self) { try picture(ids[0], for: "ada", scene) }
  }

  @Test("a record that is no picture has none")
  func others() throws {
    let scene = StateScene()
    _ = try sent("ada", to: "bob", scene)
    #expect(try scene.app.picture(in: StateKeys.person + "ada", for: "ada", scene) == nil)
    #expect(try scene.app.picture(in: StateKeys.picture, for: "ada", scene) == nil)
    #expect(try Clique(CliqueRules()).picture(in: "person/ada", for: "ada", scene) == nil)
  }
}
