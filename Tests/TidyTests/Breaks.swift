import Foundation

/// What `.ci/breaks` breaks on purpose, as `Tests/breaks/breaks.json` lists it.
struct Breaks {
  struct Entry: Decodable {
    var id: String
    /// What is broken, as a sentence.
    var what: String
    var file: String
    /// How `.ci/breaks` puts the choice between the two in place of the original (``forms``).
    var form: String
    var original: Lines
    var broken: Lines
    /// All that have to fail, as ``TestFunctions/Function/name``.
    var tests: [String]
  }

  /// A text, which may be given line by line.
  struct Lines: Decodable {
    var text: String

    init(_ text: String) { self.text = text }

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self) {
        self.text = text
      } else {
        text = try container.decode([String].self).joined(separator: "\n")
      }
    }
  }

  /// - expression: one in place of the other;
  /// - statement: likewise, or none in place of the original;
  /// - before: the broken text is put before the original;
  /// - text: within a string literal.
  private static let forms: Set<String> = ["expression", "statement", "before", "text"]

  let entries: [Entry]

  init(_ json: String) throws { entries = try JSONDecoder().decode([Entry].self, from: Data(json.utf8)) }

  init(_ entries: [Entry]) { self.entries = entries }

  // MARK: What is wrong with them

  /// Entries that would break nothing any more, or that no test could find.
  ///
  /// - Parameters:
  ///   - promised: the tests that promises name.
  ///   - text: of a file; nil: it is not there.
  func rotten(_ index: TestIndex, promised: Set<String>, text: (String) -> String?) -> [String] {
    var known: Set<String> = []
    return entries.flatMap { entry -> [String] in
      var wrong: [String] = []
      if !known.insert(entry.id).inserted { wrong.append("there are two") }
      if entry.id.isEmpty || !entry.id.allSatisfy({ $0 == "-" || ("a"..."z").contains($0) }) {
        wrong.append("its id is more than small letters and hyphens")
      }
      if !entry.what.hasSuffix(".") { wrong.append("no sentence says what is broken") }
      wrong += unusable(entry, text: text) + unfound(entry, index, promised)
      return wrong.map { "\(entry.id): \($0)" }
    }
  }

  private func unusable(_ entry: Entry, text: (String) -> String?) -> [String] {
    var wrong: [String] = []
    if !Self.forms.contains(entry.form) { wrong.append("there is no form \(entry.form)") }
    let (original, broken) = (entry.original.text, entry.broken.text)
    if original == broken { wrong.append("nothing is broken") }
    if broken.isEmpty && entry.form != "statement" { wrong.append("only a statement can be left out") }
    if entry.form == "text", (original + broken).contains(where: { "\"\\\n".contains($0) }) {
      wrong.append("a text of one line without quotes and backslashes is wanted")
    }
    guard entry.file.hasPrefix("Sources/"), let source = text(entry.file) else {
      return wrong + ["there is no source \(entry.file)"]
    }
    let count = original.isEmpty ? 0 : source.components(separatedBy: original).count - 1
    if count != 1 { wrong.append("its original stands \(count) times in \(entry.file)") }
    return wrong
  }

  private func unfound(_ entry: Entry, _ index: TestIndex, _ promised: Set<String>) -> [String] {
    var wrong = entry.tests.compactMap { test -> String? in
      guard let place = index.places[test] else { return "there is no \(test)" }
      return place.isOff ? "\(test) never runs" : nil
    }
    if promised.isDisjoint(with: entry.tests) { wrong.append("no promise names one of its tests") }
    return wrong
  }
}
