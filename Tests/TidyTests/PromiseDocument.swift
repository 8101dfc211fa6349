import Foundation

/// What `docs/GUARANTEES.md` promises, and the tests that it names for each promise.
struct PromiseDocument {
  /// A row of a table whose last column is "Shown by".
  struct Promise {
    var text: String
    /// What the column "Rounds" says of how often it was tried.
    var rounds: String
    var tests: [String]
  }

  private(set) var promises: [Promise] = []
  /// First cells of the headers of tables that are of no known kind.
  private(set) var strayTables: [String] = []

  private static let shown = "Shown by"
  /// Last columns of tables that promise nothing.
  private static let otherKinds: Set<String> = ["Why", "Means", "AUC", "Repeat it with"]

  init(_ text: String) {
    var header: [String]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      guard line.hasPrefix("|") else {
        header = nil
        continue
      }
      let cells = line.dropFirst().split(separator: "|", omittingEmptySubsequences: false).dropLast()
        .map { $0.trimmingCharacters(in: .whitespaces) }
      guard let columns = header else {
        header = cells
        let kind = cells.last ?? ""
        if kind != Self.shown && !Self.otherKinds.contains(kind) { strayTables.append(cells.first ?? "") }
        continue
      }
      guard columns.last == Self.shown, cells.first?.hasPrefix("---") != true else { continue }
      let place = columns.firstIndex(of: "Rounds")
      let rounds = place.flatMap { cells.indices.contains($0) ? cells[$0] : nil } ?? ""
      promises.append(
        Promise(text: cells.first ?? "", rounds: rounds, tests: Markdown(cells.last ?? "").codeSpans))
    }
  }

  // MARK: What is wrong with them

  /// Promises that name no test, one that is not there, or one that never runs.
  func unshown(_ index: TestIndex) -> [String] {
    promises.flatMap { promise -> [String] in
      if promise.tests.isEmpty { return ["\(promise.text): no test"] }
      return promise.tests.compactMap { test in
        guard let place = index.places[test] else { return "\(promise.text): there is no \(test)" }
        return place.isOff ? "\(promise.text): \(test) never runs" : nil
      }
    }
  }

  /// Promises whose rounds cannot be read, are not those of the test, or have another bound than three in so many.
  ///
  /// - Parameter text: of a file of a test.
  func wrongRounds(_ index: TestIndex, text: (String) throws -> String) rethrows -> [String] {
    try promises.flatMap { promise -> [String] in
      if promise.rounds == "once" { return [] }
      let counts = Self.counts(in: promise.rounds)
      if counts.isEmpty { return ["\(promise.text): \"\(promise.rounds)\" is no number of rounds"] }
      let sources = try promise.tests.compactMap { index.places[$0]?.path }.map(text)
      return counts.flatMap { count in
        var wrong: [String] = []
        if !sources.contains(where: { Self.holds($0, count.rounds) }) {
          wrong.append("\(promise.text): no test makes \(count.rounds) rounds")
        }
        let bound = count.rounds < 10 ? nil : 300 / Double(count.rounds)
        let isRight =
          if let bound, let stated = count.percent { abs(stated - bound) <= bound / 20 } else {
            bound == nil && count.percent == nil
          }
        if !isRight { wrong.append("\(promise.text): 0 of \(count.rounds) has another bound") }
        return wrong
      }
    }
  }

  private struct Count {
    var rounds: Int
    var percent: Double?
  }

  /// The numbers of `0 of 450 (0.67 %)`, of which a semicolon may divide several.
  private static func counts(in cell: String) -> [Count] {
    let parts = cell.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
    let counts = parts.compactMap { part -> Count? in
      let words = part.split(separator: " ")
      guard words.count >= 3, words[0] == "0", words[1] == "of" else { return nil }
      guard let rounds = Int(words[2].filter { $0 != "," }) else { return nil }
      if words.count == 3 { return Count(rounds: rounds, percent: nil) }
      guard words.count == 5, words[3].hasPrefix("("), words[4] == "%)" else { return nil }
      return Double(words[3].dropFirst()).map { Count(rounds: rounds, percent: $0) }
    }
    return counts.count == parts.count ? counts : []
  }

  /// Whether a number stands in a source by itself, with `_` between its digits or without.
  private static func holds(_ source: String, _ number: Int) -> Bool {
    let digits = Array(String(number).utf8)
    let bytes = Array(source.utf8).filter { $0 != UInt8(ascii: "_") }
    guard bytes.count >= digits.count else { return false }
    func isDigit(_ place: Int) -> Bool { bytes.indices.contains(place) && (0x30...0x39).contains(bytes[place]) }
    return (0...bytes.count - digits.count).contains { start in
      bytes[start] == digits[0] && !isDigit(start - 1) && !isDigit(start + digits.count)
        && bytes[start..<start + digits.count].elementsEqual(digits)
    }
  }
}
