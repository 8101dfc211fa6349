/// How a picture is to be turned to be shown: the one thing of Exif (CIPA DC-008, section 4.6.5) that is kept.
enum PictureOrientation {
  private static let tag = 0x0112

  /// The orientation that an Exif block holds, from 2 to 8; nil: it has none, is upright as it is, or cannot be read.
  ///
  /// - Parameter tiff: the block from its byte order on.
  static func read(_ tiff: ArraySlice<UInt8>) -> Int? {
    let bytes = Array(tiff)
    let isBig: Bool
    if bytes.begins(with: "MM\u{0}*") {
      isBig = true
    } else if bytes.begins(with: "II*\u{0}") {
      isBig = false
    } else {
      return nil
    }
    func number(_ offset: Int, _ count: Int) -> Int? {
      guard offset >= 0, offset <= bytes.count - count else { return nil }
      var parts = PictureParts(bytes, offset..<(offset + count))
      return isBig ? try? parts.bigEndian(count) : try? parts.littleEndian(count)
    }
    guard let directory = number(4, 4), let count = number(directory, 2) else { return nil }
    // The count has two bytes, so the loop is short.
    for index in 0..<count {
      let entry = directory + 2 + 12 * index
      guard let name = number(entry, 2) else { return nil }
      if name != tag { continue }
      guard number(entry + 2, 2) == 3, number(entry + 4, 4) == 1, let value = number(entry + 8, 2) else { return nil }
      return (2...8).contains(value) ? value : nil
    }
    return nil
  }

  /// An Exif block that holds an orientation and nothing else.
  static func block(_ orientation: Int) -> [UInt8] {
    var block = Array("MM\u{0}*".utf8)
    block.append(bigEndian: 8, bytes: 4)
    block.append(bigEndian: 1, bytes: 2)
    block.append(bigEndian: tag, bytes: 2)
    block.append(bigEndian: 3, bytes: 2)
    block.append(bigEndian: 1, bytes: 4)
    block.append(bigEndian: orientation, bytes: 2)
    block.append(bigEndian: 0, bytes: 2)
    block.append(bigEndian: 0, bytes: 4)
    return block
  }
}
