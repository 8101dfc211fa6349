/// Strings in JSON, many bytes at a time.
public enum JSONText {
  private static let ones: UInt64 = 0x0101_0101_0101_0101

  /// The first index from `start` on at which something other than plain ASCII stands: a quote, a backslash, a control
  /// character or a byte of a longer character.
  @inline(__always)
  static func endOfPlain(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var index = start
    while index <= bytes.count - 8 {
      let special = marks(word(unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
      if special != 0 { return index + special.trailingZeroBitCount / 8 }
      index += 8
    }
    while index < bytes.count, isPlain(unsafe bytes[index]) { index += 1 }
    return index
  }

  static func endOfPlain(in bytes: [UInt8], from start: Int) -> Int {
    unsafe bytes.withUnsafeBytes { unsafe endOfPlain(in: $0, from: start) }
  }

  /// Whether all bytes are plain ASCII.
  @inline(__always)
  static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let count = bytes.count
    if count < 8 { return unsafe endOfPlain(in: bytes, from: 0) == count }
    var index = 0
    var found: UInt64 = 0
    while index < count {
      // The last word may begin within the one before.
      found |= marks(unsafe bytes.loadUnaligned(fromByteOffset: min(index, count - 8), as: UInt64.self))
      index += 8
    }
    return found == 0
  }

  /// Eight bytes as a number, of which the first byte is the lowest.
  @inline(__always)
  private static func word(_ bytes: UInt64) -> UInt64 { UInt64(littleEndian: bytes) }

  /// Marks the high bit of each byte that is not plain. Marks above the first one may be wrong, as a borrow passes from
  /// a marked byte into those above it; the first is right.
  @inline(__always)
  private static func marks(_ word: UInt64) -> UInt64 {
    let quotes = (word ^ (ones &* UInt64(UInt8(ascii: "\"")))) &- ones
    let backslashes = (word ^ (ones &* UInt64(UInt8(ascii: "\\")))) &- ones
    let controls = word &- ones &* 0x20
    return (quotes | backslashes | controls | word) & (ones &* 0x80)
  }

  @inline(__always)
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  /// Calls `write` with the parts of a JSON string between its quotes: runs that need no escapes, and escapes.
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

  /// A string as JSON writes it, its quotes included.
  public static func quoted(_ text: String) -> String {
    var bytes = [UInt8(ascii: "\"")]
    unsafe escape(text) { unsafe bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    return String(decoding: bytes, as: UTF8.self)
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
