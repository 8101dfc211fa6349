import Testing

@Suite("Each promise of docs/GUARANTEES.md has its test")
struct GuaranteeTests {
  @Test("Each names tests that are there and run, and as many rounds as they make")
  func promises() throws {
    let document = PromiseDocument(try Repository.text("docs/GUARANTEES.md"))
    let index = try TestIndex.ofRepository()
    #expect(document.unshown(index) == [])
    #expect(try document.wrongRounds(index, text: Repository.text) == [])
    #expect(document.strayTables == [])
    // The tables are read at all, and so are the tests.
    #expect(document.promises.count >= 140)
    #expect(index.places.count > 3000)
  }

  private static let tests = """
    import struct Foundation.Data

    @Suite("Some", .ownThread) struct SomeTests {
      private enum Kind { case one }

      @Test("{ braces } in a title do no harm", .disabled(if: isSlow), arguments: 1...450)
      private func kept(seed: Int) { let text = "}"; run(text) }

      @Test func plain() {}
      func helper() {}

      @Suite struct Inner {
        @Test(
          "Over several lines", .timeLimit(.minutes(1)))
        static func wrapped() {}
      }
    }

    extension SomeTests {
      @Test("Never", .disabled("for now", .bug("#1"))) func off() {}
      @Test(.enabled(if: false)) func neverOn() {}
      @Test(.disabled("where it is slow") { isSlow }) func seldomOff() {}
      // @Test func comment() {}
      #if false
        @Test func leftOut() {}
      #else
        @Test func takenIn() {}
      #endif
    }

    @Suite(.disabled()) struct OffTests {
      @Test func insideOfIt() {}
    }
    """

  @Test("Test functions are found with their suites, and those that never run are told from the others")
  func scanner() {
    let found = TestFunctions(Self.tests, target: "T").functions
    #expect(
      found.filter { !$0.isOff }.map(\.name) == [
        "T/SomeTests.kept", "T/SomeTests.plain", "T/SomeTests.Inner.wrapped", "T/SomeTests.seldomOff",
        "T/SomeTests.takenIn",
      ])
    #expect(
      found.filter(\.isOff).map(\.name) == [
        "T/SomeTests.off", "T/SomeTests.neverOn", "T/SomeTests.leftOut", "T/OffTests.insideOfIt",
      ])
  }

  private static let index = TestIndex([("Tests/T/SomeTests.swift", tests)])

  private static func unshown(_ cell: String) -> [String] {
    let table = "| Promised | Under | Rounds | Shown by |\n|---|---|---|---|\n| it holds | faults | once | \(cell) |\n"
    return PromiseDocument(table).unshown(index)
  }

  @Test("A promise without a test is found, and so is one whose test was renamed, is another's or never runs")
  func unshownChecker() {
    #expect(Self.unshown("`T/SomeTests.kept`, `T/SomeTests.Inner.wrapped`") == [])
    #expect(Self.unshown("") == ["it holds: no test"])
    #expect(Self.unshown("some test of ours") == ["it holds: no test"])
    #expect(
      Self.unshown("`T/SomeTests.plain`, `T/SomeTests.renamed`") == ["it holds: there is no T/SomeTests.renamed"])
    #expect(Self.unshown("`U/SomeTests.plain`") == ["it holds: there is no U/SomeTests.plain"])
    #expect(Self.unshown("`T/SomeTests.helper`") == ["it holds: there is no T/SomeTests.helper"])
    #expect(Self.unshown("`T/SomeTests.off`") == ["it holds: T/SomeTests.off never runs"])
  }

  private static func wrongRounds(_ cell: String) -> [String] {
    let table = "| Promised | Rounds | Shown by |\n|---|---|---|\n| it holds | \(cell) | `T/SomeTests.kept` |\n"
    return PromiseDocument(table).wrongRounds(index) { _ in tests }
  }

  @Test("Rounds that the test does not make, or with another bound, are found")
  func roundsChecker() {
    for right in ["once", "0 of 450 (0.67 %)", "0 of 1"] { #expect(Self.wrongRounds(right) == [], "\(right)") }
    #expect(Self.wrongRounds("0 of 45 (6.7 %)") == ["it holds: no test makes 45 rounds"])
    for other in ["0 of 450 (0.07 %)", "0 of 450"] {
      #expect(Self.wrongRounds(other) == ["it holds: 0 of 450 has another bound"], "\(other)")
    }
    for unread in ["", "often", "1 of 450 (0.67 %)", "0 of many"] {
      #expect(Self.wrongRounds(unread) == ["it holds: \"\(unread)\" is no number of rounds"], "\(unread)")
    }
  }

  @Test("A table of no known kind is found, and every row of those that promise is read")
  func tablesChecker() {
    let document = PromiseDocument(
      """
      | Promised | Shown by |
      |---|---|
      | a | `x` |
      | b | |

      | Not shown | Why |
      |---|---|
      | c | no disk here |

      | Promised | Shown By |
      |---|---|
      | d | `x` |
      """)
    #expect(document.promises.map(\.text) == ["a", "b"])
    #expect(document.strayTables == ["Promised"])
  }
}
