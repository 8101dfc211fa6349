import Wire

/// A JSON value and the line it stands on: a message that names the line is the difference between a fix and a search.
struct PositionedJSON {
  indirect enum Value {
    case object([Member])
    case array([PositionedJSON])
    case string(String)
    /// As written.
    case number(String)
    case bool(Bool)
    case null
  }

  struct Member {
    let key: String
    let line: Int
    let value: PositionedJSON
  }

  let value: Value
  /// From 1.
  let line: Int
}

/// What keeps a text from being JSON. The message says what to write instead.
struct JSONSyntaxError: Error, Equatable {
  /// From 1.
  let line: Int
  /// In characters, from 1.
  let column: Int
  let message: String
}

/// A key that stands twice in one object.
struct DuplicateKey: Equatable {
  let path: String
  let line: Int
  let firstLine: Int
}

/// Reads JSON strictly and keeps positions. What a text is, the cursor of all JSON says; what to write instead, this says
/// to somebody who has the file open in an editor.
struct PositionedJSONParser: ~Copyable {
  static let maximumDepth = JSONCursor.maximumDepth
  static let maximumBytes = 1024 * 1024

  private let bytes: [UInt8]
  private var cursor: JSONCursor
  private var line = 1
  private var lineStart = 0
  private var path: [String] = []
  private var duplicates: [DuplicateKey] = []

  private init(_ bytes: [UInt8], _ cursor: consuming JSONCursor) {
    self.bytes = bytes
    self.cursor = cursor
  }

  static func parse(
    _ bytes: [UInt8]
  ) throws(JSONSyntaxError) -> (document: PositionedJSON, duplicates: [DuplicateKey]) {
    let result = unsafe bytes.withUnsafeBytes { memory in
      Result { () throws(JSONSyntaxError) in
        var parser = unsafe PositionedJSONParser(bytes, JSONCursor(memory))
        return (try parser.document(), parser.duplicates)
      }
    }
    return try result.get()
  }

  private mutating func document() throws(JSONSyntaxError) -> PositionedJSON {
    guard bytes.count <= Self.maximumBytes else { throw fault("the file is larger than \(Self.maximumBytes) bytes") }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw fault("the file is not UTF-8; save it in that encoding")
    }
    // A byte order mark, as editors on Windows write it.
    for byte in [0xEF, 0xBB, 0xBF] as [UInt8] where bytes.starts(with: [0xEF, 0xBB, 0xBF]) { _ = cursor.consume(byte) }
    lineStart = cursor.index
    try skipWhitespace()
    if cursor.isAtEnd { throw fault("the file is empty; write {} to use the defaults") }
    let document = try value(depth: 0)
    try skipWhitespace()
    if !cursor.isAtEnd { throw fault("something follows the end of the document; remove it") }
    return document
  }

  private func fault(_ message: String, at position: Int? = nil) -> JSONSyntaxError {
    let end = min(position ?? cursor.index, bytes.count)
    let column = bytes[min(lineStart, end)..<end].count { $0 & 0xC0 != 0x80 } + 1
    return JSONSyntaxError(line: line, column: column, message: message)
  }

  /// Line feeds stand between tokens alone: a string that holds one is not closed on its line.
  private mutating func skipWhitespace() throws(JSONSyntaxError) {
    let start = cursor.index
    cursor.skipWhitespace()
    for index in start..<cursor.index where bytes[index] == 0x0A {
      line += 1
      lineStart = index + 1
    }
    if cursor.next == UInt8(ascii: "/") || cursor.next == UInt8(ascii: "#") {
      throw fault("JSON has no comments; remove this one")
    }
  }

  // MARK: Values

  private mutating func value(depth: Int) throws(JSONSyntaxError) -> PositionedJSON {
    guard depth < Self.maximumDepth else { throw fault("nested deeper than \(Self.maximumDepth) levels") }
    let start = line
    switch cursor.next {
    case UInt8(ascii: "{"): return PositionedJSON(value: .object(try members(depth)), line: start)
    case UInt8(ascii: "["): return PositionedJSON(value: .array(try elements(depth)), line: start)
    case UInt8(ascii: "\""): return PositionedJSON(value: .string(try string()), line: start)
    case UInt8(ascii: "'"): throw fault("JSON strings stand in double quotes; write \"…\" instead of '…'")
    case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
      return PositionedJSON(value: .number(try number()), line: start)
    default: return PositionedJSON(value: try literal(), line: start)
    }
  }

  private mutating func members(_ depth: Int) throws(JSONSyntaxError) -> [PositionedJSON.Member] {
    let opened = line
    _ = cursor.consume(UInt8(ascii: "{"))
    var members: [PositionedJSON.Member] = []
    var lines: [[UInt8]: Int] = [:]
    while try more(until: UInt8(ascii: "}"), opened: opened, what: "object", isFirst: members.isEmpty) {
      guard cursor.next == UInt8(ascii: "\"") else { throw fault("a key in double quotes is expected here") }
      let keyLine = line
      let key = try string()
      path.append(key)
      if let first = lines[Array(key.utf8)] {
        duplicates.append(DuplicateKey(path: path.joined(separator: "."), line: keyLine, firstLine: first))
      } else {
        lines[Array(key.utf8)] = keyLine
      }
      try skipWhitespace()
      guard cursor.consume(UInt8(ascii: ":")) else { throw fault("a colon is missing after the key") }
      try skipWhitespace()
      members.append(.init(key: key, line: keyLine, value: try value(depth: depth + 1)))
      path.removeLast()
    }
    return members
  }

  private mutating func elements(_ depth: Int) throws(JSONSyntaxError) -> [PositionedJSON] {
    let opened = line
    _ = cursor.consume(UInt8(ascii: "["))
    var elements: [PositionedJSON] = []
    while try more(until: UInt8(ascii: "]"), opened: opened, what: "array", isFirst: elements.isEmpty) {
      path.append("[\(elements.count)]")
      elements.append(try value(depth: depth + 1))
      path.removeLast()
    }
    return elements
  }

  /// Moves to the next member or element, or over the closing bracket.
  private mutating func more(
    until close: UInt8, opened: Int, what: String, isFirst: Bool
  ) throws(JSONSyntaxError) -> Bool {
    try skipWhitespace()
    if cursor.consume(close) { return false }
    if !isFirst, cursor.next == UInt8(ascii: ",") {
      let comma = fault("this comma is followed by no further entry; remove it")
      _ = cursor.consume(UInt8(ascii: ","))
      try skipWhitespace()
      if cursor.next == close { throw comma }
    } else if !isFirst, !cursor.isAtEnd {
      throw fault("a comma is missing before this")
    }
    if cursor.isAtEnd { throw fault("the file ends inside the \(what) that was opened on line \(opened)") }
    return true
  }

  // MARK: Tokens

  private mutating func string() throws(JSONSyntaxError) -> String {
    let start = cursor.index
    do throws(MalformedInput) { _ = try cursor.skipString() } catch { throw explained(stringFrom: start) }
    guard let text = JSONEscapes.resolvedIfWhole(bytes[start + 1..<cursor.index - 1]) else {
      throw fault("half of a surrogate pair; write the character itself", at: start)
    }
    return text
  }

  /// What is wrong with a string, by where the cursor gave up: behind an escape that there is not, at a digit that is none,
  /// or at the byte that may not stand there.
  private func explained(stringFrom start: Int) -> JSONSyntaxError {
    let raw = bytes[start..<cursor.index]
    if raw.suffix(2).first == UInt8(ascii: "\\"), let escape = raw.last, !"\"\\/bfnrtu".utf8.contains(escape) {
      return fault("no such escape in JSON; write \\\\ for a backslash", at: cursor.index - 1)
    }
    guard let byte = cursor.next, byte != 0x0A, byte != 0x0D else {
      return fault("this string is not closed on its line", at: start)
    }
    if byte < 0x20 { return fault("a control character in a string; write it as an escape, for example \\t") }
    return fault("\\u needs four hexadecimal digits")
  }

  private mutating func number() throws(JSONSyntaxError) -> String {
    let start = cursor.index
    do throws(MalformedInput) { try cursor.skipNumber() } catch { throw fault("this is not a JSON number", at: start) }
    if let byte = cursor.next {
      if "+-.".utf8.contains(byte) { throw fault("this is not a JSON number", at: start) }
      if isLetter(byte) {
        throw fault("a number with a unit stands in double quotes, for example \"25s\" or \"64KiB\"", at: start)
      }
    }
    return cursor.text(from: start, droppingLast: 0)
  }

  private mutating func literal() throws(JSONSyntaxError) -> PositionedJSON.Value {
    for (word, value) in [("true", .bool(true)), ("false", .bool(false)), ("null", .null)]
      as [(StaticString, PositionedJSON.Value)]
    {
      let start = cursor.index
      guard cursor.consume(word) else { continue }
      if let byte = cursor.next, isLetter(byte) || isDigit(byte) {
        cursor.rewind(to: start)
        break
      }
      return value
    }
    throw fault("a value is expected here: true, false, a number, \"text in double quotes\", {…} or […]")
  }

  private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }
}
