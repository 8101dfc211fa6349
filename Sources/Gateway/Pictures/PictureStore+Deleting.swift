import Cryptography
import Synchronization
import Wire

/// A picture that is here as a whole.
struct StoredPicture: Sendable, Equatable {
  var id: String
  /// Its file stands under its id.
  var stands = false
  /// Uploads of the id whose files are kept for moderators.
  var kept: [[UInt8]] = []
  /// For which app it is, where that is known without reading it.
  var purpose: PicturePurpose?

  /// What is to become of it; nil: it stays as it is.
  func fate(by sorted: SortedPictures) -> PictureFate? {
    let wanted = sorted.kept[id] ?? []
    let fate = PictureFate(
      id: id, isGone: stands && sorted.gone.contains(id), kept: wanted, released: kept.filter { !wanted.contains($0) })
    return fate.isGone || !fate.released.isEmpty ? fate : nil
  }
}

/// The name of a file that is kept for moderators: the picture's id, and which upload of it.
struct KeptPictureName: Sendable, Equatable {
  var id: String
  var upload: [UInt8]

  init(_ id: String, _ upload: [UInt8]) { (self.id, self.upload) = (id, upload) }

  /// - Returns: nil where no kept file has such a name.
  init?(_ name: String) {
    guard name.hasSuffix(PictureStore.keptSuffix) else { return nil }
    // An id may have dashes of its own; an upload has always as many digits.
    let stem = name.dropLast(PictureStore.keptSuffix.count)
    var digits = stem.suffix(2 * PictureFile.uploadBytes)
    let id = String(stem.dropLast(digits.count + 1))
    guard PictureRequest.isID(id) else { return nil }
    var upload: [UInt8] = []
    while !digits.isEmpty {
      guard let byte = UInt8(digits.prefix(2), radix: 16) else { return nil }
      upload.append(byte)
      digits = digits.dropFirst(2)
    }
    self.init(id, upload)
    if self.name != name { return nil }
  }

  var name: String { id + "-" + upload.hexadecimal + PictureStore.keptSuffix }
}

/// Deleting pictures, and keeping what was reported.
extension PictureStore {
  /// Does what is to become of pictures. Ids that are not here are passed over.
  ///
  /// - Returns: what is not done, or may be undone after a power cut.
  @discardableResult
  func decide(_ fates: [PictureFate]) -> [PictureFate] {
    let fates = fates.filter { PictureRequest.isID($0.id) }
    var left = fates.filter { fate in
      let isReleased = fate.released.reduce(true) { release(fate.id, $1) && $0 }
      return !(!fate.isGone || remove(fate.id, keeping: fate.kept)) || !isReleased
    }
    do {
      try depot.sync()
      try former?.sync()
    } catch { left = fates }
    return left
  }

  /// - Returns: whether nothing is left under the id.
  private func remove(_ id: String, keeping uploads: [[UInt8]]) -> Bool {
    // An upload that goes on at this moment ends at its next chunk. Before the picture is looked for: whoever gives it its
    // place at this moment looks for its upload after, so that one of the two finds out.
    contents.withLock { _ = $0.partials.removeValue(forKey: id) }
    guard depot.remove(id, keeping: uploads), former?.remove(id, keeping: uploads) ?? true else { return false }
    let isCleanGone = PictureFolder.remove(cleanPath(id))
    return PictureFolder.remove(partialPath(id)) && isCleanGone
  }

  private func release(_ id: String, _ upload: [UInt8]) -> Bool {
    let isGone = depot.release(id, upload)
    return (former?.release(id, upload) ?? true) && isGone
  }

  /// Deletes what there is of a user's upload that is not whole. One that goes on at this moment ends at its next chunk.
  ///
  /// - Throws: where its file cannot be read now.
  func discardUpload(id: String, user: String, for purpose: PicturePurpose = .state) throws {
    guard let (header, _) = try partial(id), header.isOf(user, id: id), header.purpose == purpose else { return }
    contents.withLock { _ = $0.partials.removeValue(forKey: id) }
    PictureFolder.remove(cleanPath(id))
    PictureFolder.remove(partialPath(id))
    try PictureFolder.sync(folder)
  }

  /// Deletes the files of all pictures that these users have sent, whole or not, whatever the broker knows of them.
  ///
  /// - Throws: where one of them is still there, or may be.
  func forget(_ users: [String]) throws {
    // First the uploads: one that gets its place meanwhile is found there.
    var theirs: [PictureFate] = []
    for name in try PictureFolder.names(in: folder) where Self.suffixes.contains(where: { name.hasSuffix($0) }) {
      let id = Self.id(ofFile: name)
      guard PictureRequest.isID(id),
        try PictureFolder.isFile(folder + "/" + name, ofPicture: id, ofOneOf: users)
      else { continue }
      theirs.append(PictureFate(id: id, isGone: true, released: []))
    }
    theirs += try depot.pictures(ofOneOf: users)
    theirs += try former?.pictures(ofOneOf: users) ?? []
    if !decide(theirs).isEmpty { throw PictureFault.system("files that are still there") }
  }

  /// All pictures that were taken in and are here: what stands under the ids, and what is kept of them.
  func finished() throws -> [StoredPicture] { try depot.pictures(nil) }

  /// Pictures of which the depot may have taken in what nobody was told of, because it did not answer in time: whether they
  /// are wanted is asked of the broker for as long as an upload lives.
  func doubted() throws -> [StoredPicture] {
    let now = clock()
    let ids = contents.withLock { contents in
      contents.doubted = contents.doubted.filter { now - $0.value < limits.partialLifetimeSeconds }
      return contents.doubted.keys.sorted()
    }
    return try ids.flatMap { try depot.pictures($0) }
  }

  /// Moves whole pictures that lie in the folder into a depot that is no folder. Another gateway of the same folder may do
  /// so at the same time.
  ///
  /// - Returns: how many there were.
  func moveIn() throws -> Int {
    if depot.sharesUploads { return 0 }
    var count = 0
    for name in try PictureFolder.names(in: folder) {
      let kept = KeptPictureName(name)
      guard PictureRequest.isID(name) || kept != nil else { continue }
      do {
        try depot.take(folder + "/" + name, id: kept?.id ?? name, isKept: kept != nil)
        PictureFolder.remove(folder + "/" + name)
        count += 1
      } catch PictureFault.damaged, PictureFault.missing {
        // Nobody can look at it, there or here; or another gateway was faster.
      }
    }
    return count
  }

  /// Deletes the uploads of pictures that the depot has (``removeTaken(_:)``).
  ///
  /// - Throws: where the folder or the depot cannot say now what it has; some may be left then.
  func removeTaken() throws {
    for name in try PictureFolder.names(in: folder) where name.hasSuffix(Self.partialSuffix) {
      let id = Self.id(ofFile: name)
      if PictureRequest.isID(id) { try removeTaken(id) }
    }
  }

  /// Deletes the upload of a picture that the depot has: who gave the picture its place was killed before the upload's
  /// files were deleted, or was not told that it has it. Nobody goes on with such an upload, and it holds what was
  /// cleaned away.
  ///
  /// - Throws: where nobody can say now whether the depot has it.
  func removeTaken(_ id: String) throws {
    guard let (header, _) = try partial(id), try has(id, header.upload) else { return }
    // Locked: whoever gives the picture its place at this very moment deletes the files, too.
    guard let file = try? OpenPicture.writing(partialPath(id)) else { return }
    guard try file.header().upload == header.upload else { return }
    PictureFolder.remove(cleanPath(id))
    PictureFolder.remove(partialPath(id))
    _ = consume file
    contents.withLock { contents in
      if contents.partials[id]?.ticket.upload == header.upload { contents.partials[id] = nil }
    }
  }

  /// Whether the depot has this upload of a picture, as a whole.
  private func has(_ id: String, _ upload: [UInt8]) throws -> Bool {
    do {
      _ = try depot.open(id, upload, key: nil, PictureWindow())
      return true
    } catch PictureFault.missing, PictureFault.damaged {
      return false
    }
  }

  /// Deletes uploads that nobody goes on with, at whichever gateway.
  ///
  /// Their age is not asked of the machine's clock, nor of the folder's: a file that was not written to while this
  /// gateway watched for the lifetime of an upload is old, and no other.
  func sweep() {
    guard
      let names = try? PictureFolder.names(in: folder).filter({ name in Self.suffixes.contains { name.hasSuffix($0) } })
    else { return }
    let now = clock()
    contents.withLock { contents in contents.seen = contents.seen.filter { names.contains($0.key) } }
    for name in names {
      guard let file = try? OpenPicture.reading(folder + "/" + name) else { continue }
      let lastWrite = file.lastWrite
      _ = consume file
      let id = Self.id(ofFile: name)
      if contents.withLock({ Self.isOld(name, id, lastWrite, at: now, limits, in: &$0) }) { removeOld(id, name) }
    }
  }

  private static func isOld(
    _ name: String, _ id: String, _ lastWrite: Int64, at now: Int64, _ limits: Limits, in contents: inout Contents
  ) -> Bool {
    let touched = contents.partials[id]?.touched
    if contents.seen[name]?.lastWrite != lastWrite {
      contents.seen[name] = Seen(lastWrite: lastWrite, since: touched ?? now)
    }
    let since = max(contents.seen[name]?.since ?? now, touched ?? .min)
    return now - since >= limits.partialLifetimeSeconds && contents.partials[id]?.isWriting != true
  }

  private func removeOld(_ id: String, _ name: String) {
    // Locked: somebody writes to it at this very moment.
    guard let file = try? OpenPicture.writing(folder + "/" + name) else { return }
    PictureFolder.remove(folder + "/" + name)
    _ = consume file
    contents.withLock { contents in
      if name == id + Self.partialSuffix { contents.partials[id] = nil }
      contents.seen[name] = nil
    }
  }
}
