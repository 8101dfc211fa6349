/// One JSON value as the bytes it was written in, known to be whole; its parts are read when they are asked for.
///
/// Foundation's decoder is not used because it recurses without a cap, lets the first of two equal keys win where
/// others let the last, and does not give a value back as the bytes that came.
public struct JSONValue: Sendable {
  /// The value's bytes without whitespace around it. A slice of the document, so that its indices are places there.
  public let bytes: ArraySlice<UInt8>

  private init(whole bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// Which equal keys an object may have.
  public enum EqualKeys: Sendable {
    /// None, in no object at any depth: two readers can never see different values in one document. For signed
    /// documents.
    case refused
    /// Any. Equal keys are refused when the object that has them is asked for, which nobody does within a payload.
    case refusedWhereRead
  }

  /// Reads a whole document: UTF-8, one value, nothing after it.
  ///
  /// - Parameter levels: levels of the document's own around payloads, each of which may have ``JSONCursor/maximumDepth``.
  public init(
    parsing document: [UInt8], levels: Int = 0, equalKeys: EqualKeys = .refusedWhereRead
  ) throws(MalformedInput) {
    var span = 0..<0
    var failure: MalformedInput?
    unsafe document.withUnsafeBytes { bytes in
      var cursor = unsafe JSONCursor(bytes)
      do throws(MalformedInput) { span = try Self.document(&cursor, -levels, equalKeys) } catch { failure = error }
    }
    if let failure { throw failure }
    self.init(whole: document[span])
  }

  private static func document(
    _ cursor: inout JSONCursor, _ depth: Int, _ keys: EqualKeys
  ) throws(MalformedInput) -> Range<Int> {
    cursor.skipWhitespace()
    let start = cursor.index
    switch keys {
    case .refused: try check(&cursor, depth: depth)
    case .refusedWhereRead: try cursor.skipValue(depth: depth)
    }
    let end = cursor.index
    try cursor.expectEnd()
    return start..<end
  }

  private static func check(_ cursor: inout JSONCursor, depth: Int) throws(MalformedInput) {
    switch cursor.next {
    case UInt8(ascii: "{"):
      var keys = DistinctKeys()
      try cursor.readObject(depth: depth) { (cursor, key) throws(MalformedInput) in
        try keys.insert(key)
        try check(&cursor, depth: depth + 1)
      }
    case UInt8(ascii: "["):
      try cursor.readArray(depth: depth) { (cursor) throws(MalformedInput) in try check(&cursor, depth: depth + 1) }
    default: try cursor.skipValue(depth: depth)
    }
  }

  // MARK: What it is

  public var isNull: Bool { bytes.first == UInt8(ascii: "n") }

  /// The value as a string; nil where it is none, or holds half of a surrogate pair, which no string can hold.
  public var string: String? {
    guard bytes.first == UInt8(ascii: "\"") else { return nil }
    return JSONEscapes.resolvedIfWhole(bytes.dropFirst().dropLast())
  }

  public var bool: Bool? {
    switch bytes.first {
    case UInt8(ascii: "t"): true
    case UInt8(ascii: "f"): false
    default: nil
    }
  }

  public var isNumber: Bool {
    bytes.first.map { $0 == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ?? false
  }

  /// The value's bytes as text: a number as it was written.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The value as an object; nil where it is none.
  ///
  /// - Throws: where a key stands twice, or there are more members than `limit`.
  public func object(limit: Int = .max) throws(MalformedInput) -> JSONObject? {
    guard bytes.first == UInt8(ascii: "{") else { return nil }
    var members: [(key: String, value: JSONValue)] = []
    var keys = DistinctKeys()
    try read { (cursor, slice) throws(MalformedInput) in
      // The whole document was checked for its depth before.
      try cursor.readObject(depth: Self.known) { (cursor, key) throws(MalformedInput) in
        try keys.insert(key)
        if members.count == limit { throw MalformedInput("more than \(limit) fields") }
        members.append((key, try Self.value(&cursor, in: slice)))
      }
    }
    return JSONObject(members: members)
  }

  /// As ``object(limit:)``, but nil where a key stands twice.
  public var object: JSONObject? { try? object() }

  /// The value as an array; nil where it is none.
  public var array: [JSONValue]? {
    guard bytes.first == UInt8(ascii: "[") else { return nil }
    var elements: [JSONValue] = []
    try? read { (cursor, slice) throws(MalformedInput) in
      try cursor.readArray(depth: Self.known) { (cursor) throws(MalformedInput) in
        elements.append(try Self.value(&cursor, in: slice))
      }
    }
    return elements
  }

  /// The depth at which a value is read again that was found not to be too deep.
  private static let known = Int.min / 2

  private static func value(
    _ cursor: inout JSONCursor, in slice: ArraySlice<UInt8>
  ) throws(MalformedInput) -> JSONValue {
    let start = cursor.index
    try cursor.skipValue(depth: Self.known)
    return JSONValue(whole: slice[slice.startIndex + start..<slice.startIndex + cursor.index])
  }

  private func read(
    _ body: (inout JSONCursor, ArraySlice<UInt8>) throws(MalformedInput) -> Void
  ) throws(MalformedInput) {
    var failure: MalformedInput?
    unsafe bytes.withUnsafeBytes { memory in
      var cursor = unsafe JSONCursor(memory)
      do throws(MalformedInput) { try body(&cursor, bytes) } catch { failure = error }
    }
    if let failure { throw failure }
  }
}

/// Keys of one object, compared byte by byte: `String`'s own equality takes two spellings of one accent as the same
/// name.
private struct DistinctKeys {
  /// The keys while they are few, as they nearly always are: these are compared one by one.
  private var few: [String] = []
  private var many: Set<IdentifierKey> = []

  mutating func insert(_ key: String) throws(MalformedInput) {
    let isNew: Bool
    if few.count < 16 {
      isNew = !few.contains { $0.hasSameBytes(as: key) }
      few.append(key)
    } else {
      if many.isEmpty { many = Set(few.map(IdentifierKey.init)) }
      isNew = many.insert(IdentifierKey(key)).inserted
    }
    if !isNew { throw MalformedInput("key \"\(key.prefix(64))\" stands twice") }
  }
}

/// The members of a JSON object in their order. Names are compared byte by byte.
public struct JSONObject: Sendable {
  public let members: [(key: String, value: JSONValue)]

  /// The value of a member; nil where it is missing or null.
  public subscript(_ name: String) -> JSONValue? {
    guard let value = members.first(where: { $0.key.hasSameBytes(as: name) })?.value else { return nil }
    return value.isNull ? nil : value
  }

  /// Whether a member is there, whatever its value.
  public func has(_ name: String) -> Bool { members.contains { $0.key.hasSameBytes(as: name) } }
}
