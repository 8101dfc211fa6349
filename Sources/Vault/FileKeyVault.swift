public import Apps
import Cryptography
import Dispatch
import Synchronization

/// The vault in two files of a folder: `seal.keys` holds the keys of hours, `state.key` the key that lasts.
///
/// The keys of this hour and of the next are on the disk before they are needed (``prepare(at:)``, on a thread that may
/// wait): sealing never waits for the disk, and nothing is sealed with a key that could be lost.
///
/// Somebody who has the database without these files sees nothing. Somebody who copies the folder with its keys every
/// hour can open what was sealed then: keep these files out of backups, or in another one (docs/STATE.md).
public final class FileKeyVault: KeyVault {
  public static let sealFile = "seal.keys"
  public static let lastingFile = "state.key"
  static let millisecondsPerHour: Int64 = 3_600_000

  private let sealFile: KeyFile
  private let lasting: SecretKey
  /// Milliseconds, from the end of an hour, for which the hour's key may be needed.
  private let keepFor: Int64
  private struct Contents {
    var keys: HourKeys
    /// The time for which the thread is to prepare keys next; nil: it has nothing to do.
    var wanted: Int64?
  }

  private let contents: Mutex<Contents>
  /// Locked while a file is written, so that writes come one after another.
  private let writing = Mutex(())
  private let thread = DispatchQueue(label: "fanfare.vault")
  private let whenPrepared: @Sendable (KeyVaultError?) -> Void

  /// Opens the vault, or makes it where the files do not exist.
  ///
  /// - Parameters:
  ///   - folder: must exist.
  ///   - rules: the app's. A key is kept for as long as a picture may wait to be sent and then for its answer, and an
  ///     hour more.
  ///   - whenPrepared: called on the vault's thread when keys that were asked for are on the disk, or with the reason
  ///     why they are not.
  public init(
    folder: String, rules: StateRules,
    whenPrepared: @escaping @Sendable (KeyVaultError?) -> Void = { _ in }
  ) throws(VaultFault) {
    self.whenPrepared = whenPrepared
    let folder = folder.hasSuffix("/") && folder.count > 1 ? String(folder.dropLast()) : folder
    sealFile = KeyFile(folder: folder, name: Self.sealFile)
    keepFor =
      min(rules.lifetime, Self.longest) + min(rules.pictureLifetime, Self.longest) + Self.millisecondsPerHour
    let lastingFile = KeyFile(folder: folder, name: Self.lastingFile)
    if let bytes = try lastingFile.read() {
      // The lasting key's file has the form of the other, with one key under an hour that never was.
      guard let key = HourKeys(bytes)?[Self.noHour] else { throw .damaged(path: lastingFile.path) }
      lasting = SecretKey(key)
    } else {
      lasting = SecretKey(randomBytes: HourKeys.keyBytes)
      var keys = HourKeys()
      keys[Self.noHour] = lasting.bytes
      try lastingFile.replace(with: keys.encoded)
    }
    if let bytes = try sealFile.read() {
      guard let keys = HourKeys(bytes) else { throw .damaged(path: sealFile.path) }
      contents = Mutex(Contents(keys: keys))
    } else {
      contents = Mutex(Contents(keys: HourKeys()))
    }
  }

  private static let noHour: Int64 = -1
  /// A hundred years in milliseconds. Longer times are cut to it, so that sums do not overflow.
  private static let longest: Int64 = 100 * 366 * 24 * millisecondsPerHour

  /// Makes the keys of this hour and the next, and destroys keys that are not needed any more. Waits for the disk.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: how many keys were made and destroyed.
  /// - Throws: ``KeyVaultError/unavailable(_:)`` where the file cannot be written. No key has changed then.
  @discardableResult
  public func prepare(at now: Int64) throws(KeyVaultError) -> Int {
    let hour = Self.hour(of: now)
    return try change { keys in
      var changes = keys.destroy(before: self.oldestHour(at: now))
      for hour in [hour, hour + 1] where keys[hour] == nil {
        keys[hour] = Randomness.bytes(HourKeys.keyBytes)
        changes += 1
      }
      return changes
    }
  }

  /// Calls ``prepare(at:)`` on the vault's thread, and returns at once. To be called every minute.
  public func prepareSoon(at now: Int64) {
    let isIdle = contents.withLock { contents in
      defer { contents.wanted = now }
      return contents.wanted == nil
    }
    if isIdle { thread.async { [weak self] in self?.prepareWanted() } }
  }

  private func prepareWanted() {
    guard let now = contents.withLock({ $0.wanted }) else { return }
    do throws(KeyVaultError) {
      try prepare(at: now)
      contents.withLock { $0.wanted = nil }
      whenPrepared(nil)
    } catch {
      contents.withLock { $0.wanted = nil }
      whenPrepared(error)
    }
  }

  private func oldestHour(at now: Int64) -> Int64 { Self.hour(of: now - keepFor) }

  private static func hour(of time: Int64) -> Int64 {
    time >= 0 ? time / millisecondsPerHour : -1
  }

  // MARK: KeyVault

  public func isReady(at now: Int64) -> Bool {
    if contents.withLock({ $0.keys[Self.hour(of: now)] }) != nil { return true }
    prepareSoon(at: now)
    return false
  }

  public func seal(_ key: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedKey {
    let hour = Self.hour(of: now)
    guard let hourKey = contents.withLock({ $0.keys[hour] }) else {
      throw .unavailable("the key of the hour is not on the disk yet")
    }
    return SealedKey(hour: hour, box: try Self.wrap(key, under: SecretKey(hourKey), .sealedKey(hour)))
  }

  public func release(_ key: SealedKey) throws(KeyVaultError) -> ReleasedKey {
    let opened = try unseal(key)
    return ReleasedKey(box: try Self.wrap(opened, under: lasting, .releasedKey))
  }

  public func open(_ key: ReleasedKey) throws(KeyVaultError) -> [UInt8] {
    try Self.unwrap(key.box, under: lasting, .releasedKey)
  }

  public func open(_ key: SealedKey) throws(KeyVaultError) -> [UInt8] { try unseal(key) }

  public func encrypt(_ text: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedText {
    let key = SecretKey(randomBytes: HourKeys.keyBytes)
    return SealedText(key: try seal(key.bytes, at: now), box: try Self.wrap(text, under: key, .text))
  }

  public func decrypt(_ box: Bytes64, with key: ReleasedKey) throws(KeyVaultError) -> [UInt8] {
    try Self.unwrap(box, under: SecretKey(try open(key)), .text)
  }

  private func unseal(_ key: SealedKey) throws(KeyVaultError) -> [UInt8] {
    guard let bytes = contents.withLock({ $0.keys[key.hour] }) else { throw .destroyed }
    return try Self.unwrap(key.box, under: SecretKey(bytes), .sealedKey(key.hour))
  }

  /// Changes the keys in the file first, then in memory. A file that cannot be written changes nothing.
  ///
  /// - Parameter body: returns how many keys it changed; 0 writes nothing.
  private func change(_ body: (inout HourKeys) -> Int) throws(KeyVaultError) -> Int {
    let result = writing.withLock { _ -> Result<Int, KeyVaultError> in
      var changed = contents.withLock { $0.keys }
      let count = body(&changed)
      if count == 0 { return .success(0) }
      do throws(VaultFault) {
        try sealFile.replace(with: changed.encoded)
      } catch {
        return .failure(.unavailable("\(error)"))
      }
      contents.withLock { contents in
        for hour in contents.keys.keys.keys where changed[hour] == nil { contents.keys.overwrite(hour) }
        contents.keys = changed
      }
      return .success(count)
    }
    return try result.get()
  }

  // MARK: AES-GCM

  /// What a box is for. The box is authenticated with its purpose, so that one cannot be passed off as another.
  private enum Purpose {
    case sealedKey(Int64)
    case releasedKey
    case text

    var data: [UInt8] {
      switch self {
      case .sealedKey(let hour): Array("fanfare sealed key of hour \(hour)".utf8)
      case .releasedKey: Array("fanfare released key".utf8)
      case .text: Array("fanfare text".utf8)
      }
    }
  }

  /// Encrypts bytes into a box: nonce, ciphertext and tag. The nonce is random, which is safe because an hour's key
  /// wraps far fewer than 2^32 keys (NIST SP 800-38D).
  private static func wrap(
    _ bytes: [UInt8], under key: SecretKey, _ purpose: Purpose
  ) throws(KeyVaultError) -> Bytes64 {
    do { return Bytes64(try AESGCM.seal(bytes, with: key, authenticating: purpose.data)) } catch { throw .damaged }
  }

  private static func unwrap(
    _ box: Bytes64, under key: SecretKey, _ purpose: Purpose
  ) throws(KeyVaultError) -> [UInt8] {
    do { return try AESGCM.open(box.bytes, with: key, authenticating: purpose.data) } catch { throw .damaged }
  }
}
