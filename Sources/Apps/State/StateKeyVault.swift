/// Keeps the keys that keys and captions are wrapped in, apart from everything that the log holds.
///
/// A key that must be forgotten cannot be protected by one that is kept: somebody could have copied the log before it
/// was erased there. So what is sealed is wrapped in the key of its hour, which is destroyed when nothing of that hour
/// can still be waiting; what is released is wrapped again, in a key that stays.
///
/// Called from the broker's thread; must answer without waiting for anybody, the disk included.
public protocol KeyVault: Sendable {
  /// Whether ``seal(_:at:)`` has the key that it needs. Where it has not, the key is made, and the broker is told when it
  /// is on the disk (``AppDecision/Answer/later``).
  func isReady(at now: Int64) -> Bool

  /// Wraps a data key in the key of the hour.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: ``KeyVaultError/unavailable(_:)`` where that key is not on the disk.
  func seal(_ key: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedKey

  /// Wraps it again, in the key that lasts.
  ///
  /// - Throws: ``KeyVaultError/destroyed`` after the key of its hour is gone.
  func release(_ key: SealedKey) throws(KeyVaultError) -> ReleasedKey

  func open(_ key: ReleasedKey) throws(KeyVaultError) -> [UInt8]

  /// For the gateway that goes on with an upload, which is nobody else's.
  ///
  /// - Throws: ``KeyVaultError/destroyed`` after the key of its hour is gone.
  func open(_ key: SealedKey) throws(KeyVaultError) -> [UInt8]

  /// Encrypts a text under a data key of its own, which is sealed.
  func encrypt(_ text: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedText

  func decrypt(_ box: Bytes64, with key: ReleasedKey) throws(KeyVaultError) -> [UInt8]
}

extension KeyVault {
  public func isReady(at now: Int64) -> Bool { true }
}

/// Why the vault cannot do it.
public enum KeyVaultError: Error, Sendable, Equatable {
  /// The key of its hour is gone: nobody can open this any more.
  case destroyed
  /// This is not what the vault made.
  case damaged
  /// The vault's files cannot be read or written. A sentence for the operator.
  case unavailable(String)
}

/// A data key that nobody can have before it is released.
public struct SealedKey: Sendable, Codable, Equatable {
  /// Which key it is wrapped in: hours since 1970.
  public var hour: Int64
  public var box: Bytes64

  public init(hour: Int64, box: Bytes64) {
    self.hour = hour
    self.box = box
  }
}

/// A data key that the vault opens for who may have it.
public struct ReleasedKey: Sendable, Codable, Equatable {
  public var box: Bytes64

  public init(box: Bytes64) { self.box = box }
}

public struct SealedText: Sendable, Codable, Equatable {
  public var key: SealedKey
  public var box: Bytes64

  public init(key: SealedKey, box: Bytes64) {
    self.key = key
    self.box = box
  }
}
