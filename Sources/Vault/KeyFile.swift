#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A small file that holds keys. Only its owner may read it, and it is replaced as a whole.
struct KeyFile: Sendable {
  let folder: String
  let name: String

  var path: String { folder + "/" + name }

  /// Most bytes of such a file, more than any of them has: keys of 31 days ahead of a clock, and of 60 days more where a
  /// test server's clock was moved (``MovedClock``) and began anew.
  static let maximumBytes = 131_072

  /// The file's bytes; nil where it does not exist.
  ///
  /// - Parameter followsLinks: for a file of the operator's, which may be a link to where their tools keep it.
  /// - Throws: where the file cannot be read, is no regular file, is too large, or is open to other users.
  func read(followsLinks: Bool = false) throws(VaultFault) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW))
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("opening")
    }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw failure("looking at") }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
    guard status.st_mode & 0o077 == 0 else {
      throw .openToOthers(path: path, mode: "0" + String(status.st_mode & 0o777, radix: 8))
    }
    guard status.st_size <= Self.maximumBytes else { throw .damaged(path: path) }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var count = 0
    while count < bytes.count {
      let received = unsafe bytes.withUnsafeMutableBytes { buffer in
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
        return unsafe readBytes(descriptor, rest.baseAddress, rest.count)
      }
      if received < 0, errno == EINTR { continue }
      guard received >= 0 else { throw failure("reading") }
      if received == 0 { throw .damaged(path: path) }
      count += received
    }
    return bytes
  }

  /// Writes a new file beside the old one, makes it durable, and puts it in the old one's place. Then the old file's
  /// bytes are overwritten, because removing a file leaves on the disk what it held.
  func replace(with bytes: [UInt8]) throws(VaultFault) {
    let temporary = path + ".new"
    guard unsafe unlink(temporary) == 0 || errno == ENOENT else { throw failure("replacing") }
    let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure("creating") }
    defer { close(descriptor) }
    guard fchmod(descriptor, 0o600) == 0, Self.writeAll(bytes, to: descriptor), fsync(descriptor) == 0 else {
      let error = failure("writing")
      unsafe unlink(temporary)
      throw error
    }
    // The old file stays open, so that it can be overwritten once it has no name any more.
    let old = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    defer { if old >= 0 { close(old) } }
    guard unsafe rename(temporary, path) == 0 else { throw failure("replacing") }
    try syncFolder()
    if old >= 0 { overwrite(old) }
  }

  /// Removes the file and what a crash may have left beside it, durably. Then the bytes are overwritten, as with
  /// ``replace(with:)``.
  func remove() throws(VaultFault) {
    var removed: [Int32] = []
    defer { removed.forEach { close($0) } }
    for name in [path + ".new", path] {
      let old = unsafe open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
      if old >= 0 { removed.append(old) }
      guard unsafe unlink(name) == 0 || errno == ENOENT else { throw failure("removing") }
    }
    try syncFolder()
    removed.forEach(overwrite)
  }

  /// Writes zeros over a file. A copy-on-write file system or a flash disk may keep the old blocks all the same.
  private func overwrite(_ descriptor: Int32) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_size > 0, status.st_size <= Self.maximumBytes else {
      return
    }
    _ = Self.writeAll([UInt8](repeating: 0, count: Int(status.st_size)), to: descriptor)
    _ = fsync(descriptor)
  }

  private func syncFolder() throws(VaultFault) {
    let directory = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw failure("writing") }
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw failure("writing") }
  }

  private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var count = 0
    while count < bytes.count {
      let written = unsafe bytes.withUnsafeBytes { buffer in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[count...])
        return unsafe write(descriptor, rest.baseAddress, rest.count)
      }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { return false }
      count += written
    }
    return true
  }

  private func failure(_ doing: String) -> VaultFault {
    .system(path: path, doing: doing, error: unsafe String(cString: strerror(errno)))
  }
}

/// The system's `read`, which a method of the same name hides in ``KeyFile``.
private func readBytes(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  unsafe read(descriptor, buffer, count)
}
