/// Which trace something belongs to, and which span of it is the parent of what follows: what `traceparent` carries
/// (W3C Trace Context, level 1).
public struct TraceContext: Sendable, Hashable {
  /// The first and the last eight bytes of the trace's id, which is not all zeros.
  public var traceHigh: UInt64
  public var traceLow: UInt64
  /// The parent's id, which is not 0.
  public var span: UInt64
  /// Whoever began the trace records it.
  public var isSampled: Bool

  public init(traceHigh: UInt64, traceLow: UInt64, span: UInt64, isSampled: Bool = true) {
    self.traceHigh = traceHigh
    self.traceLow = traceLow
    self.span = span
    self.isSampled = isSampled
  }

  /// A trace that begins here.
  public static func random(using randomness: inout some RandomNumberGenerator) -> TraceContext {
    TraceContext(
      traceHigh: .random(in: 1 ... .max, using: &randomness), traceLow: .random(in: 1 ... .max, using: &randomness),
      span: .random(in: 1 ... .max, using: &randomness))
  }

  /// The same trace, with another span as the parent of what follows.
  public func continued(by span: UInt64) -> TraceContext {
    TraceContext(traceHigh: traceHigh, traceLow: traceLow, span: span, isSampled: isSampled)
  }

  // MARK: traceparent

  /// The name of the HTTP header, and of the tag of a publication.
  public static let headerName = "traceparent"

  /// Reads `00-<32 digits>-<16 digits>-<2 digits>`. Of a later version, which may say more at its end, the same fields
  /// count.
  ///
  /// - Returns: nil where the text is none: the trace then begins anew, as the specification asks.
  public init?(traceparent text: String) {
    let bytes = Array(text.utf8.prefix(Self.longest + 1))
    guard bytes.count >= Self.length, bytes.count <= Self.longest, bytes[2] == Self.dash, bytes[35] == Self.dash,
      bytes[52] == Self.dash, let version = Self.number(bytes[0..<2]), version != 0xFF,
      let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]),
      let span = Self.number(bytes[36..<52]), let flags = Self.number(bytes[53..<55])
    else { return nil }
    if bytes.count > Self.length, version == 0 || bytes[Self.length] != Self.dash { return nil }
    guard high | low != 0, span != 0 else { return nil }
    self.init(traceHigh: high, traceLow: low, span: span, isSampled: flags & 1 == 1)
  }

  public var traceparent: String { "00-\(traceID)-\(Self.hexadecimal(span))-\(isSampled ? "01" : "00")" }

  /// The trace's id, 32 hexadecimal digits.
  public var traceID: String { Self.hexadecimal(traceHigh) + Self.hexadecimal(traceLow) }

  /// Sixteen hexadecimal digits.
  public static func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static let length = 55
  /// Bytes of a later version's text that are looked at.
  private static let longest = 512
  private static let dash = UInt8(ascii: "-")

  /// The number that lower-case hexadecimal digits say; nil where others stand among them.
  private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for digit in digits {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return number
  }
}
