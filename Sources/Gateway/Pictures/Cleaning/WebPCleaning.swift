/// Cleans a WebP file (RFC 9649).
struct WebPCleaning {
  private let mostPixels: Int
  private var kept: [UInt8] = []
  private var size: (width: Int, height: Int)?
  private var hasHeader = false
  private var hasPixels = false
  private var orientation: Int?
  /// Where the header's flags stand in ``kept``.
  private var flags = 0

  private static let hasExif: UInt8 = 0x08
  /// ICC profile, transparency, animation.
  private static let keptFlags: UInt8 = 0x32

  static func clean(
    _ bytes: [UInt8], mostPixels: Int
  ) throws(PictureCleaning.Refusal) -> (bytes: [UInt8], width: Int, height: Int) {
    var outer = PictureParts(bytes, 0..<bytes.count)
    guard try outer.take(4).isText("RIFF") else { throw .malformed }
    let length = try outer.littleEndian(4)
    guard length >= 12, length <= outer.left else { throw length < 12 ? .malformed : .cutOff }
    var parts = PictureParts(bytes, 8..<(8 + length))
    guard try parts.take(4).isText("WEBP") else { throw .malformed }
    var cleaning = WebPCleaning(mostPixels: mostPixels)
    cleaning.kept.reserveCapacity(bytes.count)
    while !parts.isAtEnd {
      let (name, data) = try part(&parts)
      try cleaning.take(name, data)
    }
    guard let size = cleaning.size, cleaning.hasPixels else { throw .malformed }
    if let orientation = cleaning.orientation, cleaning.hasHeader {
      cleaning.kept[cleaning.flags] |= hasExif
      append("EXIF", PictureOrientation.block(orientation)[...], to: &cleaning.kept)
    }
    var cleaned = Array("RIFF".utf8)
    cleaned.append(littleEndian: cleaning.kept.count + 4, bytes: 4)
    return (cleaned + Array("WEBP".utf8) + cleaning.kept, size.width, size.height)
  }

  private init(mostPixels: Int) { self.mostPixels = mostPixels }

  private static func part(
    _ parts: inout PictureParts
  ) throws(PictureCleaning.Refusal) -> (name: String, data: ArraySlice<UInt8>) {
    let name = String(decoding: try parts.take(4), as: UTF8.self)
    let length = try parts.littleEndian(4)
    let data = try parts.take(length)
    // The last part's padding may be missing.
    if length % 2 == 1, !parts.isAtEnd { _ = try parts.byte() }
    return (name, data)
  }

  static func append(_ name: StaticString, _ data: ArraySlice<UInt8>, to file: inout [UInt8]) {
    file += Array(name.description.utf8)
    file.append(littleEndian: data.count, bytes: 4)
    file += data
    if data.count % 2 == 1 { file.append(0) }
  }

  private mutating func take(_ name: String, _ data: ArraySlice<UInt8>) throws(PictureCleaning.Refusal) {
    switch name {
    case "VP8X": try takeHeader(data)
    case "VP8 ", "VP8L":
      if hasPixels, !hasHeader { return }
      let pixels = try Self.size(name, data)
      try check(pixels)
      if size == nil { size = pixels }
      hasPixels = true
      if name == "VP8 " { Self.append("VP8 ", data, to: &kept) } else { Self.append("VP8L", data, to: &kept) }
    case "ALPH" where hasHeader: Self.append("ALPH", data, to: &kept)
    case "ICCP" where hasHeader: Self.append("ICCP", data, to: &kept)
    case "ANIM" where hasHeader:
      guard data.count == 6 else { throw .malformed }
      Self.append("ANIM", data, to: &kept)
    case "ANMF" where hasHeader: try takeFrame(data)
    case "EXIF":
      // Some writers put before it what stands before it in JPEG.
      let block = data.begins(with: "Exif\u{0}\u{0}") ? data.dropFirst(6) : data
      orientation = orientation ?? PictureOrientation.read(block)
    default:
      // A file begins with its header or its pixels.
      if size == nil { throw .malformed }
    }
  }

  private mutating func takeHeader(_ data: ArraySlice<UInt8>) throws(PictureCleaning.Refusal) {
    guard size == nil, data.count >= 10 else { throw .malformed }
    var header = Array(data.prefix(10))
    var parts = PictureParts(header, 4..<10)
    let (width, height) = (try parts.littleEndian(3) + 1, try parts.littleEndian(3) + 1)
    size = (width, height)
    try check((width, height))
    (header[0], header[1], header[2], header[3]) = (header[0] & Self.keptFlags, 0, 0, 0)
    flags = kept.count + 8
    hasHeader = true
    Self.append("VP8X", header[...], to: &kept)
  }

  /// Takes a frame of an animation, which holds parts itself.
  private mutating func takeFrame(_ data: ArraySlice<UInt8>) throws(PictureCleaning.Refusal) {
    guard data.count > 16 else { throw .malformed }
    var frame = Array(data.prefix(16))
    let inner = Array(data.dropFirst(16))
    var parts = PictureParts(inner, 0..<inner.count)
    var hasImage = false
    while !parts.isAtEnd {
      let (name, data) = try Self.part(&parts)
      switch name {
      case "ALPH": Self.append("ALPH", data, to: &frame)
      case "VP8 ", "VP8L":
        try check(try Self.size(name, data))
        hasImage = true
        if name == "VP8 " { Self.append("VP8 ", data, to: &frame) } else { Self.append("VP8L", data, to: &frame) }
      default: break
      }
    }
    guard hasImage else { throw .malformed }
    hasPixels = true
    Self.append("ANMF", frame[...], to: &kept)
  }

  private func check(_ size: (width: Int, height: Int)) throws(PictureCleaning.Refusal) {
    guard size.width > 0, size.height > 0 else { throw .malformed }
    guard size.width <= mostPixels, size.height <= mostPixels else { throw .tooLarge(mostPixels) }
  }

  /// Pixels of coded pixels.
  private static func size(
    _ name: String, _ data: ArraySlice<UInt8>
  ) throws(PictureCleaning.Refusal) -> (width: Int, height: Int) {
    let bytes = Array(data.prefix(10))
    if name == "VP8L" {
      guard bytes.count >= 5, bytes[0] == 0x2F else { throw .malformed }
      var parts = PictureParts(bytes, 1..<5)
      let packed = try parts.littleEndian(4)
      return ((packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1)
    }
    guard bytes.count == 10, bytes[3...5].elementsEqual([0x9D, 0x01, 0x2A]) else { throw .malformed }
    var parts = PictureParts(bytes, 6..<10)
    return (try parts.littleEndian(2) & 0x3FFF, try parts.littleEndian(2) & 0x3FFF)
  }
}
