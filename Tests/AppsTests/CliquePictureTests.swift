import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: pictures of messages")
struct CliquePictureTests {
  private static let picture = CliqueScene.picture
  private static let json =
    #""picture":{"id":"picture-0123456789abcd","type":"image/jpeg","bytes":1000,"width":640,"height":640,"hash":"LEHV6n"}"#

  @Test("a picture goes with a message, the server says what it is, and both may fetch it while others may not")
  func sent() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.upload("ann")
    #expect(try scene.viewers(["ann", "bob", "eve"]) == ["ann"])
    #expect(try scene.send("ann", id).contains("\"offset\":2"))
    let message = try #require(try scene.history("bob", id)?.last)
    #expect(String(decoding: message.data, as: UTF8.self) == "{\"text\":\"\",\(Self.json)}")
    #expect(try scene.viewers(["ann", "bob", "eve"]) == ["ann", "bob"])
    let answer = try scene.gateway("bob", .key(id: Self.picture))
    #expect(answer == #"{"type":"image/jpeg","key":"\#(Base64.standard.text(CliqueScene.key))"}"#)
    #expect(try scene.refusal("eve", .key(id: Self.picture)) == scene.refusal("eve", .key(id: CliqueScene.picture(1))))
    let pictures = try scene.pictures(of: "ann")
    #expect(pictures?.unsent == [] && pictures?.bytes == 1000)
  }

  @Test("the list and notifications say that the last message has a picture")
  func shown() throws {
    let scene = CliqueScene(.notifying)
    let id = try scene.befriend("ann", "bob")
    try scene.upload("ann")
    try scene.send("ann", id)
    #expect(try scene.entry("bob", "list", id)?.contains(#""last":"","picture":true,"from":"ann""#) == true)
    let notification = try #require(try scene.notification("bob", id))
    #expect(notification.text == "" && notification.data["picture"] == "true")
    try scene.call("ann", "send", #"{"conversation":"\#(id)","text":"look"}"#)
    #expect(try scene.entry("bob", "list", id)?.contains("picture") == false)
    #expect(try scene.notification("bob", id)?.data["picture"] == nil)
  }

  @Test("what is not there, somebody else's, still coming or sent already is not sent")
  func unknown() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    #expect(try scene.send("ann", id).contains("picture is unknown"))
    try scene.upload("bob")
    #expect(try scene.send("ann", id).contains("picture is unknown"))
    let coming = CliqueScene.picture(1)
    try scene.gateway("ann", .add(.init(id: coming, type: nil, bytes: 9, key: CliqueScene.key, upload: [1])))
    #expect(try scene.send("ann", id, picture: coming).contains("picture is unknown"))
    #expect(try scene.send("bob", id).contains("\"offset\":2"))
    #expect(try scene.send("bob", id).contains("picture is unknown"))
    #expect(try scene.chat("ann", id)?.count == 2)
  }

  @Test("the same key again is the same message with the same picture; with another it is a conflict")
  func repeated() throws {
    let scene = CliqueScene()
    scene.remembersKeys = true
    let id = try scene.befriend("ann", "bob")
    try scene.upload("ann")
    try scene.upload("ann", CliqueScene.picture(1))
    let answer = try scene.send("ann", id, #","key":"k""#)
    #expect(try scene.send("ann", id, #","key":"k""#) == answer)
    #expect(try scene.send("ann", id, picture: CliqueScene.picture(1), #","key":"k""#).contains("idempotency"))
    #expect(try scene.chat("bob", id)?.count == 2)
    #expect(try scene.stored()?.use == .message(conversation: id, offset: 2))
    // Removed meanwhile: the command that comes once more says where it was, and nothing comes back.
    try scene.change("ann", id, 2, nil)
    #expect(try scene.send("ann", id, #","key":"k""#) == answer)
    #expect(try scene.viewers(["ann", "bob"]) == [])
  }

  @Test("a message of a request has none, whether or not it reaches anybody; the answer to one may have one")
  func requests() throws {
    let (silent, other) = (CliqueScene(), CliqueScene())
    try other.call("bob", "block", #"{"person":"ann"}"#)
    for scene in [silent, other] {
      try scene.upload("ann")
      let command = #"{"to":"bob","text":"hi","picture":{"id":"\#(Self.picture)"}}"#
      #expect(try scene.said("ann", "send", command).contains("of a request"))
      #expect(scene.streams.isEmpty)
    }
    try silent.call("ann", "send", #"{"to":"bob","text":"hi"}"#)
    try silent.upload("bob", CliqueScene.picture(1))
    let id = silent.pair("ann", "bob")
    #expect(try silent.send("bob", id, picture: CliqueScene.picture(1)).contains("\"offset\":2"))
    #expect(try silent.viewers(["ann", "bob"], CliqueScene.picture(1)) == ["ann", "bob"])
    #expect(try silent.entry("ann", "list", id)?.contains(#""last":"","picture":true"#) == true)
  }

  @Test("across a block a picture is seen by whoever sees the message, and by nobody else")
  func blocked() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for (number, user) in ["ann", "bob"].enumerated() {
      try scene.upload(user, CliqueScene.picture(number))
      try scene.send(user, id, picture: CliqueScene.picture(number))
    }
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    // Who is blocked sees no change; who blocks is out of the chat, and has what is their own.
    #expect(try scene.viewers(["ann", "bob"], CliqueScene.picture(0)) == ["ann", "bob"])
    #expect(try scene.viewers(["ann", "bob"], CliqueScene.picture(1)) == ["bob"])
    try scene.upload("bob", CliqueScene.picture(2))
    #expect(try scene.send("bob", id, picture: CliqueScene.picture(2)).contains("\"offset\":4"))
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    #expect(try scene.viewers(["ann", "bob"], CliqueScene.picture(1)) == ["ann", "bob"])
    #expect(try scene.viewers(["ann", "bob"], CliqueScene.picture(2)) == ["bob"], "it was for its author alone")
    // Who stays in a conversation that has ended reads it, and who has left does not.
    try scene.call("ann", "disconnect", #"{"person":"bob"}"#)
    #expect(try scene.viewers(["ann", "bob"], CliqueScene.picture(1)) == ["bob"])
  }

  @Test("who is blocked uploads, sends, fetches and removes as with somebody silent")
  func silence() throws {
    let (silent, other) = (CliqueScene(), CliqueScene())
    let id = silent.pair("ann", "bob")
    var answers: [[String]] = []
    for scene in [silent, other] {
      scene.remembersKeys = true
      _ = try scene.befriend("ann", "bob")
      try scene.upload("ann")
      try scene.send("ann", id)
      if scene === other { try scene.call("ann", "block", #"{"person":"bob"}"#) }
      let own = CliqueScene.picture(1)
      try scene.upload("bob", own)
      var said = [
        try scene.send("bob", id, picture: own, #","key":"k""#),
        try scene.send("bob", id, picture: own, #","key":"k""#),
        try scene.send("bob", id, picture: own), "\(try scene.refusal("bob", .discard(id: own)))",
      ]
      said += try scene.viewers(["bob"], Self.picture) + scene.viewers(["bob"], own)
      said.append(try scene.entry("bob", "list", id) ?? "-")
      try scene.change("bob", id, 3, #"{"text":"with a text"}"#)
      said += try scene.history("bob", id)?.map { String(decoding: $0.data, as: UTF8.self) } ?? ["-"]
      try scene.change("bob", id, 3, nil)
      said += try scene.viewers(["bob"], own) + [scene.pictures(of: "bob").map { "\($0.bytes)" } ?? "none"]
      said += scene.discarded
      answers.append(said)
    }
    #expect(answers[0] == answers[1])
    #expect(answers[0].last == CliqueScene.picture(1) && answers[0].count > 12)
  }

  @Test("in a group it is seen by those who read the message: not across blocks, not by who came later or has left")
  func groups() throws {
    let scene = CliqueScene()
    for other in ["bob", "eve", "joe"] { _ = try scene.befriend("ann", other) }
    let reply = try scene.call("ann", "group.create", #"{"members":["bob","eve"]}"#)
    let group = String(reply.split(separator: "\"")[3])
    let all = ["ann", "bob", "eve", "joe"]
    try scene.upload("ann")
    try scene.send("ann", group)
    #expect(try scene.viewers(all) == ["ann", "bob", "eve"])
    try scene.call("ann", "group.add", #"{"conversation":"\#(group)","members":["joe"]}"#)
    #expect(try scene.viewers(all) == ["ann", "bob", "eve"])
    try scene.call("eve", "block", #"{"person":"ann"}"#)
    try scene.upload("ann", CliqueScene.picture(1))
    try scene.send("ann", group, picture: CliqueScene.picture(1))
    #expect(try scene.viewers(all, CliqueScene.picture(1)) == ["ann", "bob", "joe"])
    #expect(try scene.viewers(all) == ["ann", "bob", "eve"])
    try scene.call("bob", "group.leave", #"{"conversation":"\#(group)"}"#)
    #expect(try scene.viewers(all) == ["ann", "eve"])
  }

  @Test("a changed text leaves the picture, and may be taken out beside it; a removed message takes it along")
  func edited() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.upload("ann")
    try scene.send("ann", id, #","text":"look""#)
    for text in ["there", ""] {
      try scene.change("ann", id, 2, #"{"text":"\#(text)","picture":{"id":"x"}}"#)
      let data = try #require(try scene.history("bob", id)?.first { $0.offset == 2 }?.data)
      #expect(String(decoding: data, as: UTF8.self) == "{\"text\":\"\(text)\",\(Self.json)}")
    }
    #expect(throws: ClientError.self) { try scene.change("ann", id, 1, #"{"text":""}"#) }
    #expect(scene.discarded == [] && scene.scrubs == 0)
    try scene.change("ann", id, 2, nil)
    #expect(scene.discarded == [Self.picture] && scene.scrubs == 1)
    #expect(try scene.viewers(["ann", "bob"]) == [])
    #expect(try scene.stored()?.key == nil && scene.pictures(of: "ann") == nil)
    #expect(try scene.gateway("ann", .gone([Self.picture])).contains(Self.picture))
    // Its id does not come back at once, since gateways are told once more to delete the file.
    #expect(throws: ClientError.self) { try scene.upload("ann") }
    try scene.pass(300_000)
    try scene.upload("ann")
  }

  @Test("nobody but a gateway says anything of pictures")
  func gateways() throws {
    let scene = CliqueScene()
    for source in [AppCall.Source.client, .service] {
      let call = AppCall(
        .clique(.picture(.key(id: Self.picture))), caller: ClientInfo(user: "ann", client: "c"), source: source,
        key: .text("x"))
      #expect(throws: ClientError.methodNotFound) { try scene.app.call(call, scene) }
    }
    for broken in [
      PictureCommand.Picture(
        id: "x", type: "image/png", bytes: 1, width: 1, height: 1, key: CliqueScene.key, upload: nil),
      .init(id: Self.picture, type: "image/heic", bytes: 1, width: 1, height: 1, key: CliqueScene.key, upload: nil),
      .init(id: Self.picture, type: "image/png", bytes: 0, width: 1, height: 1, key: CliqueScene.key, upload: nil),
      .init(id: Self.picture, type: "image/png", bytes: 1, width: 0, height: 1, key: CliqueScene.key, upload: nil),
      .init(id: Self.picture, type: "image/png", bytes: 1, width: 1, height: -1, key: CliqueScene.key, upload: nil),
      .init(id: Self.picture, type: "image/png", bytes: 1, width: 1, height: 1, key: [1], upload: nil),
    ] { #expect(try scene.refusal("ann", .add(broken)) == 107) }
    #expect(scene.records.isEmpty)
  }

  // MARK: Limits

  @Test("pictures that wait are few, those that are kept are bounded, and what is discarded makes room")
  func limits() throws {
    var rules = CliqueRules()
    (rules.unsentPictures, rules.pictureBytes) = (2, 2500)
    let scene = CliqueScene(rules)
    let id = try scene.befriend("ann", "bob")
    for number in 1...2 { try scene.upload("ann", CliqueScene.picture(number)) }
    #expect(limit { try scene.upload("ann", CliqueScene.picture(3)) } == .cliqueUnsentPictures)
    // One that is repeated takes no place more.
    try scene.upload("ann", CliqueScene.picture(2))
    try scene.send("ann", id, picture: CliqueScene.picture(1))
    #expect(limit { try scene.upload("ann", CliqueScene.picture(3)) } == .cliquePictureBytes)
    try scene.gateway("ann", .discard(id: CliqueScene.picture(2)))
    #expect(scene.discarded == [CliqueScene.picture(2)])
    try scene.upload("ann", CliqueScene.picture(3))
    try scene.upload("bob", CliqueScene.picture(4))
    #expect(try scene.refusal("ann", .discard(id: CliqueScene.picture(1))) == 435, "it was sent")
    #expect(try scene.refusal("ann", .discard(id: CliqueScene.picture(4))) == 0)
    #expect(try scene.viewers(["bob"], CliqueScene.picture(4)) == ["bob"], "somebody else's stays")
  }

  @Test("ids that somebody bars are counted")
  func discards() throws {
    let scene = CliqueScene()
    var refused: AppLimit?
    for number in 0..<1100 where refused == nil {
      refused = limit { try scene.gateway("ann", .discard(id: CliqueScene.picture(number))) }
    }
    #expect(refused == .cliquePictureDiscards)
    #expect(scene.records.keys.count { $0.hasPrefix("picture/") } == 1000)
    try scene.pass(CliqueRules.day)
    #expect(scene.records.isEmpty)
  }

  private func limit(_ body: () throws -> some Any) -> AppLimit? {
    do { _ = try body() } catch let error as ClientError { return error.code == 106 ? error.limit : nil } catch {}
    return nil
  }

  // MARK: Time

  @Test("a picture that nobody sends is gone after its time, and until then any gateway goes on with it")
  func unsent() throws {
    let scene = CliqueScene()
    try scene.gateway("ann", .add(.init(id: Self.picture, type: nil, bytes: 9, key: CliqueScene.key, upload: [3])))
    let ask = PictureCommand.uploadKey(id: Self.picture, upload: [3])
    #expect(try scene.gateway("ann", ask).contains(Base64.standard.text(CliqueScene.key)))
    #expect(try scene.refusal("bob", ask) == 436)
    #expect(try scene.refusal("ann", .uploadKey(id: Self.picture, upload: [4])) == 436)
    #expect(try scene.gateway("-", .gone([Self.picture])) == #"{"gone":[]}"#)
    try scene.pass(scene.app.rules.pictureLifetime)
    #expect(scene.discarded == [Self.picture] && scene.scrubs == 1)
    #expect(try scene.refusal("ann", ask) == 436)
    try scene.pass(300_000)
    #expect(scene.records.isEmpty)
  }

  @Test("a picture goes when its message is too old, or when the chat has gone on far enough")
  func aged() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.upload("ann")
    try scene.send("ann", id)
    try scene.pass(Clique.chatLifetime - 1)
    #expect(scene.discarded == [])
    #expect(try scene.viewers(["ann", "bob"]) == ["ann", "bob"])
    try scene.pass(1)
    #expect(scene.discarded == [Self.picture])
    #expect(try scene.viewers(["ann", "bob"]) == [])
    try scene.upload("ann", CliqueScene.picture(1))
    try scene.send("ann", id, picture: CliqueScene.picture(1))
    for number in 0..<Clique.chatSize {
      try scene.apply([
        .publish(
          AppPublication(channel: try ChannelName("clique.chat:\(id)"), data: Array("{\"text\":\"\(number)\"}".utf8)))
      ])
    }
    #expect(try scene.viewers(["ann", "bob"], CliqueScene.picture(1)) == [], "at once, for everybody")
    try scene.pass(7 * CliqueRules.day)
    #expect(scene.discarded == [Self.picture, CliqueScene.picture(1)], "and within a week on the disk")
  }

  @Test("the next look is about when the message goes, never later than a week, and never in the past")
  func looks() {
    let (hour, day) = (CliqueRules.hour, CliqueRules.day)
    #expect(Clique.Picture.nextLook(growth: 0, sent: 0, now: 0) == 7 * day)
    #expect(Clique.Picture.nextLook(growth: 1, sent: 0, now: day) == 8 * day)
    #expect(Clique.Picture.nextLook(growth: 5000, sent: 0, now: day) == 2 * day)
    #expect(Clique.Picture.nextLook(growth: 9999, sent: 0, now: day) == day + hour)
    #expect(Clique.Picture.nextLook(growth: 0, sent: 0, now: Clique.chatLifetime - 5) == Clique.chatLifetime)
    #expect(Clique.Picture.nextLook(growth: .max, sent: 0, now: .max - 8 * day) > .max - 8 * day)
  }
}
