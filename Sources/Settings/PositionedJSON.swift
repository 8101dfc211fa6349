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

/// Reads JSON strictly and keeps positions. Its messages are for somebody with the file open in an editor.
struct PositionedJSONParser {
  static let maximumDepth = 32
  static let maximumBytes = 1024 * 1024

  private let bytes: [UInt8]
  private var index = 0
  private var line = 1
  private var lineStart = 0
  private var path: [String] = []
  private var duplicates: [DuplicateKey] = []

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  static func parse(
    _ bytes: [UInt8]
  ) throws(JSONSyntaxError) -> (document: PositionedJSON, duplicates: [DuplicateKey]) {
    var parser = PositionedJSONParser(bytes)
    guard bytes.count <= maximumBytes else { throw parser.fault("the file is larger than \(maximumBytes) bytes") }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw parser.fault("the file is not UTF-8; save it in that encoding")
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      parser.index = 3
      parser.lineStart = 3
    }
    try parser.skipWhitespace()
    if parser.current == nil { throw parser.fault("the file is empty; write {} to use the defaults") }
    let document = try parser.value(depth: 0)
    try parser.skipWhitespace()
    if parser.current != nil { throw parser.fault("something follows the end of the document; remove it") }
    return (document, parser.duplicates)
  }

  private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

  private func fault(_ message: String, at position: Int? = nil) -> JSONSyntaxError {
    let end = min(position ?? index, bytes.count)
    let column = bytes[min(lineStart, end)..<end].count { $0 & 0xC0 != 0x80 } + 1
    return JSONSyntaxError(line: line, column: column, message: message)
  }

  private mutating func skipWhitespace() throws(JSONSyntaxError) {
    while let byte = current {
      switch byte {
      case 0x20, 0x09, 0x0D: index += 1
      case 0x0A:
        index += 1
        line += 1
        lineStart = index
      case UInt8(ascii: "/"), UInt8(ascii: "#"): throw fault("JSON has no comments; remove this one")
      default: return
      }
    }
  }

  private mutating func value(depth: Int) throws(JSONSyntaxError) -> PositionedJSON {
    guard depth < Self.maximumDepth else { throw fault("nested deeper than \(Self.maximumDepth) levels") }
    let start = line
    switch current {
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
    index += 1
    var members: [PositionedJSON.Member] = []
    var lines: [[UInt8]: Int] = [:]
    while try more(until: UInt8(ascii: "}"), opened: opened, what: "object", isFirst: members.isEmpty) {
      guard current == UInt8(ascii: "\"") else { throw fault("a key in double quotes is expected here") }
      let keyLine = line
      let key = try string()
      path.append(key)
      if let first = lines[Array(key.utf8)] {
        duplicates.append(DuplicateKey(path: path.joined(separator: "."), line: keyLine, firstLine: first))
      } else {
        lines[Array(key.utf8)] = keyLine
      }
      try skipWhitespace()
      guard current == UInt8(ascii: ":") else { throw fault("a colon is missing after the key") }
      index += 1
      try skipWhitespace()
      members.append(.init(key: key, line: keyLine, value: try value(depth: depth + 1)))
      path.removeLast()
    }
    return members
  }

  private mutating func elements(_ depth: Int) throws(JSONSyntaxError) -> [PositionedJSON] {
    let opened = line
    index += 1
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
    if current == close {
      index += 1
      return false
    }
    if !isFirst, current == UInt8(ascii: ",") {
      let comma = fault("this comma is followed by no further entry; remove it")
      index += 1
      try skipWhitespace()
      if current == close { throw comma }
    } else if !isFirst, current != nil {
      throw fault("a comma is missing before this")
    }
    guard current != nil else { throw fault("the file ends inside the \(what) that was opened on line \(opened)") }
    return true
  }

  private mutating func string() throws(JSONSyntaxError) -> String {
    let start = index
    index += 1
    var text: [UInt8] = []
    while true {
      guard let byte = current, byte != 0x0A, byte != 0x0D else {
        throw fault("this string is not closed on its line", at: start)
      }
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"): text.append(contentsOf: Array(String(try escape()).utf8))
      case 0..<0x20:
        throw fault("a control character in a string; write it as an escape, for example \\t", at: index - 1)
      default: text.append(byte)
      }
    }
  }

  private mutating func escape() throws(JSONSyntaxError) -> Unicode.Scalar {
    let byte = current ?? 0
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let high = try hexadecimal()
      if let scalar = Unicode.Scalar(high) { return scalar }
      if high < 0xDC00, bytes[index...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) {
        index += 2
        let low = try hexadecimal()
        if (0xDC00...0xDFFF).contains(low),
          let scalar = Unicode.Scalar(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        {
          return scalar
        }
      }
      throw fault("half of a surrogate pair; write the character itself")
    default: throw fault("no such escape in JSON; write \\\\ for a backslash", at: index - 1)
    }
  }

  private mutating func hexadecimal() throws(JSONSyntaxError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw fault("\\u needs four hexadecimal digits")
      }
      value = value << 4 | UInt32(digit)
      index += 1
    }
    return value
  }

  private mutating func number() throws(JSONSyntaxError) -> String {
    let start = index
    let characters = Set("+-.eE0123456789".utf8)
    while let byte = current, characters.contains(byte) { index += 1 }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.dropFirst() : text[...]
    let leadingZero = digits.utf8.first == UInt8(ascii: "0") && digits.utf8.dropFirst().first.map(isDigit) == true
    guard Double(text) != nil, digits.utf8.first.map(isDigit) == true, text.utf8.last.map(isDigit) == true, !leadingZero
    else { throw fault("this is not a JSON number", at: start) }
    if let byte = current, isLetter(byte) {
      throw fault("a number with a unit stands in double quotes, for example \"25s\" or \"64KiB\"", at: start)
    }
    return text
  }

  private mutating func literal() throws(JSONSyntaxError) -> PositionedJSON.Value {
    let start = index
    while let byte = current, isLetter(byte) { index += 1 }
    switch String(decoding: bytes[start..<index], as: UTF8.self) {
    case "true": return .bool(true)
    case "false": return .bool(false)
    case "null": return .null
    default:
      throw fault("a value is expected here: true, false, a number, \"text in double quotes\", {…} or […]", at: start)
    }
  }

  private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }
}
