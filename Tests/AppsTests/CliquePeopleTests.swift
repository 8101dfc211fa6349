import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: people are found by their names")
struct CliquePeopleTests {
  private func found(_ scene: CliqueScene, _ user: String, _ text: String, limit: Int = 50) throws -> [String] {
    let answer = try scene.call(user, "people", #"{"text":"\#(text)","limit":\#(limit)}"#)
    let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
    return try #require(object?["people"] as? [[String: Any]]).map { $0["name"] as? String ?? "-" }
  }

  @Test("By beginnings of words, without case and accents, among those whom one may see")
  func words() throws {
    let scene = CliqueScene()
    for (user, name) in [("bob", "Zoë Groß-Müller"), ("eve", "Éva Grün"), ("joe", "Zoe Stranger")] {
      try scene.call(user, "profile.set", #"{"name":"\#(name)","fields":{"university":"Graz"}}"#)
    }
    _ = try scene.befriend("ann", "bob")
    try scene.call("eve", "send", #"{"to":"ann","text":"hi"}"#)
    #expect(try found(scene, "ann", "zoe") == ["Zoë Groß-Müller"])
    #expect(try found(scene, "ann", "GROSS") == ["Zoë Groß-Müller"])
    #expect(try found(scene, "ann", "mul z") == ["Zoë Groß-Müller"])
    #expect(try Set(found(scene, "ann", "gr")) == ["Zoë Groß-Müller", "Éva Grün"])
    #expect(try found(scene, "ann", "eva") == ["Éva Grün"])
    #expect(try found(scene, "ann", "oe").isEmpty && found(scene, "ann", "graz").isEmpty)
    #expect(try found(scene, "ann", "bob").isEmpty, "a user id is no name")
    #expect(try found(scene, "ann", "-").isEmpty)
    #expect(try scene.said("ann", "people").contains("`text` is missing"))
  }

  @Test("The newest contact comes first, and no more than asked for")
  func order() throws {
    let scene = CliqueScene()
    for user in ["bob", "eve", "joe", "kim"] {
      try scene.call(user, "profile.set", #"{"name":"An \#(user)"}"#)
    }
    for user in ["bob", "eve"] {
      _ = try scene.befriend("ann", user)
      try scene.pass(60_000)
    }
    for user in ["ann", "joe"] { try scene.call(user, "enter", #"{"place":"park"}"#) }
    try scene.pass(60_000)
    try scene.call("joe", "leave", #"{"place":"park"}"#)
    try scene.pass(60_000)
    #expect(try found(scene, "ann", "an") == ["An joe", "An eve", "An bob"])
    try scene.call("bob", "send", #"{"to":"ann","text":"hello"}"#)
    #expect(try found(scene, "ann", "an") == ["An bob", "An joe", "An eve"])
    #expect(try found(scene, "ann", "an", limit: 2) == ["An bob", "An joe"])
    try scene.pass(2 * 24 * 3_600_000)
    #expect(try found(scene, "ann", "an") == ["An bob", "An eve"])
  }

  @Test("Nobody whom one blocks is found; whoever is blocked finds the name as it was")
  func blocks() throws {
    let scene = try CliqueProfileTests.scene()
    _ = try scene.befriend("ann", "bob")
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    try scene.call("ann", "profile.set", #"{"name":"Zoe"}"#)
    #expect(try found(scene, "ann", "bob").isEmpty)
    #expect(try found(scene, "bob", "ann") == ["Ann"] && found(scene, "bob", "zoe").isEmpty)
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    #expect(try found(scene, "ann", "bob") == ["Bob"])
    #expect(try found(scene, "bob", "ann") == ["Ann"])
  }

  @Test("Whom one has asked is found by the name that one knows; members of groups are found, too")
  func others() throws {
    let scene = try CliqueProfileTests.scene()
    for user in ["ann", "bob"] { try scene.call(user, "enter", #"{"place":"park"}"#) }
    try scene.pass(60_000)
    try scene.call("ann", "send", #"{"to":"bob","text":"hi"}"#)
    try scene.pass(2 * 24 * 3_600_000)
    try scene.call("bob", "profile.set", #"{"name":"Robert"}"#)
    #expect(try found(scene, "ann", "bob") == ["Bob"] && found(scene, "ann", "rob").isEmpty)
    _ = try scene.befriend("joe", "ann")
    _ = try scene.befriend("joe", "eve")
    try scene.call("joe", "group.create", #"{"members":["ann","eve"]}"#)
    #expect(try found(scene, "ann", "eve") == ["Eve"])
  }
}
