/// Keeps a data folder for one broker whose log stands elsewhere: keys, pictures and sockets are in the folder still, and two
/// brokers that share it would each destroy what the other needs.
///
/// A log in SQLite locks its folder by itself (``SQLiteStore``). The kernel unlocks the folder when the process ends,
/// however it ends.
///
/// It also holds the mark of such a log (``LogMark``). Whoever opened the log is the only one to use that.
public final class DataFolderLock {
  static let markName = "fanfare.engine-mark"

  private let folder: SystemFolder

  /// Locks the folder, and makes it where it is missing.
  public init(_ path: String) throws(StartError) {
    folder = try SystemFolder(path, lockName: DataFolder.lockName)
  }

  deinit { folder.close() }

  /// The mark as it was left; nil where there is none, or half of one, which proves nothing.
  var mark: LogMark? { folder.contents(of: Self.markName).flatMap(LogMark.init(bytes:)) }

  /// Writes the mark, and returns when no power cut can take it back.
  func sync(_ mark: LogMark) throws(FileFault) { try folder.replace(Self.markName, with: mark.bytes) }

  /// Writes the mark without a sync, after ``sync(_:)``: a power cut may leave an older one, which proves less, but never
  /// something wrong. A process that is killed leaves this one.
  func set(_ mark: LogMark) { folder.overwrite(Self.markName, with: mark.bytes) }
}
