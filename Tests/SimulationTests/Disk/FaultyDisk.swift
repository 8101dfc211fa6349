import CFaultyVFS
import TestSupport

@testable import Log

/// A disk in memory that the real store works on, and that fails, gets full, and forgets what was not synced.
final class FaultyDisk: @unchecked Sendable {
  private let disk: OpaquePointer
  /// A log has the folder locked.
  fileprivate var isLocked = false

  private init(_ disk: OpaquePointer) { self.disk = disk }

  /// An empty disk.
  convenience init() { self.init(faulty_disk_create()) }

  deinit { faulty_disk_destroy(disk) }

  /// The folder on it, by which SQLite finds it.
  var path: String { "/faulty-disk/\(faulty_disk_number(disk))" }

  // MARK: Ends

  /// The disk that the next process finds when this one is killed: with all that was written, synced or not. Writes to
  /// this one have no effect any more.
  func killed() -> FaultyDisk {
    defer { faulty_disk_kill(disk) }
    return copied()
  }

  /// The disk that is left when the power goes: of what was not synced, the seed draws what is there. Writes to this
  /// one have no effect any more.
  func powerCut(seed: UInt64) -> FaultyDisk {
    defer { faulty_disk_kill(disk) }
    return FaultyDisk(faulty_disk_cut(disk, seed))
  }

  func copied() -> FaultyDisk { FaultyDisk(faulty_disk_copy(disk)) }

  // MARK: Faults

  var isFull = false {
    didSet { faulty_disk_set_full(disk, isFull) }
  }

  /// True: the disk says that it synced, and does not.
  var isLying = false {
    didSet { faulty_disk_set_lying(disk, isLying) }
  }

  func failWrite(after count: Int) { faulty_disk_fail_write(disk, Int64(count)) }
  func failSync(after count: Int) { faulty_disk_fail_sync(disk, Int64(count)) }

  func heal() {
    isFull = false
    faulty_disk_fail_write(disk, -1)
    faulty_disk_fail_sync(disk, -1)
  }

  var syncCount: UInt64 { faulty_disk_sync_count(disk) }

  // MARK: Files

  fileprivate func contents(of name: String) -> [UInt8]? {
    let size = faulty_disk_read(disk, name, nil, 0)
    if size < 0 { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    _ = bytes.withUnsafeMutableBytes { faulty_disk_read(disk, name, $0.baseAddress, $0.count) }
    return bytes
  }

  /// Whether the log's database has a text in one of its files, synced or not.
  func holds(_ text: String) -> Bool {
    ["", "-wal"].contains { suffix in contents(of: DataFolder.databaseName + suffix)?.contains(text.utf8) ?? false }
  }

  fileprivate func size(of name: String) -> Int { max(0, Int(faulty_disk_read(disk, name, nil, 0))) }

  fileprivate func replace(_ name: String, with bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { faulty_disk_replace(disk, name, $0.baseAddress, $0.count) }
  }

  fileprivate func overwrite(_ name: String, with bytes: [UInt8]) {
    bytes.withUnsafeBytes { faulty_disk_overwrite(disk, name, $0.baseAddress, $0.count) }
  }

  fileprivate func touch(_ name: String) { faulty_disk_touch(disk, name) }
}

/// The log's own files on a faulty disk, beside SQLite's.
final class FaultyFolder: FolderFiles {
  private let disk: FaultyDisk

  init(_ disk: FaultyDisk) throws(StartError) {
    if disk.isLocked { throw .inUse(folder: disk.path) }
    self.disk = disk
    disk.isLocked = true
  }

  func contents(of name: String) -> [UInt8]? { disk.contents(of: name) }
  func size(of name: String) -> Int { disk.size(of: name) }
  func overwrite(_ name: String, with bytes: [UInt8]) { disk.overwrite(name, with: bytes) }
  func touch(_ name: String) { disk.touch(name) }

  deinit { close() }

  func close() { disk.isLocked = false }

  func replace(_ name: String, with bytes: [UInt8]) throws(FileFault) {
    if !disk.replace(name, with: bytes) { throw FileFault(reason: "simulated") }
  }
}

/// The real log on a faulty disk, which works one step at a time, with its completions.
final class SteppedStore {
  private final class Box: @unchecked Sendable {
    var completions: [LogCompletion] = []
  }

  let disk: FaultyDisk
  let store: SQLiteStore
  private let box = Box()

  init(on disk: FaultyDisk, options: SQLiteStore.Options, randomness: SeededRandom) throws(StartError) {
    self.disk = disk
    var options = options
    options.isStepped = true
    // The journal is folded often and in many steps, so that the disk sometimes fails in the middle of it.
    (options.journalLimits.foldAt, options.journalLimits.portion, options.journalLimits.deletedBytes) = (4000, 8, 1000)
    options.openFolder = { _ throws(StartError) in try FaultyFolder(disk) }
    let box = box
    store = try SQLiteStore(folder: disk.path, options: options, randomness: randomness, logger: quiet) {
      box.completions += $0
    }
  }

  deinit { store.close() }

  /// Lets the writer do up to `limit` pieces of work.
  ///
  /// - Returns: what became of entries since the last call.
  func step(_ limit: Int = .max) -> [LogCompletion] {
    store.step(limit)
    defer { box.completions = [] }
    return box.completions
  }

  /// Lets the readers answer up to `limit` questions.
  func stepReaders(_ limit: Int = .max) { store.stepReaders(limit) }

  /// Whether the disk failed in a way after which this log takes nothing more.
  var hasFailed: Bool { store.writer.inbox.failure != nil }

  /// Ends the log in order.
  ///
  /// - Returns: what became of entries since the last step.
  func close() -> [LogCompletion] {
    store.close()
    defer { box.completions = [] }
    return box.completions
  }
}
