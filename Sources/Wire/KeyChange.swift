/// What a publication does to one key, of a map channel or of a shared poll.
///
/// A class, so that publications of stream channels, which have none, stay small: each is copied several times on its
/// way through the broker.
public final class KeyChange: Sendable, Equatable {
  public let key: String
  /// The key is removed: the publication's `data` means nothing.
  public let removed: Bool
  /// Where the key stands in a channel that is ordered by score.
  public let score: Int64
  /// When the key ends by itself, in milliseconds since 1970; `Int64.max`: never.
  public let expires: Int64
  /// What the log keeps in place of the publication's data, where the data that subscribers see may stand in no file.
  /// It goes no further than to the log, and equality leaves it out.
  public let kept: [UInt8]?
  /// The key's version in a shared poll, which goes no further than to clients; nil on maps.
  public let version: UInt64?

  public init(
    key: String, removed: Bool = false, score: Int64 = 0, expires: Int64 = .max, kept: [UInt8]? = nil,
    version: UInt64? = nil
  ) {
    self.key = key
    self.removed = removed
    self.score = score
    self.expires = expires
    self.kept = kept
    self.version = version
  }

  public static func == (a: KeyChange, b: KeyChange) -> Bool {
    a.key.hasSameBytes(as: b.key) && a.removed == b.removed && a.score == b.score && a.expires == b.expires
      && a.version == b.version
  }
}
