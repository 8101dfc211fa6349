/// Keeps the keys under which the log holds what is to be gone after a time, apart from everything that the log holds.
///
/// There is one key for each hour in which something ends. It is made before anything can end in that hour, and destroyed
/// soon after the hour is over: what was sealed under it can then be read by nobody, in whatever copy it stands.
///
/// Called in the broker's turn, so every method must answer without waiting for anything, a disk or a server included.
public protocol VanishingVault: Sendable {
  /// Whether the key of the hour is saved.
  ///
  /// - Parameter end: when what is to be sealed ends, in milliseconds since 1970.
  func isReady(until end: Int64) -> Bool

  /// Encrypts bytes under the key of the hour in which they end.
  ///
  /// - Parameter purpose: what the bytes are, which ``open(_:until:for:)`` has to be given again.
  /// - Throws: ``KeyVaultError/unavailable(_:)`` where the key of the hour is not saved yet.
  func seal(_ bytes: [UInt8], until end: Int64, for purpose: String) throws(KeyVaultError) -> [UInt8]

  /// - Throws: ``KeyVaultError/destroyed`` where the key of the hour is gone.
  func open(_ box: [UInt8], until end: Int64, for purpose: String) throws(KeyVaultError) -> [UInt8]
}
