import Cryptography

/// Giving pictures out.
extension PictureStore {
  /// The size of a picture that is here as a whole, and its entity tag.
  ///
  /// - Parameters:
  ///   - key: of the picture, where it is known.
  ///   - window: of whoever reads the picture next.
  /// - Throws: ``PictureFault/missing`` also where it is one of another app.
  func outline(
    id: String, for purpose: PicturePurpose = .state, key: [UInt8]? = nil, _ window: PictureWindow = PictureWindow()
  ) throws -> (total: Int, tag: String) {
    let picture = try depot.open(id, nil, key: key, window)
    guard picture.header.purpose == purpose else { throw PictureFault.missing }
    // A file that was cut off is found out before the first byte is given out, not in the middle.
    guard picture.fileBytes == picture.header.layout.fileBytes(ofPicture: picture.header.total) else {
      throw PictureFault.damaged
    }
    return (picture.header.total, picture.header.entityTag)
  }

  /// One chunk of a picture, decrypted.
  ///
  /// - Parameter window: the same for all chunks that somebody reads.
  func chunk(
    _ index: Int, of id: String, key: [UInt8], _ window: PictureWindow = PictureWindow(chunks: 1)
  ) throws -> [UInt8] {
    let picture = try depot.open(id, nil, key: key, window)
    return try Self.chunk(index, of: picture, id: id, key: Self.fileKey(SecretKey(key), picture.header))
  }

  /// For which app a picture is that is here as a whole; nil: none is, or its file cannot be read.
  func purpose(of picture: StoredPicture) -> PicturePurpose? { depot.purpose(of: picture) }

  /// The key that a picture's chunks are encrypted under.
  ///
  /// - Parameter key: of its upload, as the broker has it.
  static func fileKey(_ key: SecretKey, _ header: PictureFile.Header) -> SecretKey {
    header.purpose == .clique ? PictureFile.cleanedKey(key) : key
  }

  static func chunk(_ index: Int, of picture: any WholePicture, id: String, key: SecretKey) throws -> [UInt8] {
    let place = try PictureFile.place(ofChunk: index, picture.header)
    let sealed = try picture.bytes(at: place.lowerBound, count: place.count)
    return try PictureFile.unseal(sealed, index: index, of: picture.header, id: id, key: key)
  }

  /// A chunk of an upload that is not whole, or of what is being cleaned.
  static func chunk(
    _ index: Int, of file: borrowing OpenPicture, id: String, key: SecretKey
  ) throws -> [UInt8] {
    let header = try file.header()
    let place = try PictureFile.place(ofChunk: index, header)
    let sealed = try file.bytes(at: place.lowerBound, count: place.count)
    return try PictureFile.unseal(sealed, index: index, of: header, id: id, key: key)
  }
}
