/// Protobuf's base-128 numbers.
enum Varint {
  static func size(_ value: Int) -> Int {
    var (size, rest) = (1, UInt64(truncatingIfNeeded: value) >> 7)
    while rest > 0 { (size, rest) = (size + 1, rest >> 7) }
    return size
  }

  static func append(_ value: Int, to bytes: inout [UInt8]) { append(UInt64(truncatingIfNeeded: value), to: &bytes) }

  static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    var rest = value
    while rest >= 128 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }
}

/// Writes fields of a message.
struct ProtobufWriter {
  private(set) var bytes: [UInt8] = []

  mutating func field(_ number: Int, _ value: UInt64) {
    Varint.append(number << 3, to: &bytes)
    Varint.append(value, to: &bytes)
  }

  mutating func field(_ number: Int, _ value: [UInt8]) {
    Varint.append(number << 3 | 2, to: &bytes)
    Varint.append(value.count, to: &bytes)
    bytes += value
  }

  mutating func field(_ number: Int, _ value: String) { field(number, Array(value.utf8)) }
}

/// Reads fields of a message in place. What is wrong with it ends in ``isBroken``.
@safe struct ProtobufReader {
  private let base: UnsafeRawPointer
  private(set) var place: Int
  private let end: Int
  private(set) var isBroken = false

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    // An empty buffer may have no address; nothing is read of it.
    unsafe base = unsafe bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
    (place, end) = (0, bytes.count)
  }

  var isAtEnd: Bool { place >= end || isBroken }

  @inline(__always)
  mutating func varint() -> UInt64 {
    guard place < end else { return fail() }
    let byte = unsafe base.load(fromByteOffset: place, as: UInt8.self)
    place &+= 1
    if byte < 128 { return UInt64(byte) }
    return longVarint(UInt64(byte & 127))
  }

  private mutating func longVarint(_ first: UInt64) -> UInt64 {
    var (value, shift) = (first, UInt64(7))
    while place < end, shift < 64 {
      let byte = unsafe base.load(fromByteOffset: place, as: UInt8.self)
      place &+= 1
      value |= UInt64(byte & 127) << shift
      if byte < 128 { return value }
      shift &+= 7
    }
    return fail()
  }

  private mutating func fail() -> UInt64 {
    isBroken = true
    return 0
  }

  /// The bytes of a field, which stand behind their length.
  @inline(__always)
  mutating func bytes() -> UnsafeRawBufferPointer {
    let length = varint()
    guard length <= UInt64(end &- place) else {
      isBroken = true
      return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    }
    let count = Int(truncatingIfNeeded: length)
    defer { place &+= count }
    return unsafe UnsafeRawBufferPointer(start: base + place, count: count)
  }

  mutating func text() -> String { unsafe String(decoding: bytes(), as: UTF8.self) }

  /// Passes over the value of a field with this tag.
  @inline(__always)
  mutating func skip(_ tag: UInt64) {
    switch tag & 7 {
    case 0: _ = varint()
    case 1: place &+= 8
    case 2: _ = unsafe bytes()
    case 5: place &+= 4
    default: isBroken = true
    }
    if place > end { isBroken = true }
  }
}
