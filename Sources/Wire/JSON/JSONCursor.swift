#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Why bytes from outside cannot be read. The sentence goes to whoever sent them: to a client as the reason of
/// disconnect 3501, for example.
public struct MalformedInput: Error, Equatable, CustomStringConvertible {
  public var description: String

  public init(_ description: String) { self.description = description }
}

/// A cursor over bytes that reads JSON strictly (RFC 8259) and allocates nothing but what it is asked for: commands, tokens, key sets
/// and the configuration are read by it.
///
/// Foundation's decoder is not used here because it would parse and build the payload, which must stay the bytes that
/// came; because for a duplicate key the first wins in it and the last in JavaScript; and because it recurses as deep
/// as a peer wants.
///
/// Safe: it reads memory rather than an array, which would check bounds and count references for each byte, but no byte
/// is read before its index was compared with the count.
@safe public struct JSONCursor: ~Copyable {
  /// Deepest nesting of arrays and objects in a payload, or in an unknown field. The command's own objects are not
  /// counted: they nest four deep at most.
  public static let maximumDepth = 32

  private let bytes: UnsafeRawBufferPointer
  private let count: Int
  public private(set) var index = 0

  /// - Parameter bytes: has to outlive the cursor.
  public init(_ bytes: UnsafeRawBufferPointer) {
    unsafe self.bytes = bytes
    count = bytes.count
  }

  public var isAtEnd: Bool { index == count }

  public var next: UInt8? {
    @inline(__always) get { index < count ? unsafe bytes[index] : nil }
  }

  /// The bytes from `start` to the index.
  @inline(__always)
  private func content(from start: Int) -> UnsafeRawBufferPointer {
    precondition(start >= 0 && start <= index && index <= count, "a range outside of the message")
    return unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<index])
  }

  public func bytes(from start: Int) -> [UInt8] { unsafe Array(content(from: start)) }

  /// The text from `start` to `count` bytes before the index.
  public func text(from start: Int, droppingLast count: Int) -> String {
    unsafe String(bytes: UnsafeRawBufferPointer(rebasing: content(from: start).dropLast(count)))
  }

  /// Goes back to where a value or command began, for another way of reading it.
  public mutating func rewind(to start: Int) { index = min(max(start, 0), index) }

  @inline(__always)
  public mutating func skipWhitespace() {
    while index < count {
      let byte = unsafe bytes[index]
      guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
      index += 1
    }
  }

  @inline(__always)
  public mutating func consume(_ byte: UInt8) -> Bool {
    guard index < count, unsafe bytes[index] == byte else { return false }
    index += 1
    return true
  }

  /// Moves over the bytes of `literal`; false where others stand there.
  @inline(__always)
  public mutating func consume(_ literal: StaticString) -> Bool {
    let length = literal.utf8CodeUnitCount
    guard count - index >= length, let start = unsafe bytes.baseAddress,
      unsafe memcmp(start + index, literal.utf8Start, length) == 0
    else { return false }
    index += length
    return true
  }

  @inline(__always)
  public mutating func expect(_ byte: UInt8, _ what: StaticString) throws(MalformedInput) {
    if !consume(byte) { throw missing(what) }
  }

  /// Makes the error in a function of its own, so that callers do not carry the making of a sentence along.
  @inline(never)
  private func missing(_ what: StaticString) -> MalformedInput { MalformedInput("\(what) expected at byte \(index)") }

  /// Checks that nothing but whitespace is left.
  public mutating func expectEnd() throws(MalformedInput) {
    skipWhitespace()
    if !isAtEnd { throw MalformedInput("something follows the JSON value at byte \(index)") }
  }

  // MARK: Values

  /// Reads an object: at each member the cursor stands at the value, which `member` moves over.
  ///
  /// - Parameter depth: levels of nesting in which the object stands; 0 for a document.
  public mutating func readObject(
    depth: Int, _ member: (inout JSONCursor, _ key: String) throws(MalformedInput) -> Void
  ) throws(MalformedInput) {
    try check(depth + 1)
    try expect(UInt8(ascii: "{"), "an object")
    skipWhitespace()
    if consume(UInt8(ascii: "}")) { return }
    repeat {
      skipWhitespace()
      guard next == UInt8(ascii: "\"") else { throw missing("a key in quotes") }
      let key = try readKey()
      skipWhitespace()
      try expect(UInt8(ascii: ":"), "a colon")
      skipWhitespace()
      try member(&self, key)
      skipWhitespace()
    } while consume(UInt8(ascii: ","))
    try expect(UInt8(ascii: "}"), "a comma or a closing brace")
  }

  /// Reads an array: at each element the cursor stands at it, and `element` moves over it.
  ///
  /// - Parameter depth: levels of nesting in which the array stands; 0 for a document.
  public mutating func readArray(
    depth: Int, _ element: (inout JSONCursor) throws(MalformedInput) -> Void
  ) throws(MalformedInput) {
    try check(depth + 1)
    try expect(UInt8(ascii: "["), "an array")
    skipWhitespace()
    if consume(UInt8(ascii: "]")) { return }
    repeat {
      skipWhitespace()
      try element(&self)
      skipWhitespace()
    } while consume(UInt8(ascii: ","))
    try expect(UInt8(ascii: "]"), "a comma or a closing bracket")
  }

  /// Passes over one value, whatever it is.
  public mutating func skipValue(depth: Int) throws(MalformedInput) {
    skipWhitespace()
    guard let byte = next else { throw MalformedInput("the message ends where a value should stand") }
    switch byte {
    case UInt8(ascii: "{"): try skipObject(depth: depth + 1)
    case UInt8(ascii: "["): try skipArray(depth: depth + 1)
    case UInt8(ascii: "\""): try skipString()
    case UInt8(ascii: "t"): try skipLiteral("true")
    case UInt8(ascii: "f"): try skipLiteral("false")
    case UInt8(ascii: "n"): try skipLiteral("null")
    default: try skipNumber()
    }
  }

  private func check(_ depth: Int) throws(MalformedInput) {
    if depth > Self.maximumDepth {
      throw MalformedInput("JSON is nested deeper than \(Self.maximumDepth) levels; flatten it")
    }
  }

  private mutating func skipObject(depth: Int) throws(MalformedInput) {
    try check(depth)
    index += 1
    skipWhitespace()
    if consume(UInt8(ascii: "}")) { return }
    while true {
      skipWhitespace()
      guard next == UInt8(ascii: "\"") else { throw missing("a key in quotes") }
      try skipString()
      skipWhitespace()
      try expect(UInt8(ascii: ":"), "a colon")
      try skipValue(depth: depth)
      skipWhitespace()
      if consume(UInt8(ascii: "}")) { return }
      try expect(UInt8(ascii: ","), "a comma or a closing brace")
    }
  }

  private mutating func skipArray(depth: Int) throws(MalformedInput) {
    try check(depth)
    index += 1
    skipWhitespace()
    if consume(UInt8(ascii: "]")) { return }
    while true {
      try skipValue(depth: depth)
      skipWhitespace()
      if consume(UInt8(ascii: "]")) { return }
      try expect(UInt8(ascii: ","), "a comma or a closing bracket")
    }
  }

  mutating func skipLiteral(_ literal: StaticString) throws(MalformedInput) {
    let start = index
    guard consume(literal) else { throw MalformedInput("a JSON value expected at byte \(start)") }
  }

  public mutating func skipNumber() throws(MalformedInput) {
    let start = index
    _ = consume(UInt8(ascii: "-"))
    if consume(UInt8(ascii: "0")) {
      // No digit may follow a leading zero.
    } else if skipDigits() == 0 {
      throw MalformedInput("a JSON value expected at byte \(start)")
    }
    if consume(UInt8(ascii: ".")), skipDigits() == 0 { throw MalformedInput("a digit expected at byte \(index)") }
    if consume(UInt8(ascii: "e")) || consume(UInt8(ascii: "E")) {
      if !consume(UInt8(ascii: "+")) { _ = consume(UInt8(ascii: "-")) }
      if skipDigits() == 0 { throw MalformedInput("a digit expected at byte \(index)") }
    }
    if let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
      throw MalformedInput("a number with a leading zero at byte \(start)")
    }
  }

  private mutating func skipDigits() -> Int {
    let start = index
    while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { index += 1 }
    return index - start
  }

  // MARK: Strings

  /// Passes over a string. Returns true where it holds escapes.
  @discardableResult
  @inline(__always)
  public mutating func skipString() throws(MalformedInput) -> Bool {
    index = unsafe JSONText.endOfPlain(in: bytes, from: index + 1)
    return try consume(UInt8(ascii: "\"")) ? false : skipRestOfString()
  }

  private mutating func skipRestOfString() throws(MalformedInput) -> Bool {
    var hasEscapes = false
    while true {
      index = unsafe JSONText.endOfPlain(in: bytes, from: index)
      guard index < count else { break }
      let byte = unsafe bytes[index]
      switch byte {
      case UInt8(ascii: "\""):
        index += 1
        return hasEscapes
      case UInt8(ascii: "\\"):
        hasEscapes = true
        try skipEscape()
      case 0..<0x20: throw MalformedInput("a control character in a string at byte \(index); escape it")
      case 0x20..<0x80: index += 1
      default: try skipMultibyte()
      }
    }
    throw MalformedInput("a string without an end")
  }

  private mutating func skipEscape() throws(MalformedInput) {
    index += 1
    guard let byte = next else { throw MalformedInput("a string without an end") }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return
    case UInt8(ascii: "u"):
      for _ in 0..<4 {
        guard let digit = next, Self.hexValue(digit) != nil else {
          throw MalformedInput("four hexadecimal digits expected at byte \(index)")
        }
        index += 1
      }
    default: throw MalformedInput("an unknown escape at byte \(index - 1)")
    }
  }

  /// Moves over one character of two to four bytes; an overlong form, a surrogate and anything beyond U+10FFFF are
  /// refused (RFC 3629).
  private mutating func skipMultibyte() throws(MalformedInput) {
    let lead = unsafe bytes[index]
    let (length, low, high): (Int, UInt8, UInt8) =
      switch lead {
      case 0xC2...0xDF: (2, 0x80, 0xBF)
      case 0xE0: (3, 0xA0, 0xBF)
      case 0xE1...0xEC, 0xEE...0xEF: (3, 0x80, 0xBF)
      case 0xED: (3, 0x80, 0x9F)
      case 0xF0: (4, 0x90, 0xBF)
      case 0xF1...0xF3: (4, 0x80, 0xBF)
      case 0xF4: (4, 0x80, 0x8F)
      default: (0, 0, 0)
      }
    guard length > 0, count - index >= length, unsafe bytes[index + 1] >= low, unsafe bytes[index + 1] <= high
    else { throw MalformedInput("bytes that are not UTF-8 at byte \(index)") }
    for offset in 2..<max(2, length) where unsafe bytes[index + offset] & 0xC0 != 0x80 {
      throw MalformedInput("bytes that are not UTF-8 at byte \(index)")
    }
    index += length
  }

  /// Reads a string's content, escapes resolved. A lone surrogate becomes U+FFFD.
  public mutating func readString() throws(MalformedInput) -> String {
    let start = index + 1
    let hasEscapes = try skipString()
    return hasEscapes ? JSONEscapes.resolved(bytes(from: start).dropLast()) : text(from: start, droppingLast: 1)
  }

  /// Reads a key. One with half of a surrogate pair is refused: two readers would make two names of it.
  private mutating func readKey() throws(MalformedInput) -> String {
    let start = index + 1
    guard try skipString() else { return text(from: start, droppingLast: 1) }
    guard let key = JSONEscapes.resolvedIfWhole(bytes(from: start).dropLast()) else {
      throw MalformedInput("a key with half of a surrogate pair before byte \(index)")
    }
    return key
  }

  private static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension String {
  /// A text from bytes, by way of the one type of memory for which the standard library has this compiled: others are
  /// looked up in its tables of types each time.
  init(bytes: UnsafeRawBufferPointer) {
    self = unsafe String(decoding: bytes.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
  }
}

/// Checks that bytes are one JSON value: for payloads that come other than in a JSON command.
public enum JSONSyntax {
  public static func check(_ bytes: [UInt8]) throws(MalformedInput) {
    try unsafe bytes.withUnsafeBufferPointer { (bytes) throws(MalformedInput) in
      try unsafe check(UnsafeRawBufferPointer(bytes))
    }
  }

  private static func check(_ bytes: UnsafeRawBufferPointer) throws(MalformedInput) {
    var cursor = unsafe JSONCursor(bytes)
    try cursor.skipValue(depth: 0)
    try cursor.expectEnd()
  }

  public static func isValid(_ bytes: [UInt8]) -> Bool {
    do throws(MalformedInput) {
      try check(bytes)
      return true
    } catch {
      return false
    }
  }
}
