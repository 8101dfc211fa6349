import CLinuxIO
import Crypto

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A picture on disk, encrypted in chunks, so that it can be taken in and given out piece by piece.
///
///     FSP1 | owner, 32 bytes | chunk 0 | chunk 1 | …        chunk: ciphertext | tag, 16 bytes
///
/// Each chunk holds 64 KiB, the last what is left. AES-GCM under a key that no other file has; the nonce is the
/// chunk's number, and what is authenticated besides says which picture, which chunk, and whether it is the last: no
/// chunk can stand elsewhere, and none can be missing at the end.
enum PictureFile {
  static let chunkBytes = 65_536
  static let headerBytes = 36
  static let tagBytes = 16
  private static let magic = Array("FSP1".utf8)

  /// Whose it is, without saying so: ids are random, so that the sum cannot be looked up.
  static func ownerTag(id: String, user: String) -> [UInt8] {
    Array(SHA256.hash(data: Array("fanfare picture of \(id)\u{0}\(user)".utf8)))
  }

  static func header(id: String, user: String) -> [UInt8] { magic + ownerTag(id: id, user: user) }

  static func seal(_ chunk: [UInt8], index: Int, isLast: Bool, id: String, key: SymmetricKey) throws -> [UInt8] {
    let box = try AES.GCM.seal(
      chunk, using: key, nonce: nonce(index), authenticating: additionalData(id, index, isLast))
    return Array(box.ciphertext) + Array(box.tag)
  }

  static func unseal(_ sealed: [UInt8], index: Int, isLast: Bool, id: String, key: SymmetricKey) throws -> [UInt8] {
    guard sealed.count > tagBytes else { throw PictureFault.damaged }
    let end = sealed.count - tagBytes
    do {
      let box = try AES.GCM.SealedBox(nonce: nonce(index), ciphertext: sealed[..<end], tag: sealed[end...])
      return Array(try AES.GCM.open(box, using: key, authenticating: additionalData(id, index, isLast)))
    } catch {
      throw PictureFault.damaged
    }
  }

  private static func nonce(_ index: Int) throws -> AES.GCM.Nonce {
    try AES.GCM.Nonce(data: [0, 0, 0, 0] + bigEndian(index))
  }

  private static func additionalData(_ id: String, _ index: Int, _ isLast: Bool) -> [UInt8] {
    Array("fanfare picture \(id)".utf8) + [0] + bigEndian(index) + [isLast ? 1 : 0]
  }

  private static func bigEndian(_ value: Int) -> [UInt8] {
    let value = UInt64(bitPattern: Int64(value))
    return stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt64($0)) }
  }

  // MARK: Sizes

  static func chunkCount(ofPicture bytes: Int) -> Int { (bytes + chunkBytes - 1) / chunkBytes }

  static func place(ofChunk index: Int) -> Int { headerBytes + index * (chunkBytes + tagBytes) }

  /// Of the picture in a file of that size; nil where no file of ours has it.
  static func pictureBytes(ofFile bytes: Int) -> Int? {
    let sealed = bytes - headerBytes
    let chunks = (sealed + chunkBytes + tagBytes - 1) / (chunkBytes + tagBytes)
    let size = sealed - chunks * tagBytes
    return size > 0 && chunkCount(ofPicture: size) == chunks ? size : nil
  }

  // MARK: The system

  static func create(_ path: String, header: [UInt8]) throws {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure() }
    defer { close(descriptor) }
    try writeAll(header, to: descriptor, at: 0)
  }

  static func append(_ bytes: [UInt8], to path: String, at offset: Int) throws {
    let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw failure() }
    defer { close(descriptor) }
    try writeAll(bytes, to: descriptor, at: offset)
  }

  private static func writeAll(_ bytes: [UInt8], to descriptor: Int32, at offset: Int) throws {
    var count = 0
    while count < bytes.count {
      let written = unsafe bytes.withUnsafeBytes { buffer in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[count...])
        return unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + count))
      }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { throw failure() }
      count += written
    }
  }

  /// Makes the file durable.
  static func sync(_ path: String) throws { try sync(path, O_RDWR) }

  /// Makes durable which names a folder has.
  static func syncFolder(_ path: String) throws { try sync(path, O_RDONLY | O_DIRECTORY) }

  private static func sync(_ path: String, _ flags: Int32) throws {
    let descriptor = unsafe open(path, flags | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure() }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure() }
  }

  static func move(_ path: String, to newPath: String) throws {
    guard unsafe rename(path, newPath) == 0 else { throw failure() }
  }

  static func remove(_ path: String) { unsafe unlink(path) }

  /// For its owner alone, whatever the process's mask says.
  static func makeFolder(_ path: String) throws {
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

  /// Bytes of a file that is there; nil where there is none.
  static func size(of path: String) throws -> Int? {
    let size = unsafe linuxio_file_size(path)
    if size == -Int64(ENOENT) { return nil }
    guard size >= 0 else {
      errno = Int32(clamping: -size)
      throw failure()
    }
    return Int(size)
  }

  /// - Returns: fewer bytes only where the file ends.
  static func bytes(of path: String, at offset: Int, count: Int) throws -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT { throw PictureFault.missing }
      throw failure()
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let received = unsafe bytes.withUnsafeMutableBytes { buffer in
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        return unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
      }
      if received < 0, errno == EINTR { continue }
      guard received >= 0 else { throw failure() }
      if received == 0 { break }
      done += received
    }
    return Array(bytes[..<done])
  }

  private static func failure() -> PictureFault {
    let error = errno
    if error == ENOSPC || error == EDQUOT { return .full }
    return .system(unsafe String(cString: strerror(error)))
  }
}
