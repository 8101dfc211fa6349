import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: pictures of profiles, exports and deletions")
struct CliquePictureUseTests {
  private static let picture = CliqueScene.picture
  private static let small = CliqueScene.picture(1)

  /// Does something with pictures of profiles, and writes what it decides.
  private func use(_ scene: CliqueScene, _ body: (Clique, CliqueDraft) throws -> Void) throws {
    let draft = CliqueDraft(scene)
    try body(scene.app, draft)
    try scene.apply(draft.effects)
  }

  @Test("a profile's pictures stay as long as any version of it shows them, and whoever sees the version sees them")
  func versions() throws {
    let scene = CliqueScene()
    _ = try scene.befriend("ann", "bob")
    try scene.upload("ann")
    for number in [1, 2] { try scene.upload("ann", CliqueScene.picture(number), bytes: 65_536, side: 256) }
    let (picture, first, second) = (Self.picture, CliqueScene.picture(1), CliqueScene.picture(2))
    for _ in 0..<2 { try scene.call("ann", "profile.set", Self.set(picture, first)) }
    #expect(try scene.stored()?.use == .profile)
    #expect(try scene.pictures(of: "ann")?.unsent == [second])
    #expect(try scene.viewers(["ann", "bob", "eve"]) == ["ann", "bob"])
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    try scene.call("ann", "profile.set", Self.set(picture, second))
    #expect(scene.discarded == [])
    #expect(try scene.viewers(["bob"], first) == ["bob"], "bob goes on seeing the profile as it was")
    #expect(try scene.viewers(["bob"], second) == [])
    try scene.call("ann", "profile.set", #"{"picture":null}"#)
    #expect(scene.discarded == [second])
    #expect(try scene.viewers(["bob"]) == ["bob"])
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    #expect(try scene.viewers(["bob"]) == ["bob"], "the end of a block shows nothing")
    try scene.call("ann", "profile.set", #"{"name":"Ann"}"#)
    #expect(Set(scene.discarded) == [picture, first, second])
    #expect(try scene.pictures(of: "ann") == nil)
  }

  private static func set(_ id: String, _ small: String) -> String {
    #"{"picture":{"id":"\#(id)","small":"\#(small)"}}"#
  }

  @Test("a small picture is small, and none of the two is somebody else's, sent, or the same")
  func refused() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.upload("ann")
    try scene.upload("ann", Self.small, bytes: 65_537, side: 256)
    try scene.upload("ann", CliqueScene.picture(2), side: 257)
    try scene.upload("bob", CliqueScene.picture(3))
    try scene.upload("ann", CliqueScene.picture(4))
    try scene.send("ann", id, picture: CliqueScene.picture(4))
    for small in [Self.small, CliqueScene.picture(2), Self.picture] {
      let error = #expect(throws: ClientError.self) {
        try use(scene) { try $0.useForProfile(Self.picture, small: small, by: "ann", $1) }
      }
      #expect(error?.code == 107)
    }
    for other in [3, 4, 5].map({ CliqueScene.picture($0) }) + ["x"] {
      let error = #expect(throws: ClientError.self) {
        try use(scene) { try $0.useForProfile(other, small: nil, by: "ann", $1) }
      }
      #expect(error?.code == 435)
    }
    #expect(try scene.stored()?.use == .unsent)
  }

  @Test("the picture of a profile is for whoever sees the profile; it is not sent or discarded")
  func profile() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.upload("ann")
    try scene.call("ann", "profile.set", #"{"picture":{"id":"\#(Self.picture)"}}"#)
    #expect(try scene.viewers(["ann", "bob", "eve"]) == ["ann", "bob"])
    #expect(try scene.send("ann", id).contains("picture is unknown"))
    #expect(try scene.refusal("ann", .discard(id: Self.picture)) == 435)
    #expect(throws: ClientError.self) { try scene.upload("ann") }
    #expect(try scene.gateway("-", .gone([Self.picture])) == #"{"gone":[]}"#)
  }

  @Test("the picture of a message that disappears goes with it, to the millisecond")
  func disappears() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for (user, other) in [("ann", "bob"), ("bob", "ann")] {
      try scene.call(user, "disappear", #"{"person":"\#(other)","after":60000}"#)
    }
    try scene.upload("ann")
    try scene.send("ann", id)
    try scene.pass(59_999)
    #expect(try scene.viewers(["ann", "bob"]) == ["ann", "bob"])
    #expect(scene.discarded == [])
    scene.now += 1
    #expect(try scene.viewers(["ann", "bob"]) == [], "before it is removed, too")
    try scene.pass(0)
    #expect(scene.discarded == [Self.picture])
    #expect(try scene.pictures(of: "ann") == nil)
  }

  @Test("an export has one's own pictures, whatever they are used for, and nobody else's")
  func export() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for number in 0..<3 { try scene.upload("ann", CliqueScene.picture(number)) }
    try scene.send("ann", id, picture: CliqueScene.picture(0))
    try use(scene) { try $0.useForProfile(CliqueScene.picture(1), small: nil, by: "ann", $1) }
    let keys = scene.records.keys.filter { $0.hasPrefix("picture") }.sorted()
    let found = try keys.compactMap { try scene.app.picture(in: $0, for: "ann", scene) }
    #expect(found.map(\.id) == (0..<3).map { CliqueScene.picture($0) })
    #expect(found.map(\.with) == ["bob", nil, nil])
    #expect(found.allSatisfy { $0.key == CliqueScene.key && $0.owner == "ann" && $0.type == "image/jpeg" })
    #expect(try keys.allSatisfy { try scene.app.picture(in: $0, for: "bob", scene) == nil })
    try scene.change("ann", id, 2, nil)
    #expect(try scene.app.picture(in: "picture/" + CliqueScene.picture(0), for: "ann", scene) == nil)
  }

  @Test("with somebody's data all of their pictures go, and those of others stay")
  func forgotten() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for number in 0..<3 { try scene.upload("ann", CliqueScene.picture(number)) }
    try scene.send("ann", id, picture: CliqueScene.picture(0))
    try use(scene) { try $0.useForProfile(CliqueScene.picture(1), small: nil, by: "ann", $1) }
    try scene.upload("bob")
    try scene.gateway("ann", .discard(id: CliqueScene.picture(9)))
    let users = SoughtUsers(["ann"])
    for key in scene.records.keys.filter({ $0.hasPrefix("picture") }).sorted() {
      if let decision = try scene.app.forget(users, in: key, scene) { try scene.apply(decision.effects) }
    }
    #expect(scene.discarded == (0..<3).map { CliqueScene.picture($0) })
    #expect(scene.scrubs == 3)
    #expect(
      scene.records.keys.filter { $0.hasPrefix("picture") }.sorted()
        == ["picture/" + Self.picture, "pictures/bob"])
    #expect(try scene.viewers(["ann", "bob"], CliqueScene.picture(0)) == [])
  }
}
