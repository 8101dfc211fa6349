import Foundation

@testable import Log

/// Copies a data folder in use, as a process killed at that moment would leave it.
///
/// SQLite resets the WAL after a checkpoint, and a copy that spans that is of no moment at all: the header's salts tell,
/// and the copy is made again. A commit under way may be copied in part, as a crash would leave it. The mark is copied
/// first: a real crash never leaves one that is ahead.
enum CrashImage {
  static func copy(_ folder: String, to target: String) throws {
    for _ in 0..<1000 {
      let before = try salts(folder)
      for name in [DataFolder.markName, DataFolder.databaseName, DataFolder.databaseName + "-wal"] {
        let to = target + "/" + name
        try? FileManager.default.removeItem(atPath: to)
        try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)).write(to: URL(fileURLWithPath: to))
      }
      if try salts(folder) == before, before.count == 8 { return }
    }
    throw DeadlineExceeded()
  }

  private static func salts(_ folder: String) throws -> Data {
    let url = URL(fileURLWithPath: folder + "/" + DataFolder.databaseName + "-wal")
    let handle = try FileHandle(forReadingFrom: url)
    defer { try? handle.close() }
    try handle.seek(toOffset: 16)
    return try handle.read(upToCount: 8) ?? Data()
  }
}
