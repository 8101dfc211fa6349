/// Cleans a JPEG file (ITU-T T.81, annex B).
///
/// The states: *tables* (before the first scan), *scans* (behind it), *over* (the end marker was read). Only the last is
/// a picture: a file that stops before is refused.
struct JPEGCleaning {
  private var parts: PictureParts
  private var jfif: [UInt8]?
  private var orientation: Int?
  /// What is kept behind JFIF and the orientation, marker by marker.
  private var kept: [UInt8] = []
  private var size: (width: Int, height: Int)?
  private var hasScan = false

  private init(_ bytes: [UInt8]) {
    parts = PictureParts(bytes, 0..<bytes.count)
    kept.reserveCapacity(bytes.count)
  }

  static func clean(
    _ bytes: [UInt8]
  ) throws(PictureCleaning.Refusal) -> (bytes: [UInt8], width: Int, height: Int) {
    var cleaning = JPEGCleaning(bytes)
    guard try cleaning.parts.take(2).elementsEqual([0xFF, 0xD8]) else { throw .malformed }
    while try cleaning.readMarker() {}
    guard let size = cleaning.size, cleaning.hasScan else { throw .malformed }
    var cleaned: [UInt8] = [0xFF, 0xD8]
    cleaned.reserveCapacity(cleaning.kept.count + 64)
    if let jfif = cleaning.jfif { cleaned += segment(0xE0, jfif[...]) }
    if let orientation = cleaning.orientation {
      cleaned += segment(0xE1, (Array("Exif\u{0}\u{0}".utf8) + PictureOrientation.block(orientation))[...])
    }
    return (cleaned + cleaning.kept, size.width, size.height)
  }

  private static func segment(_ marker: UInt8, _ payload: ArraySlice<UInt8>) -> [UInt8] {
    var segment: [UInt8] = [0xFF, marker]
    segment.append(bigEndian: payload.count + 2, bytes: 2)
    return segment + payload
  }

  /// - Returns: false at the end of the picture.
  private mutating func readMarker() throws(PictureCleaning.Refusal) -> Bool {
    guard try parts.byte() == 0xFF else { throw .malformed }
    var marker = try parts.byte()
    while marker == 0xFF { marker = try parts.byte() }  // Fill bytes.
    if marker == 0xD9 {
      kept += [0xFF, 0xD9]
      return false
    }
    // Markers without a length have no business here.
    guard marker >= 0xC0, !(0xD0...0xD8).contains(marker) else { throw .malformed }
    let length = try parts.bigEndian(2)
    guard length >= 2 else { throw .malformed }
    try take(marker, try parts.take(length - 2))
    return true
  }

  private mutating func take(_ marker: UInt8, _ payload: ArraySlice<UInt8>) throws(PictureCleaning.Refusal) {
    switch marker {
    case 0xE0...0xEF, 0xFE: takeNote(marker, payload)
    case 0xC4, 0xCC, 0xDB: kept += Self.segment(marker, payload)
    case 0xDD:
      guard payload.count == 2 else { throw .malformed }
      kept += Self.segment(marker, payload)
    case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF: try takeFrame(marker, payload)
    case 0xDA:
      // A scan of 1 to 4 components.
      guard size != nil, let count = payload.first, (1...4).contains(count), payload.count == 4 + 2 * Int(count) else {
        throw .malformed
      }
      kept += Self.segment(marker, payload)
      hasScan = true
      try takeScan()
    default: throw .malformed  // Hierarchical files, lines counted afterwards, extensions.
    }
  }

  private mutating func takeNote(_ marker: UInt8, _ payload: ArraySlice<UInt8>) {
    if hasScan { return }
    switch marker {
    case 0xE0:
      // Version, density; then a preview, which goes.
      if jfif == nil, payload.begins(with: "JFIF\u{0}"), payload.count >= 14 { jfif = payload.prefix(12) + [0, 0] }
    case 0xE1:
      if orientation == nil, payload.begins(with: "Exif\u{0}") {
        orientation = PictureOrientation.read(payload.dropFirst(6))
      }
    case 0xE2: if payload.begins(with: "ICC_PROFILE\u{0}") { kept += Self.segment(marker, payload) }
    case 0xEE:
      if payload.begins(with: "Adobe"), payload.count >= 12 { kept += Self.segment(marker, payload.prefix(12)) }
    default: break
    }
  }

  private mutating func takeFrame(_ marker: UInt8, _ payload: ArraySlice<UInt8>) throws(PictureCleaning.Refusal) {
    guard size == nil, payload.count >= 9 else { throw .malformed }
    let bytes = Array(payload)
    let (height, width) = (Int(bytes[1]) << 8 | Int(bytes[2]), Int(bytes[3]) << 8 | Int(bytes[4]))
    guard (1...4).contains(bytes[5]), bytes.count == 6 + 3 * Int(bytes[5]), width > 0, height > 0 else {
      throw .malformed
    }
    size = (width, height)
    kept += Self.segment(marker, payload)
  }

  /// Takes the coded pixels of a scan, up to the next marker that does not belong to them.
  private mutating func takeScan() throws(PictureCleaning.Refusal) {
    while true {
      let byte = try parts.byte()
      guard byte == 0xFF else {
        kept.append(byte)
        continue
      }
      var code = try parts.byte()
      while code == 0xFF { code = try parts.byte() }  // Fill bytes.
      guard code == 0 || (0xD0...0xD7).contains(code) else {
        // The marker is read again by whoever reads markers: its two bytes are the last that were read.
        return parts.goBack(2)
      }
      kept += [0xFF, code]
    }
  }
}
