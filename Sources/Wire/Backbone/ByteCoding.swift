/// A peer of the backbone sent bytes that are no message of ours: another version, or not Fanfare at all.
public struct MalformedMessage: Error, Equatable, CustomStringConvertible {
  public var description: String {
    "a backbone message could not be read; gateways and broker must run the same version of Fanfare"
  }

  public init() {}
}

/// Appends the backbone's encoding to a byte array: numbers as LEB128 varints, everything else with its length before.
public struct ByteWriter {
  public private(set) var bytes: [UInt8] = []

  public init(reserving capacity: Int = 64) { bytes.reserveCapacity(capacity) }

  public mutating func write(byte: UInt8) { bytes.append(byte) }

  public mutating func write(flag: Bool) { bytes.append(flag ? 1 : 0) }

  public mutating func write(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Eight bytes, least significant first: for numbers that are random and would need ten as a varint.
  public mutating func write(fixed value: UInt64) {
    unsafe withUnsafeBytes(of: value.littleEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  public mutating func write(_ value: [UInt8]) {
    write(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  public mutating func write(_ value: String) {
    let utf8 = value.utf8
    write(UInt64(utf8.count))
    // In one piece; the view by itself is appended byte by byte.
    let isWritten: Void? = unsafe utf8.withContiguousStorageIfAvailable { unsafe bytes.append(contentsOf: $0) }
    if isWritten == nil { bytes.append(contentsOf: utf8) }
  }

  public mutating func write(optional value: [UInt8]?) {
    write(flag: value != nil)
    if let value { write(value) }
  }

  public mutating func write(optional value: String?) {
    write(flag: value != nil)
    if let value { write(value) }
  }
}

/// Reads what ``ByteWriter`` wrote. Never trusts a length: everything is checked against what is there.
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

  public mutating func readNumber() throws(MalformedMessage) -> UInt64 {
    // Most numbers are lengths and fit one byte.
    if index < bytes.count, bytes[index] < 0x80 {
      defer { index += 1 }
      return UInt64(bytes[index])
    }
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = try readByte()
      // The tenth byte may hold one bit only: more would not fit 64.
      if shift == 63 && byte > 1 { throw MalformedMessage() }
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
      shift += 7
      if shift > 63 { throw MalformedMessage() }
    }
  }

  public mutating func readFixed() throws(MalformedMessage) -> UInt64 {
    guard bytes.count - index >= 8 else { throw MalformedMessage() }
    var value: UInt64 = 0
    for offset in 0..<8 { value |= UInt64(bytes[index + offset]) << UInt64(8 * offset) }
    index += 8
    return value
  }

  public mutating func readBytes() throws(MalformedMessage) -> [UInt8] {
    let length = try readNumber()
    guard length <= UInt64(bytes.count - index) else { throw MalformedMessage() }
    let end = index + Int(length)
    defer { index = end }
    return Array(bytes[index..<end])
  }

  public mutating func readString() throws(MalformedMessage) -> String {
    let length = try readNumber()
    guard length <= UInt64(bytes.count - index) else { throw MalformedMessage() }
    let end = index + Int(length)
    defer { index = end }
    guard let string = String(exactly: bytes, index..<end) else { throw MalformedMessage() }
    return string
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

extension String {
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
