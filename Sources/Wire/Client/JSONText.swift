/// Strings in JSON, many bytes at a time.
enum JSONText {
  /// The first place from `start` on at which something other than plain ASCII stands: a quote, a backslash, a control
  /// character or a byte of a longer character.
  static func endOfPlain(in bytes: [UInt8], from start: Int) -> Int {
    unsafe bytes.withUnsafeBytes { unsafe endOfPlain(in: $0, from: start) }
  }

  static func endOfPlain(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var index = start
    while index <= bytes.count - 8 {
      let word = UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let special = marks(word)
      if special != 0 { return index + special.trailingZeroBitCount / 8 }
      index += 8
    }
    while index < bytes.count, isPlain(unsafe bytes[index]) { index += 1 }
    return index
  }

  /// The high bit of each byte that is not plain. A borrow may mark bytes above the first one too; the first is right.
  @inline(__always)
  private static func marks(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
    let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
    let controls = (word &- ones &* 0x20) & ~word
    let found = controls | ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes) | word
    return found & (ones &* 0x80)
  }

  @inline(__always)
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  /// Hands on what stands between the quotes, in runs that need nothing and in escapes.
  @inline(__always)
  static func escape(_ text: String, _ write: (UnsafeRawBufferPointer) -> Void) {
    var text = text
    text.withUTF8 { unsafe escape(UnsafeRawBufferPointer($0), write) }
  }

  @inline(__always)
  static func escape(_ bytes: UnsafeRawBufferPointer, _ write: (UnsafeRawBufferPointer) -> Void) {
    var start = 0
    while start < bytes.count {
      var end = unsafe endOfPlain(in: bytes, from: start)
      while end < bytes.count, unsafe bytes[end] >= 0x80 { end = unsafe endOfPlain(in: bytes, from: end + 1) }
      if end > start { unsafe write(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) }
      if end < bytes.count { unsafe escape(bytes[end], write) }
      start = end + 1
    }
  }

  private static func escape(_ byte: UInt8, _ write: (UnsafeRawBufferPointer) -> Void) {
    let escape: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8)
    var count = 2
    let backslash = UInt8(ascii: "\\")
    switch byte {
    case UInt8(ascii: "\""), backslash: escape = (backslash, byte, 0, 0, 0, 0)
    case 0x0A: escape = (backslash, UInt8(ascii: "n"), 0, 0, 0, 0)
    case 0x0D: escape = (backslash, UInt8(ascii: "r"), 0, 0, 0, 0)
    case 0x09: escape = (backslash, UInt8(ascii: "t"), 0, 0, 0, 0)
    default:
      let zero = UInt8(ascii: "0")
      escape = (backslash, UInt8(ascii: "u"), zero, zero, hexDigit(byte >> 4), hexDigit(byte & 15))
      count = 6
    }
    unsafe withUnsafeBytes(of: escape) { unsafe write(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
