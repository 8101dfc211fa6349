/// What a publish wants to do to one key of a map channel.
///
/// A class, so that publishes on stream channels, which want nothing of the kind, stay small.
public final class MapWrite: Sendable, Equatable {
  /// Bytes of UTF-8 of the longest key.
  public static let maximumKeyBytes = 255

  public let key: String
  /// The key is to be removed; there need be no data then.
  public let removed: Bool
  /// The score for the entry; nil where the client names none.
  public let score: Int64?

  public init(key: String, removed: Bool = false, score: Int64? = nil) {
    self.key = key
    self.removed = removed
    self.score = score
  }

  public static func == (a: MapWrite, b: MapWrite) -> Bool {
    a.key.hasSameBytes(as: b.key) && a.removed == b.removed && a.score == b.score
  }
}

/// How much of a map channel a subscriber wants to read now. Source: protocol facts, "Map subscriptions".
public struct MapRead: Sendable, Equatable {
  public enum Phase: UInt8, Sendable {
    /// Reads changes since a position; the subscription is live when they are few enough.
    case stream = 1
    /// Reads the entries, a page at a time; the subscription is live where one page holds them all.
    case state = 2
  }

  public var phase: Phase
  /// Where the last page ended; empty: the first page.
  public var cursor: String
  /// Entries or changes in a page; 0: as many as the broker allows.
  public var limit: UInt32
  /// The page is in the reverse of the namespace's order.
  public var isReversed: Bool

  public init(phase: Phase, cursor: String = "", limit: UInt32 = 0, isReversed: Bool = false) {
    self.phase = phase
    self.cursor = cursor
    self.limit = limit
    self.isReversed = isReversed
  }
}

/// A part of a map channel, for a client that is not subscribed yet.
public struct MapPage: Sendable, Equatable {
  public var phase: MapRead.Phase
  /// The position from which changes are to be read after the last page of entries; in the stream, where this page
  /// ends.
  public var position: StreamPosition
  public var entries: [Publication]
  public var changes: [Publication]
  /// Where the next page begins; empty: this was the last page of entries.
  public var cursor: String

  public init(
    phase: MapRead.Phase, position: StreamPosition, entries: [Publication] = [], changes: [Publication] = [],
    cursor: String = ""
  ) {
    self.phase = phase
    self.position = position
    self.entries = entries
    self.changes = changes
    self.cursor = cursor
  }
}
