/// Patches in the delta format of the Fossil version control system, as SDKs of the Centrifuge protocol apply them: how
/// one payload, the base, becomes another.
///
///     2N\n          bytes of the result, and a newline
///     1_@0,         copy: so many bytes of the base, from this place of it
///     3:abc         insert: the bytes that follow
///     f@1d,         …
///     2pL7jh;       checksum of the result, and the end
///
/// Numbers are written in base 64, the highest digit first, with the digits `0-9A-Z_a-z~`.
///
/// Source: the format's description by the Fossil project (fossil-scm.org, "Delta Format").
public enum FossilPatch {
  /// Larger payloads are not compared: a patch is made in the turn that every message passes through.
  public static let mostBytes = 256 << 10

  /// What turns one payload into another; nil where that would not be smaller than the other payload itself.
  ///
  /// - Parameter isText: both payloads are UTF-8, and so is the patch: it cuts no character in two.
  public static func make(from base: [UInt8], to target: [UInt8], isText: Bool) -> [UInt8]? {
    guard base.count <= mostBytes, target.count <= mostBytes else { return nil }
    var search = PatchSearch(base: base, target: target, isText: isText)
    return search.run()
  }

  /// The sum of the bytes as 32-bit numbers, highest byte first; what the last one lacks counts as 0.
  public static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var (sum, shift) = (UInt32(0), UInt32(24))
    for byte in bytes {
      sum &+= UInt32(byte) << shift
      shift = (shift &- 8) & 31
    }
    return sum
  }
}

/// Writes a patch, unless it becomes as large as what it is to save.
struct PatchWriter {
  /// A patch of as many bytes is worth nothing.
  let limit: Int
  private var bytes: [UInt8] = []
  private var isFull = false

  private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~".utf8)

  init(target: Int) {
    limit = target
    put(UInt64(target))
    bytes.append(UInt8(ascii: "\n"))
  }

  var isWorthless: Bool { isFull || bytes.count >= limit }

  mutating func copy(_ count: Int, from place: Int) {
    put(UInt64(count))
    bytes.append(UInt8(ascii: "@"))
    put(UInt64(place))
    bytes.append(UInt8(ascii: ","))
  }

  mutating func insert(_ text: ArraySlice<UInt8>) {
    if text.isEmpty || isWorthless { return }
    put(UInt64(text.count))
    bytes.append(UInt8(ascii: ":"))
    isFull = bytes.count + text.count >= limit
    if !isFull { bytes.append(contentsOf: text) }
  }

  /// The whole patch; nil: it would save nothing.
  mutating func finish(checksum: UInt32) -> [UInt8]? {
    if isWorthless { return nil }
    put(UInt64(checksum))
    bytes.append(UInt8(ascii: ";"))
    return isWorthless ? nil : bytes
  }

  private mutating func put(_ number: UInt64) {
    var shift = 6 * (Self.digitCount(number) - 1)
    while shift >= 0 {
      bytes.append(Self.digits[Int(number >> UInt64(shift) & 63)])
      shift -= 6
    }
  }

  static func digitCount(_ number: UInt64) -> Int { max(1, (69 - number.leadingZeroBitCount) / 6) }

  /// Bytes that a copy takes, and the head of an insert behind it.
  static func cost(ofCopying count: Int, from place: Int) -> Int {
    digitCount(UInt64(count)) + digitCount(UInt64(place)) + 4
  }
}
