/// A picture without what may tell where, when and with what it was made: pure, and bounded by the picture's size.
///
/// What is kept is what is needed to show it: a list of parts for each format, everything else goes. So a part that
/// nobody has thought of goes too. The picture itself is not decoded, so that it loses nothing. How it is to be turned
/// is kept, in a part that says only that (``PictureOrientation``).
///
/// | Format | Kept, beside the orientation |
/// |---|---|
/// | JPEG | tables, frame, scans; JFIF without its preview, the ICC profile, Adobe's note on colours |
/// | PNG | header, palette, pixels, transparency, colours, animation |
/// | WebP | header, frames with their transparency, the ICC profile, animation |
///
/// So Exif, XMP, IPTC, texts, times, further pictures and what follows the end go.
///
/// Cleaning what is clean changes nothing.
enum PictureCleaning {
  struct Result: Sendable, Equatable {
    var bytes: [UInt8]
    var format: PictureFormat
    /// Pixels, as they stand in the file, before it is turned.
    var width: Int
    var height: Int
  }

  /// The picture is not taken. The text is a sentence for whoever sent it.
  struct Refusal: Error, Equatable {
    var sentence: String

    static let malformed = Refusal(
      sentence: "the picture's file is damaged, or of a kind that is not taken; save it anew and upload that")
    static let cutOff = Refusal(sentence: "the picture's file ends too early; upload all of it")

    static func tooLarge(_ most: Int) -> Refusal {
      Refusal(sentence: "a picture has at most \(most) pixels a side; make it smaller")
    }
  }

  /// The formats of which every part is known that may tell of a place.
  static func takes(_ format: PictureFormat) -> Bool { format != .heic }

  /// - Parameters:
  ///   - bytes: a whole file, whatever it holds.
  ///   - mostPixels: a side.
  static func clean(_ bytes: [UInt8], mostPixels: Int) throws(Refusal) -> Result {
    let format = PictureFormat(firstBytes: bytes)
    let cleaned: (bytes: [UInt8], width: Int, height: Int)
    switch format {
    case .jpeg: cleaned = try JPEGCleaning.clean(bytes)
    case .png: cleaned = try PNGCleaning.clean(bytes)
    case .webP: cleaned = try WebPCleaning.clean(bytes, mostPixels: mostPixels)
    case .heic, nil: throw .malformed
    }
    guard let format, cleaned.width > 0, cleaned.height > 0 else { throw .malformed }
    guard cleaned.width <= mostPixels, cleaned.height <= mostPixels else { throw .tooLarge(mostPixels) }
    return Result(bytes: cleaned.bytes, format: format, width: cleaned.width, height: cleaned.height)
  }
}

/// Reads a file from its beginning to its end, and never beyond.
struct PictureParts {
  private let bytes: [UInt8]
  private(set) var offset: Int
  let end: Int

  /// - Parameter range: lies within the bytes.
  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    offset = range.lowerBound
    end = range.upperBound
  }

  var isAtEnd: Bool { offset >= end }
  var left: Int { end - offset }

  /// The next byte, which is still to be read; nil at the end.
  var next: UInt8? { offset < end ? bytes[offset] : nil }

  /// Goes back by bytes that were read.
  mutating func goBack(_ count: Int) { offset -= count }

  mutating func byte() throws(PictureCleaning.Refusal) -> UInt8 {
    guard offset < end else { throw .cutOff }
    defer { offset += 1 }
    return bytes[offset]
  }

  /// A number of so many bytes, the first of them worth most.
  mutating func bigEndian(_ count: Int) throws(PictureCleaning.Refusal) -> Int {
    var number = 0
    for _ in 0..<count { number = number << 8 | Int(try byte()) }
    return number
  }

  mutating func littleEndian(_ count: Int) throws(PictureCleaning.Refusal) -> Int {
    var number = 0
    for place in 0..<count { number |= Int(try byte()) << (8 * place) }
    return number
  }

  mutating func take(_ count: Int) throws(PictureCleaning.Refusal) -> ArraySlice<UInt8> {
    guard count >= 0, count <= left else { throw .cutOff }
    defer { offset += count }
    return bytes[offset..<(offset + count)]
  }
}

extension [UInt8] {
  mutating func append(bigEndian number: Int, bytes count: Int) {
    for place in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: number >> (8 * place))) }
  }

  mutating func append(littleEndian number: Int, bytes count: Int) {
    for place in 0..<count { append(UInt8(truncatingIfNeeded: number >> (8 * place))) }
  }
}

extension Sequence<UInt8> {
  func isText(_ text: StaticString) -> Bool { text.withUTF8Buffer { unsafe elementsEqual($0) } }
  func begins(with text: StaticString) -> Bool { text.withUTF8Buffer { unsafe starts(with: $0) } }
}
