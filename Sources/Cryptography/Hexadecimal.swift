extension Collection<UInt8> {
  /// The bytes as text: two lower-case hexadecimal digits for each.
  public var hexadecimal: String {
    var text: [UInt8] = []
    text.reserveCapacity(2 * count)
    for byte in self { text += [Self.digit(byte >> 4), Self.digit(byte & 15)] }
    return String(decoding: text, as: UTF8.self)
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
