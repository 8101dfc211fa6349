import Cryptography

/// Cleans uploads that are whole.
///
/// | On disk | After a crash |
/// |---|---|
/// | the upload, whole | it is cleaned when its owner asks again; swept after a while |
/// | the upload, and a part of what is cleaned, or all of it | the same: what is cleaned is written anew |
/// | the broker has the upload's key | the same: the key of what is cleaned follows from it |
/// | what is cleaned has the picture's name; the upload is there | the picture is here; the upload goes at the next request |
///
/// Where no request comes, such an upload goes with the next start of a gateway (``PictureStore/removeTaken(_:)``).
extension PictureStore {
  /// Cleans an upload that is whole, and whose file is locked, into a file of its own that is durable.
  ///
  /// - Throws: ``PictureFault/refused(_:)`` where it cannot be cleaned; the upload is gone then.
  func clean(
    _ upload: borrowing OpenPicture, _ ticket: Ticket, _ key: SecretKey
  ) throws -> PictureCleaning.Result {
    let bytes = try Self.whole(upload, id: ticket.id, key: key)
    let cleaned: PictureCleaning.Result
    do throws(PictureCleaning.Refusal) {
      cleaned = try PictureCleaning.clean(bytes, mostPixels: limits.cliquePixels)
    } catch {
      PictureFolder.remove(cleanPath(ticket.id))
      PictureFolder.remove(partialPath(ticket.id))
      forget(ticket)
      throw PictureFault.refused(error.sentence)
    }
    try write(cleaned, ticket, PictureFile.cleanedKey(key))
    return cleaned
  }

  /// All of a picture: at most as much as its app takes, and of as many at a time as there are threads for the disk.
  private static func whole(_ file: borrowing OpenPicture, id: String, key: SecretKey) throws -> [UInt8] {
    let total = try file.header().total
    var bytes: [UInt8] = []
    bytes.reserveCapacity(total)
    for index in 0..<PictureFile.chunkCount(ofPicture: total) {
      bytes += try chunk(index, of: file, id: id, key: key)
    }
    return bytes
  }

  private func write(_ cleaned: PictureCleaning.Result, _ ticket: Ticket, _ key: SecretKey) throws {
    let total = cleaned.bytes.count
    let header = PictureFile.Header(
      id: ticket.id, user: ticket.user, upload: ticket.upload, total: total, for: .clique, sent: ticket.total)
    let file = try OpenPicture.writing(cleanPath(ticket.id), creates: true)
    try file.write(header.encoded, at: 0)
    let count = PictureFile.chunkCount(ofPicture: total)
    for index in 0..<count {
      let start = index * PictureFile.chunkBytes
      let chunk = Array(cleaned.bytes[start..<min(total, start + PictureFile.chunkBytes)])
      let sealed = try PictureFile.seal(chunk, index: index, isLast: index == count - 1, id: ticket.id, key: key)
      try file.write(sealed, at: header.layout.place(ofChunk: index))
    }
    try file.sync()
  }
}
