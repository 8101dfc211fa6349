import Wire

/// One JSON value as the bytes it was written in, checked as a whole when it was parsed.
struct RawJSON: Sendable {
  /// Without whitespace around it.
  let bytes: ArraySlice<UInt8>

  private init(valid bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// Parses a whole document: valid UTF-8, one value, nothing after it.
  init(parsing document: [UInt8]) throws(JSONScanner.Fault) {
    guard String(validating: document, as: UTF8.self) != nil else { throw .syntax }
    var scanner = JSONScanner(document[...])
    let range = try scanner.value()
    guard scanner.current == nil else { throw .syntax }
    self.init(valid: document[range])
  }

  var isNull: Bool { bytes.first == UInt8(ascii: "n") }

  /// Nil where the value is not a string, or holds a lone surrogate.
  var string: String? {
    guard bytes.first == UInt8(ascii: "\"") else { return nil }
    var scanner = JSONScanner(bytes)
    return try? scanner.string()
  }

  var bool: Bool? {
    switch bytes.first {
    case UInt8(ascii: "t"): true
    case UInt8(ascii: "f"): false
    default: nil
    }
  }

  var object: JSONObject? {
    guard bytes.first == UInt8(ascii: "{") else { return nil }
    var scanner = JSONScanner(bytes)
    guard let members = try? scanner.members(depth: 0) else { return nil }
    return JSONObject(members: members.map { ($0.key, RawJSON(valid: bytes[$0.value])) })
  }

  var array: [RawJSON]? {
    guard bytes.first == UInt8(ascii: "[") else { return nil }
    var scanner = JSONScanner(bytes)
    return (try? scanner.elements(depth: 0))?.map { RawJSON(valid: bytes[$0]) }
  }

  /// A point in time in whole seconds; nil where the value is no number or beyond what a Double counts exactly.
  ///
  /// - Parameter rule: where a fraction goes (RFC 7519, section 2, allows one in a NumericDate).
  func seconds(rounded rule: FloatingPointRoundingRule) -> Int64? {
    guard let first = bytes.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    if let whole = Int64(text) { return whole }
    guard let number = Double(text) else { return nil }
    let rounded = number.rounded(rule)
    guard rounded.magnitude < 0x1p53 else { return nil }
    return Int64(rounded)
  }

  /// The bytes as they stand in the document, except where the value holds a line break: a break can only stand
  /// between tokens there, and JSON clients take one as the end of a command, so then all whitespace between tokens is
  /// left out.
  var singleLine: [UInt8] {
    guard bytes.contains(where: { $0 == 0x0A || $0 == 0x0D }) else { return Array(bytes) }
    var line: [UInt8] = []
    line.reserveCapacity(bytes.count)
    var inString = false
    var escaped = false
    for byte in bytes {
      if !inString, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { continue }
      line.append(byte)
      if escaped {
        escaped = false
      } else if byte == UInt8(ascii: "\\") {
        escaped = true
      } else if byte == UInt8(ascii: "\"") {
        inString.toggle()
      }
    }
    return line
  }
}

/// The members of a JSON object. Looked up byte by byte: `String`'s own equality takes two spellings of one accent as
/// the same name.
struct JSONObject: Sendable {
  let members: [(key: String, value: RawJSON)]

  /// Nil where the member is missing or null.
  subscript(_ name: String) -> RawJSON? {
    guard let value = members.first(where: { $0.key.hasSameBytes(as: name) })?.value else { return nil }
    return value.isNull ? nil : value
  }

  /// True where the member is there, whatever its value.
  func has(_ name: String) -> Bool { members.contains { $0.key.hasSameBytes(as: name) } }
}

/// Writes a JSON string, quotes included.
func quotedJSON(_ text: String) -> String {
  var quoted = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": quoted += "\\\""
    case "\\": quoted += "\\\\"
    case _ where scalar.value < 0x20:
      let hex = String(scalar.value, radix: 16)
      quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    default: quoted.unicodeScalars.append(scalar)
    }
  }
  return quoted + "\""
}
