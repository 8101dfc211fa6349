import Apps
import Foundation
import Testing
import Wire

/// What the apps tell webhooks.
@Suite("Apps: events for webhooks")
struct AppEventTests {
  /// The names of the events, with one member of each.
  private func events(_ told: [String], _ member: String) throws -> [String] {
    try told.map { line in
      let parts = line.split(separator: " ", maxSplits: 1)
      let data = try #require(try JSONSerialization.jsonObject(with: Data(parts[1].utf8)) as? [String: Any])
      return "\(parts[0]) \(data[member] as? String ?? "-")"
    }
  }

  @Test("A request is told when it is made and when it is answered, once, and without what was written")
  func clique() throws {
    let scene = CliqueScene()
    try scene.call("ann", "send", #"{"to":"bob","text":"a secret"}"#)
    try scene.call("ann", "send", #"{"to":"bob","text":"another secret"}"#)
    #expect(try events(scene.told, "from") == ["clique_request ann"])
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    try scene.call("bob", "send", #"{"to":"ann","text":"yes"}"#)
    #expect(try events(scene.told, "answer") == ["clique_request -", "clique_answer accepted"])
    #expect(try events(scene.told, "to").last == "clique_answer bob")
    #expect(!scene.told.joined().contains("secret"))
  }

  @Test("A declined request is told; what only its author sees afterwards is not")
  func declined() throws {
    let scene = CliqueScene()
    try scene.call("ann", "send", #"{"to":"bob","text":"hello"}"#)
    try scene.call("bob", "decline", #"{"person":"ann"}"#)
    try scene.call("ann", "send", #"{"to":"bob","text":"hello?"}"#)
    #expect(try events(scene.told, "answer") == ["clique_request -", "clique_answer declined"])
  }

  @Test("Under a block nobody is told of a request")
  func blocked() throws {
    let scene = CliqueScene()
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    try scene.call("ann", "send", #"{"to":"bob","text":"hello"}"#)
    #expect(scene.told.isEmpty)
  }

  @Test("State tells that somebody sent and that both see, and nothing of what was sent")
  func state() throws {
    let scene = StateScene()
    _ = try scene.send("ada", to: "bob", #","caption":"at the sea""#)
    #expect(try events(scene.told, "from") == ["state_sent ada"])
    _ = try scene.send("bob", to: "ada", #","caption":"in the hills""#)
    #expect(try events(scene.told, "from") == ["state_sent ada", "state_revealed ada"])
    try scene.advance(24 * StateExchangeTests.hour)
    #expect(scene.told.count == 2, "the end of what both have seen is no event")
    #expect(!scene.told.joined().contains("sea") && !scene.told.joined().contains("front"))
  }

  @Test("What nobody answered is told as expired, once")
  func expired() throws {
    let scene = StateScene()
    _ = try scene.send("ada", to: "bob")
    try scene.advance(24 * StateExchangeTests.hour)
    try scene.advance(48 * StateExchangeTests.hour)
    #expect(try events(scene.told, "from") == ["state_sent ada", "state_expired ada"])
  }
}
