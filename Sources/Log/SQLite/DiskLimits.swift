import Dispatch
import SQLite
import Glibc
import Logging

/// How much of the disk the log may take, so that it stops while there is still room for what must be written:
/// removals, ends of entries, the journal itself. A disk that is full to the last byte takes none of them.
public struct DiskLimits: Sendable, Equatable {
  /// Bytes of the file system that stay free; 0: the log may take the last one.
  public var minimumFreeBytes: Int
  /// Bytes that the database may hold; 0: as many as there is room for.
  public var maximumBytes: Int

  public init(minimumFreeBytes: Int, maximumBytes: Int) {
    self.minimumFreeBytes = minimumFreeBytes
    self.maximumBytes = maximumBytes
  }

  var isOff: Bool { minimumFreeBytes == 0 && maximumBytes == 0 }

  /// Why the log takes nothing more now; nil: there is room. Empty pages of the database count as free: the file does
  /// not shrink when history ends, but the next entries are written there.
  func refusal(_ db: Database, folder: String) throws -> LogError? {
    let pageSize = Int(try db.integer("PRAGMA page_size") ?? 4096)
    let pages = Int(try db.integer("PRAGMA page_count") ?? 0)
    let free = Int(try db.integer("PRAGMA freelist_count") ?? 0)
    if maximumBytes > 0, (pages - free) * pageSize >= maximumBytes {
      return .full("the log holds as much as data.maximum_bytes allows")
    }
    guard minimumFreeBytes > 0, let left = Self.freeBytes(of: folder) else { return nil }
    return left + free * pageSize < minimumFreeBytes ? .full("less than data.minimum_free_bytes is left") : nil
  }

  static func freeBytes(of folder: String) -> Int? {
    var status = statvfs()
    guard unsafe statvfs(folder, &status) == 0 else { return nil }
    let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return overflow ? .max : Int(clamping: bytes)
  }
}

extension LogWriter {
  /// Tells the metrics now and then how large the log's files are.
  func watchFiles() {
    guard nextFileCheck <= .now() else { return }
    nextFileCheck = .now() + .seconds(1)
    metrics.note(
      databaseBytes: folder.databaseSize, walBytes: folder.walSize, freeBytes: DiskLimits.freeBytes(of: folderPath))
  }

  /// Looks now and then whether there is room, and tells the inbox, which refuses entries that need some.
  func watchRoom() {
    guard !diskLimits.isOff, nextRoomCheck <= .now() else { return }
    nextRoomCheck = .now() + Self.roomCheckInterval
    var full: LogError?
    _ = attempt { db in
      full = try diskLimits.refusal(db, folder: folderPath)
      return false
    }
    let wasFull = inbox.setFull(full)
    if wasFull != (full != nil) { metrics.note(isFull: full != nil) }
    if let full, !wasFull { logger.error("\(full)") }
    if full == nil, wasFull { logger.notice("there is room on the disk again, publications are taken") }
  }

  /// Time between two looks. What is written in it must fit into the room that is left: the fastest disks write some
  /// gigabytes a second.
  private static let roomCheckInterval = DispatchTimeInterval.milliseconds(20)
}
