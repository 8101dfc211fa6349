/// Walks through JSON in place: no tree, no copies, no unescaping. Whatever is wrong with the text ends in ``isBroken``.
@safe struct JSONCursor {
  private let base: UnsafeRawBufferPointer
  private(set) var place: Int
  private let end: Int
  private(set) var isBroken = false
  /// Levels of objects and arrays: deeper than any reply of the protocol.
  private static let deepest = 64

  init(_ bytes: UnsafeRawBufferPointer, from place: Int, to end: Int) {
    unsafe (base, self.place, self.end) = unsafe (bytes, place, end)
  }

  /// The byte that comes next, white space aside; 0 at the end.
  mutating func peek() -> UInt8 {
    while place < end {
      let byte = unsafe base[place]
      guard byte == 32 || byte == 9 || byte == 10 || byte == 13 else { return byte }
      place += 1
    }
    return 0
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    place += 1
    return true
  }

  private mutating func expect(_ byte: UInt8) { if !take(byte) { isBroken = true } }

  /// Calls with each key of the object that comes next; the call has to take or skip the value.
  mutating func object(_ body: (_ key: Range<Int>, inout JSONCursor) -> Void) {
    expect(UInt8(ascii: "{"))
    if isBroken || take(UInt8(ascii: "}")) { return }
    repeat {
      let key = string()
      expect(UInt8(ascii: ":"))
      guard !isBroken else { return }
      body(key, &self)
    } while !isBroken && take(UInt8(ascii: ","))
    expect(UInt8(ascii: "}"))
  }

  mutating func array(_ body: (inout JSONCursor) -> Void) {
    expect(UInt8(ascii: "["))
    if isBroken || take(UInt8(ascii: "]")) { return }
    repeat { body(&self) } while !isBroken && take(UInt8(ascii: ","))
    expect(UInt8(ascii: "]"))
  }

  /// Where the string that comes next stands, without its quotation marks and with its escapes.
  mutating func string() -> Range<Int> {
    expect(UInt8(ascii: "\""))
    let start = place
    while place < end, unsafe base[place] != UInt8(ascii: "\"") {
      unsafe place += base[place] == UInt8(ascii: "\\") ? 2 : 1
    }
    guard place < end else {
      isBroken = true
      return start..<start
    }
    place += 1
    return start..<(place - 1)
  }

  mutating func number() -> UInt64 {
    var value: UInt64 = 0
    guard (48...57).contains(peek()) else {
      skip()
      return 0
    }
    while place < end, unsafe (48...57).contains(base[place]) {
      value = unsafe value &* 10 &+ UInt64(base[place] - 48)
      place += 1
    }
    return value
  }

  mutating func isTrue() -> Bool {
    let isIt = peek() == UInt8(ascii: "t")
    skip()
    return isIt
  }

  /// Passes over a value, whatever it is.
  mutating func skip() {
    var depth = 0
    repeat {
      switch peek() {
      case UInt8(ascii: "\""): _ = string()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        place += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        place += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        if depth == 0 { isBroken = true }
        place += 1
      case 0: isBroken = true
      default:
        let start = place
        while place < end, unsafe !",:]}\"{[ \n\r\t".utf8.contains(base[place]) { place += 1 }
        if place == start { isBroken = true }
      }
      if depth < 0 || depth > Self.deepest { isBroken = true }
    } while depth > 0 && !isBroken
  }

  func text(_ range: Range<Int>) -> String { unsafe String(decoding: base[range], as: UTF8.self) }

  /// A string for people: what stands behind a backslash stands for itself, or for a space.
  func unescaped(_ range: Range<Int>) -> String {
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in text(range).utf8 {
      if byte == UInt8(ascii: "\\"), !isEscaped {
        isEscaped = true
        continue
      }
      bytes.append(isEscaped && "nrtbf".utf8.contains(byte) ? UInt8(ascii: " ") : byte)
      isEscaped = false
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  func matches(_ range: Range<Int>, _ word: StaticString) -> Bool {
    guard range.count == word.utf8CodeUnitCount, let address = unsafe base.baseAddress else { return false }
    let other = unsafe UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    return unsafe UnsafeRawBufferPointer(start: address + range.lowerBound, count: range.count).elementsEqual(other)
  }
}
