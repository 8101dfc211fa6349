import Testing
import Wire

@testable import Apps

/// What somebody makes up is refused by its form: it is not looked for, and so not remembered either.
@Suite("The form of ids, before anything is looked up")
struct IdentifierFormTests {
  private static let users = ["", "a\u{0}b", "a\nb", "\u{7F}", "\u{1F}x"]

  private func quoted(_ text: String) -> String {
    var writer = JSONWriter()
    writer.object { $0.write("x", text) }
    return String(decoding: writer.bytes.dropFirst(5).dropLast(), as: UTF8.self)
  }

  @Test("State: user ids")
  func stateUsers() throws {
    let scene = StateScene()
    let front = String(repeating: "f", count: 22)
    let rear = String(repeating: "r", count: 22)
    for user in Self.users + [String(repeating: "u", count: 201)] {
      for (method, json) in [
        ("state.begin", #"{"to":\#(quoted(user))}"#), ("state.seen", #"{"with":\#(quoted(user))}"#),
        ("state.block", #"{"user":\#(quoted(user))}"#), ("state.unblock", #"{"user":\#(quoted(user))}"#),
        ("state.send", #"{"to":\#(quoted(user)),"front":"\#(front)","rear":"\#(rear)"}"#),
      ] {
        let error = scene.refusal("ada", method, json)
        #expect(error?.code == 107, "\(method) \(json): \(String(describing: error))")
      }
      // The user who calls has to have the form of an id too, whether a client or a gateway calls.
      for (method, source) in [
        ("state.settings", AppCall.Source.client), ("state.picture.gone", .gateway), ("state.picture.added", .gateway),
      ] {
        // A client without a user is told that commands are for people (103), everybody else that the id is malformed.
        let code: UInt32 = user.isEmpty && source == .client ? 103 : 107
        let refusal = scene.refusal(user, method, "{}", source: source)
        #expect(refusal?.code == code, "\(method) by \(user.debugDescription)")
      }
    }
    #expect(scene.lookups == 0 && scene.recordCount == 0)
    // The longest that there may be.
    try scene.call("ada", "state.begin", #"{"to":"\#(String(repeating: "u", count: 200))"}"#)
  }

  @Test("State: ids of pictures, and the key of a send")
  func statePictures() throws {
    let scene = StateScene()
    let good = String(repeating: "f", count: 22)
    let bad = [
      "", "short", String(repeating: "f", count: 21), String(repeating: "f", count: 65), good + "/..", good + "\u{0}",
      good + "é", "../" + good,
    ]
    for id in bad {
      for json in [
        #"{"to":"bob","front":\#(quoted(id)),"rear":"\#(good)"}"#,
        #"{"to":"bob","front":"\#(good)","rear":\#(quoted(id))}"#,
      ] { #expect(scene.refusal("ada", "state.send", json) == StateError.unknownPicture, "\(json)") }
      let key = #"{"id":\#(quoted(id)),"bytes":1,"key":"","type":"image/png","upload":""}"#
      for method in ["state.picture.added", "state.picture.upload", "state.picture.key"] {
        #expect(scene.refusal("ada", method, key, source: .gateway) != nil, "\(method)")
      }
      let gone = try scene.call("ada", "state.picture.gone", #"{"ids":[\#(quoted(id))]}"#, source: .gateway)
      #expect((gone["gone"] as? [String])?.isEmpty == true)
    }
    let long = String(repeating: "k", count: 129)
    let sending = #"{"to":"bob","front":"\#(good)","rear":"\#(good)r","key":"\#(long)"}"#
    #expect(scene.refusal("ada", "state.send", sending)?.code == 107)
    #expect(scene.lookups == 0)
  }

  @Test("State: an empty key is none, and tells no two sends from one another")
  func emptyKey() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob", #","key":"""#)
    try scene.send("bob", to: "ada", #","key":"""#)
    try scene.call("bob", "state.seen", #"{"with":"ada"}"#)
    try scene.send("ada", to: "bob", #","key":"""#)
    #expect(scene.phases("ada", "bob") == "sent/received")
  }

  @Test("Clique: user ids and ids of conversations, by the same rule")
  func clique() throws {
    let scene = CliqueScene()
    for user in Self.users + [String(repeating: "u", count: 181)] {
      for (method, json) in [
        ("send", #"{"to":\#(quoted(user)),"text":"hi"}"#), ("accept", #"{"person":\#(quoted(user))}"#),
        ("block", #"{"person":\#(quoted(user))}"#), ("group.create", #"{"members":[\#(quoted(user))]}"#),
        ("search", #"{"text":"x","person":\#(quoted(user))}"#),
      ] { #expect(try scene.said("ann", method, json).hasSuffix("(error 107)"), "\(method) \(json)") }
      #expect(try scene.said(user, "crossings").hasSuffix(user.isEmpty ? "(error 103)" : "(error 107)"))
    }
    for id in ["", "p", "x" + String(repeating: "0", count: 32), "p" + String(repeating: "G", count: 32)] {
      for method in ["send", "accept", "read", "typing", "group.leave"] {
        let said = try scene.said("ann", method, #"{"conversation":\#(quoted(id)),"text":"x","offset":1}"#)
        #expect(said.hasSuffix("(error 103)"), "\(method) \(id): \(said)")
      }
    }
    #expect(scene.lookups == 0 && scene.records.isEmpty)
  }
}
