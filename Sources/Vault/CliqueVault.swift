public import Apps
import Cryptography
import Dispatch
import Synchronization
import Wire

/// The vault of Clique: keys of messages that disappear, in the set `vanish.keys`.
///
/// One key for each hour in which something can end, from this hour to the longest time ahead. They are saved before they
/// are needed (``prepare(at:)``, on a thread that may wait), and a key is destroyed when its hour has been over for an
/// hour: by then all that ended in it has been removed, or a clock that was set right has shown that it is over.
///
/// In another partition than home the vault is a visitor: it makes no keys and destroys none, but reads each minute
/// what home's has made, and forgets at the same time what is to be destroyed.
///
/// Somebody who has the log without these keys reads nothing of such messages. They belong into no backup: with them, one
/// could tell what is to be gone.
public final class CliqueVault: VanishingVault {
  /// The name of the set, and of its file.
  public static let name = "vanish.keys"
  static let millisecondsPerHour: Int64 = 3_600_000
  /// Hours for which keys are made ahead: as far as messages may stay, and a day more.
  static let ahead = CliqueCommand.Disappear.longest / millisecondsPerHour + 25

  private let keys: KeptKeys
  private let thread = DispatchQueue(label: "fanfare.vault.vanishing")
  private let whenFailed: @Sendable (VaultFault) -> Void
  /// The newest time at which keys were asked for, in milliseconds since 1970.
  private let newest: Mutex<Int64>

  /// Opens the vault, or makes it where nothing was saved yet, and waits until the keys of now are saved; a visitor
  /// waits until those that there are have been read.
  ///
  /// - Parameters:
  ///   - place: where ``name`` is kept.
  ///   - now: milliseconds since 1970.
  ///   - pause: between two readings of a visitor at least.
  ///   - whenFailed: called on the vault's thread with the reason why keys could not be made, destroyed or read.
  public init(
    in place: any KeyPlace, now: Int64, pause: DispatchTimeInterval = .seconds(1),
    whenFailed: @escaping @Sendable (VaultFault) -> Void = { _ in }
  ) throws(VaultFault) {
    self.whenFailed = whenFailed
    newest = Mutex(now)
    keys = try KeptKeys(in: place, pause: pause)
    do throws(VaultFault) { try prepare(at: now) } catch {
      // Before home has made any, nothing is sealed, and nobody needs them.
      guard place.isVisited, error == .notOurs else { throw error }
    }
  }

  /// Makes the keys that are missing, and destroys those that are not needed any more; a visitor reads those of home.
  /// Waits for the keys' place.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: how many keys were made and destroyed.
  /// - Throws: where the keys cannot be saved, and none has changed then; or cannot be read, or are not all made yet
  ///   (``VaultFault/notOurs``).
  @discardableResult
  public func prepare(at now: Int64) throws(VaultFault) -> Int {
    guard keys.place.isVisited else { return try keys.change { Self.prepare(&$0, at: now) } }
    try keys.visit(from: Self.oldestHour(at: now))
    if keys[Self.hour(of: now + CliqueCommand.Disappear.longest)] == nil { throw .notOurs }
    return 0
  }

  /// Calls ``prepare(at:)`` on the vault's thread, and returns at once. To be called every minute.
  public func prepareSoon(at now: Int64) {
    newest.withLock { $0 = now }
    keys.prepareSoon(at: now, on: thread) { [weak self] now in
      guard let self else { return }
      defer { keys.isPrepared() }
      do throws(VaultFault) { try prepare(at: now) } catch {
        // Whoever has the keys now destroys them in their place; what is in memory here goes at the same time.
        if error == .notOurs { keys.forget(before: Self.oldestHour(at: now)) }
        whenFailed(error)
      }
    }
  }

  private static func prepare(_ keys: inout HourKeys, at now: Int64) -> Int {
    let hour = hour(of: now)
    var changes = keys.destroy(before: oldestHour(at: now))
    for hour in hour...(hour + ahead) where keys[hour] == nil {
      keys[hour] = Randomness.bytes(HourKeys.keyBytes)
      changes += 1
    }
    return changes
  }

  private static func oldestHour(at now: Int64) -> Int64 { hour(of: now) - 1 }

  private static func hour(of time: Int64) -> Int64 { max(0, time) / millisecondsPerHour }

  // MARK: VanishingVault

  public func isReady(until end: Int64) -> Bool {
    if keys[Self.hour(of: end)] != nil { return true }
    // Home may have made it since the last reading, as when all begin for the first time.
    if keys.place.isVisited { prepareSoon(at: newest.withLock { $0 }) }
    return false
  }

  public func seal(_ bytes: [UInt8], until end: Int64, for purpose: String) throws(KeyVaultError) -> [UInt8] {
    let hour = Self.hour(of: end)
    guard let key = keys[hour] else {
      throw .unavailable("the key of the hour is not kept yet")
    }
    // The nonce is random: in an hour far fewer than 2^32 messages end (NIST SP 800-38D).
    do {
      return try AESGCM.seal(bytes, with: SecretKey(key), authenticating: Self.authenticated(hour, purpose))
    } catch { throw .damaged }
  }

  public func open(_ box: [UInt8], until end: Int64, for purpose: String) throws(KeyVaultError) -> [UInt8] {
    let hour = Self.hour(of: end)
    guard let key = keys[hour] else { throw .destroyed }
    do {
      return try AESGCM.open(box, with: SecretKey(key), authenticating: Self.authenticated(hour, purpose))
    } catch { throw .damaged }
  }

  private static func authenticated(_ hour: Int64, _ purpose: String) -> [UInt8] {
    Array("fanfare vanishing \(hour) \(purpose)".utf8)
  }
}
