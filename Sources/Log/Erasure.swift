public import Wire

/// What deleting a user's data asks of a store, beside the entries that take things away one by one.
///
/// A user is found by looking through all that is kept, a page at a time, on the threads that read: an index by user
/// would cost every publication something, so that a few deletions cost less.
public enum ErasureQuestion: Sendable, Hashable {
  /// Everything that was appended before is in the tables, or has failed, when this is answered: a trace that follows
  /// finds it.
  case settle
  /// A page of what names one of the users, the next one after a position.
  ///
  /// - contents: beginnings of the names of channels in which the payloads are searched too, because they name people.
  case trace(users: [String], contents: [String], after: TracePosition)
  /// Deletes channels with everything that is kept of them, their names included. None may be open; whoever opens one
  /// afterwards begins it anew, in another epoch. Answered with ``ErasureAnswer/busy`` where the store cannot do that
  /// now.
  case drop([ChannelName])
  /// Empties publications and removes entries of channels that no namespace is configured for. Of a channel that is
  /// open only publications can be emptied, which stay at their offsets as ``emptied``.
  case clear([TracedRow])
  /// Deletes the quota accounts of users of whom nothing is kept any more, and idempotency keys with their ids.
  case forgetAccounts([String])
  /// Answered when no file holds what was replaced or removed before.
  case scrub

  /// The data of a publication that ``clear(_:)`` has emptied.
  public static let emptied = Array("null".utf8)
}

public enum ErasureAnswer: Sendable, Equatable {
  case done
  /// Ask again in a moment.
  case busy
  case page(TracePage)
}

/// How far a trace has come: first the names of channels, then publications, then entries of maps.
public struct TracePosition: Sendable, Hashable {
  public enum Table: UInt8, Sendable, Hashable { case channels, publications, entries }

  public var table: Table
  /// The channel's row; 0: before the first.
  public var channel: Int64
  public var offset: UInt64
  public var key: String

  public static let start = TracePosition(table: .channels)

  public init(table: Table, channel: Int64 = 0, offset: UInt64 = 0, key: String = "") {
    self.table = table
    self.channel = channel
    self.offset = offset
    self.key = key
  }
}

/// Something that is kept and names one of the users, or may: in payloads a user's id is looked for as bytes, and only
/// whoever knows what a payload means can say more.
public struct TracedRow: Sendable, Hashable {
  public enum Kind: UInt8, Sendable, Hashable {
    /// The channel's name limits it to one of the users.
    case channel
    case publication
    /// An entry of a map.
    case entry
  }

  public var kind: Kind
  public var channel: ChannelName
  /// As it stands on the disk; without meaning where the kind is ``Kind/channel``.
  public var publication: Publication
  /// Where it stands on the disk: a trace that goes on from there begins behind it. Nil: in memory, or a name of a
  /// channel. It says nothing of what the row is, so rows are equal whatever it is.
  public var place: TracePosition?

  public init(_ kind: Kind, _ channel: ChannelName, _ publication: Publication) {
    self.kind = kind
    self.channel = channel
    self.publication = publication
  }

  public static func == (a: TracedRow, b: TracedRow) -> Bool {
    a.kind == b.kind && a.channel == b.channel && a.publication == b.publication
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(channel)
    hasher.combine(publication.offset)
    hasher.combine(publication.change.map { IdentifierKey($0.key) })
  }
}

public struct TracePage: Sendable, Equatable {
  public var rows: [TracedRow]
  /// Where the next page begins; nil: this was the last.
  public var next: TracePosition?

  public init(rows: [TracedRow] = [], next: TracePosition? = nil) {
    self.rows = rows
    self.next = next
  }
}
