import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: conversations")
struct CliqueLifeTests {
  private let day: Int64 = 86_400_000

  @Test("the first message to somebody is a request, and nothing of the two leaks until it is accepted")
  func request() throws {
    let scene = CliqueScene()
    let reply = try scene.call("ann", "send", #"{"to":"bob","text":"hi","key":"k1"}"#)
    let id = scene.pair("ann", "bob")
    #expect(reply == #"{"conversation":"\#(id)","waiting":1}"#)
    #expect(try scene.state("ann", id) == "request_out")
    #expect(try scene.state("bob", id) == "request_in")
    #expect(try scene.field("last", "bob", id) == "hi")
    #expect(try scene.field("unread", "bob", id) == "1")
    for user in ["ann", "bob", "eve"] {
      for namespace in ["chat", "receipts", "typing"] {
        #expect(try !scene.isAdmitted(user, "clique.\(namespace):\(id)"))
      }
    }
    for (user, method) in [("bob", "typing"), ("ann", "read"), ("ann", "delivered"), ("eve", "read")] {
      #expect(throws: Clique.noConversation) {
        try scene.call(user, method, #"{"conversation":"\#(id)","offset":0}"#)
      }
    }
    #expect(throws: ClientError.self) { try scene.call("ann", "accept", #"{"person":"bob"}"#) }
  }

  @Test("accepting makes the waiting messages the first of the conversation, in order and with their times")
  func accept() throws {
    let scene = CliqueScene()
    for text in ["one", "two", "three"] { try scene.call("ann", "send", #"{"to":"bob","text":"\#(text)"}"#) }
    let asked = scene.now
    try scene.pass(1000)
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    let id = scene.pair("ann", "bob")
    for user in ["ann", "bob"] {
      #expect(try scene.chat(user, id) == ["one", "two", "three"])
      #expect(try scene.state(user, id) == "active")
      #expect(try scene.field("unread", user, id) == "0")
      #expect(try scene.field("last", user, id) == "three")
      #expect(try scene.field("time", user, id) == "\(asked)")
    }
    #expect(
      try scene.call("bob", "send", #"{"conversation":"\#(id)","text":"four"}"#)
        == #"{"conversation":"\#(id)","offset":4}"#)
    #expect(try scene.field("unread", "ann", id) == "1")
    try scene.call("ann", "read", #"{"conversation":"\#(id)","offset":4}"#)
    #expect(try scene.field("unread", "ann", id) == "0")
    #expect(try scene.entry(id, "receipts", "ann")?.hasPrefix(#"{"read":4,"delivered":4}"#) == true)
    #expect(try scene.call("bob", "accept", #"{"person":"ann"}"#) == #"{"conversation":"\#(id)"}"#)
  }

  @Test("receipts can be worked out from nothing: of both in a pair, of everybody in a group, of nobody elsewhere")
  func receiptKeys() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    _ = try scene.befriend("ann", "eve")
    let reply = try scene.call("ann", "group.create", #"{"members":["bob","eve"]}"#)
    let group = String(reply.split(separator: "\"")[3])
    for (name, keys) in [
      ("receipts:" + id, ["ann", "bob"]), ("receipts:" + group, ["ann", "bob", "eve"]), ("receipts:pnone", []),
      ("typing:" + id, []), ("list:ann", []),
    ] {
      #expect(try scene.app.keys(of: ChannelName("clique." + name), scene) == keys, "\(name)")
    }
  }

  @Test("three messages of a thousand characters wait, and a message that is sent again waits once")
  func limits() throws {
    let scene = CliqueScene()
    let long = String(repeating: "é", count: 1000)
    try scene.call("ann", "send", #"{"to":"bob","text":"\#(long)","key":"a"}"#)
    try scene.call("ann", "send", #"{"to":"bob","text":"\#(long)","key":"a"}"#)
    #expect(
      throws: ClientError.limitExceeded.saying("the text has 1001 characters; in a request at most 1000 are allowed")
    ) {
      try scene.call("ann", "send", #"{"to":"bob","text":"\#(long)!"}"#)
    }
    try scene.call("ann", "send", #"{"to":"bob","text":"2"}"#)
    try scene.call("ann", "send", #"{"to":"bob","text":"3"}"#)
    #expect(try scene.said("ann", "send", #"{"to":"bob","text":"4"}"#).contains("3 messages wait already"))
    #expect(try scene.field("unread", "bob", scene.pair("ann", "bob")) == "3")
  }

  @Test("a message without a key that is asked again, over a crash of the broker too, waits once")
  func askedAgain() throws {
    let scene = CliqueScene()
    for _ in 0..<2 { try scene.call("ann", "send", #"{"to":"bob","text":"hi"}"#, key: "7-1") }
    #expect(try scene.field("unread", "bob", scene.pair("ann", "bob")) == "1")
    #expect(try scene.call("ann", "send", #"{"to":"bob","text":"hi"}"#, key: "7-2").contains(#""waiting":2"#))
  }

  @Test("requests, taken back or not, and blocks, lifted or not, are so many a day")
  func rates() throws {
    var rules = CliqueRules()
    (rules.requestsPerDay, rules.blocksPerDay) = (12, 12)
    let scene = CliqueScene(rules)
    for (ask, undo, sentence) in [
      ("send", "disconnect", "you have asked 12 people"), ("block", "unblock", "you have blocked 12 people"),
    ] {
      func data(_ number: Int) -> String { #"{"to":"u\#(number)","person":"u\#(number)","text":"hi"}"# }
      for number in 0..<3 {
        try scene.call("ann", ask, data(number))
        try scene.call("ann", undo, data(number))
      }
      #expect(try scene.said("ann", ask, data(3)).contains(sentence))
      #expect(try !scene.said("eve", ask, data(3)).contains(sentence), "of others nobody speaks")
      try scene.call("eve", undo, data(3))
      try scene.pass(2 * 3_600_000)
      try scene.call("ann", ask, data(4))
      try scene.call("ann", undo, data(4))
      #expect(try scene.said("ann", ask, data(5)).contains(sentence))
    }
    try scene.pass(60 * day)
    #expect(scene.records.isEmpty, "what was counted is forgotten")
  }

  @Test("a day's budget: a quarter at once, the rest in time, and a clock that was set back holds nobody for long")
  func rate() {
    let rate = CliqueRate(perDay: 24)
    let hour: Int64 = 3_600_000
    var mark: Int64?
    for _ in 0..<6 { mark = rate.next(after: mark, now: 1000) }
    #expect(mark == 1000 + 6 * hour)
    #expect(rate.next(after: mark, now: 1000) == nil)
    #expect(rate.next(after: mark, now: 3_601_000) != nil)
    #expect(rate.next(after: .max, now: 1000) == 1000 + hour)
    #expect(CliqueRate(perDay: 1).next(after: nil, now: 0) == day)
  }

  @Test("what has not the form of a conversation's id is looked up nowhere")
  func forms() throws {
    let scene = CliqueScene()
    let id = scene.pair("ann", "bob")
    #expect(CliqueCommand.isConversation(id) && CliqueCommand.isConversation("g" + id.dropFirst()))
    for wrong in [
      "", "g", "x" + id.dropFirst(), id + "0", id.uppercased(), "p" + String(repeating: "x", count: 60_000),
    ] {
      #expect(!CliqueCommand.isConversation(wrong))
      for method in ["send", "read", "delivered", "typing", "group.leave", "accept", "search"] {
        #expect(throws: Clique.noConversation) {
          try scene.call("ann", method, #"{"conversation":"\#(wrong)","offset":0,"text":"x"}"#)
        }
      }
    }
  }

  @Test("an answer to a request opens the conversation with it")
  func answered() throws {
    let scene = CliqueScene()
    try scene.call("ann", "send", #"{"to":"bob","text":"one"}"#)
    try scene.call("bob", "send", #"{"to":"ann","text":"two \u0022 \ud83d\ude00"}"#)
    #expect(try scene.chat("ann", scene.pair("ann", "bob")) == ["one", "two \" 😀"])
  }

  @Test("after a decline messages reach nobody for thirty days, and the next one is a request again")
  func declined() throws {
    let scene = CliqueScene()
    let id = scene.pair("ann", "bob")
    try scene.call("ann", "send", #"{"to":"bob","text":"one"}"#)
    let before = try scene.entry("ann", "list", id)
    try scene.call("bob", "decline", #"{"person":"ann"}"#)
    #expect(try scene.entry("ann", "list", id) == before)
    #expect(try scene.state("bob", id) == nil)
    try scene.call("ann", "send", #"{"to":"bob","text":"two"}"#)
    #expect(try scene.state("bob", id) == nil)
    try scene.pass(15 * day)
    #expect(try scene.state("ann", id) == nil)
    try scene.call("ann", "send", #"{"to":"bob","text":"three"}"#)
    #expect(try scene.state("ann", id) == "request_out")
    #expect(try scene.state("bob", id) == nil)
    try scene.pass(15 * day)
    #expect(try scene.state("ann", id) == nil)
    try scene.call("ann", "send", #"{"to":"bob","text":"four"}"#)
    #expect(try scene.field("last", "bob", id) == "four")
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    #expect(try scene.chat("bob", id) == ["four"])
  }

  @Test("a request that nobody answers ends for both after fourteen days")
  func timeout() throws {
    let scene = CliqueScene()
    let id = scene.pair("ann", "bob")
    try scene.call("ann", "send", #"{"to":"bob","text":"one"}"#)
    try scene.pass(14 * day - 1)
    #expect(try scene.state("bob", id) == "request_in")
    try scene.pass(1)
    #expect(try scene.state("bob", id) == nil)
    #expect(try scene.state("ann", id) == nil)
    #expect(scene.records.isEmpty)
  }

  @Test("who is blocked goes on writing to themselves alone, for good")
  func blocked() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    #expect(try scene.state("ann", id) == "blocked")
    #expect(try scene.chat("ann", id) == nil)
    #expect(try scene.entries("ann", "blocked").keys.sorted() == ["bob"])
    #expect(scene.readmitted.contains("ann clique.chat:\(id)"))
    #expect(!scene.readmitted.suffix(3).contains { $0.hasPrefix("bob") })
    try scene.call("bob", "send", #"{"to":"ann","text":"hello?"}"#)
    #expect(try scene.state("bob", id) == "active")
    #expect(try scene.chat("bob", id) == ["hello", "hello?"])
    #expect(throws: ClientError.self) { try scene.call("ann", "send", #"{"to":"bob","text":"x"}"#) }
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    #expect(try scene.state("ann", id) == "active")
    #expect(try scene.chat("ann", id) == ["hello"])
    #expect(try scene.field("unread", "ann", id) == "0")
    #expect(try scene.field("last", "ann", id) == "hello")
    #expect(try scene.entries("ann", "blocked").isEmpty)
    #expect(try scene.entry(id, "receipts", "ann") == nil)
    try scene.call("bob", "send", #"{"to":"ann","text":"back"}"#)
    #expect(try scene.chat("ann", id) == ["hello", "back"])
    #expect(try scene.field("unread", "ann", id) == "1")
  }

  @Test("leaving tells the other, who may read on and ask again")
  func disconnect() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.call("ann", "disconnect", #"{"conversation":"\#(id)"}"#)
    #expect(try scene.state("ann", id) == nil)
    #expect(try scene.state("bob", id) == "ended")
    #expect(try scene.chat("ann", id) == nil)
    #expect(try scene.chat("bob", id) == ["hello"])
    try scene.call("bob", "send", #"{"conversation":"\#(id)","text":"why?"}"#)
    #expect(try scene.state("ann", id) == "request_in")
  }

  @Test("personal channels are admitted byte for byte to one user")
  func personal() throws {
    let scene = CliqueScene()
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    for namespace in ["list", "crossings", "blocked"] {
      #expect(try scene.isAdmitted(composed, "clique.\(namespace):\(composed)"))
      #expect(try scene.isAdmitted("a:b#c", "clique.\(namespace):a:b#c"))
      #expect(try !scene.isAdmitted(decomposed, "clique.\(namespace):\(composed)"))
      #expect(try !scene.isAdmitted("", "clique.\(namespace):"))
    }
    #expect(try !scene.isAdmitted("ann", "clique.other:ann"))
    #expect(try !scene.isAdmitted("ann", "ann"))
    #expect(scene.pair(composed, "x") != scene.pair(decomposed, "x"))
    #expect(scene.pair("ab", "c") != scene.pair("a", "bc"))
    #expect(Clique.Key.person(composed) == "person/%C3%A9")
  }

  @Test("no client writes to a channel of clique, and each belongs to the app")
  func namespaces() {
    let namespaces = Clique().namespaces
    #expect(namespaces.count == 12)
    for (name, options) in namespaces {
      #expect(name.hasPrefix("clique.") && options.app == "clique")
      #expect(
        !options.allowPublishForClient && !options.allowPublishForSubscriber && !options.allowPublishForAnonymous)
      #expect(!options.allowHistoryForClient && !options.allowPresenceForClient)
    }
  }

  @Test("who has had too many requests is shown no more, and their senders cannot tell")
  func flooded() throws {
    var rules = CliqueRules()
    (rules.maximumRequestsIn, rules.maximumRequestsOut) = (2, 2)
    let scene = CliqueScene(rules)
    for user in ["eve", "joe", "ann"] { try scene.call(user, "send", #"{"to":"bob","text":"hi"}"#) }
    #expect(try scene.entries("bob", "list").count == 2)
    #expect(try scene.state("ann", scene.pair("ann", "bob")) == "request_out")
    try scene.call("ann", "send", #"{"to":"kim","text":"hi"}"#)
    #expect(try scene.said("ann", "send", #"{"to":"tom","text":"hi"}"#).contains("2 of your requests wait"))
    try scene.call("eve", "disconnect", #"{"person":"bob"}"#)
    try scene.call("ann", "send", #"{"to":"bob","text":"again"}"#)
    #expect(try scene.field("last", "bob", scene.pair("ann", "bob")) == "again")
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    #expect(try scene.chat("bob", scene.pair("ann", "bob")) == ["again"])
    #expect(try scene.chat("ann", scene.pair("ann", "bob")) == ["hi", "again"])
  }

  @Test("messages that only others may not see do not count, however many they are")
  func manyUnseen() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    for number in 0..<150 { try scene.call("ann", "send", #"{"to":"bob","text":"\#(number)"}"#) }
    try scene.call("bob", "unblock", #"{"person":"ann"}"#)
    #expect(try scene.field("unread", "bob", id) == "0")
    #expect(try scene.field("last", "bob", id) == "hello")
    for _ in 0..<130 { try scene.call("ann", "send", #"{"to":"bob","text":"heard"}"#) }
    #expect(try scene.field("unread", "bob", id) == "100")
    #expect(try scene.field("unread", "ann", id) == "0")
  }

  @Test("ids are the first half of SHA-256 over parts with their lengths")
  func identifiers() {
    #expect(CliqueIdentifier.hex([]) == "e3b0c44298fc1c149afbf4c8996fb924")
    #expect(CliqueIdentifier.pair("a", "bc") != CliqueIdentifier.pair("ab", "c"))
    #expect(CliqueIdentifier.pair("a", "bc").count == 33)
  }

  @Test("search looks through one's own conversations, and not for those one has blocked")
  func search() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    let other = try scene.befriend("ann", "eve")
    let both = "search \(["clique.chat:\(id)", "clique.chat:\(other)"].sorted())"
    #expect(try scene.call("ann", "search", #"{"text":"hello"}"#) == both)
    #expect(try scene.call("bob", "search", #"{"text":"hello"}"#) == "search [\"clique.chat:\(id)\"]")
    #expect(throws: Clique.noConversation) {
      try scene.call("bob", "search", #"{"text":"hello","conversation":"\#(other)"}"#)
    }
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    #expect(try scene.call("ann", "search", #"{"text":"hello"}"#) == "search [\"clique.chat:\(other)\"]")
    #expect(try scene.call("ann", "search", #"{"text":"hello","person":"bob"}"#) == "search []")
    #expect(throws: ClientError.self) { try scene.call("ann", "search", #"{"text":" "}"#) }
  }
}
