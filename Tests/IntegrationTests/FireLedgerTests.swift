import Foundation
import TestSupport
import Testing

/// What the fires of apps and notifications check with finds what it is to find.
@Suite("Ledgers of the fires")
struct FireLedgerTests {
  // MARK: Chats

  private static func message(_ offset: Int, _ text: String, by user: String = "ann") throws -> JSON {
    try JSON(#"{"offset":\#(offset),"data":{"text":"\#(text)"},"info":{"user":"\#(user)"}}"#)
  }

  private static func change(_ offset: Int, _ tag: String, of changed: Int, _ text: String = "") throws -> JSON {
    try JSON(#"{"offset":\#(offset),"data":{"text":"\#(text)"},"tags":{"\#(tag)":"\#(changed)"}}"#)
  }

  private static var chat: ChatLedger {
    var ledger = ChatLedger()
    ledger.add(.init(author: "ann", text: "one"), at: 1)
    ledger.add(.init(author: "bob", text: "two", hiddenFrom: "ann"), at: 2)
    ledger.add(.init(author: "ann", text: "three", picture: "p3"), at: 3)
    ledger.edit(1, "better")
    return ledger
  }

  private static func view(_ more: [JSON] = []) throws -> ChatView {
    let picture = #"{"offset":3,"data":{"text":"three","picture":{"id":"p3"}},"info":{"user":"ann"}}"#
    return ChatView([try message(1, "one"), try JSON(picture), try change(4, "edits", of: 1, "better")] + more)
  }

  @Test("A chat as it was acknowledged has no fault, and what is missing, changed, hidden or unknown is one")
  func chat() throws {
    #expect(try Self.chat.faults(in: Self.view(), of: "ann", at: 0) == [])
    #expect(try Self.chat.faults(in: Self.view(), of: "bob", at: 0) == ["bob misses two at 2"])
    let hidden = ChatView([try Self.message(1, "better"), try Self.message(2, "two", by: "bob")])
    #expect(
      Self.chat.faults(in: hidden, of: "ann", at: 0) == [
        "ann misses three at 3", "ann sees two at 2, which is hidden",
      ])
    let unknown = try Self.view([Self.message(5, "five")])
    #expect(Self.chat.faults(in: unknown, of: "ann", at: 0) == ["ann sees five at 5, which nobody was answered"])
    let former = ChatView([try Self.message(1, "one")])
    #expect(Self.chat.faults(in: former, of: "ann", at: 0).first?.hasPrefix("ann sees Line(") == true)
    var twice = Self.chat
    twice.add(.init(author: "bob", text: "other"), at: 3)
    #expect(try twice.faults(in: Self.view(), of: "ann", at: 0).contains("3 was acknowledged for three and for other"))
  }

  @Test("What comes twice or out of order on a device is found, whatever it shows in the end")
  func order() throws {
    let again = try Self.view([Self.change(4, "edits", of: 1, "better")])
    #expect(Self.chat.faults(in: again, of: "ann", at: 0) == ["4 came after 4"])
    let late = ChatView([try Self.message(3, "three"), try Self.message(1, "one")])
    #expect(late.faults == ["1 came after 3"])
  }

  @Test("An entry of a list that shows another message than the newest that its owner sees, or counts it, is found")
  func entries() throws {
    var ledger = Self.chat
    func faults(_ entry: String, of user: String = "ann") throws -> Int {
      ledger.faults(inEntry: try JSON(entry), of: user, at: 0).count
    }
    let right = #""state":"active","last":"three","from":"ann","#
    #expect(try faults(#"{\#(right)"unread":0}"#) == 0 && faults(#"{\#(right)"unread":0}"#, of: "bob") == 0)
    #expect(try faults(#"{\#(right)"unread":1}"#) == 1)
    #expect(try faults(#"{"state":"active","last":"better","from":"ann","unread":0}"#) == 1)
    #expect(try faults(#"{"state":"ended","last":"three","from":"ann","unread":0}"#) == 1)
    #expect(ledger.faults(inEntry: nil, of: "ann", at: 0) == ["ann's list says nothing"])
    ledger.remove(3)
    #expect(try faults(#"{\#(right)"unread":0}"#) == 1)
    let (better, two) = (#""last":"better","from":"ann""#, #""last":"two","from":"bob""#)
    #expect(try faults(#"{"state":"active",\#(better),"unread":0}"#) == 0, "the other is hidden")
    #expect(try faults(#"{"state":"active",\#(two),"unread":0}"#) == 1)
    #expect(try faults(#"{"state":"active",\#(two),"unread":0}"#, of: "bob") == 0)
    ledger.expire(1, at: 100)
    #expect(try faults(#"{"state":"active","expires":100,"from":"ann","unread":0}"#) == 0)
    #expect(try faults(#"{"state":"active",\#(better),"unread":0}"#) == 1, "its text stands in the chat alone")
  }

  @Test("What was removed or has disappeared is to be gone, with its picture and its reactions")
  func gone() throws {
    var ledger = Self.chat
    ledger.react("bob", to: 3, "a")
    ledger.react("bob", to: 1, "a")
    ledger.expire(1, at: 100)
    #expect(try ledger.faults(in: Self.view(), of: "ann", at: 99) == [])
    #expect(try ledger.faults(in: Self.view(), of: "ann", at: 100) == ["ann sees better at 1, which is gone"])
    #expect(ledger.pictures(of: ["ann", "bob"], at: 0).openTo == ["p3": ["ann", "bob"]])
    ledger.remove(3)
    #expect(ledger.reactions == ["1/bob": "a"])
    let removed = try Self.view([Self.change(5, "deletes", of: 3)])
    #expect(ledger.faults(in: removed, of: "ann", at: 0) == [])
    #expect(try ledger.faults(in: Self.view(), of: "ann", at: 0) == ["ann sees three at 3, which is gone"])
    let album = ledger.pictures(of: ["ann", "bob"], at: 0)
    #expect(album.openTo == ["p3": []] && album.kept.isEmpty)
  }

  // MARK: What disappears

  /// One message that was changed, has a reaction and goes at 100, and one with a picture that goes at 200.
  private static var fleeting: ChatLedger {
    var ledger = ChatLedger()
    ledger.add(.init(author: "ann", text: "one"), at: 1)
    ledger.add(.init(author: "bob", text: "two", picture: "p2"), at: 2)
    ledger.edit(1, "better")
    ledger.expire(1, at: 100)
    ledger.expire(2, at: 200)
    ledger.react("bob", to: 1, "a")
    return ledger
  }

  private static let second = #"{"offset":2,"data":{"text":"two","picture":{"id":"p2"}},"info":{"user":"bob"}}"#
  private static let noSecond = #"{"offset":2,"data":null,"tags":{"deleted":"200"}}"#
  private static let noFirst = #"{"offset":1,"data":null,"tags":{"deleted":"100"}}"#

  private static func reading(_ publications: String..., from began: Int, to ended: Int? = nil) throws -> ChatReading {
    ChatReading(publications: try publications.map { try JSON($0) }, began: began, ended: ended ?? began)
  }

  private static func faults(_ reading: ChatReading) -> [String] { fleeting.faults(in: reading, of: "bob") }

  @Test("What disappears is to be read until its time, once and in order, and not from then on")
  func vanishing() throws {
    let first = #"{"offset":1,"data":{"text":"better"},"info":{"user":"ann"}}"#
    #expect(try Self.faults(Self.reading(first, Self.second, from: 90, to: 99)) == [])
    #expect(try Self.faults(Self.reading(Self.noFirst, Self.second, from: 100)) == [])
    #expect(try Self.faults(Self.reading(Self.noFirst, Self.noSecond, from: 200)) == [])
    #expect(try Self.faults(Self.reading(Self.noFirst, Self.second, from: 99)) == ["bob misses better at 1"])
    #expect(try Self.faults(Self.reading(first, first, Self.second, from: 99)) == ["1 came after 1"])
    let late = try Self.faults(Self.reading(first, Self.second, from: 100))
    #expect(late == ["bob sees better at 1, which is gone", "bob was given better, which had gone from 1"])
    for reading in [
      try Self.reading(first, Self.second, from: 99, to: 100),
      try Self.reading(Self.noFirst, Self.second, from: 99, to: 100),
    ] {
      #expect(Self.faults(reading) == [], "it goes while it is read")
    }
    let absent = try Self.faults(Self.reading(Self.second, from: 100))
    #expect(absent == ["bob was never told of 1"], "as if nobody had sent it")
  }

  @Test("What had disappeared is found in whatever somebody was given, as it was at last and before")
  func leaks() throws {
    let notice = #"{"offset":3,"data":{"text":"one"},"tags":{"deletes":"1"}}"#
    let told = try Self.faults(Self.reading(Self.noFirst, Self.second, notice, from: 100))
    #expect(told == ["bob was given one, which had gone from 1"], "no line shows it")
    let hidden = #"{"offset":1,"data":null,"tags":{"deleted":"100","former":"better"}}"#
    #expect(try Self.faults(Self.reading(hidden, Self.second, from: 100)).count == 1)
    #expect(Self.fleeting.leaks(in: ["better", "two"], to: "bob", since: 99) == [])
    #expect(Self.fleeting.leaks(in: ["better", "two", "one"], to: "bob", since: 200).count == 3)
  }

  @Test("With what disappears its picture goes, its reactions, and its place in the list")
  func vanished() throws {
    let ledger = Self.fleeting
    #expect(ledger.reactions(at: 99) == ["1/bob": "a"] && ledger.reactions(at: 100) == [:])
    let (before, after) = (ledger.pictures(of: ["ann"], at: 199), ledger.pictures(of: ["ann"], at: 200))
    let (open, gone) = (
      PictureLook(viewer: "ann", picture: "p2", isOpen: true), PictureLook(viewer: "ann", picture: "p2", isOpen: false)
    )
    #expect(before.faults(in: open) == [] && before.faults(in: gone) == ["ann does not find p2"])
    #expect(after.faults(in: open) == ["ann opens p2"] && after.faults(in: gone) == [])
    #expect(before.faults(inFiles: []) == ["the file of p2 is missing"])
    #expect(after.faults(inFiles: ["p2", "p2.part"]) == ["p2 is still there", "p2.part is still there"])
    let entry = try JSON(#"{"state":"active","expires":200,"from":"bob","unread":0}"#)
    #expect(ledger.faults(inEntry: entry, of: "ann", at: 199) == [])
    #expect(ledger.faults(inEntry: entry, of: "ann", at: 200).count == 1)
  }

  // MARK: Pictures

  @Test("A picture that opens and may not, does not and may, or has other bytes, is found, and so is a file")
  func pictures() {
    var ledger = PictureLedger()
    ledger.openTo = ["p": ["ann"]]
    ledger.kept = ["p"]
    func faults(_ user: String, isOpen: Bool, isWhole: Bool = true) -> Int {
      ledger.faults(in: PictureLook(viewer: user, picture: "p", isOpen: isOpen, isWhole: isWhole)).count
    }
    #expect(faults("ann", isOpen: true) == 0 && faults("bob", isOpen: false, isWhole: false) == 0)
    #expect(faults("bob", isOpen: true) == 1 && faults("ann", isOpen: false) == 1)
    #expect(faults("ann", isOpen: true, isWhole: false) == 1)
    #expect(ledger.faults(inFiles: ["p"]) == [])
    #expect(ledger.faults(inFiles: ["q"]) == ["the file of p is missing", "q is still there"])
  }

  // MARK: Exchanges

  private static func events(_ all: [(Int, String, Int)]) throws -> [JSON] {
    try all.map { try JSON(#"{"offset":\#($0.0),"data":{"event":"\#($0.1)","since":\#($0.2)}}"#) }
  }

  @Test("Events that are missing, unexpected, twice or out of order are found; those that may be missing may")
  func exchanges() throws {
    var ledger = ExchangeLedger()
    ledger.expect("sent", 10, of: ["ada"])
    ledger.expect("revealed", 20, of: ["ada"])
    ledger.expect("ended", nil, of: ["ada"], isOptional: true)
    func faults(_ all: (Int, String, Int)...) throws -> [String] { ledger.faults(in: try Self.events(all), of: "ada") }
    #expect(try faults((1, "sent", 10), (2, "revealed", 20)) == [])
    #expect(try faults((1, "sent", 10), (2, "revealed", 20), (3, "reacted", 20), (4, "ended", 20)) == [])
    #expect(try faults((1, "sent", 10)) == ["ada did not hear revealed since 20"])
    #expect(try faults((1, "revealed", 20)) == ["ada heard revealed since 20 where sent since 10 was to come"])
    #expect(try faults((1, "sent", 11)).count == 1)
    #expect(try faults((1, "sent", 10), (2, "revealed", 20), (3, "revealed", 20)).count == 1)
    #expect(try faults((2, "sent", 10), (2, "revealed", 20)) == ["ada: event 2 came after 2"])
    #expect(ledger.faults(in: try Self.events([(1, "received", 10)]), of: "bob").count == 1)
  }

  // MARK: Notifications

  private static func show(_ device: String, _ offset: Int? = nil, life: Int = 1) -> NoticeArrival {
    NoticeArrival(device: device, life: life, kind: .show, topic: "t", offset: offset, text: "of ann")
  }

  private static func withdrawal(_ device: String, life: Int = 1) -> NoticeArrival {
    NoticeArrival(device: device, life: life, kind: .withdrawal)
  }

  private static var notices: NoticeLedger {
    let notices: [NoticeLedger.Notice] = [
      .init(topic: "t", offset: 3, isDue: true), .init(topic: "t", offset: 5, isDue: false),
      .init(topic: "t", offset: 6, isDue: true),
    ]
    return NoticeLedger(devices: ["one"], notices: notices)
  }

  @Test("A device is told of what is due, and then it is withdrawn: what is missing is found")
  func due() {
    #expect(Self.notices.faults(in: [Self.show("one", 3), Self.show("one", 6), Self.withdrawal("one")]) == [])
    #expect(Self.notices.faults(in: [Self.show("one", 6), Self.withdrawal("one")]) == [], "the newer stands for both")
    let missing = [Self.show("one", 5), Self.withdrawal("one")]
    #expect(!Self.notices.isTold(by: missing))
    #expect(Self.notices.faults(in: missing) == ["one was not told of t 6"])
    #expect(!Self.notices.isWithdrawn(by: [Self.show("one", 6)]))
    #expect(Self.notices.faults(in: [Self.show("one", 6)]) == ["one still shows t"])
  }

  @Test("What nobody was to be told, a device that is not registered, and a secret are found")
  func undue() {
    let end = [Self.show("one", 6), Self.withdrawal("one")]
    let hidden = Self.notices.faults(in: [Self.show("one", 4)] + end)
    #expect(hidden == ["one was told of t up to 4, of which it is not to be told"])
    let gone = Self.notices.faults(in: [Self.show("two", 6)] + end)
    #expect(gone == ["two was told of t up to 6, and is not registered"])
    var secret = Self.notices
    secret.secrets = [("ann", "t")]
    #expect(secret.faults(in: end) == ["one was told ann with t"])
    secret.secrets = [("ann", "u")]
    #expect(secret.faults(in: end) == [], "of something else it may be told")
    #expect(NoticeLedger(devices: ["one"]).faults(in: end).count == 1)
  }

  @Test("What each of the services notes is read alike: that something is shown, taken back or replaced, and what")
  func arrivals() throws {
    let data = #""data":{"topic":"t","offset":"7"}"#
    func read(_ service: String, _ text: String) -> NoticeArrival? {
      NoticeArrival(#"{"service":"\#(service)","device":"one","life":3,"text":\#(text),"at":5}"#)
    }
    let all: [(String, NoticeArrival.Kind, String)] = [
      ("web", .show, #"{"web_push":8030,"notification":{"title":"A",\#(data)}}"#),
      ("web", .withdrawal, #"{"withdraw":"k",\#(data)}"#),
      ("web", .update, #"{"update":"k","notification":{"title":"A",\#(data)}}"#),
      ("apns", .show, #"{"aps":{"alert":{"title":"A"}},\#(data)}"#),
      ("apns", .withdrawal, #"{"aps":{"content-available":1},"withdraw":"k",\#(data)}"#),
      ("apns", .update, #"{"aps":{"content-available":1},"update":"k","title":"A",\#(data)}"#),
      ("fcm", .show, #"{"message":{"token":"one","notification":{"title":"A"},\#(data)}}"#),
      ("fcm", .withdrawal, #"{"message":{"data":{"topic":"t","offset":"7","withdraw":"k"}}}"#),
      ("fcm", .update, #"{"message":{"data":{"topic":"t","offset":"7","update":"k"}}}"#),
    ]
    for (service, kind, text) in all {
      let arrival = try #require(read(service, text))
      #expect(arrival.kind == kind && arrival.device == "one", "\(service): \(text)")
      #expect(arrival.life == 3 && arrival.time == 5, "\(service): \(text)")
      #expect(arrival.topic == "t" && arrival.offset == 7 && arrival.text.contains(text), "\(service): \(text)")
    }
    #expect(NoticeArrival(#"{"service":"token","device":"token","token":"a"}"#) == nil)
    #expect(NoticeArrival(#"{"service":"web","device":"one","life":3,"broken":"TTL is missing"}"#) == nil)
    #expect(NoticeArrival("no JSON") == nil)
  }

  @Test(
    "One process tells nothing twice that was answered in time; the next one may, and what was read late is no disorder"
  )
  func again() {
    let (show, end) = (Self.show("one", 6), Self.withdrawal("one", life: 2))
    #expect(Self.notices.faults(in: [show, show, end]) == ["one was told of t up to 6 again by process 1 after 0 ms"])
    var late = show
    late.time = 9_999
    #expect(Self.notices.faults(in: [show, late, end]).count == 1)
    late.time = 10_000
    #expect(Self.notices.faults(in: [show, late, end]) == [], "the service has not answered in time")
    #expect(Self.notices.faults(in: [show, Self.show("one", 6, life: 2), end]) == [])
    #expect(Self.notices.faults(in: [end, show]) == [])
    var sealed = NoticeLedger(devices: ["one"], notices: [.init(topic: "t", isDue: true)])
    #expect(sealed.faults(in: [Self.show("one"), Self.show("one"), end]).count == 1)
    sealed.notices.append(.init(topic: "t", isDue: false))
    #expect(sealed.faults(in: [Self.show("one"), Self.show("one"), end]) == [])
  }

  // MARK: Files

  @Test("What is encrypted is found where its field's name is cut off, or behind a lone quote, and no other text is")
  func boxes() async throws {
    try await withTemporaryFolder { folder in
      let box = String(repeating: "aZ09+/=", count: 9)
      let other = String(repeating: "a sentence, ", count: 9)
      let records = [
        #""box":"short""#, #"x":"\#(box)1""#, #"7" "\#(box)2","\#(other)""#, #""cut \#(box)3""#, #""\#(box)4"#,
      ]
      try Data(records.joined(separator: "\u{0}").utf8).write(to: folder.appendingPathComponent("log"))
      #expect(try ByteSearch.boxes(in: folder) == ["short", box + "1", box + "2"])
    }
  }
}
