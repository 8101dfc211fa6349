import TestSupport
import Testing
import Wire

@testable import Apps

/// Pictures that are at home and are sent in a conversation of another partition: the second table above
/// ``Clique/Picture``, and both ends of a send.
@Suite("Clique: pictures that are lent")
struct CliqueLendingTests {
  private static let picture = CliqueScene.picture
  private static let minute: Int64 = 60_000

  private let two: CliqueTwo
  private let (home, chat): (CliqueScene, CliqueScene)

  init() throws {
    two = try CliqueTwo()
    (home, chat) = (two.home, two.chat)
  }

  private func code(_ body: () throws -> Void) -> UInt32? {
    do { try body() } catch { return (error as? ClientError)?.code }
    return nil
  }

  private func use(in id: String? = nil, at offset: UInt64 = 7, ends: Int64? = nil) -> CliqueRelay.PictureUse {
    .init(owner: two.ann, picture: Self.picture, conversation: id ?? two.id, offset: offset, ends: ends)
  }

  /// What a partition has sent of pictures, and is yet to be heard.
  private func said(by scene: CliqueScene) throws -> [String] {
    let relays = scene.relays
    defer { scene.relays = relays }
    return try scene.saidOfPictures()
  }

  // MARK: The table

  /// Brings ann's picture into a state.
  private func bring(to state: String) throws {
    if state != "coming" { try home.upload(two.ann) }
    switch state {
    case "coming":
      try home.gateway(
        two.ann, .add(.init(id: Self.picture, type: nil, bytes: 1000, key: CliqueScene.key, upload: [1])))
    case "lent 1": try two.lend()
    case "message 7":
      try two.lend()
      try home.receive(.used(use()))
    case "profile": try home.call(two.ann, "profile.set", #"{"picture":{"id":"\#(Self.picture)"}}"#)
    case "barred": try home.gateway(two.ann, .discard(id: Self.picture))
    default: break
    }
  }

  private func apply(_ operation: String) throws {
    switch operation {
    case "lend": try two.lend(attempt: 2)
    case "lend to another": try two.lend(to: two.other, attempt: 2)
    case "give back": for _ in 0..<2 { try two.giveBack() }
    case "give back another": try two.giveBack(attempt: 2)
    case "used": try home.receive(.used(use()))
    case "used again": try home.receive(.used(use(at: 8)))
    case "used of another": try home.receive(.used(use(in: two.other)))
    case "unused": try home.receive(.unused(use(at: 0)))
    case "unused of another": try home.receive(.unused(use(in: two.other, at: 0)))
    case "dropped": try home.receive(.dropped(use()))
    case "dropped of another": try home.receive(.dropped(use(at: 8)))
    default: try home.pass((home.stored()?.due ?? home.now) - home.now)
    }
  }

  private static let cells: [(String, [(String, String)])] = [
    (
      "coming",
      [
        ("lend", "435 coming"), ("lend to another", "435 coming"), ("give back", "coming"), ("used", "coming"),
        ("unused", "coming"), ("dropped", "coming"), ("due", "barred"),
      ]
    ),
    (
      "whole",
      [
        ("lend", "lent 1"), ("lend to another", "lent 1"), ("give back", "whole"), ("used", "message 7"),
        ("unused", "whole"), ("dropped", "whole"), ("due", "barred"),
      ]
    ),
    (
      "lent 1",
      [
        ("lend", "lent 2"), ("lend to another", "435 lent 1"), ("give back", "whole"),
        ("give back another", "lent 1"), ("used", "message 7"), ("used of another", "lent 1"), ("unused", "barred"),
        ("unused of another", "lent 1"), ("dropped", "lent 1"), ("due", "lent 1"),
      ]
    ),
    (
      "message 7",
      [
        ("lend", "435 message 7"), ("lend to another", "435 message 7"), ("give back", "message 7"),
        ("used again", "message 7"), ("unused", "message 7"), ("dropped", "barred"),
        ("dropped of another", "message 7"), ("due", "message 7"),
      ]
    ),
    (
      "profile",
      [
        ("lend", "435 profile"), ("lend to another", "435 profile"), ("give back", "profile"), ("used", "profile"),
        ("unused", "profile"), ("dropped", "profile"), ("due", "profile"),
      ]
    ),
    (
      "barred",
      [
        ("lend", "435 barred"), ("lend to another", "435 barred"), ("give back", "barred"), ("used", "barred"),
        ("unused", "barred"), ("dropped", "barred"), ("due", "gone"),
      ]
    ),
  ]

  @Test("each cell of the table", arguments: cells.flatMap { row in row.1.map { (row.0, $0.0, $0.1) } })
  func cell(before: String, operation: String, expected: String) throws {
    try bring(to: before)
    try #require(try two.state() == before)
    let scrubs = home.scrubs
    let error = code { try apply(operation) }
    #expect(try (error.map { "\($0) " } ?? "") + two.state() == expected)
    let asks = ["lent 1": "\(CliqueTwo.place) claim", "message 7": "\(CliqueTwo.place) looks"]
    #expect(try home.saidOfPictures() == (operation == "due" ? asks[before].map { [$0] } ?? [] : []))
    let isWaiting = ["coming", "whole"].contains { expected.hasSuffix($0) } || expected.contains("lent")
    #expect(try (home.pictures(of: two.ann)?.unsent ?? []) == (isWaiting ? [Self.picture] : []))
    let isKept = !expected.hasSuffix("barred") && expected != "gone"
    #expect(try (home.pictures(of: two.ann)?.bytes ?? 0) == (isKept ? 1000 : 0))
    #expect(home.discarded == (isKept ? [] : [Self.picture]), "its file goes with it")
    #expect((home.scrubs > scrubs) == (!isKept && before != "barred"), "and its key from the disk")
  }

  @Test("only one's own whole pictures are lent, in time, to conversations of other partitions, and to gateways alone")
  func refusals() throws {
    try home.upload(two.ann)
    try home.upload("eve", CliqueScene.picture(1))
    for id in [CliqueScene.picture(1), CliqueScene.picture(2), "x"] { #expect(code { try two.lend(id) } == 435) }
    let (own, theirs) = (
      CliqueCommand.Lending(conversation: two.id, picture: Self.picture, attempt: 1),
      CliqueCommand.PictureReading(conversation: two.id, offset: 1, picture: Self.picture)
    )
    for source in [AppCall.Source.client, .service] {
      for command in [CliqueCommand.lend(own), .giveBack(own)] {
        #expect(throws: ClientError.methodNotFound) { try home.decide(two.ann, command, source: source) }
      }
      #expect(throws: ClientError.methodNotFound) { try chat.decide(two.ann, .reads(theirs), source: source) }
    }
    #expect(throws: Clique.misplaced) { try chat.decide(two.ann, .lend(own), source: .gateway) }
    #expect(throws: Clique.misplaced) { try home.decide(two.ann, .reads(theirs), source: .gateway) }
    #expect(throws: Clique.misplaced) { try two.lend(to: "g\(two.id.dropFirst())") }
    #expect(try two.state() == "whole", "what is refused changes nothing")
    for attempt in 1...8 { for _ in 0..<2 { try two.lend(attempt: UInt64(attempt)) } }
    for attempt in 1...8 { try two.giveBack(attempt: UInt64(attempt)) }
    #expect(try two.state() == "whole", "an attempt counts once")
    home.now += home.app.rules.pictureLifetime
    #expect(code { try two.lend(attempt: 9) } == 435)
  }

  @Test("who tries again and again without an answer is lent the picture each time, and it is not free then")
  func manyAttempts() throws {
    try home.upload(two.ann)
    for attempt in 1...100 { try two.lend(attempt: UInt64(attempt)) }
    guard case .lent(let lent)? = try home.stored()?.use else { throw ClientError.internalError }
    #expect(lent.attempts == [StatePicture.uncounted] + Array(94...100))
    for attempt in 0...100 { try two.giveBack(attempt: UInt64(attempt)) }
    #expect(
      code { try two.lend(to: two.other, attempt: 101) } == 435, "one of those that are forgotten may have sent it")
    try home.receive(.unused(use(at: 0)))
    #expect(try two.state() == "barred")
  }

  @Test("to its owner a picture that is lent is one that was sent, at home and in the conversation's partition")
  func asSent() throws {
    try home.upload(two.ann)
    let again = PictureCommand.Picture(
      id: Self.picture, type: "image/png", bytes: 9, width: 1, height: 1, key: CliqueScene.key, upload: [2])
    for state in ["lent 1", "message 7"] {
      if state == "lent 1" { try two.lend() } else { try home.receive(.used(use())) }
      #expect(try home.refusal(two.ann, .discard(id: Self.picture)) == 435)
      #expect(try home.refusal(two.ann, .add(again)) == 437)
      #expect(try home.refusal(two.ann, .uploadKey(id: Self.picture, upload: [1])) == 436)
      #expect(code { try home.call(two.ann, "profile.set", #"{"picture":{"id":"\#(Self.picture)"}}"#) } == 435)
      #expect(try home.gateway("-", .gone([Self.picture])) == #"{"gone":[]}"#)
      #expect(try two.viewers([two.ann]) == [two.ann])
      let export = try home.app.picture(in: "picture/" + Self.picture, for: two.ann, home)
      #expect(export?.key == CliqueScene.key && export?.with == (state == "lent 1" ? nil : two.bob))
      #expect(try two.state() == state)
    }
  }

  @Test("what is due is lent no more, and is asked for each minute; given back then, it goes at once")
  func due() throws {
    try home.upload(two.ann)
    try two.lend()
    try home.pass(home.app.rules.pictureLifetime)
    for _ in 0..<3 {
      #expect(try home.saidOfPictures() == ["2 claim"])
      #expect(code { try two.lend() } == 435, "nobody is lent what home is asking for")
      try home.pass(Self.minute - 1)
      #expect(try home.saidOfPictures() == [])
      try home.pass(1)
    }
    #expect(try home.refusal(two.ann, .key(id: Self.picture)) == 0, "it may be in a message")
    try two.giveBack()
    try home.pass(0)
    #expect(try two.state() == "barred")
  }

  // MARK: Both ends

  @Test("a picture is sent as in one partition, and both people see it, also before home has heard of the message")
  func sent() throws {
    let one = try CliqueTwo(isShared: false)
    try one.sendNew(one.ann, Self.picture)
    try home.upload(two.ann)
    let lent = try two.lend()
    #expect(!String(decoding: lent, as: UTF8.self).contains("key"))
    #expect(try two.viewers([two.ann, two.bob, two.cy, "eve"]) == [two.ann])
    #expect(try two.send(lent: lent) == #"{"conversation":"\#(two.id)","offset":2}"#)
    let message = try #require(try chat.history(two.bob, two.id)?.last)
    #expect(message.data == (try one.chat.history(one.bob, one.id)?.last?.data))
    #expect(chat.records.keys.filter { $0.hasPrefix("picture") } == ["picture/" + Self.picture])
    #expect(try chat.stored()?.isBarred == true, "it has no more than the id")
    for state in ["lent 1", "message 2"] {
      #expect(try two.state() == state)
      #expect(try two.viewers([two.ann, two.bob, two.cy, "eve"]) == [two.ann, two.bob])
      let reading = try CliqueTwo.reading(in: home.gateway(two.bob, .key(id: Self.picture)), of: Self.picture)
      #expect(reading?.conversation == two.id && reading?.offset == (state == "lent 1" ? 0 : 2))
      #expect(try !home.gateway(two.ann, .key(id: Self.picture)).contains("reads"))
      try two.deliver()
    }
    for user in [two.cy, "eve"] {
      #expect(try home.refusal(user, .key(id: Self.picture)) == 436, "home does not send others on")
      let reading = CliqueCommand.PictureReading(conversation: two.id, offset: 2, picture: Self.picture)
      #expect(throws: Clique.noPicture) { try chat.decide(user, .reads(reading), source: .gateway) }
    }
    for (offset, picture) in [(1, Self.picture), (2, CliqueScene.picture(1)), (9, Self.picture)] {
      let reading = CliqueCommand.PictureReading(conversation: two.id, offset: UInt64(offset), picture: picture)
      #expect(throws: Clique.noPicture) { try chat.decide(two.bob, .reads(reading), source: .gateway) }
    }
    let record = try #require(try home.stored())
    #expect(record.sent == home.now && record.ends == nil && record.due == home.now + 7 * CliqueRules.day)
    try chat.pass(Clique.Picture.barredLifetime)
    #expect(try chat.stored() == nil, "the record of the id goes by itself")
  }

  @Test("without what was lent, or with what is another's, another picture's or too old, there is no picture")
  func notLent() throws {
    try home.upload(two.ann)
    try home.upload(two.ann, CliqueScene.picture(1))
    let lent = try two.lend()
    #expect(code { try two.send(lent: []) } == 435)
    #expect(code { try two.send(lent: try two.lend(CliqueScene.picture(1))) } == 435)
    #expect(code { try two.send(two.bob, lent: lent) } == 435)
    #expect(code { try two.send(lent: Array("{}".utf8)) } == 107)
    chat.now += home.app.rules.pictureLifetime
    #expect(code { try two.send(lent: lent) } == 435)
    chat.now -= home.app.rules.pictureLifetime
    #expect(try two.send(lent: lent).contains(#""offset":2"#))
    #expect(code { try two.send(lent: lent, key: "another") } == 435, "home has not heard of the first message yet")
    try two.deliver()
    #expect(code { try two.lend(attempt: 2) } == 435)
    #expect(try chat.chat(two.bob, two.id)?.count == 2)
  }

  @Test("the same key again is the same message, lent or not; with another picture it is a conflict")
  func repeated() throws {
    chat.remembersKeys = true
    try home.upload(two.ann)
    let lent = try two.lend()
    let answer = try two.send(lent: lent, #","key":"k""#)
    try two.deliver()
    for more in [lent, []] { #expect(try two.send(lent: more, #","key":"k""#) == answer) }
    #expect(throws: ClientError.idempotencyConflict) {
      try two.send(picture: CliqueScene.picture(1), lent: [], #","key":"k""#)
    }
    try chat.call(two.ann, "send", #"{"conversation":"\#(two.id)","text":"none","key":"l"}"#)
    #expect(throws: ClientError.idempotencyConflict) { try two.send(lent: [], #","key":"l""#) }
    try chat.change(two.ann, two.id, 2, #"{"text":"changed"}"#)
    #expect(try two.send(lent: [], #","key":"k""#) == answer)
    try chat.change(two.ann, two.id, 2, nil)
    #expect(try two.send(lent: lent, #","key":"k""#) == answer)
    try two.deliver()
    #expect(try two.state() == "barred" && two.viewers([two.ann, two.bob]) == [])
  }

  @Test("a removed message takes its picture along, and its place is free")
  func removed() throws {
    try two.sendNew(two.ann, Self.picture)
    try two.deliver()
    try chat.change(two.ann, two.id, 2, #"{"text":"beside"}"#)
    try two.deliver()
    #expect(try two.state() == "message 2")
    try chat.change(two.ann, two.id, 2, nil)
    #expect(try two.viewers([two.bob]) == [], "before home hears of it, too")
    #expect(try said(by: chat) == ["0 dropped"])
    try two.toHome()
    #expect(home.discarded == [Self.picture] && home.scrubs > 0)
    #expect(try two.viewers([two.ann, two.bob]) == [] && home.pictures(of: two.ann) == nil)
  }

  @Test("the picture of a message that disappears goes with it, to the millisecond")
  func disappears() throws {
    for (user, other) in [(two.ann, two.bob), (two.bob, two.ann)] {
      try chat.call(user, "disappear", #"{"person":"\#(other)","after":60000}"#)
    }
    try two.sendNew(two.ann, Self.picture)
    #expect(try two.viewers([two.ann, two.bob]) == [two.ann, two.bob])
    try two.deliver()
    try two.pass(Self.minute - 1)
    #expect(try two.viewers([two.ann, two.bob]) == [two.ann, two.bob] && home.discarded == [])
    for scene in [home, chat] { scene.now += 1 }
    #expect(try two.viewers([two.ann, two.bob]) == [], "before it is removed, too")
    try two.pass(0)
    #expect(home.discarded == [Self.picture])
    #expect(try home.pictures(of: two.ann) == nil)
  }

  @Test("home asks each week whether the message is kept, and discards one that is too old by itself")
  func aged() throws {
    let offset = { UInt64((try? chat.top(of: ChannelName("clique.chat:" + two.id))) ?? 0) }
    try two.sendNew(two.ann, Self.picture)
    let first = offset()
    try two.deliver()
    try two.pass(7 * CliqueRules.day)
    #expect(try two.state() == "message \(first)")
    for number in 0..<Clique.chatSize {
      try chat.apply([
        .publish(
          AppPublication(
            channel: try ChannelName("clique.chat:" + two.id), data: Array("{\"text\":\"\(number)\"}".utf8)))
      ])
    }
    #expect(try two.viewers([two.bob]) == [], "at once for the other")
    try two.pass(7 * CliqueRules.day)
    #expect(home.discarded == [Self.picture], "and within a week on the disk")
    try two.sendNew(two.ann, CliqueScene.picture(1))
    try two.deliver()
    try home.pass(Clique.chatLifetime - 1)
    #expect(home.discarded.count == 1)
    #expect(try two.viewers([two.ann], CliqueScene.picture(1)) == [two.ann])
    home.now += 1
    #expect(try two.viewers([two.ann], CliqueScene.picture(1)) == [])
    try home.pass(0)
    #expect(home.discarded == [Self.picture, CliqueScene.picture(1)], "nobody was asked")
  }

  @Test("who is blocked is answered and heard as with somebody silent, and a picture is seen by who reads the message")
  func blocked() throws {
    var said: [[String]] = []
    for isBlocked in [false, true] {
      let two = try CliqueTwo()
      if isBlocked { try two.chat.call(two.bob, "block", #"{"person":"\#(two.ann)"}"#) }
      try two.deliver()
      try two.sendNew(two.ann, Self.picture)
      said.append(try self.said(by: two.chat))
      #expect(try two.viewers([two.ann, two.bob]) == (isBlocked ? [two.ann] : [two.ann, two.bob]))
      try two.deliver()
      #expect(try two.viewers([two.ann, two.bob]) == (isBlocked ? [two.ann] : [two.ann, two.bob]))
      try two.chat.change(two.ann, two.id, 2, nil)
      said[said.count - 1] += try self.said(by: two.chat)
      try two.deliver()
      said[said.count - 1].append(try two.state())
    }
    #expect(said == Array(repeating: ["0 used", "0 dropped", "barred"], count: 2))
  }

  // MARK: Orders

  private static let orders = permutations(["send", "claim", "to chat", "to home", "back"])

  private static func permutations(_ words: [String]) -> [[String]] {
    if words.isEmpty { return [[]] }
    return words.indices.flatMap { index in
      var rest = words
      let word = rest.remove(at: index)
      return permutations(rest).map { [word] + $0 }
    }
  }

  @Test(
    "in whatever order a send, a claim and what is said of them come, a picture is kept if it is in a message",
    arguments: orders)
  func order(_ words: [String]) throws {
    try home.upload(two.ann)
    let lent = try two.lend()
    var outcome = ""
    for word in words {
      switch word {
      case "send": outcome = code { try two.send(lent: lent) }.map { "\($0)" } ?? "sent"
      // The conversation's clock is late, so that only what bars the picture refuses the send.
      case "claim": try home.pass(home.app.rules.pictureLifetime)
      case "to chat": try two.toChat()
      case "to home": try two.toHome()
      // As a gateway does that was refused for good.
      default: if outcome == "435" { try two.giveBack() }
      }
    }
    try two.deliver()
    for _ in 0..<2 {
      try home.pass(Self.minute)
      try two.deliver()
    }
    let isBarred = words.filter { ["claim", "to chat", "send"].contains($0) } == ["claim", "to chat", "send"]
    #expect(outcome == (isBarred ? "435" : "sent"))
    #expect(try chat.chat(two.bob, two.id)?.count == (isBarred ? 1 : 2))
    #expect(try two.state() == (isBarred ? "barred" : "message 2"))
    #expect(home.discarded == (isBarred ? [Self.picture] : []))
    #expect(try two.viewers([two.ann, two.bob]) == (isBarred ? [] : [two.ann, two.bob]))
  }

  @Test("a claim bars the picture in the conversation's partition, each time anew, and is always answered")
  func claims() throws {
    try home.upload(two.ann)
    let lent = try two.lend()
    for _ in 0..<2 {
      try chat.pass(Self.minute)
      try chat.receive(.claim(use(at: 0)))
      #expect(try chat.saidOfPictures() == ["0 unused"])
      #expect(try chat.stored()?.due == chat.now + Clique.Picture.barredLifetime)
      #expect(code { try two.send(lent: lent) } == 435)
    }
    #expect(chat.discarded == [], "no file is this partition's")
    try chat.pass(Clique.Picture.barredLifetime)
    #expect(try chat.stored() == nil)
  }

  @Test("an attempt that was given back and was the one after all makes the picture its message's, if it comes in time")
  func lateUse() throws {
    try home.upload(two.ann)
    let lent = try two.lend()
    try two.send(lent: lent)
    try two.giveBack()
    #expect(try two.state() == "whole")
    try two.deliver()
    #expect(try two.state() == "message 2")
    #expect(code { try two.lend(to: two.other, attempt: 5) } == 435)
  }

  // MARK: Deletion

  @Test("with its owner's data a picture goes in each partition, and what was said before brings nothing back")
  func forgotten() throws {
    try home.upload(two.ann)
    try home.upload(two.ann, CliqueScene.picture(1))
    let lent = try two.lend()
    try two.lend(CliqueScene.picture(1))
    try two.send(lent: lent)
    func forget(_ user: String) throws {
      for scene in [home, chat] {
        for key in scene.records.keys.filter({ $0.hasPrefix("picture") }).sorted() {
          if let decision = try scene.app.forget(SoughtUsers([user]), in: key, scene) {
            try scene.apply(decision.effects)
          }
        }
      }
    }
    try forget(two.bob)
    #expect(try two.state() == "lent 1", "records of pictures name their owner alone")
    for scene in [home, chat] { scene.forgotten[two.ann] = scene.now }
    try forget(two.ann)
    #expect([home, chat].allSatisfy { !$0.records.keys.contains { $0.hasPrefix("picture") } })
    #expect(Set(home.discarded) == [CliqueScene.picture(1), Self.picture] && chat.discarded == [])
    try home.upload(two.ann)
    try two.toHome()
    #expect(try two.state() == "whole", "the message was another picture's, which is gone")
    try chat.receive(.claim(use(at: 0)))
    #expect(try chat.stored() == nil && chat.saidOfPictures() == [])
  }
}
