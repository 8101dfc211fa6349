/// The payload of a channel whose data is binary, as a JSON client writes it: a JSON string of base64.
enum BinaryPayload {
  /// Nil where `json` is no string of base64 (RFC 4648 section 4, padded). `\/` is the one escape that an encoder may
  /// use in it.
  static func bytes(ofJSON json: [UInt8]) -> [UInt8]? {
    let quote = UInt8(ascii: "\"")
    guard json.count >= 2, json.first == quote, json.last == quote else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(json.count / 4 * 3)
    var group: UInt32 = 0
    var digits = 0
    var padding = 0
    var escaped = false
    for byte in json[1..<(json.count - 1)] {
      if byte == UInt8(ascii: "\\") && !escaped {
        escaped = true
        continue
      }
      if escaped && byte != UInt8(ascii: "/") { return nil }
      escaped = false
      if byte == UInt8(ascii: "=") {
        padding += 1
        if padding > 2 || digits < 2 { return nil }
        group <<= 6
      } else {
        guard padding == 0, let value = value(of: byte) else { return nil }
        group = group << 6 | value
      }
      digits += 1
      if digits == 4 {
        bytes.append(UInt8(truncatingIfNeeded: group >> 16))
        if padding < 2 { bytes.append(UInt8(truncatingIfNeeded: group >> 8)) }
        if padding < 1 { bytes.append(UInt8(truncatingIfNeeded: group)) }
        group = 0
        digits = 0
        if padding > 0 { padding = 3 }  // Nothing may follow.
      }
    }
    return digits == 0 && !escaped ? bytes : nil
  }

  private static func value(of digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
