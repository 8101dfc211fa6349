/// What somebody wants to do to one key of a map channel.
///
/// A class, so that publishes on stream channels, which have none, stay small.
public final class MapWrite: Sendable, Equatable {
  /// Longest key, in bytes of UTF-8.
  public static let maximumKeyBytes = 255

  public let key: String
  /// The key is to go; there need be no data then.
  public let removed: Bool
  /// Nil where the client names none.
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
    /// Changes since a position; live when they are few enough.
    case stream = 1
    /// The entries, a page at a time; live where one page holds them all.
    case state = 2
  }

  public var phase: Phase
  /// Where the last page ended; empty: the first page.
  public var cursor: String
  /// Entries or changes in a page; 0: as many as the broker allows.
  public var limit: UInt32
  /// Turns the namespace's order around.
  public var isReversed: Bool

  public init(phase: Phase, cursor: String = "", limit: UInt32 = 0, isReversed: Bool = false) {
    self.phase = phase
    self.cursor = cursor
    self.limit = limit
    self.isReversed = isReversed
  }
}

/// A part of a map channel, for somebody who is not subscribed yet.
public struct MapPage: Sendable, Equatable {
  public var phase: MapRead.Phase
  /// Where changes are to be read from after the last page of entries; in the stream, where this page ends.
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
