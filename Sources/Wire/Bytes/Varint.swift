/// Numbers as LEB128: seven bits a byte, the lowest first, the high bit where more follow. On the backbone and in Protobuf.
enum Varint {
  /// Bytes that a number takes.
  @inline(__always)
  static func size(_ value: UInt64) -> Int { (70 - (value | 1).leadingZeroBitCount) / 7 }

  /// Reads a number byte by byte.
  ///
  /// - Parameters:
  ///   - bits: how many a number may have; more make it no number.
  ///   - next: the next byte; nil where there is none.
  /// - Returns: nil where the bytes end within the number, or it has too many bits.
  @inline(__always)
  static func read(bits: UInt64 = 64, _ next: () -> UInt8?) -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let byte = next() {
      if bits - shift < 7, byte & 0x7F >> (bits - shift) != 0 { return nil }
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
      shift += 7
      if shift >= bits { return nil }
    }
    return nil
  }
}

extension ByteSink {
  @inline(__always)
  mutating func put(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      put(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    put(UInt8(truncatingIfNeeded: rest))
  }
}
