/// A Swift file, as far as counting lines and finding imports needs it.
struct SwiftSource {
  /// The text with comments and strings blanked out; line breaks stay.
  let code: [UInt8]
  let lineCount: Int

  init(_ text: String) {
    var blanker = Blanker(Array(text.utf8))
    blanker.run()
    code = blanker.bytes
    lineCount = text.split(separator: "\n", omittingEmptySubsequences: false).count - (text.hasSuffix("\n") ? 1 : 0)
  }

  // MARK: Imports

  /// Modules that the file imports, whatever stands before `import`.
  var imports: [String] {
    lines.compactMap { line in
      let words = line.split(separator: " ")
      guard let place = words.firstIndex(of: "import"), words[..<place].allSatisfy(Self.mayPrecedeImport) else {
        return nil
      }
      let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
      let name = words[(place + 1)...].first { !kinds.contains($0) }
      return name.map { String($0.prefix { $0 != "." }) }
    }
  }

  private static func mayPrecedeImport(_ word: Substring) -> Bool {
    word.hasPrefix("@") || ["public", "package", "internal", "fileprivate", "private"].contains(word)
  }

  private var lines: [Substring] {
    String(decoding: code, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
  }

  // MARK: Functions

  struct Function: Equatable {
    /// Line of its keyword, from 1.
    var line: Int
    /// Lines between its braces.
    var bodyLines: Int
  }

  /// Functions and initialisers with a body. Nested ones count for themselves and for what they stand in.
  var functions: [Function] {
    var functions: [Function] = []
    var line = 1
    for index in code.indices {
      if code[index] == 0x0A { line += 1 }
      guard ["func", "init", "deinit"].contains(where: { isWord($0, at: index) }), let open = bodyStart(after: index)
      else { continue }
      functions.append(Function(line: line, bodyLines: linesBetweenBraces(from: open)))
    }
    return functions
  }

  private func isWord(_ word: String, at index: Int) -> Bool {
    let end = index + word.utf8.count
    guard end <= code.count, code[index..<end].elementsEqual(word.utf8) else { return false }
    if index > 0, Self.isWordByte(code[index - 1]) || code[index - 1] == UInt8(ascii: ".") { return false }
    return end == code.count || !Self.isWordByte(code[end])
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "`"), 0x80...: true
    default: false
    }
  }

  /// Where the body opens; nil for a requirement of a protocol, which has none.
  private func bodyStart(after index: Int) -> Int? {
    var depth = 0
    for place in index..<code.count {
      switch code[place] {
      case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: "{") where depth == 0: return place
      case UInt8(ascii: "}") where depth <= 0: return nil
      case 0x0A where depth == 0 && nextLineDeclares(after: place): return nil
      default: break
      }
    }
    return nil
  }

  private func nextLineDeclares(after lineBreak: Int) -> Bool {
    let rest = code[(lineBreak + 1)...].drop { $0 == 0x20 || $0 == 0x0A }
    let word = String(decoding: rest.prefix { Self.isWordByte($0) || $0 == UInt8(ascii: "@") }, as: UTF8.self)
    let declares: Set<String> = [
      "func", "init", "deinit", "var", "let", "case", "static", "mutating", "private", "fileprivate", "public",
      "internal", "associatedtype", "typealias", "subscript", "struct", "enum", "class", "actor", "extension",
    ]
    return declares.contains(word) || word.hasPrefix("@")
  }

  private func linesBetweenBraces(from open: Int) -> Int {
    var depth = 0
    var breaks = 0
    for place in open..<code.count {
      switch code[place] {
      case UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "}"):
        depth -= 1
        if depth == 0 { return max(0, breaks - 1) }
      case 0x0A: breaks += 1
      default: break
      }
    }
    return breaks
  }
}

/// Blanks out comments, strings and what is interpolated in them.
private struct Blanker {
  private(set) var bytes: [UInt8]
  private var index = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func run() { skipCode(untilParenthesis: false) }

  private func next(is text: String) -> Bool {
    let end = index + text.utf8.count
    return end <= bytes.count && bytes[index..<end].elementsEqual(text.utf8)
  }

  private mutating func blank(_ count: Int) {
    for place in index..<min(index + count, bytes.count) where bytes[place] != 0x0A { bytes[place] = 0x20 }
    index = min(index + count, bytes.count)
  }

  /// - Parameter untilParenthesis: inside an interpolation, which is blanked and ends at its closing parenthesis.
  private mutating func skipCode(untilParenthesis: Bool) {
    var depth = 0
    while index < bytes.count {
      if next(is: "//") {
        while index < bytes.count && bytes[index] != 0x0A { blank(1) }
      } else if next(is: "/*") {
        skipBlockComment()
      } else if let hashes = stringHashes() {
        skipString(hashes: hashes)
      } else if untilParenthesis {
        if bytes[index] == UInt8(ascii: "(") { depth += 1 }
        if bytes[index] == UInt8(ascii: ")") { depth -= 1 }
        blank(1)
        if depth < 0 { return }
      } else {
        index += 1
      }
    }
  }

  private mutating func skipBlockComment() {
    var depth = 0
    repeat {
      if next(is: "/*") {
        depth += 1
        blank(2)
      } else if next(is: "*/") {
        depth -= 1
        blank(2)
      } else {
        blank(1)
      }
    } while depth > 0 && index < bytes.count
  }

  /// How many `#` stand before the quote of a string that begins here; nil where none begins.
  private func stringHashes() -> Int? {
    var place = index
    while place < bytes.count && bytes[place] == UInt8(ascii: "#") { place += 1 }
    return place < bytes.count && bytes[place] == UInt8(ascii: "\"") ? place - index : nil
  }

  private mutating func skipString(hashes: Int) {
    let marks = String(repeating: "#", count: hashes)
    blank(hashes)
    let quote = next(is: "\"\"\"") ? "\"\"\"" : "\""
    blank(quote.utf8.count)
    while index < bytes.count {
      if next(is: quote + marks) { return blank(quote.utf8.count + hashes) }
      if next(is: "\\" + marks + "(") {
        blank(2 + hashes)
        skipCode(untilParenthesis: true)
      } else if next(is: "\\" + marks) {
        blank(2 + hashes)
      } else {
        blank(1)
      }
    }
  }
}
