import CLinuxIO

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// An open file of a picture, closed with its last use.
struct OpenPicture: ~Copyable {
  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit {
    // A process that was just forked off may hold the descriptor for a moment, and with it the lock.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Opens the file to read.
  static func reading(_ path: String) throws -> OpenPicture {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT { throw PictureFault.missing }
      throw PictureFolder.failure()
    }
    return OpenPicture(descriptor)
  }

  /// Opens the file to write, alone among all gateways that use the folder: the lock ends with this value, or with the
  /// process.
  ///
  /// - Throws: ``PictureFault/busy`` where another writes, ``PictureFault/superseded`` where the file is gone.
  static func writing(_ path: String, creates: Bool = false) throws -> OpenPicture {
    let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (creates ? O_CREAT : 0), 0o600)
    guard descriptor >= 0 else {
      if errno == ENOENT { throw PictureFault.superseded }
      throw PictureFolder.failure()
    }
    let file = OpenPicture(descriptor)
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      if errno == EWOULDBLOCK { throw PictureFault.busy }
      throw PictureFolder.failure()
    }
    return file
  }

  var size: Int {
    get throws {
      let end = lseek(descriptor, 0, Int32(SEEK_END))
      guard end >= 0 else { throw PictureFolder.failure() }
      return Int(end)
    }
  }

  func header() throws -> PictureFile.Header {
    try PictureFile.header(try bytes(at: 0, count: PictureFile.longestHeader), fileBytes: try size)
  }

  /// - Returns: fewer bytes only where the file ends.
  func bytes(at offset: Int, count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let received = unsafe bytes.withUnsafeMutableBytes { buffer in
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        return unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
      }
      if received < 0, errno == EINTR { continue }
      guard received >= 0 else { throw PictureFolder.failure() }
      if received == 0 { break }
      done += received
    }
    return Array(bytes[..<done])
  }

  /// Writes, and cuts off whatever stood behind.
  func write(_ bytes: [UInt8], at offset: Int) throws {
    var count = 0
    while count < bytes.count {
      let written = unsafe bytes.withUnsafeBytes { buffer in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[count...])
        return unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + count))
      }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { throw PictureFolder.failure() }
      count += written
    }
    guard ftruncate(descriptor, off_t(offset + bytes.count)) == 0 else { throw PictureFolder.failure() }
  }

  /// Makes what was written durable.
  func sync() throws { guard fsync(descriptor) == 0 else { throw PictureFolder.failure() } }

  /// When the file was written last, in a unit of its own: to be compared, not read.
  var lastWrite: Int64 { Int64(linuxio_last_write(descriptor)) }
}

/// The folder of pictures, which several gateways may use at a time.
enum PictureFolder {
  /// Makes the folder, for its owner alone, whatever the process's mask says.
  static func make(_ path: String) throws {
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST, unsafe chmod(path, 0o700) == 0 else { throw failure() }
  }

  static func names(in folder: String) throws -> [String] {
    guard let directory = unsafe opendir(folder) else { throw failure() }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  /// Whether a file is one of these users: it says so by a digest, from before its first byte of a picture on.
  static func isFile(_ path: String, ofPicture id: String, ofOneOf users: [String]) throws -> Bool {
    do {
      let header = try OpenPicture.reading(path).header()
      return users.contains { header.isOf($0, id: id) }
    } catch PictureFault.missing, PictureFault.damaged {
      return false  // Gone since, or cut off before it held anything of a picture.
    }
  }

  static func move(_ path: String, to newPath: String) throws {
    guard unsafe rename(path, newPath) == 0 else { throw failure() }
  }

  /// - Returns: whether the file is gone.
  @discardableResult
  static func remove(_ path: String) -> Bool { unsafe unlink(path) == 0 || errno == ENOENT }

  /// Makes durable which names a folder has.
  static func sync(_ path: String) throws {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure() }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure() }
  }

  static func failure() -> PictureFault {
    let error = errno
    if error == ENOSPC || error == EDQUOT { return .full }
    return .system(unsafe String(cString: strerror(error)))
  }
}
