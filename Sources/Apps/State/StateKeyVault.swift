/// Keeps the keys in which the keys of pictures and captions are wrapped, apart from everything that the log holds.
///
/// A key that must be forgotten cannot be protected by one that is kept, because somebody may have copied the log
/// before the wrapped key was erased there. So what is sealed is wrapped in the key of its hour, which is destroyed
/// when nothing of that hour can still be waiting; what is released is wrapped again, in a key that lasts.
///
/// Called in the broker's turn, so every method must answer without waiting for anything, a disk or a server included.
public protocol KeyVault: Sendable {
  /// Whether the key of the hour is saved, as ``seal(_:at:)`` needs it. If not, the vault makes the key, and the
  /// broker runs the command again when it is there (``AppDecision/Answer/later``).
  ///
  /// - Parameter now: milliseconds since 1970.
  func isReady(at now: Int64) -> Bool

  /// Wraps a data key in the key of the hour.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: ``KeyVaultError/unavailable(_:)`` where the key of the hour is not saved yet.
  func seal(_ key: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedKey

  /// Unwraps a sealed key and wraps it again in the key that lasts.
  ///
  /// - Throws: ``KeyVaultError/destroyed`` where the key of its hour is gone.
  func release(_ key: SealedKey) throws(KeyVaultError) -> ReleasedKey

  func open(_ key: ReleasedKey) throws(KeyVaultError) -> [UInt8]

  /// Unwraps a sealed key, only for a gateway that goes on with its owner's upload.
  ///
  /// - Throws: ``KeyVaultError/destroyed`` where the key of its hour is gone.
  func open(_ key: SealedKey) throws(KeyVaultError) -> [UInt8]

  /// Encrypts a text under a data key of its own, and seals that key.
  func encrypt(_ text: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedText

  func decrypt(_ box: Bytes64, with key: ReleasedKey) throws(KeyVaultError) -> [UInt8]
}

extension KeyVault {
  public func isReady(at now: Int64) -> Bool { true }
}

/// Why the vault cannot wrap or unwrap something.
public enum KeyVaultError: Error, Sendable, Equatable {
  /// The key of the hour is gone, so nobody can unwrap this any more.
  case destroyed
  /// This was not wrapped by the vault, or was changed since.
  case damaged
  /// The keys cannot be read or saved now. The text is a sentence for the operator.
  case unavailable(String)
}

/// A data key that nobody can have before it is released.
public struct SealedKey: Sendable, Codable, Equatable {
  /// The hour in whose key the data key is wrapped, in hours since 1970.
  public var hour: Int64
  public var box: Bytes64

  public init(hour: Int64, box: Bytes64) {
    self.hour = hour
    self.box = box
  }
}

/// A data key that the vault unwraps for whoever may have it.
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
