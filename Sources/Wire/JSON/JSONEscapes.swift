/// The escapes of a JSON string (RFC 8259, section 7).
public enum JSONEscapes {
  /// The text of a string, from the bytes between its quotes. Whatever they are, reading ends; a lone surrogate, and an
  /// escape whose digits are none, become U+FFFD.
  public static func resolved(_ raw: ArraySlice<UInt8>) -> String { resolved(raw) { "\u{FFFD}" } ?? "" }

  /// As ``resolved(_:)``, but nil where the string holds a lone surrogate: for names that must be the same for every
  /// reader.
  public static func resolvedIfWhole(_ raw: ArraySlice<UInt8>) -> String? { resolved(raw) { nil } }

  private static func resolved(_ raw: ArraySlice<UInt8>, else substitute: () -> Unicode.Scalar?) -> String? {
    var units: [UInt8] = []
    units.reserveCapacity(raw.count)
    var index = raw.startIndex
    while index < raw.endIndex {
      let byte = raw[index]
      index += 1
      guard byte == UInt8(ascii: "\\"), index < raw.endIndex else {
        units.append(byte)
        continue
      }
      let escape = raw[index]
      index += 1
      switch escape {
      case UInt8(ascii: "b"): units.append(0x08)
      case UInt8(ascii: "f"): units.append(0x0C)
      case UInt8(ascii: "n"): units.append(0x0A)
      case UInt8(ascii: "r"): units.append(0x0D)
      case UInt8(ascii: "t"): units.append(0x09)
      case UInt8(ascii: "u"):
        guard let scalar = scalar(in: raw, at: &index) ?? substitute() else { return nil }
        units.append(contentsOf: String(scalar).utf8)
      default: units.append(escape)
      }
    }
    return String(decoding: units, as: UTF8.self)
  }

  /// The scalar whose four digits begin at `index`, with the low surrogate that may follow; nil: there is none.
  private static func scalar(in raw: ArraySlice<UInt8>, at index: inout Int) -> Unicode.Scalar? {
    guard let first = unit(in: raw, at: index) else { return nil }
    index += 4
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, raw.endIndex - index >= 6, raw[index] == UInt8(ascii: "\\"),
      raw[index + 1] == UInt8(ascii: "u"), let second = unit(in: raw, at: index + 2),
      (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { return nil }
    index += 6
    return scalar
  }

  private static func unit(in raw: ArraySlice<UInt8>, at index: Int) -> UInt32? {
    guard raw.endIndex - index >= 4 else { return nil }
    var value: UInt32 = 0
    for byte in raw[index..<index + 4] {
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
      default: return nil
      }
      value = value << 4 | UInt32(digit)
    }
    return value
  }
}
