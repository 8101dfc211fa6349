/// Walks JSON bytes and checks them against RFC 8259, without building a tree.
///
/// Why not Foundation's decoder: it recurses without a cap, lets the first of two equal keys win where others let the
/// last, and does not give a value back as the bytes that were signed. Here depth is capped and duplicate keys are
/// refused, so that no two readers can see different claims in one token.
struct JSONScanner {
  /// Nesting allowed in a token, a header or a key set.
  static let maximumDepth = 32

  enum Fault: Error, Equatable {
    case syntax
    case tooDeep
    case duplicateKey
  }

  let bytes: ArraySlice<UInt8>
  var index: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    self.index = bytes.startIndex
  }

  /// The byte at the cursor, or nil at the end.
  var current: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

  mutating func skipWhitespace() {
    while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
  }

  /// Moves over one value and returns where it stands. Whitespace around it is skipped and not part of it.
  mutating func value(depth: Int = 0) throws(Fault) -> Range<Int> {
    skipWhitespace()
    let start = index
    switch current {
    case UInt8(ascii: "{"): _ = try members(depth: depth)
    case UInt8(ascii: "["): _ = try elements(depth: depth)
    case UInt8(ascii: "\""): try skipString()
    case UInt8(ascii: "t"): try literal("true")
    case UInt8(ascii: "f"): try literal("false")
    case UInt8(ascii: "n"): try literal("null")
    default: try number()
    }
    let end = index
    skipWhitespace()
    return start..<end
  }

  /// Moves over an object and returns its members in their order.
  mutating func members(depth: Int) throws(Fault) -> [(key: String, value: Range<Int>)] {
    guard depth < Self.maximumDepth else { throw .tooDeep }
    try expect("{")
    skipWhitespace()
    if current == UInt8(ascii: "}") {
      index += 1
      return []
    }
    var members: [(key: String, value: Range<Int>)] = []
    var seen: Set<[UInt8]> = []
    while true {
      skipWhitespace()
      let key = try string()
      guard seen.insert(Array(key.utf8)).inserted else { throw .duplicateKey }
      skipWhitespace()
      try expect(":")
      members.append((key, try value(depth: depth + 1)))
      if current == UInt8(ascii: "}") { break }
      try expect(",")
    }
    index += 1
    return members
  }

  /// Moves over an array and returns its elements.
  mutating func elements(depth: Int) throws(Fault) -> [Range<Int>] {
    guard depth < Self.maximumDepth else { throw .tooDeep }
    try expect("[")
    skipWhitespace()
    if current == UInt8(ascii: "]") {
      index += 1
      return []
    }
    var elements: [Range<Int>] = []
    while true {
      elements.append(try value(depth: depth + 1))
      if current == UInt8(ascii: "]") { break }
      try expect(",")
    }
    index += 1
    return elements
  }

  /// Moves over a string and returns what it says, with its escapes resolved.
  mutating func string() throws(Fault) -> String {
    try expect("\"")
    var text: [UInt8] = []
    while let byte = current, byte != UInt8(ascii: "\"") {
      guard byte >= 0x20 else { throw .syntax }
      index += 1
      if byte == UInt8(ascii: "\\") {
        text.append(contentsOf: Array(String(try escape()).utf8))
      } else {
        text.append(byte)
      }
    }
    try expect("\"")
    guard let string = String(validating: text, as: UTF8.self) else { throw .syntax }
    return string
  }

  /// Like ``string()``, but lets a lone surrogate pass: JavaScript writes such strings, and here nobody decodes them.
  private mutating func skipString() throws(Fault) {
    try expect("\"")
    while let byte = current, byte != UInt8(ascii: "\"") {
      guard byte >= 0x20 else { throw .syntax }
      index += 1
      guard byte == UInt8(ascii: "\\") else { continue }
      if current == UInt8(ascii: "u") { _ = try hexEscape() } else { _ = try escape() }
    }
    try expect("\"")
  }

  /// Reads what follows a backslash.
  private mutating func escape() throws(Fault) -> Unicode.Scalar {
    guard let byte = current else { throw .syntax }
    if byte == UInt8(ascii: "u") { return try unicodeEscape() }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    default: throw .syntax
    }
  }

  private mutating func unicodeEscape() throws(Fault) -> Unicode.Scalar {
    let high = try hexEscape()
    if let scalar = Unicode.Scalar(high) { return scalar }
    guard high < 0xDC00 else { throw .syntax }
    try expect("\\")
    let low = try hexEscape()
    guard (0xDC00...0xDFFF).contains(low),
      let scalar = Unicode.Scalar(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    else { throw .syntax }
    return scalar
  }

  /// Reads `u` and four hexadecimal digits.
  private mutating func hexEscape() throws(Fault) -> UInt32 {
    try expect("u")
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw .syntax }
      value = value << 4 | UInt32(digit)
      index += 1
    }
    return value
  }

  private mutating func number() throws(Fault) {
    if current == UInt8(ascii: "-") { index += 1 }
    if current == UInt8(ascii: "0") { index += 1 } else { try digits() }
    if current == UInt8(ascii: ".") {
      index += 1
      try digits()
    }
    if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
      index += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { index += 1 }
      try digits()
    }
  }

  private mutating func digits() throws(Fault) {
    let start = index
    while let byte = current, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { index += 1 }
    if index == start { throw .syntax }
  }

  private mutating func literal(_ word: String) throws(Fault) {
    guard bytes[index...].starts(with: word.utf8) else { throw .syntax }
    index += word.utf8.count
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(Fault) {
    guard let byte = current, UInt32(byte) == character.value else { throw .syntax }
    index += 1
  }
}
