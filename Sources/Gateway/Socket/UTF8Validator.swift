/// Checks UTF-8 as it comes, in pieces of any size, and finds the first wrong byte rather than the end of the message.
///
/// Overlong forms, surrogates and code points above U+10FFFF are wrong in the *second* byte of a sequence, so the
/// range allowed for the next byte is all the state that is needed (Unicode standard, table 3-7).
struct UTF8Validator {
  private var bytesLeft: UInt8 = 0
  private var lowest: UInt8 = 0x80
  private var highest: UInt8 = 0xBF

  /// False in the middle of a character.
  var isAtBoundary: Bool { bytesLeft == 0 }

  /// False where the bytes cannot be continued to valid UTF-8. The state is then of no more use.
  mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    let count = bytes.count
    while index < count {
      if bytesLeft == 0 {
        while count - index >= 8,
          unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        { index += 8 }
        if index == count { return true }
      }
      if !accept(unsafe bytes[index]) { return false }
      index += 1
    }
    return true
  }

  private mutating func accept(_ byte: UInt8) -> Bool {
    if bytesLeft > 0 {
      guard byte >= lowest, byte <= highest else { return false }
      bytesLeft -= 1
      (lowest, highest) = (0x80, 0xBF)
      return true
    }
    switch byte {
    case 0x00...0x7F: return true
    case 0xC2...0xDF: bytesLeft = 1
    case 0xE0: (bytesLeft, lowest) = (2, 0xA0)
    case 0xED: (bytesLeft, highest) = (2, 0x9F)
    case 0xE1...0xEF: bytesLeft = 2
    case 0xF0: (bytesLeft, lowest) = (3, 0x90)
    case 0xF1...0xF3: bytesLeft = 3
    case 0xF4: (bytesLeft, highest) = (3, 0x8F)
    default: return false
    }
    return true
  }
}
