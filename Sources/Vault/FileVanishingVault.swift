public import Apps
import Cryptography
import Dispatch
import Synchronization
import Wire

/// The keys of messages that disappear, in the file `vanish.keys` of a folder.
///
/// One key for each hour in which something can end, from this hour to the longest time ahead. They are on the disk before
/// they are needed (``prepare(at:)``, on a thread that may wait), and a key is destroyed when its hour has been over for an
/// hour: by then all that ended in it has been removed, or a clock that was set right has shown that it is over.
///
/// Somebody who has the database without this file reads nothing of such messages. It belongs into no backup: with it, one
/// could tell what is to be gone.
public final class FileVanishingVault: VanishingVault {
  public static let file = "vanish.keys"
  static let millisecondsPerHour: Int64 = 3_600_000
  /// Hours for which keys are made ahead: as far as messages may stay, and a day more.
  static let ahead = CliqueCommand.Disappear.longest / millisecondsPerHour + 25

  private struct Contents {
    var keys: HourKeys
    /// The time for which the thread is to prepare keys next; nil: it has nothing to do.
    var wanted: Int64?
  }

  private let file: KeyFile
  private let contents: Mutex<Contents>
  /// Locked while the file is written, so that writes come one after another.
  private let writing = Mutex(())
  private let thread = DispatchQueue(label: "fanfare.vault.vanishing")
  private let whenFailed: @Sendable (KeyVaultError) -> Void

  /// Opens the vault, or makes it where the file does not exist, and waits until the keys of now are on the disk.
  ///
  /// - Parameters:
  ///   - folder: must exist.
  ///   - now: milliseconds since 1970.
  ///   - whenFailed: called on the vault's thread with the reason why keys could not be made or destroyed.
  public init(
    folder: String, now: Int64, whenFailed: @escaping @Sendable (KeyVaultError) -> Void = { _ in }
  ) throws(VaultFault) {
    self.whenFailed = whenFailed
    let folder = folder.hasSuffix("/") && folder.count > 1 ? String(folder.dropLast()) : folder
    file = KeyFile(folder: folder, name: Self.file)
    var keys = HourKeys()
    if let bytes = try file.read() {
      guard let known = HourKeys(bytes) else { throw .damaged(path: file.path) }
      keys = known
    }
    if Self.prepare(&keys, at: now) > 0 { try file.replace(with: keys.encoded) }
    contents = Mutex(Contents(keys: keys))
  }

  /// Makes the keys that are missing, and destroys those that are not needed any more. Waits for the disk.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: how many keys were made and destroyed.
  /// - Throws: ``KeyVaultError/unavailable(_:)`` where the file cannot be written. No key has changed then.
  @discardableResult
  public func prepare(at now: Int64) throws(KeyVaultError) -> Int {
    let result = writing.withLock { _ -> Result<Int, KeyVaultError> in
      var changed = contents.withLock { $0.keys }
      let count = Self.prepare(&changed, at: now)
      if count == 0 { return .success(0) }
      do throws(VaultFault) {
        try file.replace(with: changed.encoded)
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
    defer { contents.withLock { $0.wanted = nil } }
    do throws(KeyVaultError) { try prepare(at: now) } catch { whenFailed(error) }
  }

  private static func prepare(_ keys: inout HourKeys, at now: Int64) -> Int {
    let hour = hour(of: now)
    var changes = keys.destroy(before: hour - 1)
    for hour in hour...(hour + ahead) where keys[hour] == nil {
      keys[hour] = Randomness.bytes(HourKeys.keyBytes)
      changes += 1
    }
    return changes
  }

  private static func hour(of time: Int64) -> Int64 { max(0, time) / millisecondsPerHour }

  // MARK: VanishingVault

  public func isReady(until end: Int64) -> Bool { contents.withLock { $0.keys[Self.hour(of: end)] } != nil }

  public func seal(_ bytes: [UInt8], until end: Int64, for purpose: String) throws(KeyVaultError) -> [UInt8] {
    let hour = Self.hour(of: end)
    guard let key = contents.withLock({ $0.keys[hour] }) else {
      throw .unavailable("the key of the hour is not on the disk")
    }
    // The nonce is random: in an hour far fewer than 2^32 messages end (NIST SP 800-38D).
    do {
      return try AESGCM.seal(bytes, with: SecretKey(key), authenticating: Self.authenticated(hour, purpose))
    } catch { throw .damaged }
  }

  public func open(_ box: [UInt8], until end: Int64, for purpose: String) throws(KeyVaultError) -> [UInt8] {
    let hour = Self.hour(of: end)
    guard let key = contents.withLock({ $0.keys[hour] }) else { throw .destroyed }
    do {
      return try AESGCM.open(box, with: SecretKey(key), authenticating: Self.authenticated(hour, purpose))
    } catch { throw .damaged }
  }

  private static func authenticated(_ hour: Int64, _ purpose: String) -> [UInt8] {
    Array("fanfare vanishing \(hour) \(purpose)".utf8)
  }
}
