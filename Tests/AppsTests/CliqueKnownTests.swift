import Testing
import Wire

@testable import Apps

@Suite("Clique: requests to people whom the server knows")
struct CliqueKnownTests {
  private static func send(_ user: String) -> String { #"{"to":"\#(user)","text":"hi"}"# }

  @Test("Where it is asked for, a request to somebody unknown is refused, in the same words for all")
  func unknown() throws {
    let scene = CliqueScene { $0.knownUsersOnly = true }
    let said = try scene.said("ann", "send", Self.send("bob"))
    #expect(said.contains("nobody of this name is known here"))
    #expect(scene.records.isEmpty, "who is refused has not become known by it")
    try scene.call("bob", "totals")
    try scene.call("ann", "send", Self.send("bob"))
    #expect(try scene.state("bob", scene.pair("ann", "bob")) == "request_in")
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    // By a service in the user's name, too.
    try scene.call("eve", "totals", source: .service)
    try scene.call("ann", "send", Self.send("eve"))
    #expect(try scene.said("ann", "send", Self.send("joe")) == said)
  }

  @Test("Whoever has blocked one, or has gone, is known as before")
  func silence() throws {
    let scene = CliqueScene { $0.knownUsersOnly = true }
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    try scene.call("eve", "totals")
    let silent = try scene.call("ann", "send", Self.send("eve")).contains("\"waiting\":1")
    let blocked = try scene.call("ann", "send", Self.send("bob")).contains("\"waiting\":1")
    #expect(silent && blocked)
    let sought = SoughtUsers(["eve"])
    for _ in 0..<2 {
      for key in scene.records.keys.sorted() {
        if let decision = try scene.app.forget(sought, in: key, scene) { try scene.apply(decision.effects) }
      }
    }
    for (key, record) in scene.records {
      #expect(!key.contains("eve") && !String(decoding: record.data, as: UTF8.self).contains("eve"), "\(key)")
    }
    #expect(try scene.call("joe", "send", Self.send("eve")).contains("\"waiting\":1"))
  }

  @Test("Where it is not asked for, nobody is noted")
  func off() throws {
    let scene = CliqueScene()
    try scene.call("ann", "totals")
    #expect(scene.records.isEmpty)
    try scene.call("ann", "send", Self.send("nobody"))
  }
}
