/// The format of a picture, told by its first bytes: what a request says of it counts for nothing.
enum PictureFormat: String, Sendable, CaseIterable {
  case jpeg = "image/jpeg"
  case png = "image/png"
  case webP = "image/webp"
  case heic = "image/heic"

  /// Nil where the bytes begin none of these formats.
  init?(firstBytes bytes: some RandomAccessCollection<UInt8>) {
    func has(_ text: String, at offset: Int) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if has("RIFF", at: 0) && has("WEBP", at: 8) {
      self = .webP
    } else if has("ftyp", at: 4) && Self.heicBrands.contains(where: { has($0, at: 8) }) {
      self = .heic
    } else {
      return nil
    }
  }

  /// The major brands of HEIF files that hold still pictures (ISO/IEC 23008-12).
  private static let heicBrands = ["heic", "heix", "heim", "heis", "mif1"]
}
