import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Whole pictures in a folder: each is a file under its id, beside the uploads. All gateways of a broker, and the broker,
/// share it.
struct FolderDepot: PictureDepot {
  let folder: String

  var sharesUploads: Bool { true }
  var absence: String {
    "a picture that may be seen is not in the folder of pictures; all gateways of a broker need the same one: set state.picture_directory"
  }
  /// A broker that was given another folder than its gateways must not say that all pictures are lost.
  var blindness: String? {
    if unsafe access(folder, F_OK) == 0 { return nil }
    return "the folder of the pictures is not here: set state.picture_directory of the broker to that of its gateways"
  }

  private func path(_ id: String) -> String { folder + "/" + id }
  private func keptPath(_ id: String, _ upload: [UInt8]) -> String { path(KeptPictureName(id, upload).name) }

  func open(_ id: String, _ upload: [UInt8]?, key: [UInt8]?, _ window: PictureWindow) throws -> any WholePicture {
    guard let upload else { return try FolderPicture(path(id)) }
    // Under its id first: it may get the other name in between, and never the other way round.
    do {
      let picture = try FolderPicture(path(id))
      if picture.header.upload == upload { return picture }
    } catch PictureFault.missing {}
    return try FolderPicture(keptPath(id, upload))
  }

  /// A file that is kept for moderators gets its name when the picture goes, and not here.
  func take(_ path: String, id: String, isKept: Bool) throws { try PictureFolder.move(path, to: self.path(id)) }

  func takeBack(_ id: String, _ upload: [UInt8]) -> Bool {
    // The name was given while the upload's file was locked, and whoever ended the upload deleted that file.
    true
  }

  func remove(_ id: String, keeping uploads: [[UInt8]]) -> Bool {
    do { try keep(id, of: uploads) } catch {
      // What the disk does not take now is not deleted, so that it can be kept later.
      return false
    }
    return PictureFolder.remove(path(id))
  }

  /// Gives a picture's file the name under which it is kept for moderators, if it is one of these uploads.
  private func keep(_ id: String, of uploads: [[UInt8]]) throws {
    if uploads.isEmpty { return }
    do {
      let header = try OpenPicture.reading(path(id)).header()
      if uploads.contains(header.upload) { try PictureFolder.move(path(id), to: keptPath(id, header.upload)) }
    } catch PictureFault.missing, PictureFault.damaged {
      // Nothing is there that anybody could look at.
    }
  }

  func release(_ id: String, _ upload: [UInt8]) -> Bool { PictureFolder.remove(keptPath(id, upload)) }

  func sync() throws { try PictureFolder.sync(folder) }

  func pictures(_ id: String?) throws -> [StoredPicture] {
    var pictures: [String: StoredPicture] = [:]
    for name in try PictureFolder.names(in: folder) {
      if PictureRequest.isID(name) {
        pictures[name, default: StoredPicture(id: name)].stands = true
      } else if let kept = KeptPictureName(name) {
        pictures[kept.id, default: StoredPicture(id: kept.id)].kept.append(kept.upload)
      }
    }
    return pictures.values.filter { id == nil || $0.id == id }.sorted { $0.id < $1.id }
  }

  func purpose(of picture: StoredPicture) -> PicturePurpose? {
    let paths = (picture.stands ? [path(picture.id)] : []) + picture.kept.map { keptPath(picture.id, $0) }
    for path in paths {
      if let header = try? OpenPicture.reading(path).header() { return header.purpose }
    }
    return nil
  }

  func pictures(ofOneOf users: [String]) throws -> [PictureFate] {
    try PictureFolder.names(in: folder).compactMap { name in
      let kept = KeptPictureName(name)
      let id = kept?.id ?? name
      guard PictureRequest.isID(id), try PictureFolder.isFile(path(name), ofPicture: id, ofOneOf: users) else {
        return nil
      }
      return PictureFate(id: id, isGone: kept == nil, released: kept.map { [$0.upload] } ?? [])
    }
  }

  func close() {}
}

/// A picture's file, open as long as somebody has this.
private final class FolderPicture: WholePicture {
  private let file: OpenPicture
  let header: PictureFile.Header
  let fileBytes: Int

  init(_ path: String) throws {
    let file = try OpenPicture.reading(path)
    header = try file.header()
    fileBytes = try file.size
    self.file = file
  }

  func bytes(at offset: Int, count: Int) throws -> [UInt8] { try file.bytes(at: offset, count: count) }
}
