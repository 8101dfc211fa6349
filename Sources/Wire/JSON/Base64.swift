/// Bytes as text (RFC 4648).
///
/// Reading is strict: the other alphabet, missing or additional padding, and bits left over at the end are refused, so
/// that bytes have one spelling only.
public enum Base64: Sendable {
  /// `+` and `/`, padded (section 4): what JSON clients send for bytes.
  case standard
  /// `-` and `_`, without padding (section 5; RFC 7515, section 2): tokens and keys.
  case url

  private static let standardAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let urlAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static let padding = UInt8(ascii: "=")

  /// The text of bytes.
  public func text(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    unsafe bytes.withUnsafeBytes { unsafe encode($0) { unsafe text.append(contentsOf: $0) } }
    return String(decoding: text, as: UTF8.self)
  }

  /// The bytes that a text stands for; nil where the text is not strictly of this kind.
  public func bytes(_ text: String) -> [UInt8]? { bytes(Array(text.utf8)[...]) }

  /// As ``bytes(_:)-(String)``, of ASCII.
  public func bytes(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var digits = text.count
    if self == .standard {
      guard digits % 4 == 0 else { return nil }
      digits -= text.suffix(2).count { $0 == Self.padding }
    }
    guard digits % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits * 3 / 4)
    var pending: UInt32 = 0
    var bits: UInt32 = 0
    for character in text.prefix(digits) {
      guard let value = value(of: character) else { return nil }
      pending = pending << 6 | value
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: pending >> bits))
        pending &= (1 << bits) - 1
      }
    }
    return pending == 0 ? bytes : nil
  }

  /// Calls `write` with at most four characters of the text at a time.
  @inline(__always)
  func encode(_ value: UnsafeRawBufferPointer, _ write: (UnsafeRawBufferPointer) -> Void) {
    let alphabet = self == .standard ? Self.standardAlphabet : Self.urlAlphabet
    var index = 0
    while index < value.count {
      let left = value.count - index
      let first = unsafe UInt32(value[index]) << 16
      let second = unsafe left > 1 ? UInt32(value[index + 1]) << 8 : 0
      let third = unsafe left > 2 ? UInt32(value[index + 2]) : 0
      let word = first | second | third
      let characters = (
        alphabet[Int(word >> 18)], alphabet[Int(word >> 12 & 63)],
        left > 1 ? alphabet[Int(word >> 6 & 63)] : Self.padding, left > 2 ? alphabet[Int(word & 63)] : Self.padding
      )
      let count = self == .standard ? 4 : min(left, 3) + 1
      unsafe withUnsafeBytes(of: characters) { unsafe write(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      index += 3
    }
  }

  private func value(of character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+") where self == .standard: 62
    case UInt8(ascii: "/") where self == .standard: 63
    case UInt8(ascii: "-") where self == .url: 62
    case UInt8(ascii: "_") where self == .url: 63
    default: nil
    }
  }
}
