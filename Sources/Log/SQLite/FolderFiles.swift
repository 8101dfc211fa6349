import Foundation
import Glibc

/// What a data folder asks of the file system beside what SQLite does there: so little that a simulated disk, which
/// fails and forgets, can stand in the file system's place.
///
/// The writer thread is the only caller once the log is open.
protocol FolderFiles: AnyObject {
  /// The bytes of a file; nil where it is missing or cannot be read.
  func contents(of name: String) -> [UInt8]?

  /// Size of a file in bytes; 0 where there is none.
  func size(of name: String) -> Int

  /// Puts a new file in the place of the one of that name. A power cut leaves all of the old one or all of the new one;
  /// after the return, the new one.
  func replace(_ name: String, with bytes: [UInt8]) throws(FileFault)

  /// Overwrites the first bytes of a file that ``replace(_:with:)`` wrote. The kernel has them when this returns; a
  /// power cut may still take them.
  func overwrite(_ name: String, with bytes: [UInt8])

  /// Makes an empty file that its owner alone may read, where there is none.
  func touch(_ name: String)

  /// Unlocks the folder for another process. No call may follow.
  func close()
}

/// What the system said of a file, in its own words.
struct FileFault: Error {
  var reason: String
}

/// A folder of the machine's file system, locked against other processes.
final class SystemFolder: FolderFiles {
  private let path: String
  private var lock: CInt
  /// The file that was replaced last, which stays open to be overwritten.
  private var replaced: (name: String, descriptor: CInt)?

  /// Creates the folder where it is missing.
  init(_ path: String, lockName: String) throws(StartError) {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .unusableFolder(path, reason: "it cannot be created: \(error.localizedDescription)")
    }
    self.path = path
    // A power cut must not take a folder that was made a moment ago.
    _ = Self.syncFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    let lock = unsafe Glibc.open(path + "/" + lockName, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    self.lock = lock
    if lock < 0 { throw .unusableFolder(path, reason: Self.reason()) }
    if flock(lock, LOCK_EX | LOCK_NB) != 0 {
      let inUse = errno == EWOULDBLOCK
      let reason = Self.reason()
      Glibc.close(lock)
      self.lock = -1
      throw inUse ? .inUse(folder: path) : .unusableFolder(path, reason: reason)
    }
  }

  func contents(of name: String) -> [UInt8]? {
    (try? Data(contentsOf: URL(fileURLWithPath: path + "/" + name))).map { Array($0) }
  }

  func size(of name: String) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path + "/" + name)
    return (attributes?[.size] as? NSNumber)?.intValue ?? 0
  }

  /// Writes a new file, syncs it and renames it; syncs the folder too, without which a power cut may take the name
  /// back.
  func replace(_ name: String, with bytes: [UInt8]) throws(FileFault) {
    let new = path + "/" + name + ".new"
    let descriptor = unsafe Glibc.open(new, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileFault(reason: Self.reason()) }
    let isWritten = unsafe bytes.withUnsafeBytes { bytes in
      unsafe pwrite(descriptor, bytes.baseAddress, bytes.count, 0) == bytes.count
    }
    let isThere = unsafe isWritten && fsync(descriptor) == 0 && rename(new, path + "/" + name) == 0
    guard isThere, Self.syncFolder(path) else {
      let reason = Self.reason()
      Glibc.close(descriptor)
      throw FileFault(reason: reason)
    }
    if let replaced { Glibc.close(replaced.descriptor) }
    replaced = (name, descriptor)
  }

  private static func syncFolder(_ path: String) -> Bool {
    let folder = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return false }
    defer { Glibc.close(folder) }
    // Some file systems have no fsync of a folder, and none of them needs it.
    return fsync(folder) == 0 || errno == EINVAL
  }

  /// An error is ignored: whoever needs the bytes replaces the file.
  func overwrite(_ name: String, with bytes: [UInt8]) {
    guard let replaced, replaced.name == name else { return }
    _ = unsafe bytes.withUnsafeBytes { unsafe pwrite(replaced.descriptor, $0.baseAddress, $0.count, 0) }
  }

  func touch(_ name: String) {
    let descriptor = unsafe Glibc.open(path + "/" + name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  deinit { close() }

  /// Unlocks rather than relying on the closed descriptor: a program that this process is starting just now holds a
  /// copy of it until it runs.
  func close() {
    if let replaced { Glibc.close(replaced.descriptor) }
    replaced = nil
    if lock >= 0 {
      _ = flock(lock, LOCK_UN)
      Glibc.close(lock)
    }
    lock = -1
  }

  private static func reason() -> String { unsafe String(cString: strerror(errno)) }
}
