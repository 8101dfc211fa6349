import TestSupport
import Testing
import Wire

@testable import Apps

/// Profiles across blocks. That nothing tells of a block, ``CliqueTraceTests`` compares; here stand the cells of the table.
@Suite("Clique: profiles across a block")
struct CliqueFreezingTests {
  private func set(_ scene: CliqueScene, _ name: String) throws {
    try scene.call("ann", "profile.set", #"{"name":"\#(name)"}"#)
  }

  private func blocks(_ scene: CliqueScene, _ isOn: Bool) throws {
    try scene.call("ann", isOn ? "block" : "unblock", #"{"person":"bob"}"#)
  }

  private func seen(_ scene: CliqueScene) throws -> [String] { try CliqueProfileTests.names(scene, "bob", "ann") }

  private func pair(_ scene: CliqueScene) throws -> Clique.Pair {
    try #require(try scene.record(Clique.Pair.self, Clique.Key.pair(scene.pair("ann", "bob"))))
  }

  @Test("A block freezes the profile, its end does not thaw it, the next change does")
  func changes() throws {
    let scene = try CliqueProfileTests.scene()
    _ = try scene.befriend("ann", "bob")
    try blocks(scene, true)
    #expect(try seen(scene) == ["Ann"])
    #expect(try CliqueProfileTests.names(scene, "ann", "bob") == ["-"], "the one who blocks sees nothing")
    try set(scene, "Anna")
    #expect(try seen(scene) == ["Ann"])
    try blocks(scene, false)
    #expect(try seen(scene) == ["Ann"])
    #expect(try CliqueProfileTests.names(scene, "ann", "bob") == ["Bob"])
    #expect(try scene.record(Clique.Person.self, "person/ann")?.behind == ["bob"])
    try set(scene, "Annabel")
    #expect(try seen(scene) == ["Annabel"])
    #expect(try scene.record(Clique.Person.self, "person/ann")?.behind == nil)
    #expect(try pair(scene).markA.frozen == nil)
    // Where nothing was changed, nothing is remembered.
    try blocks(scene, true)
    #expect(try pair(scene).markA.frozen?.name == "Annabel")
    try blocks(scene, false)
    #expect(try pair(scene).markA.frozen == nil)
  }

  @Test("A second block keeps what the first froze")
  func again() throws {
    let scene = try CliqueProfileTests.scene()
    _ = try scene.befriend("ann", "bob")
    try blocks(scene, true)
    try set(scene, "Anna")
    try blocks(scene, false)
    try blocks(scene, true)
    #expect(try scene.record(Clique.Person.self, "person/ann")?.behind == nil)
    try set(scene, "Annabel")
    #expect(try seen(scene) == ["Ann"])
    try blocks(scene, false)
    #expect(try seen(scene) == ["Ann"])
  }

  @Test("Who had no profile at the block has none for the other until the next change")
  func nothing() throws {
    let scene = CliqueScene()
    _ = try scene.befriend("ann", "bob")
    try blocks(scene, true)
    #expect(try pair(scene).markA.frozen == nil)
    try set(scene, "Ann")
    #expect(try seen(scene) == ["-"])
    try blocks(scene, false)
    #expect(try seen(scene) == ["-"])
    try set(scene, "Anna")
    #expect(try seen(scene) == ["Anna"])
  }

  @Test("To answer a request shows the profile as it is; that the other answers does not")
  func answers() throws {
    for answersHerself in [true, false] {
      let scene = try CliqueProfileTests.scene()
      let (asker, other) = answersHerself ? ("bob", "ann") : ("ann", "bob")
      for user in ["ann", "bob"] { try scene.call(user, "enter", #"{"place":"park"}"#) }
      try scene.pass(CliqueProfileTests.hour)
      try scene.call(asker, "send", #"{"to":"\#(other)","text":"hi"}"#)
      try blocks(scene, true)
      try set(scene, "Anna")
      try blocks(scene, false)
      #expect(try seen(scene) == ["Ann"])
      try scene.call(other, "accept", #"{"person":"\#(asker)"}"#)
      #expect(try seen(scene) == [answersHerself ? "Anna" : "Ann"])
    }
  }

  @Test("In the list of blocked people stands the name as it was, by which one unblocks")
  func listed() throws {
    let scene = try CliqueProfileTests.scene()
    _ = try scene.befriend("ann", "bob")
    try blocks(scene, true)
    try scene.call("bob", "profile.set", #"{"name":"Robert"}"#)
    let time = scene.now
    let entry = #"{"user":"bob","name":"Bob","time":\#(time)} \#(time) \#(Int64.max)"#
    #expect(try scene.entry("ann", "blocked", "bob") == entry)
    try blocks(scene, false)
    #expect(try CliqueProfileTests.names(scene, "ann", "bob") == ["Robert"])
    // A stranger has no name that one could be shown.
    try scene.call("ann", "block", #"{"person":"eve"}"#)
    #expect(try scene.entry("ann", "blocked", "eve")?.contains("name") == false)
  }

  @Test("In a group, whoever is blocked goes on seeing the profile as it was")
  func groups() throws {
    let scene = try CliqueProfileTests.scene()
    _ = try scene.befriend("eve", "ann")
    _ = try scene.befriend("eve", "bob")
    try scene.call("eve", "group.create", #"{"members":["ann","bob"]}"#)
    try blocks(scene, true)
    try set(scene, "Anna")
    #expect(try seen(scene) == ["Ann"])
    #expect(try CliqueProfileTests.names(scene, "eve", "ann") == ["Anna"])
    #expect(try CliqueProfileTests.names(scene, "ann", "bob", "eve") == ["-", "Eve"])
  }

  @Test("A picture is kept as long as any version shows it")
  func pictures() throws {
    let picture = Clique.ProfilePicture(id: "a", small: "b")
    var profile = Clique.Profile(user: "ann")
    profile.content.picture = picture
    profile.hold(picture)
    profile.hold(picture)
    profile.content.picture = nil
    #expect(profile.shownPictures.contains("a") && profile.shownPictures.contains("b"))
    var dropped: [Bool] = []
    for isShown in [true, false, false] {
      dropped.append(profile.drop(picture))
      #expect(profile.shownPictures.isEmpty != isShown)
    }
    #expect(dropped == [true, true, false] && profile.isBlank)
    // A block holds what it freezes, and its end gives it back.
    let scene = CliqueScene()
    _ = try scene.befriend("ann", "bob")
    var planted = Clique.Profile(user: "ann")
    planted.content.picture = picture
    try scene.plant("profile/ann", planted)
    try blocks(scene, true)
    #expect(try scene.record(Clique.Profile.self, "profile/ann")?.frozenPictures?.map(\.count) == [1])
    try scene.call("ann", "profile.set", #"{"picture":null,"name":"Ann"}"#)
    #expect(try scene.record(Clique.Profile.self, "profile/ann")?.shownPictures == ["a", "b"])
    let shown = try scene.call("bob", "profiles", #"{"people":["ann"]}"#)
    #expect(shown == #"{"people":[{"user":"ann","picture":{"id":"a","small":"b"}}]}"#)
    try blocks(scene, false)
    try set(scene, "Anna")
    #expect(try scene.record(Clique.Profile.self, "profile/ann")?.frozenPictures == nil)
  }

  @Test("No more people than so many see an older version without being blocked; the first makes room")
  func room() throws {
    let scene = CliqueScene { $0.blocksPerDay = 100_000 }
    try set(scene, "Ann")
    let others = (0...Clique.maximumBehind).map { "u\($0)" }
    for other in others {
      _ = try scene.befriend(other, "ann")
      try scene.call("ann", "block", #"{"person":"\#(other)"}"#)
    }
    try set(scene, "Anna")
    for other in others { try scene.call("ann", "unblock", #"{"person":"\#(other)"}"#) }
    #expect(try scene.record(Clique.Person.self, "person/ann")?.behind == Array(others.dropFirst()))
    #expect(try CliqueProfileTests.names(scene, "u0", "ann") == ["Anna"])
    #expect(try CliqueProfileTests.names(scene, "u1", "ann") == ["Ann"])
    try set(scene, "Annabel")
    for other in [others[0], others[1], others[Clique.maximumBehind]] {
      #expect(try CliqueProfileTests.names(scene, other, "ann") == ["Annabel"])
    }
  }
}

extension CliqueScene {
  convenience init(_ change: (inout CliqueRules) -> Void) {
    var rules = CliqueRules()
    change(&rules)
    self.init(rules)
  }
}
