/// Keeps a data folder for one broker whose log stands elsewhere: keys, pictures and sockets are in the folder still, and two
/// brokers that share it would each destroy what the other needs.
///
/// A log in SQLite locks its folder by itself (``SQLiteStore``). The kernel unlocks the folder when the process ends,
/// however it ends.
public final class DataFolderLock {
  private let folder: SystemFolder

  /// Locks the folder, and makes it where it is missing.
  public init(_ path: String) throws(StartError) {
    folder = try SystemFolder(path, lockName: DataFolder.lockName)
  }

  deinit { folder.close() }
}
