import TestSupport
import Testing
import Wire

@testable import Apps

/// Requests that are taken back and made again are one (``CliqueTakenBack`` has the table).
@Suite("Clique: requests that are taken back")
struct CliqueTakenBackTests {
  private let day: Int64 = 86_400_000
  private let bob = #"{"person":"bob"}"#

  private func ask(_ scene: CliqueScene, _ text: String) throws -> String {
    try scene.said("ann", "send", #"{"to":"bob","text":"\#(text)"}"#)
  }

  @Test("all messages of such requests together are as many as those of one")
  func messages() throws {
    let scene = CliqueScene()
    #expect(try ask(scene, "one").contains(#""waiting":1"#))
    try scene.call("ann", "disconnect", bob)
    #expect(try ask(scene, "two").contains(#""waiting":1"#))
    #expect(try ask(scene, "three").contains(#""waiting":2"#))
    #expect(try ask(scene, "four").contains("has 3 messages in all"))
    try scene.call("ann", "disconnect", bob)
    #expect(try ask(scene, "five").contains("has 3 messages in all"))
    #expect(try scene.state("bob", scene.pair("ann", "bob")) == nil, "a refused one begins nothing")
    // bob may write to her all the same, and others to him.
    #expect(try scene.said("bob", "send", #"{"to":"ann","text":"hi"}"#).contains(#""waiting":1"#))
    #expect(try scene.said("eve", "send", #"{"to":"bob","text":"hi"}"#).contains(#""waiting":1"#))
  }

  @Test("it is forgotten when the last of them would have ended, and when the two talk")
  func ends() throws {
    let scene = CliqueScene()
    _ = try ask(scene, "one")
    try scene.pass(day)
    for text in ["two", "three"] { _ = try ask(scene, text) }
    try scene.call("ann", "disconnect", bob)
    try scene.pass(14 * day - 1)
    #expect(try ask(scene, "early").contains("in all"))
    try scene.pass(1)
    #expect(scene.records["pair/" + scene.pair("ann", "bob")] == nil, "nothing is left")
    for text in ["four", "five"] { #expect(try ask(scene, text).contains("waiting")) }
    try scene.call("ann", "disconnect", bob)
    _ = try ask(scene, "six")
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    try scene.call("bob", "disconnect", #"{"person":"ann"}"#)
    for text in ["seven", "eight", "nine"] { #expect(try ask(scene, text).contains("waiting")) }
  }

  @Test("of the day's number they take one")
  func daysNumber() throws {
    var rules = CliqueRules()
    rules.requestsPerDay = 8
    let scene = CliqueScene(rules)
    for _ in 0..<3 {
      _ = try ask(scene, "hi")
      try scene.call("ann", "disconnect", bob)
    }
    try scene.call("ann", "send", #"{"to":"eve","text":"hi"}"#)
    #expect(try scene.said("ann", "send", #"{"to":"joe","text":"hi"}"#).contains("you have asked 8 people"))
  }

  @Test("one who is declined, or blocked, meets the same", arguments: ["decline", "block", ""])
  func hidden(by method: String) throws {
    let scene = CliqueScene()
    var said: [String] = []
    said.append(try ask(scene, "one"))
    if !method.isEmpty { try scene.call("bob", method, #"{"person":"ann"}"#) }
    for text in ["two", "three", "four"] {
      said.append(try scene.said("ann", "disconnect", bob))
      said.append(try ask(scene, text))
    }
    let silent = CliqueScene()
    var expected = [try ask(silent, "one")]
    for text in ["two", "three", "four"] {
      expected.append(try silent.said("ann", "disconnect", bob))
      expected.append(try ask(silent, text))
    }
    #expect(said == expected)
    #expect(said.last?.contains("in all") == true)
  }

  @Test("a stranger's first messages are so many a day, to whomever; 0 limits nothing; friends are no strangers")
  func messagesPerDay() throws {
    var rules = CliqueRules()
    rules.requestMessagesPerDay = 16
    let scene = CliqueScene(rules)
    let id = try scene.befriend("eve", "ann")
    for (other, text) in [("bob", "1"), ("bob", "2"), ("joe", "3"), ("kim", "4")] {
      try scene.call("ann", "send", #"{"to":"\#(other)","text":"\#(text)"}"#)
    }
    let sentence = "you have sent 16 messages a day"
    #expect(try scene.said("ann", "send", #"{"to":"kim","text":"5"}"#).contains(sentence))
    #expect(try scene.field("unread", "kim", scene.pair("ann", "kim")) == "1")
    try scene.call("ann", "send", #"{"conversation":"\#(id)","text":"to a friend"}"#)
    #expect(try ask(scene, "6").contains(sentence))
    try scene.pass(day / 16)
    #expect(try ask(scene, "7").contains(#""waiting":3"#))
    // The same again takes nothing of it.
    try scene.pass(day)
    for _ in 0..<9 { try scene.call("ann", "send", #"{"to":"tom","text":"8","key":"k"}"#) }
    #expect(try scene.field("unread", "tom", scene.pair("ann", "tom")) == "1")
  }

  @Test("what is remembered adds up, and lasts as long as the last of them")
  func machine() {
    let first = CliqueTakenBack.after(nil, waited: 2, requestEnds: 100)
    #expect(first == CliqueTakenBack(messages: 2, ends: 100))
    #expect(CliqueTakenBack.after(first, waited: 1, requestEnds: 200) == CliqueTakenBack(messages: 3, ends: 200))
    var mark = Clique.Mark()
    mark.takenBack = first
    mark.advanceTakenBack(to: 99)
    #expect(mark.takenBack == first)
    mark.advanceTakenBack(to: 100)
    #expect(mark.takenBack == nil)
  }
}
