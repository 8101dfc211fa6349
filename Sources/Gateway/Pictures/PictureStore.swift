import Cryptography
import NIOCore
import Synchronization

/// Takes pictures in, piece by piece, and gives them out: files, encrypted under keys that it does not keep. No byte of a
/// picture touches the disk as it is. Uploads stand in a folder; what is whole is kept in the same folder, or in a bucket
/// (``PictureDepot``).
///
/// Several gateways may use one folder. Where an upload stands is told by its file alone (`<id>.part`), which a gateway
/// locks while it writes a chunk; its key is with the gateway that began it and with the broker. So an upload goes on
/// wherever its owner asks, also after its gateway was killed.
///
/// Waits for the disk: called on threads that may wait.
final class PictureStore: Sendable {
  struct Limits: Sendable {
    /// Uploads that nobody writes to for so long are deleted.
    var partialLifetimeSeconds: Int64 = 3_600
    /// Uploads under way of one user through this gateway; one more ends the oldest.
    var partialsPerUser = 4
    /// Uploads under way of all users: each costs some hundred bytes of memory and at most a picture on disk.
    var partials = 10_000
    /// Pixels a side of a picture of Clique.
    var cliquePixels = 8192
  }

  /// An upload under way, for whoever may write to it now.
  struct Ticket: Sendable, Equatable {
    let id: String
    let user: String
    let total: Int
    let purpose: PicturePurpose
    /// Which upload of this id.
    let upload: [UInt8]
    /// Rises each time a connection of this gateway takes the upload over: a ticket with an older one counts for
    /// nothing.
    let generation: UInt64
  }

  enum Beginning: Sendable, Equatable {
    /// - isNew: nothing is there yet. The broker is to know the key, so that other gateways can go on.
    case receives(Ticket, offset: Int, isNew: Bool)
    /// Another gateway began the upload, or this one before it was started anew: the broker has the upload's key.
    case needsKey(Ticket, offset: Int)
    /// The picture was taken in already.
    case finished
  }

  /// What this gateway knows of an upload besides its file.
  struct Partial {
    let ticket: Ticket
    var key: SecretKey?
    var format: PictureFormat?
    /// Bytes of the picture in the file, in whole chunks or up to the end, as far as this gateway knows.
    var offset: Int
    var isWriting = false
    var touched: Int64
  }

  /// A file of an upload as it was when it was looked at.
  struct Seen {
    var lastWrite: Int64
    var since: Int64
  }

  struct Contents {
    var partials: [String: Partial] = [:]
    var lastGeneration: UInt64 = 0
    /// Files of uploads, whoever writes them, by name.
    var seen: [String: Seen] = [:]
    /// Ids of pictures that the depot may or may not have taken in, and when that began to be so.
    var doubted: [String: Int64] = [:]
  }

  let folder: String
  let depot: any PictureDepot
  /// Where pictures were kept before they were in another depot: some may lie there still. Nil: the depot is the folder.
  let former: FolderDepot?
  let limits: Limits
  /// Seconds; never goes back.
  let clock: @Sendable () -> Int64
  let contents = Mutex(Contents())

  /// - Parameters:
  ///   - folder: of the uploads; made where it does not exist.
  ///   - depot: of the pictures that are whole; nil: the folder.
  init(
    folder: String, depot: (any PictureDepot)? = nil, limits: Limits = Limits(), clock: @escaping @Sendable () -> Int64
  ) throws {
    self.folder = folder
    self.depot = depot ?? FolderDepot(folder: folder)
    former = depot.map { _ in FolderDepot(folder: folder) }
    self.limits = limits
    self.clock = clock
    try PictureFolder.make(folder)
  }

  static let partialSuffix = ".part"
  /// Of a cleaned picture that the broker does not have yet (``PictureStore/clean(_:_:_:)``).
  static let cleanSuffix = ".clean"
  static let suffixes = [partialSuffix, cleanSuffix]
  /// Of a picture that is gone and kept for moderators, behind its id, a dash and its upload in hexadecimal.
  static let keptSuffix = ".kept"
  func path(_ id: String) -> String { folder + "/" + id }
  func partialPath(_ id: String) -> String { path(id) + Self.partialSuffix }
  func cleanPath(_ id: String) -> String { path(id) + Self.cleanSuffix }

  /// The id of a file's picture, whole or not.
  static func id(ofFile name: String) -> String {
    if let kept = KeptPictureName(name) { return kept.id }
    return suffixes.first { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) } ?? name
  }

  // MARK: Taking in

  /// Begins an upload, or goes on with one.
  ///
  /// - Parameters:
  ///   - id: checked by ``PictureRequest``: it names a file.
  ///   - start: where the request's bytes begin in the picture; nil: they are the whole picture.
  ///   - anew: nobody can go on with what is there: its key is lost.
  func begin(
    id: String, user: String, total: Int, start: Int?, anew: Bool = false, for purpose: PicturePurpose = .state
  ) throws -> Beginning {
    if let size = try finishedSize(id, user, purpose) {
      if size != total { throw PictureFault.otherSize(size) }
      try? removeTaken(id)
      return .finished
    }
    if let (header, offset) = try partial(id) {
      guard header.isOf(user, id: id), header.purpose == purpose else { throw PictureFault.taken }
      if anew { return try beginAnew(id, user, total, purpose) }
      // The upload is whole, but it could not be finished, or the client was not told: whatever comes, nothing more is
      // needed.
      let isWhole = offset == header.total && header.total == total
      if isWhole || start ?? 0 > 0 && header.total == total {
        guard isWhole || start == offset else { throw PictureFault.offset(offset) }
        return try takeOver(id, user, header, offset)
      }
      if let start, start > 0 { throw PictureFault.otherSize(header.total) }
    } else if let start, start > 0 {
      throw PictureFault.offset(0)
    }
    return try beginAnew(id, user, total, purpose)
  }

  /// The file of an upload, and how much is in it; nil where there is none, or none that could be gone on with.
  func partial(_ id: String) throws -> (header: PictureFile.Header, offset: Int)? {
    do {
      let file = try OpenPicture.reading(partialPath(id))
      let header = try file.header()
      // An upload of an earlier version, whose key nobody has.
      guard header.layout != .old else { return nil }
      return (header, PictureFile.offset(inFile: try file.size, header))
    } catch PictureFault.missing {
      return nil
    } catch PictureFault.damaged {
      return nil
    }
  }

  /// Goes on with an upload, in place of the connection that wrote to it before.
  private func takeOver(_ id: String, _ user: String, _ header: PictureFile.Header, _ offset: Int) throws -> Beginning {
    let now = clock()
    let (ticket, hasKey) = try contents.withLock { contents in
      let known = contents.partials[id].flatMap { $0.ticket.upload == header.upload ? $0 : nil }
      if known?.isWriting ?? false { throw PictureFault.busy }
      contents.lastGeneration += 1
      let ticket = Ticket(
        id: id, user: user, total: header.total, purpose: header.purpose, upload: header.upload,
        generation: contents.lastGeneration)
      contents.partials[id] = Partial(
        ticket: ticket, key: known?.key, format: known?.format, offset: offset, touched: now)
      return (ticket, known?.key != nil)
    }
    evict(user, keeping: id)
    return hasKey ? .receives(ticket, offset: offset, isNew: false) : .needsKey(ticket, offset: offset)
  }

  /// Begins at the first byte, under a key of its own, in place of whatever is there.
  private func beginAnew(
    _ id: String, _ user: String, _ total: Int, _ purpose: PicturePurpose
  ) throws -> Beginning {
    let upload = Randomness.bytes(PictureFile.uploadBytes)
    let now = clock()
    let ticket = try contents.withLock { contents in
      if let known = contents.partials[id] {
        guard known.ticket.user.utf8.elementsEqual(user.utf8) else { throw PictureFault.taken }
        if known.isWriting { throw PictureFault.busy }
      }
      contents.lastGeneration += 1
      let ticket = Ticket(
        id: id, user: user, total: total, purpose: purpose, upload: upload, generation: contents.lastGeneration)
      contents.partials[id] = Partial(
        ticket: ticket, key: SecretKey(randomBytes: 32), offset: 0, isWriting: true, touched: now)
      return ticket
    }
    do {
      let file = try OpenPicture.writing(partialPath(id), creates: true)
      let header = PictureFile.Header(id: id, user: user, upload: upload, total: total, for: purpose)
      try file.write(header.encoded, at: 0)
    } catch {
      forget(ticket)
      throw error
    }
    release(ticket)
    evict(user, keeping: id)
    return .receives(ticket, offset: 0, isNew: true)
  }

  /// The broker has given the key of an upload (``Beginning/needsKey(_:offset:)``).
  func adopt(_ key: [UInt8], for ticket: Ticket) throws {
    try contents.withLock { contents in
      guard contents.partials[ticket.id]?.ticket == ticket else { throw PictureFault.superseded }
      contents.partials[ticket.id]?.key = SecretKey(key)
    }
  }

  /// The key of an upload that this gateway began, for the broker.
  func key(of ticket: Ticket) -> [UInt8]? {
    contents.withLock { contents in
      guard let partial = contents.partials[ticket.id], partial.ticket == ticket else { return nil }
      return partial.key?.bytes
    }
  }

  /// Ends the uploads that are too many, the oldest first.
  private func evict(_ user: String, keeping id: String) {
    let evicted = contents.withLock { contents in
      var evicted: [Ticket] = []
      func evictOldest(_ isCandidate: (Partial) -> Bool) {
        let oldest = contents.partials.filter { $0.key != id && !$0.value.isWriting && isCandidate($0.value) }
          .min { ($0.value.touched, $0.value.ticket.generation) < ($1.value.touched, $1.value.ticket.generation) }
        guard let oldest else { return }
        contents.partials[oldest.key] = nil
        evicted.append(oldest.value.ticket)
      }
      let isTheirs: (Partial) -> Bool = { $0.ticket.user.utf8.elementsEqual(user.utf8) }
      if contents.partials.values.count(where: isTheirs) > limits.partialsPerUser { evictOldest(isTheirs) }
      if contents.partials.count > limits.partials { evictOldest { _ in true } }
      return evicted
    }
    for ticket in evicted { removeFile(of: ticket) }
  }

  /// Encrypts the next chunk into the file: 64 KiB, or what is left.
  ///
  /// - Returns: where the upload stands.
  func append(_ chunk: [UInt8], to ticket: Ticket) throws -> Int {
    let (partial, key) = try claim(ticket)
    let end = partial.offset + chunk.count
    let isLast = end == ticket.total
    var format = partial.format
    do {
      guard !chunk.isEmpty, end <= ticket.total, isLast || chunk.count == PictureFile.chunkBytes else {
        throw PictureFault.offset(partial.offset)
      }
      if partial.offset == 0 {
        format = PictureFormat(firstBytes: chunk)
        guard let format else { throw PictureFault.unsupportedType }
        if ticket.purpose == .clique, !PictureCleaning.takes(format) { throw PictureFault.notTaken }
      }
      let index = partial.offset / PictureFile.chunkBytes
      let sealed = try PictureFile.seal(chunk, index: index, isLast: isLast, id: ticket.id, key: key)
      let file = try openPartial(ticket)
      // Another gateway may have gone on with it.
      let header = try file.header()
      guard PictureFile.offset(inFile: try file.size, header) == partial.offset else {
        throw PictureFault.superseded
      }
      try file.write(sealed, at: header.layout.place(ofChunk: index))
    } catch PictureFault.superseded {
      forget(ticket)
      throw PictureFault.superseded
    } catch PictureFault.busy {
      release(ticket)
      throw PictureFault.busy
    } catch {
      drop(ticket)
      throw error
    }
    contents.withLock {
      guard $0.partials[ticket.id]?.ticket == ticket else { return }
      $0.partials[ticket.id]?.offset = end
      $0.partials[ticket.id]?.format = format
      $0.partials[ticket.id]?.isWriting = false
    }
    return end
  }

  /// The file of this very upload, locked.
  private func openPartial(_ ticket: Ticket) throws -> OpenPicture {
    let file = try OpenPicture.writing(partialPath(ticket.id))
    guard try file.header().upload == ticket.upload else { throw PictureFault.superseded }
    return file
  }

  /// Makes a whole upload durable, cleaned where its app wants that.
  ///
  /// - Returns: what the broker must know before anybody is told that the picture is here.
  /// - Throws: ``PictureFault/refused(_:)`` where it cannot be cleaned; nothing is left of it then.
  func finish(_ ticket: Ticket) throws -> TakenPicture {
    let (partial, key) = try claim(ticket)
    defer { release(ticket) }
    guard partial.offset == ticket.total else { throw PictureFault.offset(partial.offset) }
    let file = try openPartial(ticket)
    // The gateway that wrote the first chunk knows the format by it; another reads that chunk again.
    guard let format = try partial.format ?? PictureFormat(firstBytes: Self.chunk(0, of: file, id: ticket.id, key: key))
    else { throw PictureFault.unsupportedType }
    try file.sync()
    var picture = TakenPicture(
      id: ticket.id, user: ticket.user, type: format.rawValue, bytes: ticket.total,
      key: key.bytes, upload: ticket.upload)
    if ticket.purpose == .clique {
      let cleaned = try clean(file, ticket, key)
      (picture.bytes, picture.width, picture.height) = (cleaned.bytes.count, cleaned.width, cleaned.height)
    }
    return picture
  }

  /// Gives the picture its place, now that the broker has the key: from here on it counts as taken in.
  ///
  /// - Throws: where that is not so, or not known. The upload is still there then, and can be ended once more.
  func keep(_ ticket: Ticket) throws {
    _ = try claim(ticket)
    do {
      let file = try openPartial(ticket)
      try depot.take(ticket.purpose == .clique ? cleanPath(ticket.id) : partialPath(ticket.id), id: ticket.id)
      if !depot.sharesUploads { try stayOrUndo(ticket) }
      // A depot that is no folder leaves the files of what it has.
      if ticket.purpose == .clique || !depot.sharesUploads { removeFiles(of: ticket) }
      _ = consume file
    } catch {
      if case PictureFault.unavailable = error { doubt(ticket.id) }
      if case PictureFault.superseded = error { forget(ticket) } else { release(ticket) }
      throw error
    }
    forget(ticket)
    try PictureFolder.sync(folder)
  }

  /// What is to be deleted is looked for in the depot after its upload was ended. So a picture that got its place while its
  /// upload was ended is found by one of the two: by whoever deletes, or here.
  private func stayOrUndo(_ ticket: Ticket) throws {
    if contents.withLock({ $0.partials[ticket.id]?.ticket == ticket }) { return }
    if !depot.takeBack(ticket.id, ticket.upload) { doubt(ticket.id) }
    throw PictureFault.superseded
  }

  private func doubt(_ id: String) {
    let now = clock()
    contents.withLock { contents in
      if contents.doubted.count < limits.partials { contents.doubted[id] = now }
    }
  }

  /// Ends an upload and deletes what there is of it.
  func drop(_ ticket: Ticket) {
    if forget(ticket) { removeFile(of: ticket) }
  }

  /// Deletes the file of this upload, not of another under the same id. A file that is being written is left to the
  /// writer.
  private func removeFile(of ticket: Ticket) {
    guard let file = try? openPartial(ticket) else { return }
    removeFiles(of: ticket)
    _ = consume file
  }

  /// Call it with the upload's file locked.
  private func removeFiles(of ticket: Ticket) {
    if ticket.purpose == .clique { PictureFolder.remove(cleanPath(ticket.id)) }
    PictureFolder.remove(partialPath(ticket.id))
  }

  /// - Returns: whether this ticket was the one to write with.
  @discardableResult
  func forget(_ ticket: Ticket) -> Bool {
    contents.withLock { contents in
      guard contents.partials[ticket.id]?.ticket == ticket else { return false }
      contents.partials[ticket.id] = nil
      return true
    }
  }

  private func release(_ ticket: Ticket) {
    contents.withLock { contents in
      if contents.partials[ticket.id]?.ticket == ticket { contents.partials[ticket.id]?.isWriting = false }
    }
  }

  /// Makes this thread the one that works on an upload.
  private func claim(_ ticket: Ticket) throws -> (Partial, SecretKey) {
    let now = clock()
    return try contents.withLock { contents in
      guard let partial = contents.partials[ticket.id], partial.ticket == ticket, let key = partial.key else {
        throw PictureFault.superseded
      }
      if partial.isWriting { throw PictureFault.busy }
      contents.partials[ticket.id]?.isWriting = true
      contents.partials[ticket.id]?.touched = now
      return (partial, key)
    }
  }

  /// Where an upload stands: how much is here, of how much; the second is nil where nothing is known.
  func progress(
    id: String, user: String, for purpose: PicturePurpose = .state
  ) throws -> (offset: Int, total: Int?) {
    if let size = try finishedSize(id, user, purpose) {
      try? removeTaken(id)
      return (size, size)
    }
    guard let (header, offset) = try partial(id) else { return (0, nil) }
    guard header.isOf(user, id: id), header.purpose == purpose else { throw PictureFault.taken }
    return (offset, header.total)
  }

  /// The size of a picture that was taken in from this user, as it was sent; nil where there is none.
  private func finishedSize(_ id: String, _ user: String, _ purpose: PicturePurpose) throws -> Int? {
    do {
      let header = try depot.open(id, nil, key: nil, PictureWindow()).header
      guard header.isOf(user, id: id), header.purpose == purpose else { throw PictureFault.taken }
      return header.sent
    } catch PictureFault.missing {
      return nil
    }
  }

  var partialCount: Int { contents.withLock(\.partials.count) }
}
