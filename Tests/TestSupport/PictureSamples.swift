/// Files of pictures with all that may tell of a place, and the same without: as far as whoever cleans them looks. No
/// pixels could be decoded from them.
public struct PictureSample: Sendable {
  /// With metadata, each of which holds ``secret``, and more behind the picture's end.
  public let dirty: [UInt8]
  /// What is left of it: pixels, colours, and how to turn it.
  public let clean: [UInt8]
  public let type: String
  public let width: Int
  public let height: Int
  /// Where the picture ends; what follows is no part of it.
  public let end: Int

  /// Stands in all metadata, and nowhere else.
  public static let secret = Array("48.2082N,16.3738E".utf8)

  /// A byte that pixels are made of: never 0xFF, so that no marker is among them by chance.
  private static func pixels(_ count: Int, _ seed: UInt64) -> [UInt8] {
    var generator = SeededGenerator(seed: seed)
    return (0..<count).map { _ in UInt8.random(in: 0...0xFE, using: &generator) }
  }

  private static func bigEndian(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  private static func littleEndian(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  /// An Exif block with a place, a device and an orientation, in the byte order of most phones.
  private static func exif(_ orientation: Int) -> [UInt8] {
    func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: [UInt8]) -> [UInt8] {
      littleEndian(tag, 2) + littleEndian(type, 2) + littleEndian(count, 4) + value
    }
    let secret = secret
    let directory =
      entry(0x010F, 2, secret.count, littleEndian(50, 4)) + entry(0x0112, 3, 1, littleEndian(orientation, 4))
      + entry(0x8825, 4, 1, littleEndian(50 + secret.count, 4))
    return Array("II*\u{0}".utf8) + littleEndian(8, 4) + littleEndian(3, 2) + directory + littleEndian(0, 4) + secret
      + littleEndian(1, 2) + entry(2, 5, 3, littleEndian(0, 4)) + littleEndian(0, 4) + secret
  }

  /// An Exif block with the orientation alone.
  private static func upright(_ orientation: Int) -> [UInt8] {
    Array("MM\u{0}*".utf8) + bigEndian(8, 4) + bigEndian(1, 2) + bigEndian(0x0112, 2) + bigEndian(3, 2)
      + bigEndian(1, 4)
      + bigEndian(orientation, 2) + bigEndian(0, 2) + bigEndian(0, 4)
  }

  // MARK: JPEG

  private static func segment(_ marker: UInt8, _ payload: [UInt8]) -> [UInt8] {
    [0xFF, marker] + bigEndian(payload.count + 2, 2) + payload
  }

  /// - Parameters:
  ///   - orientation: 1: as it is.
  ///   - pixels: bytes of coded pixels, of both scans together.
  public static func jpeg(
    width: Int = 640, height: Int = 480, orientation: Int = 6, pixels count: Int = 300, seed: UInt64 = 1
  ) -> PictureSample {
    let start: [UInt8] = [0xFF, 0xD8]
    let preview = pixels(3, seed)
    let jfif = Array("JFIF\u{0}".utf8) + [1, 2, 0, 0, 1, 0, 1]
    let exif = Array("Exif\u{0}\u{0}".utf8)
    let profile = segment(0xE2, Array("ICC_PROFILE\u{0}".utf8) + [1, 1] + pixels(40, seed + 1))
    let adobe = Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 1]
    let tables = segment(0xDB, [0] + [UInt8](repeating: 16, count: 64))
    let frame = segment(0xC2, [8] + bigEndian(height, 2) + bigEndian(width, 2) + [1, 1, 0x11, 0])
    let codes = segment(0xC4, [0] + [UInt8](repeating: 0, count: 16))
    let scan = segment(0xDA, [1, 1, 0, 0, 63, 0])
    let first = pixels(count / 2, seed + 2) + [0xFF, 0x00, 0xFF, 0xD3] + pixels(7, seed + 3)
    let second = pixels(count - count / 2, seed + 4) + [0xFF, 0x00]
    let image = frame + codes + scan + first + codes + scan + second + [0xFF, 0xD9]
    let dirty =
      start + segment(0xE0, jfif + [1, 1] + preview)
      + segment(0xE0, Array("JFXX\u{0}".utf8) + secret)
      + segment(0xE1, exif + Self.exif(orientation))
      + segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\u{0}".utf8) + secret) + profile
      + segment(0xE2, Array("MPF\u{0}".utf8) + secret) + segment(0xED, Array("Photoshop 3.0\u{0}".utf8) + secret)
      + segment(0xFE, secret) + segment(0xEE, adobe + secret) + segment(0xE7, secret) + [0xFF] + tables + image
    let turned = (2...8).contains(orientation) ? segment(0xE1, exif + upright(orientation)) : []
    let clean = start + segment(0xE0, jfif + [0, 0]) + turned + profile + segment(0xEE, adobe) + tables + image
    return PictureSample(
      dirty: dirty + start + secret, clean: clean, type: "image/jpeg", width: width, height: height, end: dirty.count)
  }

  // MARK: PNG

  private static func part(_ name: String, _ data: [UInt8]) -> [UInt8] {
    var code: UInt32 = 0xFFFF_FFFF
    for byte in Array(name.utf8) + data {
      code ^= UInt32(byte)
      for _ in 0..<8 { code = code & 1 == 1 ? code >> 1 ^ 0xEDB8_8320 : code >> 1 }
    }
    return bigEndian(data.count, 4) + Array(name.utf8) + data + bigEndian(Int(~code), 4)
  }

  public static func png(
    width: Int = 640, height: Int = 480, orientation: Int = 6, pixels count: Int = 300, seed: UInt64 = 1
  ) -> PictureSample {
    let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    let header = part("IHDR", bigEndian(width, 4) + bigEndian(height, 4) + [8, 3, 0, 0, 0])
    let colours = part("gAMA", bigEndian(45_455, 4)) + part("PLTE", [1, 2, 3, 4, 5, 6]) + part("tRNS", [0])
    let image = part("IDAT", pixels(count / 2, seed)) + part("IDAT", pixels(count - count / 2, seed + 1))
    let notes =
      part("tEXt", Array("Comment\u{0}".utf8) + secret) + part("eXIf", exif(orientation))
      + part("iTXt", Array("XML:com.adobe.xmp\u{0}\u{0}\u{0}\u{0}\u{0}".utf8) + secret)
      + part("tIME", [7, 234, 1, 1, 0, 0, 0]) + part("prVt", secret) + part("sRGB", secret)
    let turned = (2...8).contains(orientation) ? part("eXIf", upright(orientation)) : []
    let dirty = signature + header + notes + colours + image + part("zTXt", secret) + part("IEND", [])
    return PictureSample(
      dirty: dirty + secret, clean: signature + header + colours + image + turned + part("IEND", []),
      type: "image/png", width: width, height: height, end: dirty.count)
  }

  // MARK: WebP

  private static func riff(_ name: String, _ data: [UInt8]) -> [UInt8] {
    Array(name.utf8) + littleEndian(data.count, 4) + data + (data.count % 2 == 1 ? [0] : [])
  }

  private static func file(_ parts: [UInt8]) -> [UInt8] {
    Array("RIFF".utf8) + littleEndian(parts.count + 4, 4) + Array("WEBP".utf8) + parts
  }

  private static func lossy(_ width: Int, _ height: Int, _ count: Int, _ seed: UInt64) -> [UInt8] {
    riff(
      "VP8 ", [0x10, 0, 0, 0x9D, 0x01, 0x2A] + littleEndian(width, 2) + littleEndian(height, 2) + pixels(count, seed))
  }

  public enum WebPKind: Sendable, CaseIterable { case lossy, lossless, extended, animated }

  public static func webP(
    _ kind: WebPKind = .extended, width: Int = 640, height: Int = 480, orientation: Int = 6, pixels count: Int = 301,
    seed: UInt64 = 1
  ) -> PictureSample {
    let notes =
      riff("EXIF", exif(orientation)) + riff("XMP ", secret) + riff("abcd", secret)
    func header(_ flags: UInt8) -> [UInt8] {
      riff("VP8X", [flags, 0, 0, 0] + littleEndian(width - 1, 3) + littleEndian(height - 1, 3))
    }
    let turned = (2...8).contains(orientation) ? riff("EXIF", upright(orientation)) : []
    let exifFlag: UInt8 = turned.isEmpty ? 0 : 0x08
    let dirty: [UInt8]
    let clean: [UInt8]
    switch kind {
    case .lossy:
      let image = lossy(width, height, count, seed)
      (dirty, clean) = (file(image + notes), file(image))
    case .lossless:
      let size = littleEndian((height - 1) << 14 | (width - 1), 4)
      let image = riff("VP8L", [0x2F] + size + pixels(count, seed))
      (dirty, clean) = (file(image + notes), file(image))
    case .extended:
      let image = riff("ICCP", pixels(21, seed)) + riff("ALPH", pixels(9, seed)) + lossy(width, height, count, seed)
      (dirty, clean) = (file(header(0xFF) + image + notes), file(header(0x32 | exifFlag) + image + turned))
    case .animated:
      let place = littleEndian(0, 6) + littleEndian(width - 1, 3) + littleEndian(height - 1, 3) + [100, 0, 0, 0]
      let image = lossy(width, height, count, seed)
      let loop = riff("ANIM", [0, 0, 0, 0, 1, 0])
      dirty = file(header(0x0E) + loop + riff("ANMF", place + image + riff("wxyz", secret)) + notes)
      clean = file(header(0x02 | exifFlag) + loop + riff("ANMF", place + image) + turned)
    }
    return PictureSample(
      dirty: dirty + secret, clean: clean, type: "image/webp", width: width, height: height, end: dirty.count)
  }

  public static let all = [jpeg(), png()] + WebPKind.allCases.map { webP($0) }

  /// Whether the bytes hold the secret.
  public static func tells(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= secret.count else { return false }
    return (0...(bytes.count - secret.count)).contains { start in
      bytes[start] == secret[0] && bytes[start..<(start + secret.count)].elementsEqual(secret)
    }
  }
}
