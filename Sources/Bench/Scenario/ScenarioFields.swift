/// One object of a scenario's file, read key by key. What is wrong with it is told with file and key.
struct ScenarioFields {
  let file: String
  /// Where the object stands in the file, with a dot at its end; empty at the top.
  let path: String
  private let values: [String: JSONValue]

  /// - Throws: for a key that is none of `keys`, with the one that was probably meant.
  init(_ value: JSONValue, file: String, path: String, keys: [String]) throws(BenchError) {
    (self.file, self.path) = (file, path.isEmpty ? "" : path + ".")
    guard case .object(let values) = value else {
      throw BenchError("\(file): \(path.isEmpty ? "the scenario" : path) must be an object, not \(value.described).")
    }
    self.values = values
    for key in values.keys.sorted() where !keys.contains(key) {
      let hint = Spelling.nearest(to: key, among: keys).map { "did you mean \"\($0)\"?" }
      throw BenchError(
        "\(file): there is no key \"\(self.path)\(key)\"; \(hint ?? "the keys are \(keys.joined(separator: ", ")).")")
    }
  }

  func has(_ key: String) -> Bool { values[key] != nil }

  func wrong(_ key: String, _ expected: String) -> BenchError {
    BenchError("\(file): \"\(path)\(key)\" must be \(expected), not \((values[key] ?? .null).described).")
  }

  func missing(_ key: String, _ expected: String) -> BenchError {
    BenchError("\(file): \"\(path)\(key)\" is missing: \(expected).")
  }

  func number(
    _ key: String, default value: Double, in range: ClosedRange<Double>, _ unit: String
  ) throws(BenchError) -> Double {
    guard let found = values[key] else { return value }
    guard case .number(let number) = found, range.contains(number) else {
      throw wrong(
        key, "\(unit) from \(JSONValue.plain(range.lowerBound)) to \(JSONValue.plain(range.upperBound))")
    }
    return number
  }

  func whole(
    _ key: String, default value: Int, in range: ClosedRange<Int>, _ unit: String
  ) throws(BenchError) -> Int {
    guard let found = values[key] else { return value }
    guard case .number(let number) = found, let whole = Int(exactly: number), range.contains(whole) else {
      throw wrong(key, "\(unit) from \(range.lowerBound) to \(range.upperBound)")
    }
    return whole
  }

  func text(_ key: String, default value: String?, _ expected: String) throws(BenchError) -> String {
    guard let found = values[key] else {
      guard let value else { throw missing(key, expected) }
      return value
    }
    guard case .text(let text) = found, value != nil || !text.isEmpty else { throw wrong(key, expected) }
    return text
  }

  func choice(_ key: String, default value: String, of choices: [String]) throws(BenchError) -> String {
    guard let found = values[key] else { return value }
    guard case .text(let text) = found, choices.contains(text) else {
      throw wrong(key, "one of \(choices.map { "\"\($0)\"" }.joined(separator: ", "))")
    }
    return text
  }

  func texts(_ key: String, default value: [String], _ expected: String) throws(BenchError) -> [String] {
    guard let found = values[key] else { return value }
    guard case .list(let members) = found else { throw wrong(key, expected) }
    var texts: [String] = []
    for member in members {
      guard case .text(let text) = member else { throw wrong(key, expected) }
      texts.append(text)
    }
    return texts
  }

  func object(_ key: String, keys: [String]) throws(BenchError) -> ScenarioFields? {
    guard let found = values[key] else { return nil }
    return try ScenarioFields(found, file: file, path: path + key, keys: keys)
  }

  func objects(_ key: String, keys: [String], _ expected: String) throws(BenchError) -> [ScenarioFields] {
    guard let found = values[key] else { throw missing(key, expected) }
    guard case .list(let members) = found, !members.isEmpty else { throw wrong(key, expected) }
    var objects: [ScenarioFields] = []
    for (index, member) in members.enumerated() {
      objects.append(try ScenarioFields(member, file: file, path: "\(path)\(key).\(index)", keys: keys))
    }
    return objects
  }
}

enum Spelling {
  /// The candidate that takes the fewest changes, if they are few for its length.
  static func nearest(to word: String, among candidates: [String]) -> String? {
    let ranked = candidates.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
    guard let (candidate, changes) = ranked, changes <= max(2, candidate.count / 3), changes < candidate.count - 1
    else { return nil }
    return candidate
  }

  private static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left.utf8.prefix(64)), Array(right.utf8.prefix(64)))
    var row = Array(0...right.count)
    for (i, byte) in left.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, other) in right.enumerated() {
        let change = diagonal + (byte == other ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(change, row[j] + 1, row[j + 1] + 1)
      }
    }
    return row[right.count]
  }
}
