import Testing
import Wire

@testable import Apps

/// Who is notified of what, and what there is to tell when the time comes.
@Suite("Clique: notifications")
struct CliqueNoticeTests {
  private func say(_ scene: CliqueScene, _ user: String, _ id: String, _ text: String, _ more: String = "") throws {
    try scene.call(user, "send", #"{"conversation":"\#(id)","text":"\#(text)"\#(more)}"#)
  }

  private func mark(_ scene: CliqueScene, _ user: String, _ method: String, _ id: String, _ offset: Int) throws {
    try scene.call(user, method, #"{"conversation":"\#(id)","offset":\#(offset)}"#)
  }

  private func group(_ scene: CliqueScene) throws -> String {
    for (a, b) in [("ann", "bob"), ("ann", "eve"), ("bob", "eve")] { _ = try scene.befriend(a, b) }
    return String(
      try scene.call("ann", "group.create", #"{"members":["bob","eve"]}"#, key: "g").split(separator: "\"")[3])
  }

  /// What was notified since a moment.
  private func since(_ count: Int, _ scene: CliqueScene) -> [String] {
    scene.notified.dropFirst(count).map { String($0.prefix { $0 != ":" }) }
  }

  @Test("whoever gets a message is notified, and not who wrote it; who writes has read")
  func messages() throws {
    let scene = CliqueScene(.notifying)
    let id = try scene.befriend("ann", "bob")
    #expect(since(0, scene) == ["bob clique.request clique.chat", "ann clique.accepted clique.chat"])
    #expect(scene.acknowledged == ["bob clique.chat:\(id)"], "bob has answered")
    try say(scene, "bob", id, "one")
    try say(scene, "bob", id, "two", #","mentions":["ann"]"#)
    #expect(
      scene.notified.suffix(2) == ["ann clique.message clique.chat:\(id)", "ann clique.mention clique.chat:\(id)"])
    try say(scene, "ann", id, "three")
    #expect(scene.notified.last == "bob clique.message clique.chat:\(id)")
    #expect(scene.acknowledged.last == "ann clique.chat:\(id)")
    #expect(try scene.notification("ann", id) == nil && scene.notification("eve", id) == nil)
  }

  @Test("what is told counts what no device has, and what is not read, with the newest text and the oldest time")
  func told() throws {
    let scene = CliqueScene(.notifying)
    let id = try scene.befriend("ann", "bob")
    try mark(scene, "ann", "read", id, 1)
    let began = scene.now
    for text in ["one", "two", "three"] {
      try say(scene, "bob", id, text)
      try scene.pass(1000)
    }
    let data = ["channel": "clique.chat:\(id)", "conversation": id, "offset": "4"]
    var expected = AppNotification(
      topic: "clique.message", unacknowledged: 3, unseen: 3, since: began, badge: 3, sender: "bob", text: "three",
      data: data, unseenSince: began)
    #expect(try scene.notification("ann", id) == expected)
    try mark(scene, "ann", "delivered", id, 3)
    (expected.unacknowledged, expected.since) = (1, began + 2000)
    #expect(try scene.notification("ann", id) == expected)
    #expect(scene.acknowledged.last == "ann clique.chat:\(id)")
    try mark(scene, "ann", "delivered", id, 4)
    #expect(try scene.notification("ann", id)?.unacknowledged == 0)
    #expect(try scene.notification("ann", id)?.unseen == 3, "it stays where it is shown")
    let known = scene.acknowledged.count
    try mark(scene, "ann", "delivered", id, 4)
    #expect(scene.acknowledged.count == known, "the same again tells nothing")
    try mark(scene, "ann", "read", id, 3)
    #expect(try scene.notification("ann", id)?.unseen == 1)
    #expect(try scene.notification("ann", id)?.unseenSince == began + 2000)
    try mark(scene, "ann", "read", id, 4)
    #expect(try scene.notification("ann", id) == nil)
  }

  @Test("a message that is removed is not told of any more, and its readers' devices hear of that")
  func removed() throws {
    let scene = CliqueScene(.notifying)
    let id = try scene.befriend("ann", "bob")
    try mark(scene, "ann", "read", id, 1)
    try say(scene, "bob", id, "one")
    try say(scene, "bob", id, "two")
    try scene.change("bob", id, 3, nil)
    #expect(scene.acknowledged.last == "ann clique.chat:\(id)")
    #expect(try scene.notification("ann", id)?.text == "one")
    try scene.change("bob", id, 2, nil)
    #expect(try scene.notification("ann", id) == nil)
  }

  @Test("more messages than are counted are told of as so many")
  func many() throws {
    let scene = CliqueScene(.notifying)
    let id = try scene.befriend("ann", "bob")
    for number in 0..<120 { try say(scene, "bob", id, "\(number)") }
    let told = try #require(try scene.notification("ann", id))
    #expect(told.unseen == 100 && told.unacknowledged == 100 && told.badge == 100 && told.text == "119")
  }

  @Test("of a request it is told that it is there and who makes it, until its messages have arrived, and no text")
  func requests() throws {
    let scene = CliqueScene(.notifying)
    let id = scene.pair("ann", "bob")
    let began = scene.now
    try scene.call("ann", "send", #"{"to":"bob","text":"hi"}"#)
    try scene.pass(1000)
    try scene.call("ann", "send", #"{"to":"bob","text":"there"}"#)
    #expect(since(0, scene) == Array(repeating: "bob clique.request clique.chat", count: 2))
    let told = AppNotification(
      topic: "clique.request", unacknowledged: 2, unseen: 2, since: began, badge: 1, sender: "ann",
      data: ["conversation": id], unseenSince: began)
    #expect(try scene.notification("bob", id) == told)
    #expect(try scene.notification("ann", id) == nil)
    let shown = (try scene.entries("ann", "list"), scene.changes.count)
    try mark(scene, "bob", "delivered", id, 1)
    #expect(try scene.notification("bob", id)?.unacknowledged == 1)
    #expect(try scene.notification("bob", id)?.since == began + 1000)
    try mark(scene, "bob", "delivered", id, 2)
    #expect(try scene.notification("bob", id)?.unacknowledged == 0)
    #expect(try scene.notification("bob", id)?.unseen == 2)
    try mark(scene, "bob", "read", id, 2)
    #expect(try scene.notification("bob", id)?.unseen == 0)
    #expect(try scene.entries("ann", "list") == shown.0 && scene.changes.count == shown.1, "ann sees none of it")
    #expect(scene.readmitted.isEmpty)
    #expect(throws: ClientError.self) { try mark(scene, "bob", "read", id, 3) }
    // What comes then is new again, and an answer ends it.
    try scene.call("ann", "send", #"{"to":"bob","text":"again"}"#)
    #expect(try scene.notification("bob", id)?.unacknowledged == 1)
    let known = scene.acknowledged.count
    try scene.call("bob", "decline", #"{"person":"ann"}"#)
    #expect(scene.acknowledged.dropFirst(known) == ["bob clique.chat:\(id)"])
    #expect(try scene.notification("bob", id) == nil)
  }

  @Test("whose request was accepted is told so, until a device has the conversation")
  func accepted() throws {
    let scene = CliqueScene(.notifying)
    let id = try scene.befriend("ann", "bob")
    let told = AppNotification(
      topic: "clique.accepted", unacknowledged: 1, unseen: 1, since: scene.now, badge: 0, sender: "bob",
      data: ["channel": "clique.chat:\(id)", "conversation": id, "offset": "1"])
    #expect(try scene.notification("ann", id) == told)
    #expect(try scene.notification("bob", id) == nil)
    try mark(scene, "ann", "delivered", id, 1)
    #expect(try scene.notification("ann", id)?.unacknowledged == 0)
    try mark(scene, "ann", "read", id, 1)
    #expect(try scene.notification("ann", id) == nil)
    // An answer by a message is a message.
    try scene.call("eve", "send", #"{"to":"bob","text":"hi"}"#)
    try scene.call("bob", "send", #"{"to":"eve","text":"hello"}"#)
    #expect(scene.notified.last?.hasPrefix("eve clique.message ") == true)
    #expect(try scene.notification("eve", scene.pair("eve", "bob"))?.text == "hello")
  }

  @Test("a request that reaches nobody, and what is written to one who has declined or blocks, is told to nobody")
  func unheard() throws {
    var rules = CliqueRules.notifying
    rules.maximumRequestsIn = 1
    let scene = CliqueScene(rules)
    for user in ["eve", "joe"] { try scene.call(user, "send", #"{"to":"bob","text":"hi"}"#) }
    #expect(since(0, scene) == ["bob clique.request clique.chat"])
    try scene.call("bob", "decline", #"{"person":"eve"}"#)
    try scene.call("eve", "send", #"{"to":"bob","text":"again"}"#)
    let id = try scene.befriend("ann", "bob")
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    let count = scene.notified.count
    try say(scene, "ann", id, "unheard")
    #expect(scene.notified.count == count)
    #expect(try scene.notification("bob", id) == nil)
    try scene.call("bob", "unblock", #"{"person":"ann"}"#)
    #expect(try scene.notification("bob", id) == nil, "what came meanwhile is told to nobody")
  }

  @Test("muted conversations are silent; archived ones until a message brings them back")
  func keeping() throws {
    let scene = CliqueScene(.notifying)
    let id = try scene.befriend("ann", "bob")
    try say(scene, "bob", id, "one")
    try scene.call("ann", "keep", #"{"conversation":"\#(id)","archived":true}"#)
    #expect(try scene.notification("ann", id) == nil)
    #expect(scene.acknowledged.last == "ann clique.chat:\(id)", "what is shown is withdrawn")
    try say(scene, "bob", id, "two")
    #expect(try scene.notification("ann", id)?.text == "two")
    try scene.call("ann", "keep", #"{"conversation":"\#(id)","muted":true}"#)
    #expect(try scene.notification("ann", id) == nil)
    let count = scene.notified.count
    try say(scene, "bob", id, "three", #","mentions":["ann"]"#)
    #expect(scene.notified.count == count, "mentions are silent there too")
  }

  @Test("in a group each member is notified who gets the message, and of a mention as of one")
  func groups() throws {
    let scene = CliqueScene(.notifying)
    let id = try group(scene)
    var count = scene.notified.count
    try say(scene, "ann", id, "hi", #","mentions":["eve"]"#)
    #expect(since(count, scene) == ["eve clique.mention clique.chat", "bob clique.group clique.chat"])
    let told = try #require(try scene.notification("eve", id))
    #expect(told.topic == "clique.mention" && told.sender == "ann" && told.text == "hi" && told.unseen == 1)
    #expect(try scene.notification("bob", id)?.topic == "clique.group")
    #expect(try scene.notification("ann", id) == nil && scene.notification("joe", id) == nil)
    try mark(scene, "bob", "read", id, 1)
    #expect(try scene.notification("bob", id) == nil)
    // Across a block neither hears the other, and whoever is muted or gone hears nothing.
    try scene.call("eve", "block", #"{"person":"ann"}"#)
    count = scene.notified.count
    try say(scene, "ann", id, "two")
    #expect(since(count, scene) == ["bob clique.group clique.chat"])
    #expect(try scene.notification("eve", id)?.text == "hi")
    try scene.call("bob", "keep", #"{"conversation":"\#(id)","muted":true}"#)
    count = scene.notified.count
    try say(scene, "eve", id, "three")
    #expect(scene.notified.count == count)
    let known = scene.acknowledged.count
    try scene.call("ann", "group.remove", #"{"conversation":"\#(id)","person":"eve"}"#)
    #expect(scene.acknowledged.dropFirst(known) == ["eve clique.chat:\(id)"])
    #expect(try scene.notification("eve", id) == nil)
  }

  @Test("where nobody is notified no decision says anything of it, and no record grows")
  func off() throws {
    let scene = CliqueScene()
    let id = try group(scene)
    try scene.call("joe", "send", #"{"to":"ann","text":"hi"}"#)
    let request = scene.pair("joe", "ann")
    let before = scene.records.mapValues(\.data)
    try mark(scene, "ann", "delivered", request, 1)
    #expect(scene.records.mapValues(\.data) == before)
    try say(scene, "ann", id, "hi", #","mentions":["eve"]"#)
    try mark(scene, "bob", "read", id, 1)
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    #expect(scene.notified.isEmpty && scene.acknowledged.isEmpty)
  }

  @Test("a subject that is not Clique's, or of nothing that there is, has nothing to tell")
  func foreign() throws {
    let scene = CliqueScene(.notifying)
    for subject in [
      "", "clique.chat:", "clique.chat:p", "clique.list:ann", "news", "clique.chat:g" + scene.pair("a", "b"),
    ] {
      #expect(try scene.app.notification(about: subject, for: "ann", scene) == nil, "\(subject)")
    }
  }
}
