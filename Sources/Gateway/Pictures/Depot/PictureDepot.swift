import Wire

/// Where whole pictures are kept: a folder, or a bucket of an object store. Uploads that are not whole are no matter of
/// it: they stand in the gateway's folder.
///
/// A picture stands under its id as long as somebody may see it. What moderators keep of it stands apart, by its upload,
/// since the id is free again then.
///
/// Waits for the disk or the store: called on threads that may wait, any number of them.
protocol PictureDepot: Sendable {
  /// Whether all gateways see each other's uploads that are not whole, because depot and uploads are in one folder.
  var sharesUploads: Bool { get }
  /// For the operator: a picture that may be seen is not here, and why that may be so.
  var absence: String { get }
  /// Why nothing can be found here, whatever it is; nil: it can. The text is a sentence.
  var blindness: String? { get }

  /// A picture that is here as a whole.
  ///
  /// - Parameters:
  ///   - upload: the upload that is meant, which may be kept for moderators alone; nil: whatever stands under the id.
  ///   - key: of the upload: tells which of several is meant. Nil: any of them will do.
  ///   - window: what was read ahead for the same reader, and how much to read ahead.
  /// - Throws: ``PictureFault/missing`` where there is none.
  func open(_ id: String, _ upload: [UInt8]?, key: [UInt8]?, _ window: PictureWindow) throws -> any WholePicture

  /// Takes a whole picture in. When it returns, every gateway finds the picture, and it outlives a
  /// power cut.
  ///
  /// - Parameters:
  ///   - path: of its file, which is durable. A depot that is no folder leaves it.
  ///   - isKept: for moderators alone.
  func take(_ path: String, id: String, isKept: Bool) throws

  /// Takes back what was taken in a moment ago: its upload was ended meanwhile.
  ///
  /// - Returns: whether it is gone.
  func takeBack(_ id: String, _ upload: [UInt8]) -> Bool

  /// Deletes what stands under the id, but keeps these uploads for moderators.
  ///
  /// - Returns: whether nothing is left under the id.
  func remove(_ id: String, keeping uploads: [[UInt8]]) -> Bool

  /// Deletes what was kept for moderators.
  ///
  /// - Returns: whether it is gone.
  func release(_ id: String, _ upload: [UInt8]) -> Bool

  /// Makes durable what was removed and released before.
  func sync() throws

  /// All pictures that are here, of an id or of any.
  func pictures(_ id: String?) throws -> [StoredPicture]

  /// For which app a picture is that is here; nil: none is, or it cannot be read now.
  func purpose(of picture: StoredPicture) -> PicturePurpose?

  /// What has to be deleted so that nothing of these users is left.
  ///
  /// - Throws: where that cannot be said for all that is here.
  func pictures(ofOneOf users: [String]) throws -> [PictureFate]

  /// Nothing is asked of it any more.
  func close()
}

extension PictureDepot {
  func take(_ path: String, id: String) throws { try take(path, id: id, isKept: false) }
}

/// A picture that is here as a whole, to be read.
protocol WholePicture {
  var header: PictureFile.Header { get }
  /// Of the file with all its chunks.
  var fileBytes: Int { get }
  /// - Returns: fewer bytes only where the file ends.
  func bytes(at offset: Int, count: Int) throws -> [UInt8]
}
