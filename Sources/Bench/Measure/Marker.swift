/// What a publication's content begins with, so that whoever receives it knows which one it is and when it was due.
///
/// Plain ASCII that stands in JSON strings and binary payloads alike, 34 characters:
///
///     ~ff~ gggg ssssssssss tttttttttttttttt
///     magic group sequence intended time (ns of CLOCK_MONOTONIC), in lower-case hexadecimal, without the spaces
///
/// In JSON the content is a string: a quotation mark, the marker, filler of `x`, a quotation mark. In all other formats
/// it is the marker and the filler. Either way the content is as long as the scenario's `payload` says.
public enum Marker {
  public static let magic: StaticString = "~ff~"
  public static let length = 34

  /// ``magic`` as four bytes in memory order.
  @inline(__always) static var magicWord: UInt32 { UInt32(bigEndian: 0x7E66_667E) }

  /// Writes a marker; there must be room for ``length`` bytes.
  static func write(group: UInt16, sequence: UInt64, due: UInt64, to place: UnsafeMutableRawPointer) {
    unsafe place.storeBytes(of: magicWord, as: UInt32.self)
    unsafe writeHexadecimal(UInt64(group), digits: 4, to: place + 4)
    unsafe writeHexadecimal(sequence, digits: 10, to: place + 8)
    unsafe writeHexadecimal(due, digits: 16, to: place + 18)
  }

  private static func writeHexadecimal(_ value: UInt64, digits: Int, to place: UnsafeMutableRawPointer) {
    var rest = value
    for digit in stride(from: digits - 1, through: 0, by: -1) {
      let nibble = UInt8(truncatingIfNeeded: rest & 15)
      unsafe place.storeBytes(of: nibble + (nibble < 10 ? 48 : 87), toByteOffset: digit, as: UInt8.self)
      rest >>= 4
    }
  }

  /// The value of eight hexadecimal digits, all at once; what other characters give is of no account.
  @inline(__always)
  static func eightDigits(_ place: UnsafeRawPointer) -> UInt64 {
    let characters = unsafe place.loadUnaligned(as: UInt64.self)
    // Masked once more, so that no character spills into its neighbour.
    let nibbles =
      ((characters & 0x0F0F_0F0F_0F0F_0F0F) &+ 9 &* (characters >> 6 & 0x0101_0101_0101_0101)) & 0x0F0F_0F0F_0F0F_0F0F
    // Neighbours join: 8 nibbles, 4 bytes, 2 half words. The first digit stands lowest in memory and counts highest.
    let pairs = (nibbles << 4 | nibbles >> 8) & 0x00FF_00FF_00FF_00FF
    let quads = (pairs << 8 | pairs >> 16) & 0x0000_FFFF_0000_FFFF
    return (quads << 16 | quads >> 32) & 0xFFFF_FFFF
  }

  @inline(__always)
  static func group(_ place: UnsafeRawPointer) -> UInt16 {
    // Read from the magic on: the last four of the eight digits.
    unsafe UInt16(truncatingIfNeeded: eightDigits(place))
  }

  @inline(__always)
  static func sequence(_ place: UnsafeRawPointer) -> UInt64 {
    let low = unsafe eightDigits(place + 10)
    // The highest two of ten digits: of the eight that end with them, the last two.
    return unsafe (eightDigits(place + 2) & 0xFF) << 32 | low
  }

  @inline(__always)
  static func due(_ place: UnsafeRawPointer) -> UInt64 {
    unsafe eightDigits(place + 18) << 32 | eightDigits(place + 26)
  }
}
