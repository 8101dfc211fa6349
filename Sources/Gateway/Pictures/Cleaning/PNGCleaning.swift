/// Cleans a PNG file (ISO/IEC 15948; W3C, third edition).
enum PNGCleaning {
  static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  /// A part's length has 31 bits.
  private static let longestPart = 0x7FFF_FFFF

  /// The parts that are kept, with the bytes that they may have.
  private static let kept: [String: ClosedRange<Int>] = [
    "PLTE": 3...768, "IDAT": 0...longestPart, "tRNS": 1...256, "gAMA": 4...4, "cHRM": 32...32, "sRGB": 1...1,
    "iCCP": 3...longestPart, "cICP": 4...4, "sBIT": 1...4, "bKGD": 1...6, "pHYs": 9...9, "acTL": 8...8,
    "fcTL": 26...26, "fdAT": 4...longestPart,
  ]

  static func clean(
    _ bytes: [UInt8]
  ) throws(PictureCleaning.Refusal) -> (bytes: [UInt8], width: Int, height: Int) {
    var parts = PictureParts(bytes, 0..<bytes.count)
    guard try parts.take(8).elementsEqual(signature) else { throw .malformed }
    var cleaned = signature
    cleaned.reserveCapacity(bytes.count)
    guard try parts.bigEndian(4) == 13, try parts.take(4).isText("IHDR") else { throw .malformed }
    var header = parts
    let (width, height) = (try header.bigEndian(4), try header.bigEndian(4))
    cleaned += [0, 0, 0, 13] + Array("IHDR".utf8)
    cleaned += try parts.take(17)
    var hasPixels = false
    var orientation: Int?
    while true {
      let length = try parts.bigEndian(4)
      let name = String(decoding: try parts.take(4), as: UTF8.self)
      guard length <= longestPart, name.utf8.count == 4, name.utf8.allSatisfy(isLetter) else { throw .malformed }
      let data = try parts.take(length)
      let check = try parts.take(4)
      if name == "IEND" { break }
      if name == "eXIf" {
        orientation = orientation ?? PictureOrientation.read(data)
      } else if let sizes = kept[name] {
        // What must be there must be right; what need not be is left out where it is not.
        guard sizes.contains(length) else {
          if isCritical(name) { throw .malformed }
          continue
        }
        hasPixels = hasPixels || name == "IDAT"
        cleaned.append(bigEndian: length, bytes: 4)
        cleaned += Array(name.utf8) + data + check
      } else if isCritical(name) {
        throw .malformed
      }
    }
    guard hasPixels else { throw .malformed }
    if let orientation { append("eXIf", PictureOrientation.block(orientation), to: &cleaned) }
    append("IEND", [], to: &cleaned)
    return (cleaned, width, height)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
  }

  /// Whether the picture cannot be shown without the part: its name says so.
  private static func isCritical(_ name: String) -> Bool { (name.utf8.first ?? 0) & 0x20 == 0 }

  static func append(_ name: StaticString, _ data: [UInt8], to file: inout [UInt8]) {
    file.append(bigEndian: data.count, bytes: 4)
    let checked = Array(name.description.utf8) + data
    file += checked
    file.append(bigEndian: Int(checksum(checked)), bytes: 4)
  }

  /// The cyclic redundancy code of a part, for the few bytes that are written here.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var code: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
      code ^= UInt32(byte)
      for _ in 0..<8 { code = code & 1 == 1 ? code >> 1 ^ 0xEDB8_8320 : code >> 1 }
    }
    return ~code
  }
}
