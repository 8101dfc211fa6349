/// The fields of a URL's query, as `URLSearchParams` of a browser writes them: pure.
struct ConsoleQuery {
  private var fields: [String: String] = [:]

  /// Of equal names the first counts. What is no UTF-8 becomes U+FFFD.
  init(_ query: String?) {
    for pair in (query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let name = Self.decoded(parts[0])
      if fields[name] == nil { fields[name] = parts.count == 2 ? Self.decoded(parts[1]) : "" }
    }
  }

  /// Nil where the field is missing or empty.
  subscript(name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }

  private static func decoded(_ text: Substring.UTF8View) -> String {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        let digits = rest.prefix(2).compactMap(Self.value)
        if digits.count == 2 {
          bytes.append(digits[0] << 4 | digits[1])
          rest = rest.dropFirst(2)
        } else {
          bytes.append(byte)
        }
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
