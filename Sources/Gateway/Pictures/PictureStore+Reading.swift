import Cryptography

/// Giving pictures out.
extension PictureStore {
  /// The size of a picture that is here as a whole, and its entity tag.
  ///
  /// - Throws: ``PictureFault/missing`` also where it is one of another app.
  func outline(id: String, for purpose: PicturePurpose = .state) throws -> (total: Int, tag: String) {
    let file = try OpenPicture.reading(path(id))
    let header = try file.header()
    guard header.purpose == purpose else { throw PictureFault.missing }
    // A file that was cut off is found out before the first byte is given out, not in the middle.
    guard try file.size == header.layout.fileBytes(ofPicture: header.total) else { throw PictureFault.damaged }
    return (header.total, header.entityTag)
  }

  /// One chunk of a picture, decrypted.
  func chunk(_ index: Int, of id: String, key: [UInt8]) throws -> [UInt8] {
    let file = try OpenPicture.reading(path(id))
    var key = SecretKey(key)
    if try file.header().purpose == .clique { key = PictureFile.cleanedKey(key) }
    return try Self.chunk(index, of: file, id: id, key: key)
  }

  /// For which app a picture is that is here as a whole; nil: none is, or its file cannot be read.
  func purpose(of picture: StoredPicture) -> PicturePurpose? {
    let paths = (picture.stands ? [path(picture.id)] : []) + picture.kept.map { keptPath(picture.id, $0) }
    for path in paths {
      if let header = try? OpenPicture.reading(path).header() { return header.purpose }
    }
    return nil
  }

  static func chunk(
    _ index: Int, of file: borrowing OpenPicture, id: String, key: SecretKey
  ) throws -> [UInt8] {
    let header = try file.header()
    let count = min(PictureFile.chunkBytes, header.total - index * PictureFile.chunkBytes)
    guard count > 0 else { throw PictureFault.damaged }
    let sealed = try file.bytes(
      at: header.layout.place(ofChunk: index), count: count + header.layout.overheadBytes)
    let isLast = index == PictureFile.chunkCount(ofPicture: header.total) - 1
    return try PictureFile.unseal(sealed, index: index, isLast: isLast, id: id, key: key, header.layout)
  }
}
