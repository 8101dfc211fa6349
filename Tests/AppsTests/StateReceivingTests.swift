import Foundation
import Testing
import Wire

@testable import Apps

/// How much strangers may send somebody, and that nobody who sends learns whether it was too much.
@Suite("State: what one person is sent")
struct StateReceivingTests {
  static let hour: Int64 = 3_600_000

  /// The limit that a send reaches without being refused.
  private func reached(_ scene: StateScene, _ user: String, to other: String) throws -> AppLimit? {
    try scene.call(user, "state.begin", #"{"to":"\#(other)"}"#)
    let command = try AppCommand("state.send", Array(try scene.prepare(user, to: other).json.utf8), by: user)
    let call = AppCall(command, caller: ClientInfo(user: user, client: "c"), key: .text("k"))
    return try scene.app.call(call, scene).reached
  }

  @Test("beyond the limit a send is answered as ever, and its receiver is not shown it")
  func unanswered() throws {
    let scene = StateScene { $0.receivedThreads = 2 }
    for number in 0..<2 { try scene.send("u\(number)", to: "ada") }
    #expect(try reached(scene, "eve", to: "ada") == .stateReceived)
    let beyond = try scene.send("eve", to: "ada")
    let within = try scene.send("eve", to: "bob")
    #expect(beyond as NSDictionary == within as NSDictionary)
    #expect(scene.phases("eve", "ada") == "sent/idle" && scene.phases("eve", "bob") == "sent/received")
    func entry(_ other: String) -> NSDictionary? {
      var entry = scene.entry("eve", other)
      entry?["with"] = nil
      return entry as NSDictionary?
    }
    #expect(entry("ada") == entry("bob"))
    #expect(scene.notices("ada") == ["received", "received"] && scene.notices("eve") == ["sent", "sent"])
    #expect(scene.told.count == 3, "nor is a backend told, which would tell ada")
    #expect(try #require(try scene.person("ada")).received == 2)
    // The limit is on what ada receives: she can go on answering, and sending.
    try scene.send("ada", to: "u0")
    #expect(scene.phases("ada", "u0") == "revealed/revealed")
    #expect(try scene.send("ada", to: "eve")["phase"] as? String == "revealed", "what eve sent was kept")
    #expect(try #require(try scene.person("ada")).received == 1)
    try scene.send("cy", to: "ada")
    #expect(scene.phases("cy", "ada") == "sent/received")
  }

  @Test("what is not shown expires for its sender as what is not answered")
  func expires() throws {
    let scene = StateScene { $0.receivedThreads = 1 }
    for user in ["eve", "cy"] { try scene.send(user, to: "ada") }
    try scene.advance(24 * Self.hour)
    #expect(scene.phases("eve", "ada") == "expired/expired" && scene.phases("cy", "ada") == "expired/idle")
    #expect(scene.notices("ada") == ["received", "expired"])
    #expect(scene.notices("cy") == scene.notices("eve"))
    try scene.send("cy", to: "ada")
    #expect(scene.phases("cy", "ada") == "sent/received")
  }

  @Test("whom one sees a reveal with is no stranger, and is shown whatever strangers have sent")
  func known() throws {
    let scene = StateScene { $0.receivedThreads = 1 }
    try scene.send("ada", to: "bob")
    try scene.send("bob", to: "ada")
    try scene.call("ada", "state.seen", #"{"with":"bob"}"#)
    try scene.send("eve", to: "ada")
    #expect(try reached(scene, "cy", to: "ada") == .stateReceived)
    try scene.send("bob", to: "ada")
    #expect(scene.phases("bob", "ada") == "sent/received")
    #expect(try #require(try scene.person("ada")).received == 2)
  }

  @Test("what strangers send in a day is counted though it was answered, blocked or expired, and lasts")
  func perDay() throws {
    let scene = StateScene { $0.receivedPerDay = 8 }
    try scene.send("eve", to: "ada")
    try scene.send("ada", to: "eve")
    try scene.send("cy", to: "ada")
    try scene.call("ada", "state.block", #"{"user":"cy"}"#)
    #expect(try reached(scene, "dan", to: "ada") == .stateReceivedPerDay)
    try scene.send("dan", to: "ada")
    #expect(scene.phases("dan", "ada") == "sent/idle")
    // What is not shown costs nothing, and neither does what a block hides.
    let mark = try #require(try scene.person("ada")).receivedMark
    try scene.advance(3 * Self.hour)
    try scene.send("fay", to: "ada")
    #expect(scene.phases("fay", "ada") == "sent/received")
    #expect(mark == scene.now + 3 * Self.hour)
    #expect(try reached(scene, "gus", to: "ada") == .stateReceivedPerDay)
    // Nothing of it is kept longer than it counts.
    try scene.advance(72 * Self.hour)
    #expect(try #require(try scene.person("ada")).receivedMark == nil)
    try scene.call("ada", "state.unblock", #"{"user":"cy"}"#)
    try scene.advance(Self.hour)
    #expect(scene.recordCount == 0)
  }

  @Test("a blocked one takes nothing of what others may send")
  func blocked() throws {
    let scene = StateScene { $0.receivedPerDay = 4 }
    try scene.call("ada", "state.block", #"{"user":"eve"}"#)
    try scene.send("eve", to: "ada")
    #expect(try #require(try scene.person("ada")).receivedMark == nil)
    #expect(scene.told.isEmpty)
    try scene.send("cy", to: "ada")
    #expect(scene.phases("cy", "ada") == "sent/received")
    func standing(_ user: String) throws -> String {
      String(decoding: try scene.app.standing(between: user, and: "ada", scene), as: UTF8.self)
    }
    #expect(try standing("eve").contains(#""hidden_from":["ada"]"#) && standing("cy").contains(#""hidden_from":[]"#))
  }
}
