public import Logging
import Synchronization

/// A set of keys, wrapped: all that is known of it where it is kept.
public struct KeyBox: Sendable, Equatable {
  public var name: String
  /// See ``KeySet/version``.
  public var version: Int64
  public var box: [UInt8]

  public init(name: String, version: Int64, box: [UInt8]) {
    self.name = name
    self.version = version
    self.box = box
  }
}

/// Where brokers that share a log keep their wrapped keys: the log's database (`EngineKeys`). Whoever has the log's lease may
/// read and write, or only read where it is another partition's than home's; nobody there can open a box.
public protocol KeyBoxes: Sendable {
  /// All boxes, and the lease under which they were read. Waits for the server.
  func all() throws(VaultFault) -> (boxes: [KeyBox], lease: UInt64)

  /// Puts a box in the place of the one before it, or of none where its version is 1. Waits until that is confirmed as what
  /// is written to the log is.
  ///
  /// - Parameter lease: under which the one before it was read.
  /// - Throws: ``VaultFault/notOurs`` where that lease is over; nothing is written then.
  func replace(_ box: KeyBox, under lease: UInt64) throws(VaultFault)

  /// Calls `take` with all boxes after this broker's lease was lost and taken again, before the log is used.
  func whenRegained(_ take: @escaping @Sendable ([KeyBox], UInt64) throws(VaultFault) -> Void)
}

/// The sets of keys that brokers share, under a master key that is not where they are.
public final class SharedKeys: Sendable {
  private let boxes: any KeyBoxes
  private let masterFile: String
  /// They are those of home, and this broker has another partition.
  fileprivate let isVisitor: Bool
  private let logger: Logger
  private let masters: Mutex<MasterKeys>
  private let takers = Mutex<[String: [@Sendable (KeySet) throws(VaultFault) -> Void]]>([:])
  /// Locked while all sets are read again and taken in: an older reading must not come after a newer one.
  private let reading = Mutex(())

  /// Opens all sets, and wraps those anew that are not wrapped under the master file's first key, unless they are another
  /// broker's. Waits for the server.
  ///
  /// - Parameters:
  ///   - boxes: must be those of a broker that has the log.
  ///   - masterFile: see ``MasterKeys``. It is read again whenever the log is taken again: another broker may have wrapped
  ///     the sets under a newer key meanwhile.
  ///   - isVisitor: this broker has another partition than home, and only reads.
  /// - Throws: where a set cannot be opened: ``VaultFault/unopened(name:path:)``.
  public init(
    _ boxes: any KeyBoxes, masterFile: String, isVisitor: Bool = false, logger: Logger
  ) throws(VaultFault) {
    self.boxes = boxes
    self.isVisitor = isVisitor
    self.masterFile = masterFile
    self.logger = logger
    let keys = try MasterKeys.load(masterFile)
    masters = Mutex(keys)
    boxes.whenRegained { [weak self] boxes, lease throws(VaultFault) in try self?.take(boxes, lease) }
    let (all, lease) = try boxes.all()
    for box in all {
      guard let set = keys.unwrap(box.box, name: box.name, version: box.version) else {
        throw .unopened(name: box.name, path: masterFile)
      }
      if set.isUnderFirst || isVisitor { continue }
      try save(KeySet(bytes: set.bytes, version: box.version + 1, lease: lease), as: box.name)
      logger.notice("\(box.name) is wrapped under the first line of \(masterFile) now, and under no other")
    }
  }

  /// The place of a set. Keys that a file of that name holds in the data folder are taken over at home, once: the file is
  /// removed when they are confirmed to be here.
  ///
  /// - Throws: ``VaultFault/inBothPlaces(path:)`` where there is a file, and other keys are here already.
  public func place(_ name: String, takingOverFrom folder: String) throws(VaultFault) -> any KeyPlace {
    let place = SharedPlace(name: name, keys: self)
    if isVisitor { return place }
    let file = KeyFiles.file(name, in: folder)
    guard let bytes = try file.read() else { return place }
    let former = try place.load()
    if former.bytes.isEmpty {
      guard HourKeys(bytes) != nil else { throw .damaged(path: file.path) }
      try place.save(former.next(bytes))
    } else if former.bytes != bytes {
      // The same keys in both places are left by a crash between the two steps.
      throw .inBothPlaces(path: file.path)
    }
    try file.remove()
    logger.notice("the keys of \(file.path) are in the log's database now, and the file is removed")
    return place
  }

  // MARK: The sets

  fileprivate func load(_ name: String) throws(VaultFault) -> KeySet {
    let (all, lease) = try boxes.all()
    return try set(name, among: all, lease, masters.withLock { $0 })
  }

  private func set(
    _ name: String, among boxes: [KeyBox], _ lease: UInt64, _ masters: MasterKeys
  ) throws(VaultFault) -> KeySet {
    guard let box = boxes.first(where: { $0.name == name }) else { return KeySet(bytes: [], version: 0, lease: lease) }
    guard let set = masters.unwrap(box.box, name: name, version: box.version) else {
      throw .unopened(name: name, path: masterFile)
    }
    return KeySet(bytes: set.bytes, version: box.version, lease: lease)
  }

  fileprivate func readAgain() throws(VaultFault) {
    let result = reading.withLock { _ -> Result<Void, VaultFault> in
      do throws(VaultFault) {
        let (all, lease) = try boxes.all()
        return .success(try take(all, lease))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  fileprivate func save(_ set: KeySet, as name: String) throws(VaultFault) {
    let box = masters.withLock { $0.wrap(set.bytes, name: name, version: set.version) }
    try boxes.replace(KeyBox(name: name, version: set.version, box: box), under: set.lease)
  }

  fileprivate func whenChanged(_ name: String, _ take: @escaping @Sendable (KeySet) throws(VaultFault) -> Void) {
    takers.withLock { $0[name, default: []].append(take) }
  }

  private func take(_ boxes: [KeyBox], _ lease: UInt64) throws(VaultFault) {
    let keys = try MasterKeys.load(masterFile)
    masters.withLock { $0 = keys }
    for (name, takers) in takers.withLock({ $0 }) {
      let set = try set(name, among: boxes, lease, keys)
      for take in takers { try take(set) }
    }
  }
}

private struct SharedPlace: KeyPlace {
  let name: String
  let keys: SharedKeys

  var path: String { "\(name) in the log's database" }

  func load() throws(VaultFault) -> KeySet { try keys.load(name) }

  func save(_ set: KeySet) throws(VaultFault) { try keys.save(set, as: name) }

  func whenChanged(_ take: @escaping @Sendable (KeySet) throws(VaultFault) -> Void) { keys.whenChanged(name, take) }

  var isVisited: Bool { keys.isVisitor }

  /// Reads all sets, which are rows of one table.
  func readAgain() throws(VaultFault) { try keys.readAgain() }
}
