import Testing

@Suite("What is broken on purpose is still there, and so are the tests that find it")
struct BreakTests {
  @Test("Each entry of Tests/breaks/breaks.json applies, and names tests of which a promise names one")
  func entries() throws {
    let breaks = try Breaks(try Repository.text("Tests/breaks/breaks.json"))
    let promises = PromiseDocument(try Repository.text("docs/GUARANTEES.md")).promises
    let rotten = breaks.rotten(try .ofRepository(), promised: Set(promises.flatMap(\.tests))) {
      try? Repository.text($0)
    }
    #expect(rotten == [])
    #expect(breaks.entries.count >= 20)
  }

  private static let source = "func f() { guard isOpen else { return }; send(); send() }"

  private static let index = TestIndex([
    ("Tests/T/SomeTests.swift", "struct SomeTests { @Test func kept() {}; @Test(.disabled()) func off() {} }")
  ])

  private static func rotten(_ change: (inout Breaks.Entry) -> Void) -> [String] {
    var entry = Breaks.Entry(
      id: "open-door", what: "It is always open.", file: "Sources/A.swift", form: "expression",
      original: .init("isOpen"), broken: .init("true"), tests: ["T/SomeTests.kept"])
    change(&entry)
    return Breaks([entry]).rotten(index, promised: ["T/SomeTests.kept", "T/SomeTests.off"]) {
      $0 == "Sources/A.swift" || $0 == "Tests/A.swift" ? source : nil
    }
  }

  @Test("An entry that does not apply any more is found")
  func applied() {
    #expect(Self.rotten { _ in } == [])
    #expect(Self.rotten { $0.file = "Sources/B.swift" } == ["open-door: there is no source Sources/B.swift"])
    #expect(Self.rotten { $0.file = "Tests/A.swift" } == ["open-door: there is no source Tests/A.swift"])
    for (original, count) in [("isShut", 0), ("send()", 2), ("", 0)] {
      #expect(
        Self.rotten { $0.original = .init(original) } == [
          "open-door: its original stands \(count) times in Sources/A.swift"
        ])
    }
    #expect(Self.rotten { $0.broken = $0.original } == ["open-door: nothing is broken"])
    #expect(Self.rotten { $0.broken = .init("") } == ["open-door: only a statement can be left out"])
    #expect(Self.rotten { ($0.form, $0.broken) = ("statement", .init("")) } == [])
    #expect(Self.rotten { $0.form = "word" } == ["open-door: there is no form word"])
    #expect(
      Self.rotten { ($0.form, $0.broken) = ("text", .init("a \"b\"")) } == [
        "open-door: a text of one line without quotes and backslashes is wanted"
      ])
  }

  @Test("An entry that no test could find is found, and so is one that breaks no promise")
  func found() {
    #expect(
      Self.rotten { $0.tests = ["T/SomeTests.kept", "T/SomeTests.renamed"] } == [
        "open-door: there is no T/SomeTests.renamed"
      ])
    #expect(Self.rotten { $0.tests = ["T/SomeTests.off"] } == ["open-door: T/SomeTests.off never runs"])
    #expect(Self.rotten { $0.tests = [] } == ["open-door: no promise names one of its tests"])
    #expect(Self.rotten { $0.what = "open" } == ["open-door: no sentence says what is broken"])
    #expect(
      Self.rotten { $0.id = "Open door" } == ["Open door: its id is more than small letters and hyphens"])
  }

  @Test("Two entries of one name are found, and a text may be given line by line")
  func read() throws {
    let json = """
      [{"id": "a", "what": "A.", "file": "Sources/A.swift", "form": "statement", "original": ["guard isOpen", "else"],
        "broken": "", "tests": ["T/SomeTests.kept"]},
       {"id": "a", "what": "A.", "file": "Sources/A.swift", "form": "expression", "original": "isOpen",
        "broken": "false", "tests": ["T/SomeTests.kept"]}]
      """
    let breaks = try Breaks(json)
    #expect(breaks.entries.map(\.original.text) == ["guard isOpen\nelse", "isOpen"])
    let rotten = breaks.rotten(Self.index, promised: ["T/SomeTests.kept"]) { _ in "guard isOpen\nelse" }
    #expect(rotten == ["a: there are two"])
  }
}
