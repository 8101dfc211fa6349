import Wire

extension JSONValue {
  /// A point in time in whole seconds; nil where the value is no number or beyond what a Double counts exactly.
  ///
  /// - Parameter rule: where a fraction goes (RFC 7519, section 2, allows one in a NumericDate).
  func seconds(rounded rule: FloatingPointRoundingRule) -> Int64? {
    guard isNumber else { return nil }
    if let whole = Int64(text) { return whole }
    guard let number = Double(text) else { return nil }
    let rounded = number.rounded(rule)
    guard rounded.magnitude < 0x1p53 else { return nil }
    return Int64(rounded)
  }

  /// The value's bytes as they stand in the document. Where they hold a line break, all whitespace between tokens is
  /// left out: a break can stand nowhere else, and JSON clients take one as the end of a command.
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
