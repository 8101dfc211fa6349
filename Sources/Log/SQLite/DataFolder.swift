/// The folder of a log, and its mark, which tells whether something is missing.
///
/// The mark is the number of the last transaction. It is on disk before the log hands out anything, and is overwritten
/// after each commit without an fsync. A process that dies leaves the last number, as the kernel has it; a power cut
/// may leave an older one, which says nothing. A mark that is *ahead* of the database proves that acknowledged
/// transactions are gone: the file was cut, or came from a backup. So does a mark that is missing beside a database.
final class DataFolder {
  static let databaseName = "fanfare.sqlite"
  static let lockName = "fanfare.lock"
  static let markName = "fanfare.mark"

  let path: String
  private let files: any FolderFiles
  /// The mark as it was found; nil where there was none, or half of one.
  let markFound: UInt64?

  var databasePath: String { path + "/" + Self.databaseName }

  convenience init(_ path: String) throws(StartError) {
    try self.init(path, files: SystemFolder(path, lockName: Self.lockName))
  }

  init(_ path: String, files: any FolderFiles) throws(StartError) {
    self.path = path
    self.files = files
    let found = files.contents(of: Self.markName)
    let isNew = found == nil && files.size(of: Self.databaseName) == 0
    markFound = isNew ? 0 : found.flatMap(Self.number)
    // The mark comes before the database, because a database without a mark counts as one that has lost something.
    if isNew { try syncMark(0) }
    // SQLite gives its other files the permissions of this one: payloads are nobody else's business.
    files.touch(Self.databaseName)
  }

  /// Size of the database file in bytes; 0 where there is none.
  var databaseSize: Int { files.size(of: Self.databaseName) }

  /// Size in bytes of what was committed and is not in the database file yet.
  var walSize: Int { files.size(of: Self.databaseName + "-wal") }

  /// Writes the mark, and returns when no power cut can take it back.
  func syncMark(_ sequence: UInt64) throws(StartError) {
    do {
      try files.replace(Self.markName, with: Self.bytes(of: sequence))
    } catch {
      throw .unusableFolder(path, reason: "\(Self.markName) cannot be written: \(error.reason)")
    }
  }

  /// Writes the mark without a sync: a power cut may leave an older one, which proves less, but never something wrong.
  func setMark(_ sequence: UInt64) { files.overwrite(Self.markName, with: Self.bytes(of: sequence)) }

  /// Unlocks the folder for another broker.
  func close() { files.close() }

  /// The mark as it stands in its file: eight bytes, little-endian.
  private static func bytes(of sequence: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: sequence >> ($0 * 8)) }
  }

  private static func number(_ bytes: [UInt8]) -> UInt64? {
    guard bytes.count == 8 else { return nil }
    return bytes.enumerated().reduce(0) { $0 | UInt64($1.element) << UInt64($1.offset * 8) }
  }
}
