import TestSupport
import Testing
import Wire

@testable import Search

@Suite("Searching messages", .ownThread)
struct SearchTests {
  private let chat: ChannelName

  init() throws { chat = try channel("chat:1") }

  // MARK: Words

  @Test("every word must be there, in any order, the last as a beginning; the newest come first")
  func words() throws {
    let scene = try SearchScene()
    try scene.publish("a walk in the park", on: chat)
    try scene.publish("the parking lot, a long walk", on: chat)
    try scene.publish("no park at all", on: chat)
    #expect(try scene.offsets("walk park", in: chat) == [2, 1])
    #expect(try scene.offsets("PARK walk", in: chat) == [1])
    #expect(try scene.offsets("parking", in: chat) == [2])
    #expect(try scene.offsets("par walk", in: chat).isEmpty, "only the last is a beginning")
    #expect(try scene.offsets("p", in: chat) == [3, 2, 1])
    #expect(try scene.offsets("walk parkings", in: chat).isEmpty)
    #expect(try scene.offsets("park", in: chat, limit: 2) == [3, 2])
  }

  @Test("accents make no difference, neither composed nor decomposed, and neither does case beyond ASCII")
  func diacritics() throws {
    let scene = try SearchScene()
    try scene.publish("Caf\u{E9} am Fluß", on: chat)
    try scene.publish("cafe\u{301} КАФЕ", on: chat)
    #expect(try scene.offsets("cafe", in: chat) == [2, 1])
    #expect(try scene.offsets("CAF\u{C9}", in: chat) == [2, 1])
    #expect(try scene.offsets("cafe\u{301}", in: chat) == [2, 1])
    #expect(try scene.offsets("кафе", in: chat) == [2])
    #expect(try scene.offsets("fluß", in: chat) == [1])
  }

  @Test(
    "case makes no difference, nor do letters that are written as two",
    arguments: [
      ("Straße", "strasse"), ("Straße", "STRASSE"), ("STRASSE", "straße"), ("ﬁnal", "final"), ("ΣΊΣΥΦΟΣ", "σίσυφος"),
      ("Ångström", "angstrom"), ("İstanbul", "istanbul"), ("한국", "한국"), ("कि", "कि"), ("groß", "gross"), ("Ŧ", "ŧ"),
    ])
  func folding(written: String, searched: String) throws {
    let scene = try SearchScene()
    try scene.publish("eins \(written) zwei", on: chat)
    #expect(try scene.offsets(searched + " zwei", in: chat) == [1])
    #expect(try scene.offsets("eins \(searched)", in: chat) == [1])
  }

  @Test("a message that reads otherwise for somebody is found by what each of them reads, and by nothing else")
  func readers() throws {
    let scene = try SearchScene()
    try scene.publish("an older Straße", on: chat, by: "ann")
    let offset = try scene.publish("something else", on: chat, by: "ann")
    var former = FormerVersions()
    former.keep(Publication(data: Array(#"{"text":"an old Straße"}"#.utf8)), for: ["bob", "eve"])
    try scene.publish("a new road", on: chat, by: "ann", tags: [FormerVersions.tag: former.text ?? ""])
    for (text, ann, bob) in [
      ("road", [3], []), ("old strasse", [], [3]), ("an old str", [], [3]), ("new old", [], []), ("else", [2], [2]),
    ] as [(String, [UInt64], [UInt64])] {
      for (reader, offsets) in [("ann", ann), ("bob", bob), ("eve", bob)] {
        let query = MessageSearch(channels: [chat], text: text, audience: nil, reader: reader, limit: 50)
        #expect(try scene.ask(query).map(\.publication.offset) == offsets, "\(reader) \(text)")
      }
    }
    let query = MessageSearch(channels: [chat], text: "strasse", audience: nil, reader: "bob", limit: 1)
    let found = try scene.ask(query).first?.publication
    #expect(found?.data == Array(#"{"text":"an old Straße"}"#.utf8))
    #expect(offset == 2)
  }

  @Test(
    "nothing that a person types is an operator, or an error",
    arguments: [
      "\"", "'", "\"\"\"", "park\"", "\"park", "park*", "*", "park OR", "NOT park", "park AND (", "NEAR(park lake, 2)",
      "text:park", "{text}:park", "-park", "^park", "park + lake", "\\", "\u{0}", "park\u{0}lake", ";DROP TABLE words;",
      "' OR 1=1 --", "\u{301}", "🙂", "…", "“park”", "words MATCH ?1", "%", "_", "\u{200B}", "\u{10FFFF}", "\u{FFFD}",
    ])
  func operators(text: String) throws {
    let scene = try SearchScene()
    try scene.publish("nothing to see", on: chat)
    #expect(try scene.offsets(text, in: chat).isEmpty)
  }

  @Test("signs between words separate them, in the message and in the search")
  func signs() throws {
    let scene = try SearchScene()
    try scene.publish("it's \"quoted\", and/or (bracketed) AND more", on: chat)
    for text in ["quoted", "\"quoted\"", "bracketed)", "or", "AND", "it's", "quoted,bracketed", "more 🙂", "“quoted” …"]
    {
      #expect(try scene.offsets(text, in: chat) == [1], "\(text)")
    }
    #expect(try scene.offsets("OR NOT", in: chat).isEmpty, "NOT is a word like any other")
  }

  @Test("without a word nothing is found, and without channels neither")
  func nothing() throws {
    let scene = try SearchScene()
    try scene.publish("park", on: chat)
    for text in ["", " ", "!?"] { #expect(try scene.offsets(text, in: chat).isEmpty) }
    #expect(try scene.search("park", in: []).isEmpty)
    #expect(try scene.offsets("park", in: chat, limit: 0).isEmpty)
    #expect(try scene.offsets("park", in: chat, limit: -1).isEmpty)
    #expect(try scene.offsets("park", in: chat, limit: .max) == [1])
    #expect(try scene.offsets("park", in: channel("chat:unknown")).isEmpty)
  }

  @Test("only the text of the data is searched, as it reads without its escapes")
  func texts() throws {
    let scene = try SearchScene()
    try scene.publish(data: Array(#"{"key":"hidden","text":"say \u0022hi\u0022\nto the p\u0061rk"}"#.utf8), on: chat)
    for data in [#"{"title":"park"}"#, #"{"text":["park"]}"#, #""park""#, "park", "", #"{"text":"park""#, "null"] {
      try scene.publish(data: Array(data.utf8), on: chat)
    }
    #expect(try scene.offsets("park", in: chat) == [1])
    #expect(try scene.offsets("hi", in: chat) == [1])
    #expect(try scene.offsets("hidden", in: chat).isEmpty)
    #expect(try scene.offsets("text", in: chat).isEmpty)
    #expect(try scene.offsets("u0022hi", in: chat).isEmpty)
  }

  // MARK: Whose

  @Test("a publisher is found by the bytes of the id")
  func publisher() throws {
    let scene = try SearchScene()
    try scene.publish("park", on: chat, by: "bob")
    try scene.publish("park", on: chat, by: "\u{E9}ve")
    try scene.publish("park", on: chat, by: "e\u{301}ve")
    try scene.publish("park", on: chat)
    #expect(try scene.offsets("park", in: chat, by: "bob") == [1])
    #expect(try scene.offsets("park", in: chat, by: "\u{E9}ve") == [2])
    #expect(try scene.offsets("park", in: chat, by: "e\u{301}ve") == [3])
    #expect(try scene.offsets("park", in: chat, by: "Bob").isEmpty)
    #expect(try scene.offsets("park", in: chat, by: "").isEmpty)
    #expect(try scene.offsets("park", in: chat) == [4, 3, 2, 1])
  }

  @Test("what does not pass the audience is not found, and takes nobody's place")
  func audience() throws {
    let scene = try SearchScene()
    try scene.publish("park", on: chat)
    for _ in 0..<10 { try scene.publish("park", on: chat, by: "bob", tags: ["only": "bob"]) }
    let audience = TagFilter.any([.not(.exists(key: "only")), .equal(key: "only", "ann")])
    #expect(try scene.offsets("park", in: chat, audience: audience, limit: 1) == [1])
    #expect(try scene.offsets("park", in: chat, audience: .not(.oneOf(key: "user", ["bob"]))) == [1])
  }

  @Test("of many channels only those that are named are searched, and what is newest in any of them comes first")
  func channels() throws {
    let scene = try SearchScene()
    let names = try (0..<60).map { try channel("chat:\($0)") }
    for round in 0..<3 {
      for name in names {
        try scene.publish(data: Array(#"{"text":"parkway \#(round)"}"#.utf8), on: name, waits: false)
      }
    }
    try scene.waitUntilIndexed()
    _ = try scene.search("parkway", in: names)
    // A long beginning is looked for once, a short one in each channel.
    for text in ["parkw", "park", "pa", "parkway"] {
      let found = try scene.search(text, in: Array(names[10..<20]), limit: 12)
      #expect(found.map(\.channel) == names[10..<20].reversed() + names[18..<20].reversed())
      #expect(found.map(\.publication.offset) == Array(repeating: 3, count: 10) + [2, 2])
    }
    #expect(try scene.search("parkway 1", in: names, limit: 100).count == 60)
    #expect(try scene.search("park", in: [names[3], names[3]]).count == 3, "named twice, searched once")
  }
}
