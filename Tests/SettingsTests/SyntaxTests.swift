import Testing

@Suite("A file that is not JSON is told with line and column")
struct SyntaxTests {
  @Test(
    "Each common mistake has its own sentence",
    arguments: [
      ("", "f.json:1: column 1: the file is empty; write {} to use the defaults"),
      (" \n ", "f.json:2: column 2: the file is empty; write {} to use the defaults"),
      ("{\n  \"log\": {},\n}", "f.json:2: column 12: this comma is followed by no further entry; remove it"),
      (
        "{\"server\": {\"allowed_origins\": [\"*\", ]}}",
        "f.json:1: column 36: this comma is followed by no further entry; remove it"
      ),
      ("{\n  // note\n}", "f.json:2: column 3: JSON has no comments; remove this one"),
      ("{} # note", "f.json:1: column 4: JSON has no comments; remove this one"),
      ("{\"log\": /* x */ {}}", "f.json:1: column 9: JSON has no comments; remove this one"),
      ("{'log': {}}", "f.json:1: column 2: a key in double quotes is expected here"),
      ("{log: {}}", "f.json:1: column 2: a key in double quotes is expected here"),
      ("{\"log\": 'x'}", "f.json:1: column 9: JSON strings stand in double quotes; write \"…\" instead of '…'"),
      ("{\"log\" {}}", "f.json:1: column 8: a colon is missing after the key"),
      ("{\"log\": {}\n \"data\": {}}", "f.json:2: column 2: a comma is missing before this"),
      ("{\"log\": {}", "f.json:1: column 11: the file ends inside the object that was opened on line 1"),
      ("{\"log\": [", "f.json:1: column 10: the file ends inside the array that was opened on line 1"),
      ("{} {}", "f.json:1: column 4: something follows the end of the document; remove it"),
      ("{\"é\": \"x", "f.json:1: column 7: this string is not closed on its line"),
      ("{\"a\": \"x\ny\"}", "f.json:1: column 7: this string is not closed on its line"),
      ("{\"a\": \"\\x\"}", "f.json:1: column 9: no such escape in JSON; write \\\\ for a backslash"),
      ("{\"a\": \"\\ud800\"}", "f.json:1: column 7: half of a surrogate pair; write the character itself"),
      (
        "{\"a\": \"\\n\t\"}",
        "f.json:1: column 10: a control character in a string; write it as an escape, for example \\t"
      ),
      ("{\"a\": \"\\", "f.json:1: column 7: this string is not closed on its line"),
      ("{\"a\": \"\\u12", "f.json:1: column 7: this string is not closed on its line"),
      ("{\"a\": \"\\u12\"}", "f.json:1: column 12: \\u needs four hexadecimal digits"),
      (
        "{\"a\": 25s}",
        "f.json:1: column 7: a number with a unit stands in double quotes, for example \"25s\" or \"64KiB\""
      ),
      ("{\"a\": 007}", "f.json:1: column 7: this is not a JSON number"),
      ("{\"a\": -}", "f.json:1: column 7: this is not a JSON number"),
      ("{\"a\": 1.}", "f.json:1: column 7: this is not a JSON number"),
      (
        "{\"a\": True}",
        "f.json:1: column 7: a value is expected here: true, false, a number, \"text in double quotes\", {…} or […]"
      ),
      (
        "{\"a\": }",
        "f.json:1: column 7: a value is expected here: true, false, a number, \"text in double quotes\", {…} or […]"
      ),
    ])
  func mistakes(_ json: String, _ expected: String) { #expect(problems(json) == [expected]) }

  @Test("A key that stands twice is told with both lines, wherever it stands")
  func duplicates() {
    let json = """
      {
        "log": { "level": "info" },
        "log": { "format": "json",
          "form\\u0061t": "text" }
      }
      """
    #expect(
      problems(json) == [
        "f.json:3: log: is written twice, first on line 2; keep one of them",
        "f.json:4: log.format: is written twice, first on line 3; keep one of them",
      ])
  }

  @Test("A file that cannot be read is all that is told: what refers to its namespaces is not judged")
  func nothingElse() {
    let variables = ["FANFARE_CHANNEL_NAMESPACES_CHAT_PRESENCE": "true"]
    #expect(problems("{", environment: variables).count == 1)
  }

  @Test("Nesting beyond the cap is refused without walking into it")
  func depth() {
    let deep = String(repeating: "[", count: 100_000)
    #expect(problems(#"{"a": \#(deep)"#) == ["f.json:1: column 38: nested deeper than 32 levels"])
  }

  @Test("A byte order mark and Windows line ends are accepted")
  func windows() { #expect(problems("\u{FEFF}{\r\n\"log\": {}\r\n}\r\n") == ["accepted"]) }

  @Test("A file cut at any byte is told, never a crash")
  func cut() {
    let json = "{\"log\": {\"level\": \"in\\u0066o\"}, \"server\": {\"allowed_origins\": [\"*\"], \"port\": 80}}"
    #expect(problems(json) == ["accepted"])
    for length in 0..<json.utf8.count {
      #expect(problems(String(decoding: json.utf8.prefix(length), as: UTF8.self)) != ["accepted"])
    }
  }

  @Test("A file over a mebibyte is refused")
  func large() {
    let json = "{}" + String(repeating: " ", count: 1 << 20)
    #expect(problems(json) == ["f.json:1: column 1: the file is larger than 1048576 bytes"])
  }
}
