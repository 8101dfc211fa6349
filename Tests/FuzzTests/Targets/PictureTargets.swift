@testable import Gateway

/// Files that somebody uploads as a picture.
enum PictureTargets {
  private static let mostPixels = 4_096
  /// What a cleaned picture may have more than the file had: how it is turned, in a form of our own.
  private static let mostAddedBytes = 128

  static func picture(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    guard let cleaned = try? PictureCleaning.clean(input, mostPixels: mostPixels) else { return false }
    try require(
      (1...mostPixels).contains(cleaned.width) && (1...mostPixels).contains(cleaned.height),
      "a picture of \(cleaned.width) times \(cleaned.height) pixels")
    try require(
      cleaned.bytes.count <= input.count + mostAddedBytes, "\(cleaned.bytes.count) bytes came of \(input.count)")
    try require(PictureFormat(firstBytes: cleaned.bytes) == cleaned.format, "cleaning made another format")
    let again = try? PictureCleaning.clean(cleaned.bytes, mostPixels: mostPixels)
    try require(again == cleaned, "cleaning what is clean changes it, or refuses it")
    return true
  }
}
