import Cryptography

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The file with the secret that tokens are signed with, where none is configured: made on the first start, in the data
/// folder.
public enum SecretFile {
  /// Name within the data folder.
  public static let name = "secret.key"
  /// Random bytes of a new secret. The file holds them as twice as many hexadecimal digits.
  public static let newSecretBytes = 32
  /// Bytes of the largest file that is read.
  static let maximumLength = 4096

  /// Why there is no secret. The description is a sentence for the operator.
  public enum Fault: Error, Sendable, Equatable, CustomStringConvertible {
    case missing(path: String)
    case openToOthers(path: String, mode: String)
    case folderOpenToOthers(path: String, mode: String)
    case notAFile(path: String)
    case tooShort(path: String, bytes: Int)
    case tooLong(path: String)
    case empty(path: String)
    case system(path: String, doing: String, error: String)

    public var description: String {
      switch self {
      case .missing(let path): "\(path) does not exist; write the secret there, with mode 0600"
      case .openToOthers(let path, let mode):
        "\(path) has mode \(mode), so others on this machine can read or change the secret; run: chmod 600 \(path)"
      case .folderOpenToOthers(let path, let mode):
        "the folder \(path) has mode \(mode), so others on this machine can reach what is in it; run: chmod 700 \(path)"
      case .notAFile(let path): "\(path) is not a regular file; put the secret into a file of its own"
      case .tooShort(let path, let bytes):
        "the secret in \(path) has \(bytes) bytes, at least \(VerifierConfigurationError.minimumSecretLength) are needed; "
          + "remove the file so that a new one is made (tokens signed with the old one then stop working)"
      case .tooLong(let path):
        "\(path) is larger than \(maximumLength) bytes; it should hold the secret and nothing else"
      case .empty(let path): "\(path) is empty; write the key there, and nothing else"
      case .system(let path, let doing, let error):
        "\(doing) \(path) failed: \(error); check that the folder exists and that this user may write in it"
      }
    }
  }

  /// Loads `secret.key` from the data folder, or makes it. Of several processes that start at once, one makes the
  /// file and the others load that one.
  ///
  /// - Parameter folder: the data folder, which must exist.
  public static func loadOrCreate(in folder: String) throws(Fault) -> String {
    let path = folder.hasSuffix("/") ? folder + name : folder + "/" + name
    do throws(Fault) {
      return try load(path)
    } catch .missing {
      try create(path, folder: folder, Randomness.bytes(newSecretBytes).hexadecimal)
      return try load(path)
    }
  }

  /// Refuses a file with a secret key, of TLS or of CURVE, that others than its owner may read or change.
  public static func requirePrivate(_ path: String) throws(Fault) { close(try openPrivate(path)) }

  /// Refuses a folder that others than its owner may enter.
  ///
  /// - Parameter mask: the rights that nobody may have.
  public static func requirePrivate(folder: String, mask: UInt32 = 0o077) throws(Fault) {
    var status = stat()
    guard unsafe stat(folder, &status) == 0 else { throw failure(folder, "looking at") }
    guard status.st_mode & mask == 0 else {
      throw .folderOpenToOthers(path: folder, mode: "0" + String(status.st_mode & 0o777, radix: 8))
    }
  }

  private static func openPrivate(_ path: String) throws(Fault) -> Int32 {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { throw .missing(path: path) }
      throw failure(path, "opening")
    }
    do throws(Fault) {
      // The rights of the open file, not those of the path: between two calls on a path somebody could swap the file.
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0 else { throw failure(path, "looking at") }
      guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
      guard status.st_mode & 0o077 == 0 else {
        throw .openToOthers(path: path, mode: "0" + String(status.st_mode & 0o777, radix: 8))
      }
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Loads a secret from a file, without the whitespace around it.
  public static func load(_ path: String) throws(Fault) -> String {
    let bytes = try contents(of: path, limit: maximumLength)
    let secret = String(decoding: bytes, as: UTF8.self).trimmingWhitespace()
    guard secret.utf8.count >= VerifierConfigurationError.minimumSecretLength else {
      throw .tooShort(path: path, bytes: secret.utf8.count)
    }
    return secret
  }

  /// Loads a key that somebody else made, however long it is, without the whitespace around it.
  public static func word(_ path: String) throws(Fault) -> String {
    let word = String(decoding: try contents(of: path, limit: maximumLength), as: UTF8.self).trimmingWhitespace()
    guard !word.isEmpty else { throw .empty(path: path) }
    return word
  }

  /// Writes a secret into a file of its own that only its owner may read. A file that is there already stays as it is.
  ///
  /// - Parameter name: within the folder, which must exist.
  /// - Returns: what stands in the file afterwards.
  public static func keep(_ secret: String, as name: String, in folder: String) throws(Fault) -> String {
    let path = folder.hasSuffix("/") ? folder + name : folder + "/" + name
    try create(path, folder: folder, secret)
    return try load(path)
  }

  /// Writes a new secret beside the path, makes it durable, then links it into place: the link fails where the path
  /// exists, and no crash leaves half a secret there.
  private static func create(_ path: String, folder: String, _ secret: String) throws(Fault) {
    let temporary = path + "." + Randomness.bytes(8).hexadecimal + ".new"
    let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure(path, "creating") }
    defer {
      close(descriptor)
      unsafe unlink(temporary)
    }
    guard writeAll(Array((secret + "\n").utf8), to: descriptor), fchmod(descriptor, 0o600) == 0, fsync(descriptor) == 0
    else {
      throw failure(path, "writing")
    }
    guard unsafe link(temporary, path) == 0 || errno == EEXIST else { throw failure(path, "creating") }
    try sync(folder, for: path)
  }

  /// Puts a file that only its owner may read in the place of another, or of none: written beside it and durable first,
  /// so that no crash leaves half of it there. Only one caller at a time may do so.
  public static func replace(_ path: String, in folder: String, with bytes: [UInt8]) throws(Fault) {
    let temporary = path + ".new"
    // A process that was killed while it wrote left one.
    guard unsafe unlink(temporary) == 0 || errno == ENOENT else { throw failure(path, "replacing") }
    let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure(path, "creating") }
    defer { close(descriptor) }
    do throws(Fault) {
      guard fchmod(descriptor, 0o600) == 0, writeAll(bytes, to: descriptor), fsync(descriptor) == 0 else {
        throw failure(path, "writing")
      }
      guard unsafe rename(temporary, path) == 0 else { throw failure(path, "replacing") }
    } catch {
      unsafe unlink(temporary)
      throw error
    }
    try sync(folder, for: path)
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

  /// Makes the names in a folder durable: without it a power cut may take a new file's name back.
  private static func sync(_ folder: String, for path: String) throws(Fault) {
    let directory = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw failure(path, "writing") }
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw failure(path, "writing") }
  }

  /// The bytes of a file that only its owner may read or change.
  ///
  /// - Parameter limit: bytes of the largest file that is read.
  static func contents(of path: String, limit: Int) throws(Fault) -> [UInt8] {
    let descriptor = try openPrivate(path)
    defer { close(descriptor) }
    return try contents(descriptor, path, limit)
  }

  private static func contents(_ descriptor: Int32, _ path: String, _ limit: Int) throws(Fault) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    var count = 0
    while count < bytes.count {
      let received = unsafe bytes.withUnsafeMutableBytes { buffer in
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
        return unsafe read(descriptor, rest.baseAddress, rest.count)
      }
      if received < 0, errno == EINTR { continue }
      guard received >= 0 else { throw failure(path, "reading") }
      if received == 0 { break }
      count += received
    }
    guard count <= limit else { throw .tooLong(path: path) }
    return Array(bytes[..<count])
  }

  /// What the system said of a path, in its own words.
  static func failure(_ path: String, _ doing: String) -> Fault {
    let error = unsafe String(cString: strerror(errno))
    return .system(path: path, doing: doing, error: error)
  }
}

extension String {
  fileprivate func trimmingWhitespace() -> String {
    guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace }) else {
      return ""
    }
    return String(self[first...last])
  }
}
