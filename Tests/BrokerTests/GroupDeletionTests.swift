import TestSupport
import Testing
import Wire

@testable import Broker

@Suite(.serialized) struct GroupDeletionTests {
  private let user = DeletionScene.marker + "-group"

  /// Has a command done, and waits for its answer.
  @discardableResult
  private func call(_ scene: DeletionScene, _ user: String, _ method: String, _ json: String) throws -> String {
    let command = try AppCommand(method, Array(json.utf8), by: user)
    let reply = scene.answer(to: .call(.init(command, caller: ClientInfo(user: user, client: "client of \(user)"))))
    try #require(reply.hasPrefix("{"), "\(method) \(json): \(reply)")
    return reply
  }

  /// The group that somebody founds with the members.
  private func found(_ scene: DeletionScene, _ founder: String, _ members: [String]) throws -> String {
    let names = members.map { "\"\($0)\"" }.joined(separator: ",")
    let reply = try call(scene, founder, "clique.group.create", "{\"members\":[\(names)]}")
    let parts = reply.split(separator: "\"").map(String.init)
    return try #require(parts.first { CliqueCommand.isConversation($0) }, "\(reply)")
  }

  private func finish(_ scene: DeletionScene) {
    for _ in 0..<400_000 where scene.isDeleting { scene.step(5) }
    #expect(!scene.isDeleting, "the deletions end; they are at \(scene.phase)")
  }

  @Test("of an administrator whose data is deleted a group keeps no trace, and what others did in it stays")
  func administrator() throws {
    let scene = try DeletionScene()
    for friend in ["bob", "eve"] {
      try call(scene, user, "clique.send", "{\"to\":\"\(friend)\",\"text\":\"hi\"}")
      try call(scene, friend, "clique.accept", "{\"person\":\"\(user)\"}")
    }
    try call(scene, "bob", "clique.send", "{\"to\":\"eve\",\"text\":\"hi\"}")
    try call(scene, "eve", "clique.accept", "{\"person\":\"bob\"}")
    let id = try found(scene, user, ["bob"])
    let about = "{\"conversation\":\"\(id)\",\"person\":\"bob\"}"
    try call(scene, user, "clique.group.rename", "{\"conversation\":\"\(id)\",\"name\":\"\(DeletionScene.marker)\"}")
    try call(scene, user, "clique.group.add", "{\"conversation\":\"\(id)\",\"members\":[\"eve\"]}")
    try call(scene, user, "clique.group.appoint", about)
    try call(scene, user, "clique.group.link", "{\"conversation\":\"\(id)\"}")
    let mentions = ",\"mentions\":[\"\(user)\",\"bob\"]"
    try call(
      scene, "eve", "clique.send", "{\"conversation\":\"\(id)\",\"text\":\"keep this of eve\"\(mentions)}")
    // A second group remembers the user as one who was removed.
    let other = try found(scene, "bob", ["eve", user])
    try call(scene, "bob", "clique.group.remove", "{\"conversation\":\"\(other)\",\"person\":\"\(user)\"}")
    for _ in 0..<50 { scene.step() }
    #expect(try !scene.files(holding: DeletionScene.marker).isEmpty, "the search finds what is there")
    #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))
    finish(scene)
    #expect(try scene.files(holding: DeletionScene.marker) == [])
    #expect(try !scene.files(holding: "keep this of eve").isEmpty)
    // Bob is an administrator still.
    try call(scene, "bob", "clique.group.rename", "{\"conversation\":\"\(id)\",\"name\":\"kept name\"}")
    #expect(try !scene.files(holding: "kept name").isEmpty)
  }
}
