import Foundation
import Glibc

/// The folder of a log: the lock that keeps a second broker out, and the mark that tells whether something is missing.
///
/// The mark is the number of the last transaction, written after each commit without an fsync. A process that dies
/// leaves it whole, as the kernel has it; a power cut may leave an older one, which says nothing. A mark that is *ahead*
/// of the database proves that acknowledged transactions are gone: the file was cut, or came from a backup.
final class DataFolder {
  static let databaseName = "fanfare.sqlite"
  static let lockName = "fanfare.lock"
  static let markName = "fanfare.mark"

  let path: String
  private var lock: CInt
  private var mark: CInt
  /// The mark as it was found; nil where there was none.
  let markFound: UInt64?

  var databasePath: String { path + "/" + Self.databaseName }

  init(_ path: String) throws(StartError) {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .unusableFolder(path, reason: "it cannot be created: \(error.localizedDescription)")
    }
    self.path = path
    let lock = unsafe Glibc.open(path + "/" + Self.lockName, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    self.lock = lock
    if lock < 0 { throw .unusableFolder(path, reason: Self.reason()) }
    if flock(lock, LOCK_EX | LOCK_NB) != 0 {
      let inUse = errno == EWOULDBLOCK
      let reason = Self.reason()
      Glibc.close(lock)
      throw inUse ? .inUse(folder: path) : .unusableFolder(path, reason: reason)
    }
    let mark = unsafe Glibc.open(path + "/" + Self.markName, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    self.mark = mark
    if mark < 0 {
      let reason = Self.reason()
      Self.release(lock)
      throw .unusableFolder(path, reason: reason)
    }
    // SQLite gives its other files the permissions of this one: payloads are nobody else's business.
    let database = unsafe Glibc.open(path + "/" + Self.databaseName, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if database >= 0 { Glibc.close(database) }
    var found: UInt64 = 0
    let count = unsafe withUnsafeMutableBytes(of: &found) { unsafe pread(mark, $0.baseAddress, $0.count, 0) }
    markFound = count == MemoryLayout<UInt64>.size ? UInt64(littleEndian: found) : nil
  }

  /// Size of the database file in bytes; 0 where there is none.
  var databaseSize: Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: databasePath)
    return (attributes?[.size] as? NSNumber)?.intValue ?? 0
  }

  /// An error is ignored: an older mark proves less, but never something wrong.
  func setMark(_ sequence: UInt64) {
    var value = sequence.littleEndian
    _ = unsafe withUnsafeBytes(of: &value) { unsafe pwrite(mark, $0.baseAddress, $0.count, 0) }
  }

  deinit { close() }

  /// Lets another broker in.
  func close() {
    if mark >= 0 { Glibc.close(mark) }
    if lock >= 0 { Self.release(lock) }
    (mark, lock) = (-1, -1)
  }

  /// Without waiting for all copies of the descriptor to be closed: a program that this process is starting just now
  /// holds one until it runs.
  private static func release(_ lock: CInt) {
    _ = flock(lock, LOCK_UN)
    Glibc.close(lock)
  }

  private static func reason() -> String { unsafe String(cString: strerror(errno)) }
}
