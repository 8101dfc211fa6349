/// A value that is sent beside a statement, in PostgreSQL's binary format: big-endian, and never part of the statement's
/// text.
///
///     array   = dimensions hasNulls elementType [count lowerBound] element*   each 4 bytes
///     element = 4 bytes n, then n bytes; n = -1 is NULL
///
/// Source: `array_recv` of PostgreSQL, and "Message Data Types" of its documentation.
public struct Parameter: Sendable, Hashable {
  /// The type's number, as `pg_type` has it.
  let type: UInt32
  /// Nil: NULL.
  let bytes: [UInt8]?

  private enum TypeNumber {
    static let bool: UInt32 = 16
    static let bytes: UInt32 = 17
    static let int8: UInt32 = 20
    static let text: UInt32 = 25
    static let bools: UInt32 = 1000
    static let blobs: UInt32 = 1001
    static let texts: UInt32 = 1009
    static let int8s: UInt32 = 1016
  }

  public static func int(_ value: Int64?) -> Parameter {
    Parameter(type: TypeNumber.int8, bytes: value.map { bigEndian($0) })
  }

  public static func bool(_ value: Bool) -> Parameter { Parameter(type: TypeNumber.bool, bytes: [value ? 1 : 0]) }

  public static func bytes(_ value: [UInt8]?) -> Parameter { Parameter(type: TypeNumber.bytes, bytes: value) }

  /// Text without a zero byte, which PostgreSQL does not take in a text.
  public static func text(_ value: String?) -> Parameter {
    Parameter(type: TypeNumber.text, bytes: value.map { Array($0.utf8) })
  }

  public static func ints(_ values: [Int64?]) -> Parameter {
    array(values, of: TypeNumber.int8, as: TypeNumber.int8s, size: 8) { value, bytes in
      guard let value else { return false }
      append(UInt64(bitPattern: value), to: &bytes)
      return true
    }
  }

  public static func bools(_ values: [Bool]) -> Parameter {
    array(values, of: TypeNumber.bool, as: TypeNumber.bools, size: 1) { value, bytes in
      bytes.append(value ? 1 : 0)
      return true
    }
  }

  public static func blobs(_ values: [[UInt8]?]) -> Parameter {
    array(values, of: TypeNumber.bytes, as: TypeNumber.blobs, size: 64) { value, bytes in
      guard let value else { return false }
      bytes.append(contentsOf: value)
      return true
    }
  }

  public static func texts(_ values: [String]) -> Parameter {
    array(values, of: TypeNumber.text, as: TypeNumber.texts, size: 16) { value, bytes in
      bytes.append(contentsOf: value.utf8)
      return true
    }
  }

  /// - Parameters:
  ///   - size: bytes of an element, about.
  ///   - encode: appends an element's bytes; false: it is NULL.
  private static func array<Value>(
    _ values: [Value], of element: UInt32, as type: UInt32, size: Int, _ encode: (Value, inout [UInt8]) -> Bool
  ) -> Parameter {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(20 + values.count * (4 + size))
    append(UInt32(values.isEmpty ? 0 : 1), to: &bytes)
    append(UInt32(1), to: &bytes)  // NULLs may be among the elements.
    append(element, to: &bytes)
    if !values.isEmpty {
      append(UInt32(clamping: values.count), to: &bytes)
      append(UInt32(1), to: &bytes)
    }
    for value in values {
      let start = bytes.count
      append(UInt32.max, to: &bytes)
      guard encode(value, &bytes) else { continue }
      let length = UInt32(clamping: bytes.count - start - 4)
      for place in 0..<4 { bytes[start + place] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(place))) }
    }
    return Parameter(type: type, bytes: bytes)
  }

  private static func bigEndian(_ value: Int64) -> [UInt8] {
    var bytes: [UInt8] = []
    append(UInt64(bitPattern: value), to: &bytes)
    return bytes
  }

  private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    var shift = value.bitWidth
    while shift > 0 {
      shift -= 8
      bytes.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}
