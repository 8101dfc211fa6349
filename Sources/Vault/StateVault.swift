public import Apps
import Cryptography
import Dispatch

/// The vault of State, in two sets of keys: `seal.keys` holds the keys of hours, `state.key` the key that lasts.
///
/// The keys of this hour and of the next are saved before they are needed (``prepare(at:)``, on a thread that may wait):
/// sealing never waits for a disk or a server, and nothing is sealed with a key that could be lost.
///
/// In another partition than home the vault is a visitor: it makes no keys and destroys none, but reads each minute what
/// home's has made, and forgets it at the same time.
///
/// Somebody who has the log without these keys sees nothing. Somebody who copies them every hour can open what was sealed
/// then: keep them out of backups, or in another one (docs/STATE.md).
public final class StateVault: KeyVault {
  /// The names of the sets, and of their files.
  public static let sealed = "seal.keys"
  public static let lastingName = "state.key"
  static let millisecondsPerHour: Int64 = 3_600_000

  private let hours: KeptKeys
  /// Has the form of the other set, with one key under an hour that never was.
  private let lasting: KeptKeys
  /// Milliseconds, from the end of an hour, for which the hour's key may be needed.
  private let keepFor: Int64
  private let thread = DispatchQueue(label: "fanfare.vault")
  private let whenPrepared: @Sendable (VaultFault?) -> Void
  private var isVisitor: Bool { hours.place.isVisited }

  /// Opens the vault, or makes it where nothing was saved yet.
  ///
  /// - Parameters:
  ///   - hours: where ``sealed`` is kept.
  ///   - lasting: where ``lastingName`` is kept.
  ///   - rules: the app's. A key is kept for as long as a picture may wait to be sent and then for its answer, and an
  ///     hour more.
  ///   - pause: between two readings of a visitor at least.
  ///   - whenPrepared: called on the vault's thread when keys that were asked for are saved, or with the reason why they
  ///     are not.
  public init(
    hours: any KeyPlace, lasting: any KeyPlace, rules: StateRules, pause: DispatchTimeInterval = .seconds(1),
    whenPrepared: @escaping @Sendable (VaultFault?) -> Void = { _ in }
  ) throws(VaultFault) {
    self.whenPrepared = whenPrepared
    keepFor =
      min(rules.lifetime, Self.longest) + min(rules.pictureLifetime, Self.longest) + Self.millisecondsPerHour
    self.lasting = try KeptKeys(in: lasting)
    self.hours = try KeptKeys(in: hours, pause: pause)
    // A set without the key that lasts would have been made into one by ``makeLasting()``, as if nothing were lost.
    if try !lasting.load().bytes.isEmpty, self.lasting[Self.noHour] == nil { throw .damaged(path: lasting.path) }
    if !isVisitor { _ = try makeLasting() }
  }

  private static let noHour: Int64 = -1
  /// A hundred years in milliseconds. Longer times are cut to it, so that sums do not overflow.
  private static let longest: Int64 = 100 * 366 * 24 * millisecondsPerHour

  private func makeLasting() throws(VaultFault) -> Int {
    try lasting.change { keys in
      if keys[Self.noHour] != nil { return 0 }
      keys[Self.noHour] = Randomness.bytes(HourKeys.keyBytes)
      return 1
    }
  }

  /// Makes the keys of this hour and the next, and destroys keys that are not needed any more; a visitor reads those of home.
  /// Waits for the keys' place.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: how many keys were made and destroyed.
  /// - Throws: where the keys cannot be saved, and none has changed then; or cannot be read, or are not made yet
  ///   (``VaultFault/notOurs``).
  @discardableResult
  public func prepare(at now: Int64) throws(VaultFault) -> Int {
    if isVisitor {
      // Both sets come with it.
      try hours.visit(from: oldestHour(at: now))
      if !hasKeys(at: now) { throw .notOurs }
      return 0
    }
    let hour = Self.hour(of: now)
    // Missing where the keys were taken anew from a database that has none.
    return try makeLasting()
      + hours.change { keys in
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
    hours.prepareSoon(at: now, on: thread) { [weak self] now in
      guard let self else { return }
      var fault: VaultFault?
      do throws(VaultFault) { try prepare(at: now) } catch { fault = error }
      // Whoever has the keys now destroys them in their place; what is in memory here goes at the same time.
      if fault == .notOurs { hours.forget(before: oldestHour(at: now)) }
      hours.isPrepared()
      whenPrepared(fault)
    }
  }

  private func oldestHour(at now: Int64) -> Int64 { Self.hour(of: now - keepFor) }

  private static func hour(of time: Int64) -> Int64 {
    time >= 0 ? time / millisecondsPerHour : -1
  }

  // MARK: KeyVault

  public func isReady(at now: Int64) -> Bool {
    if hasKeys(at: now) { return true }
    prepareSoon(at: now)
    return false
  }

  private func hasKeys(at now: Int64) -> Bool { hours[Self.hour(of: now)] != nil && lasting[Self.noHour] != nil }

  public func seal(_ key: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedKey {
    let hour = Self.hour(of: now)
    guard let hourKey = hours[hour] else {
      throw .unavailable("the key of the hour is not kept yet")
    }
    return SealedKey(hour: hour, box: try Self.wrap(key, under: SecretKey(hourKey), .sealedKey(hour)))
  }

  public func release(_ key: SealedKey) throws(KeyVaultError) -> ReleasedKey {
    let opened = try unseal(key)
    return ReleasedKey(box: try Self.wrap(opened, under: lastingKey(), .releasedKey))
  }

  public func open(_ key: ReleasedKey) throws(KeyVaultError) -> [UInt8] {
    try Self.unwrap(key.box, under: lastingKey(), .releasedKey)
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
    guard let bytes = hours[key.hour] else { throw .destroyed }
    return try Self.unwrap(key.box, under: SecretKey(bytes), .sealedKey(key.hour))
  }

  private func lastingKey() throws(KeyVaultError) -> SecretKey {
    guard let bytes = lasting[Self.noHour] else { throw .unavailable("the key that lasts is not kept yet") }
    return SecretKey(bytes)
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
