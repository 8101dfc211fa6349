public import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The keys as their file holds them:
///
///     [
///     {"name":"billing","digest":"9f86d0…","allow":["publish","read"],"channels":["chat:*"],"created_at":"2026-…"}
///     ]
///
/// A key stands on a line of its own, so that people can read the file and compare two of them.
extension APIKeys {
  /// Name of the file within the data folder.
  public static let fileName = "api-keys.json"
  /// The file that is locked while the keys are changed. It is not the list itself, because that is replaced.
  static let lockName = "api-keys.lock"
  /// Bytes of the largest file that is read or written.
  public static let maximumBytes = 1 << 20

  /// The keys in the data folder; none where the file does not exist.
  ///
  /// - Throws: where the file cannot be read, is open to other users, or is no list of keys.
  public static func load(from folder: String) throws(APIKeyFault) -> APIKeys {
    let path = folder + "/" + fileName
    let document: [UInt8]
    do throws(SecretFile.Fault) {
      document = try SecretFile.contents(of: path, limit: maximumBytes)
    } catch {
      switch error {
      case .missing: return APIKeys()
      case .tooLong: throw .tooLarge(path: path)
      default: throw .file(error)
      }
    }
    do throws(MalformedInput) { return try APIKeys(parsing: document) } catch {
      throw .damaged(path: path, why: error.description)
    }
  }

  /// Changes the keys in the data folder. Who else wants to change them waits, and what this call returns for is on the
  /// disk.
  ///
  /// - Parameter change: what is done with the keys; where it throws, the file stays as it is.
  public static func change<Result>(
    in folder: String, _ change: (inout APIKeys) throws(APIKeyFault) -> Result
  ) throws(APIKeyFault) -> Result {
    let lock = try lock(folder)
    // Unlocked by hand: a program that this process is starting just now holds a copy of the descriptor.
    defer {
      _ = flock(lock, LOCK_UN)
      close(lock)
    }
    var keys = try load(from: folder)
    let result = try change(&keys)
    let (path, document) = (folder + "/" + fileName, keys.document)
    guard document.count <= maximumBytes else { throw .tooLarge(path: path) }
    do throws(SecretFile.Fault) { try SecretFile.replace(path, in: folder, with: document) } catch {
      throw .file(error)
    }
    return result
  }

  private static func lock(_ folder: String) throws(APIKeyFault) -> Int32 {
    let path = folder + "/" + lockName
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .file(SecretFile.failure(path, "opening")) }
    while flock(descriptor, LOCK_EX) != 0 {
      if errno == EINTR { continue }
      let failure = SecretFile.failure(path, "locking")
      close(descriptor)
      throw .file(failure)
    }
    return descriptor
  }
}

/// The file's form.
extension APIKeys {
  private static let fields: Set<String> = ["name", "digest", "allow", "channels", "created_at"]
  /// The form of a time, in which each 0 is any digit.
  private static let timeForm = "0000-00-00T00:00:00Z"

  /// The file's bytes. The key of the configuration is not among them.
  public var document: [UInt8] {
    if keys.isEmpty { return Array("[]\n".utf8) }
    return Array("[\n".utf8) + keys.map(Self.line).joined(separator: Array(",\n".utf8)) + Array("\n]\n".utf8)
  }

  private static func line(_ key: APIKey) -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.object { writer in
      writer.write("name", key.name)
      writer.write("digest", String(decoding: key.digest, as: UTF8.self))
      writer.list("allow") { writer in for word in key.grant.allow { writer.write(element: word) } }
      writer.list("channels") { writer in
        for pattern in key.grant.channels { writer.write(element: pattern.description) }
      }
      if let createdAt = key.createdAt { writer.write("created_at", createdAt) }
    }
    return writer.bytes
  }

  /// Reads the file's bytes, strictly: a field that is unknown may be a misspelled one, and a digest that stands twice
  /// would leave open which of two grants a key has.
  ///
  /// - Throws: what is wrong, as it follows "no list of API keys: …".
  public init(parsing document: [UInt8]) throws(MalformedInput) {
    self.init()
    guard let entries = try JSONValue(parsing: document, equalKeys: .refused).array else {
      throw MalformedInput("a list expected")
    }
    var digests: Set<[UInt8]> = []
    for (index, entry) in entries.enumerated() {
      do throws(MalformedInput) {
        let key = try Self.key(entry)
        guard digests.insert(key.digest).inserted else { throw MalformedInput("its digest stands twice") }
        do throws(APIKeyFault) { try add(key) } catch { throw MalformedInput(error.description) }
      } catch {
        throw MalformedInput("entry \(index + 1): \(error.description)")
      }
    }
  }

  private static func key(_ entry: JSONValue) throws(MalformedInput) -> APIKey {
    guard let object = try entry.object(limit: fields.count) else { throw MalformedInput("an object expected") }
    if let unknown = object.members.first(where: { !fields.contains($0.key) }) {
      throw MalformedInput("there is no field \(unknown.key.prefix(64).debugDescription)")
    }
    guard let name = object["name"]?.string else { throw MalformedInput("name must be text") }
    guard let digest = object["digest"]?.string, isDigest(digest) else {
      throw MalformedInput("digest must be 64 lower-case hexadecimal digits")
    }
    guard let createdAt = object["created_at"]?.string, isTime(createdAt) else {
      throw MalformedInput("created_at must be a time such as 2026-03-02T09:30:00Z")
    }
    let (allow, channels) = (try strings("allow", in: object), try strings("channels", in: object))
    do throws(APIGrant.Invalid) {
      let grant = try APIGrant(allow: allow, channels: channels)
      return APIKey(name: name, grant: grant, createdAt: createdAt, digest: Array(digest.utf8))
    } catch {
      throw MalformedInput(error.description)
    }
  }

  private static func strings(_ name: String, in object: JSONObject) throws(MalformedInput) -> [String] {
    let texts = object[name]?.array?.map(\.string)
    let strings = texts?.compactMap { $0 }
    guard let strings, strings.count == texts?.count else { throw MalformedInput("\(name) must be a list of texts") }
    return strings
  }

  private static func isDigest(_ text: String) -> Bool {
    text.utf8.count == 64
      && text.utf8.allSatisfy { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
  }

  private static func isTime(_ text: String) -> Bool {
    guard text.utf8.count == timeForm.utf8.count else { return false }
    return zip(text.utf8, timeForm.utf8).allSatisfy { byte, form in
      form == UInt8(ascii: "0") ? isDigit(byte) : byte == form
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
