import Crypto
import NIOCore
import Synchronization

/// Takes pictures in, piece by piece, and gives them out: files in a folder, encrypted under keys that it does not
/// keep. No byte of a picture touches the disk as it is.
///
/// Waits for the disk: called on threads that may wait.
///
/// The key of an upload under way is in memory alone, so that an upload ends with its gateway; a client then begins
/// anew. What was not ended within an hour is deleted.
final class PictureStore: Sendable {
  struct Limits: Sendable {
    var partialLifetimeSeconds: Int64 = 3_600
    /// Uploads under way of one user; one more ends the oldest.
    var partialsPerUser = 4
    /// Of all users: of each, some hundred bytes of memory and at most a picture on disk.
    var partials = 10_000
  }

  /// An upload under way, for whoever may write to it now.
  struct Ticket: Sendable, Equatable {
    let id: String
    let total: Int
    let generation: UInt64
  }

  enum Beginning: Sendable, Equatable {
    case receives(Ticket, offset: Int)
    /// It was taken in already.
    case finished
  }

  private struct Partial {
    let user: String
    let total: Int
    let key: SymmetricKey
    var generation: UInt64
    var format: PictureFormat?
    /// What is in the file, in whole chunks or up to the end.
    var offset = 0
    var isWriting = false
    var touched: Int64
  }

  private struct Contents {
    var partials: [String: Partial] = [:]
    var lastGeneration: UInt64 = 0
  }

  private let folder: String
  private let limits: Limits
  /// Seconds; never goes back.
  private let clock: @Sendable () -> Int64
  private let contents = Mutex(Contents())

  /// - Parameter folder: made where it does not exist.
  init(folder: String, limits: Limits = Limits(), clock: @escaping @Sendable () -> Int64) throws {
    self.folder = folder
    self.limits = limits
    self.clock = clock
    try PictureFile.makeFolder(folder)
    // Their keys went with the process that had them.
    for name in try PictureFile.names(in: folder) where name.hasSuffix(Self.partialSuffix) {
      PictureFile.remove(folder + "/" + name)
    }
  }

  private static let partialSuffix = ".part"
  private func path(_ id: String) -> String { folder + "/" + id }
  private func partialPath(_ id: String) -> String { path(id) + Self.partialSuffix }

  // MARK: Taking in

  /// Begins an upload, or goes on with one.
  ///
  /// - Parameters:
  ///   - id: checked by ``PictureRequest``: it names a file.
  ///   - start: where what comes begins; nil: it is the whole picture.
  func begin(id: String, user: String, total: Int, start: Int?) throws -> Beginning {
    sweep()
    if let size = try finishedSize(id, user) {
      if size != total { throw PictureFault.otherSize(size) }
      return .finished
    }
    let (ticket, offset, isNew, evicted) = try contents.withLock {
      try Self.begin(id, user, total, start, in: &$0, at: clock(), limits)
    }
    for id in evicted { PictureFile.remove(partialPath(id)) }
    if isNew {
      do {
        try PictureFile.create(partialPath(id), header: PictureFile.header(id: id, user: user))
        contents.withLock { $0.partials[id]?.isWriting = false }
      } catch {
        drop(ticket)
        throw error
      }
    }
    return .receives(ticket, offset: offset)
  }

  private static func begin(
    _ id: String, _ user: String, _ total: Int, _ start: Int?, in contents: inout Contents, at now: Int64,
    _ limits: Limits
  ) throws -> (Ticket, offset: Int, isNew: Bool, evicted: [String]) {
    contents.lastGeneration += 1
    let generation = contents.lastGeneration
    let ticket = Ticket(id: id, total: total, generation: generation)
    if let partial = contents.partials[id] {
      guard partial.user.utf8.elementsEqual(user.utf8) else { throw PictureFault.taken }
      if partial.isWriting { throw PictureFault.busy }
      // Whole, but its end was not told, or not possible: whatever comes, nothing more is needed.
      let isWhole = partial.offset == partial.total && partial.total == total
      if isWhole || start ?? 0 > 0 && partial.total == total {
        guard isWhole || start == partial.offset else { throw PictureFault.offset(partial.offset) }
        contents.partials[id]?.generation = generation
        contents.partials[id]?.touched = now
        return (ticket, partial.offset, false, [])
      }
      if let start, start > 0 { throw PictureFault.otherSize(partial.total) }
      // From the beginning again, under a key of its own: no nonce is ever used for two texts.
    } else if let start, start > 0 {
      throw PictureFault.offset(0)
    }
    contents.partials[id] = Partial(
      user: user, total: total, key: SymmetricKey(size: .bits256), generation: generation, isWriting: true,
      touched: now)
    return (ticket, 0, true, evict(from: &contents, user, keeping: id, limits))
  }

  /// Ends the uploads that are too many, the oldest first.
  private static func evict(
    from contents: inout Contents, _ user: String, keeping id: String, _ limits: Limits
  ) -> [String] {
    var evicted: [String] = []
    func evictOldest(_ isCandidate: (Partial) -> Bool) {
      let oldest = contents.partials.filter { $0.key != id && !$0.value.isWriting && isCandidate($0.value) }
        .min { ($0.value.touched, $0.value.generation) < ($1.value.touched, $1.value.generation) }
      guard let oldest else { return }
      contents.partials[oldest.key] = nil
      evicted.append(oldest.key)
    }
    if contents.partials.values.count(where: { $0.user.utf8.elementsEqual(user.utf8) }) > limits.partialsPerUser {
      evictOldest { $0.user.utf8.elementsEqual(user.utf8) }
    }
    if contents.partials.count > limits.partials { evictOldest { _ in true } }
    return evicted
  }

  /// Encrypts the next chunk into the file: 64 KiB, or what is left.
  ///
  /// - Returns: where the upload stands.
  func append(_ chunk: [UInt8], to ticket: Ticket) throws -> Int {
    var partial = try claim(ticket)
    let end = partial.offset + chunk.count
    let isLast = end == ticket.total
    do {
      guard !chunk.isEmpty, end <= ticket.total, isLast || chunk.count == PictureFile.chunkBytes else {
        throw PictureFault.offset(partial.offset)
      }
      if partial.offset == 0 {
        guard let format = PictureFormat(firstBytes: chunk) else { throw PictureFault.unsupportedType }
        partial.format = format
      }
      let index = partial.offset / PictureFile.chunkBytes
      let sealed = try PictureFile.seal(chunk, index: index, isLast: isLast, id: ticket.id, key: partial.key)
      try PictureFile.append(sealed, to: partialPath(ticket.id), at: PictureFile.place(ofChunk: index))
    } catch {
      // A chunk may be half there, and must not be encrypted again under the same key: another one next time.
      drop(ticket)
      throw error
    }
    contents.withLock {
      $0.partials[ticket.id]?.offset = end
      $0.partials[ticket.id]?.format = partial.format
      $0.partials[ticket.id]?.isWriting = false
    }
    return end
  }

  /// Makes a whole upload durable.
  ///
  /// - Returns: what the broker must know before anybody is told that it is here.
  func finish(_ ticket: Ticket) throws -> TakenPicture {
    let partial = try claim(ticket)
    defer { contents.withLock { $0.partials[ticket.id]?.isWriting = false } }
    guard partial.offset == ticket.total, let format = partial.format else {
      throw PictureFault.offset(partial.offset)
    }
    try PictureFile.sync(partialPath(ticket.id))
    return TakenPicture(
      id: ticket.id, user: partial.user, type: format.rawValue, bytes: ticket.total,
      key: unsafe partial.key.withUnsafeBytes { unsafe Array($0) })
  }

  /// The broker has the key: the picture is here.
  func keep(_ ticket: Ticket) throws {
    _ = try claim(ticket)
    defer { drop(ticket) }
    try PictureFile.move(partialPath(ticket.id), to: path(ticket.id))
    try PictureFile.syncFolder(folder)
  }

  /// Ends an upload and deletes what there is of it.
  func drop(_ ticket: Ticket) {
    let isCurrent = contents.withLock { contents in
      guard contents.partials[ticket.id]?.generation == ticket.generation else { return false }
      contents.partials[ticket.id] = nil
      return true
    }
    if isCurrent { PictureFile.remove(partialPath(ticket.id)) }
  }

  /// Makes this thread the one that works on an upload.
  private func claim(_ ticket: Ticket) throws -> Partial {
    let now = clock()
    return try contents.withLock { contents in
      guard let partial = contents.partials[ticket.id], partial.generation == ticket.generation else {
        throw PictureFault.superseded
      }
      if partial.isWriting { throw PictureFault.busy }
      contents.partials[ticket.id]?.isWriting = true
      contents.partials[ticket.id]?.touched = now
      return partial
    }
  }

  /// Where an upload stands: how much is here, of how much; the second is nil where nothing is known.
  func progress(id: String, user: String) throws -> (offset: Int, total: Int?) {
    if let size = try finishedSize(id, user) { return (size, size) }
    return try contents.withLock { contents in
      guard let partial = contents.partials[id] else { return (0, nil) }
      guard partial.user.utf8.elementsEqual(user.utf8) else { throw PictureFault.taken }
      return (partial.offset, partial.total)
    }
  }

  /// The size of a picture that was taken in from this user; nil where there is none.
  private func finishedSize(_ id: String, _ user: String) throws -> Int? {
    guard let bytes = try PictureFile.size(of: path(id)) else { return nil }
    let header = try PictureFile.bytes(of: path(id), at: 0, count: PictureFile.headerBytes)
    guard header == PictureFile.header(id: id, user: user) else { throw PictureFault.taken }
    guard let size = PictureFile.pictureBytes(ofFile: bytes) else { throw PictureFault.damaged }
    return size
  }

  // MARK: Giving out

  func size(id: String) throws -> Int {
    guard let bytes = try PictureFile.size(of: path(id)) else { throw PictureFault.missing }
    guard let size = PictureFile.pictureBytes(ofFile: bytes) else { throw PictureFault.damaged }
    return size
  }

  /// One chunk of a picture, decrypted.
  func chunk(_ index: Int, of id: String, bytes total: Int, key: [UInt8]) throws -> [UInt8] {
    let count = min(PictureFile.chunkBytes, total - index * PictureFile.chunkBytes) + PictureFile.tagBytes
    let sealed = try PictureFile.bytes(of: path(id), at: PictureFile.place(ofChunk: index), count: count)
    let isLast = index == PictureFile.chunkCount(ofPicture: total) - 1
    return try PictureFile.unseal(sealed, index: index, isLast: isLast, id: id, key: SymmetricKey(data: key))
  }

  // MARK: Cleaning

  /// Deletes pictures that nobody will see any more. Ids that are not here are passed over.
  func discard(_ ids: [String]) {
    for id in ids where PictureRequest.isID(id) {
      PictureFile.remove(path(id))
      // An upload that goes on at this moment ends at its next chunk.
      contents.withLock { _ = $0.partials.removeValue(forKey: id) }
      PictureFile.remove(partialPath(id))
    }
    try? PictureFile.syncFolder(folder)
  }

  /// The ids of all pictures that were taken in.
  func finished() throws -> [String] { try PictureFile.names(in: folder).filter(PictureRequest.isID) }

  /// Deletes uploads that nobody goes on with.
  func sweep() {
    let limit = clock() - limits.partialLifetimeSeconds
    let old = contents.withLock { contents in
      let old = contents.partials.filter { $0.value.touched <= limit && !$0.value.isWriting }.map(\.key)
      for id in old { contents.partials[id] = nil }
      return old
    }
    for id in old { PictureFile.remove(partialPath(id)) }
  }

  var partialCount: Int { contents.withLock(\.partials.count) }
}
