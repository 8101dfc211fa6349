/// A decimal number in the memory of its text, compared digit by digit: however long it is, nothing is rounded.
///
///     sign? digits ( "." digits )?
@safe struct DecimalText {
  private let isNegative: Bool
  /// The digits before the point, without leading zeros.
  private let whole: UnsafeRawBufferPointer
  /// The digits after the point, without trailing zeros.
  private let fraction: UnsafeRawBufferPointer

  /// Nil where the text is no decimal number.
  ///
  /// - Parameter text: has to outlive the number.
  init?(_ text: UnsafeRawBufferPointer) {
    var start = 0
    let sign = unsafe text.first
    if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { start = 1 }
    var point = start
    while point < text.count, unsafe Self.isDigit(text[point]) { point += 1 }
    guard point > start else { return nil }
    var end = point
    if point < text.count {
      guard unsafe text[point] == UInt8(ascii: "."), point + 1 < text.count else { return nil }
      for index in (point + 1)..<text.count where unsafe !Self.isDigit(text[index]) { return nil }
      end = text.count
      while unsafe text[end - 1] == UInt8(ascii: "0") { end -= 1 }
    }
    while start < point, unsafe text[start] == UInt8(ascii: "0") { start += 1 }
    unsafe whole = UnsafeRawBufferPointer(rebasing: text[start..<point])
    unsafe fraction = UnsafeRawBufferPointer(rebasing: text[min(point + 1, end)..<end])
    // `-0` is the same as `0`.
    isNegative = unsafe sign == UInt8(ascii: "-") && !(whole.isEmpty && fraction.isEmpty)
  }

  static func isDecimal(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { unsafe DecimalText(UnsafeRawBufferPointer($0)) != nil }
  }

  /// Below zero where this number is the smaller one, zero where both are the same.
  func compared(to other: DecimalText) -> Int {
    if isNegative != other.isNegative { return isNegative ? -1 : 1 }
    let order = magnitudeCompared(to: other)
    return isNegative ? -order : order
  }

  private func magnitudeCompared(to other: DecimalText) -> Int {
    if unsafe whole.count != other.whole.count { return unsafe whole.count < other.whole.count ? -1 : 1 }
    for index in unsafe 0..<whole.count where unsafe whole[index] != other.whole[index] {
      return unsafe whole[index] < other.whole[index] ? -1 : 1
    }
    for index in unsafe 0..<min(fraction.count, other.fraction.count)
    where unsafe fraction[index] != other.fraction[index] {
      return unsafe fraction[index] < other.fraction[index] ? -1 : 1
    }
    return unsafe fraction.count - other.fraction.count
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
}
