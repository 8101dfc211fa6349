public import Apps

/// A vault of messages that disappear that inverts bits, so that a run replays, and opens nothing of hours that a test has
/// destroyed.
public struct InvertingVault: VanishingVault {
  private let destroyed: @Sendable (Int64) -> Bool

  /// - Parameter destroyed: whether the key of an hour since 1970 is gone.
  public init(destroyed: @escaping @Sendable (Int64) -> Bool = { _ in false }) { self.destroyed = destroyed }

  public func isReady(until end: Int64) -> Bool { true }

  public func seal(_ bytes: [UInt8], until end: Int64, for purpose: String) throws(KeyVaultError) -> [UInt8] {
    Array(purpose.utf8) + [0] + bytes.map { ~$0 }
  }

  public func open(_ box: [UInt8], until end: Int64, for purpose: String) throws(KeyVaultError) -> [UInt8] {
    if destroyed(end / 3_600_000) { throw .destroyed }
    let prefix = Array(purpose.utf8) + [0]
    guard box.starts(with: prefix) else { throw .damaged }
    return box.dropFirst(prefix.count).map { ~$0 }
  }
}
