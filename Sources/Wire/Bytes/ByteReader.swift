/// A peer of the backbone sent bytes that are no message of ours: another version, or not Fanfare at all.
public struct MalformedMessage: Error, Equatable, CustomStringConvertible {
  public var description: String {
    "a backbone message could not be read; gateways and broker must run the same version of Fanfare"
  }

  public init() {}
}

/// Reads the backbone's encoding (``ByteSink``). Never trusts a length: everything is checked against what is there.
public struct ByteReader {
  private let bytes: [UInt8]
  private var index = 0

  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  public var isAtEnd: Bool { index == bytes.count }

  public mutating func readByte() throws(MalformedMessage) -> UInt8 {
    guard index < bytes.count else { throw MalformedMessage() }
    defer { index += 1 }
    return bytes[index]
  }

  public mutating func readFlag() throws(MalformedMessage) -> Bool {
    switch try readByte() {
    case 0: false
    case 1: true
    default: throw MalformedMessage()
    }
  }

  @inline(__always)
  public mutating func readNumber() throws(MalformedMessage) -> UInt64 {
    // Most numbers are lengths and fit one byte.
    if index < bytes.count, bytes[index] < 0x80 {
      defer { index += 1 }
      return UInt64(bytes[index])
    }
    return try readLongNumber()
  }

  private mutating func readLongNumber() throws(MalformedMessage) -> UInt64 {
    let number = Varint.read {
      guard index < bytes.count else { return nil }
      defer { index += 1 }
      return bytes[index]
    }
    guard let number else { throw MalformedMessage() }
    return number
  }

  public mutating func readFixed() throws(MalformedMessage) -> UInt64 {
    guard bytes.count - index >= 8 else { throw MalformedMessage() }
    var value: UInt64 = 0
    for offset in 0..<8 { value |= UInt64(bytes[index + offset]) << UInt64(8 * offset) }
    index += 8
    return value
  }

  public mutating func readBytes() throws(MalformedMessage) -> [UInt8] {
    // A slice, because it is copied without a look at the array's type at run time.
    Array(bytes[try readRange()])
  }

  public mutating func readString() throws(MalformedMessage) -> String { try readString(in: try readRange()) }

  /// A string without control characters that is neither empty nor longer than `limit` bytes.
  mutating func readName(limit: Int) throws(MalformedMessage) -> String {
    let range = try readRange()
    guard !range.isEmpty, range.count <= limit else { throw MalformedMessage() }
    let holdsControl = unsafe bytes.withUnsafeBufferPointer { buffer in
      unsafe buffer[range].contains { $0 < 0x20 || $0 == 0x7F }
    }
    if holdsControl { throw MalformedMessage() }
    return try readString(in: range)
  }

  private func readString(in range: Range<Int>) throws(MalformedMessage) -> String {
    if unsafe bytes.withUnsafeBytes({ unsafe UnsafeRawBufferPointer(rebasing: $0[range]).isASCII }) {
      return String(ascii: bytes, range)
    }
    guard let string = String(exactly: bytes, range) else { throw MalformedMessage() }
    return string
  }

  /// A length, and where the bytes stand that have it. They are passed over.
  private mutating func readRange() throws(MalformedMessage) -> Range<Int> {
    let length = try readNumber()
    guard length <= UInt64(bytes.count - index) else { throw MalformedMessage() }
    let range = index..<(index + Int(length))
    index = range.upperBound
    return range
  }

  public mutating func readOptionalBytes() throws(MalformedMessage) -> [UInt8]? {
    try readFlag() ? try readBytes() : nil
  }

  public mutating func readOptionalString() throws(MalformedMessage) -> String? {
    try readFlag() ? try readString() : nil
  }

  /// A count of elements that take at least one byte each, so that no peer makes us reserve more than it sent.
  public mutating func readCount() throws(MalformedMessage) -> Int {
    let count = try readNumber()
    guard count <= UInt64(bytes.count - index) else { throw MalformedMessage() }
    return Int(count)
  }

  public func requireEnd() throws(MalformedMessage) {
    if !isAtEnd { throw MalformedMessage() }
  }
}

extension UnsafeRawBufferPointer {
  /// Eight bytes at a time.
  @inline(__always)
  var isASCII: Bool {
    var seen: UInt64 = 0
    var index = 0
    while count - index >= 8 {
      seen |= unsafe loadUnaligned(fromByteOffset: index, as: UInt64.self)
      index += 8
    }
    while index < count {
      seen |= unsafe UInt64(self[index])
      index += 1
    }
    return seen & 0x8080_8080_8080_8080 == 0
  }
}

extension String {
  /// Bytes of which it is known that they are ASCII, so that nothing has to be compared afterwards.
  init(ascii bytes: [UInt8], _ range: Range<Int>) {
    self = unsafe bytes.withUnsafeBufferPointer { buffer in
      let text = unsafe UnsafeBufferPointer(rebasing: buffer[range])
      // A short one stands in the value itself and is copied there in one piece.
      guard range.count <= 15 else { return unsafe String(decoding: text, as: UTF8.self) }
      return unsafe String(unsafeUninitializedCapacity: range.count) { target in
        unsafe UnsafeMutableRawBufferPointer(target).copyMemory(from: UnsafeRawBufferPointer(text))
        return range.count
      }
    }
  }

  /// The bytes as UTF-8, or nil where they are not: as `String(validating:as:)`, which is not specialised for bytes and
  /// looks its types up at run time, a message at a time.
  init?(exactly bytes: [UInt8], _ range: Range<Int>) {
    self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0[range], as: UTF8.self) }
    // Whatever is no UTF-8 was replaced, and then the bytes are others.
    let isSame = unsafe bytes.withUnsafeBytes { buffer in
      unsafe utf8.withContiguousStorageIfAvailable { text in
        unsafe text.count == range.count
          && UnsafeRawBufferPointer(text).hasSameBytes(as: UnsafeRawBufferPointer(rebasing: buffer[range]))
      }
    }
    guard isSame ?? utf8.elementsEqual(bytes[range]) else { return nil }
  }
}
