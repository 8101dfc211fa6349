public import Wire

/// Where channels' publications and the entries of maps are kept: the seam behind which a store stands.
///
/// **The broker never waits for a store.** It asks (``ask(_:)``) and appends (``append(_:)``), and goes on. What a store
/// has in memory it answers at once; what it has to wait for comes as news (``takeNews()``), and what became of an entry
/// as a ``LogCompletion``. So an embedded database, one in another building and one that hangs are the same to the broker.
///
/// Whoever has the broker's turn is the only caller of every method, and none of them waits for a disk or a network,
/// except ``close()``. One behaviour suite (`Tests/LogTests`) runs against each store, and against one that delays, fences
/// and fails.
public protocol LogStore: AnyObject {
  /// Asks for something that is kept.
  ///
  /// - Returns: nil where the answer comes later, as ``LogNews/answered(_:_:)``, exactly once for each such question. The
  ///   same question must not be asked again before that.
  func ask(_ question: LogQuestion) -> LogAnswer?

  /// What has come since this was asked last, in order. A store says through its handler that there is something.
  func takeNews() -> [LogNews]

  /// Takes what is to be kept: all of it or nothing. Offsets must be contiguous in each channel, which must be open: one
  /// more than the last that was not refused.
  ///
  /// - Returns: `.kept` where it may be delivered and acknowledged now; `.pending` where the store calls its completion
  ///   handler later, in the order of the calls, exactly once for each entry.
  func append(_ batch: LogBatch) -> AppendOutcome

  /// The broker has forgotten the channel: nothing of it is under way, and it is opened again before it is used again.
  /// What nobody will ask for can go now.
  func release(_ channel: ChannelName)

  /// Drops what is too old. Called every few seconds.
  ///
  /// - Parameter now: milliseconds since 1970.
  func sweep(now: Int64)

  /// Overwrites what the files still hold of entries that were replaced or removed, as soon as the disk has a moment and
  /// nobody reads from them.
  func scrub()

  /// Bytes of what was taken and is not on disk yet. Whoever reads requests stops doing so while it is much.
  var bytesWaiting: Int { get }

  /// The disk takes nothing now, so that waiting for it may last until somebody looks after it.
  var isRefusing: Bool { get }

  /// Writes what waits, and marks the shutdown as clean. No call may follow.
  func close()
}

/// What a broker asks of a store. Each has one kind of ``LogAnswer``, or ``LogAnswer/failed(_:)``.
public enum LogQuestion: Sendable, Hashable {
  /// Loads the channel; answered with ``LogAnswer/opened(_:)``. The channel is open then, until it is released: it is not
  /// asked for again before that.
  ///
  /// - withEntries: it is a map whose entries the store keeps.
  /// - ifExists: a channel on which nothing was ever published is not opened, and nothing of the question stays.
  case open(ChannelName, Durability, withEntries: Bool, ifExists: Bool)
  /// Publications that are kept of an open channel. Entries whose completion is still to come are never part of the
  /// answer beyond ``LogRange/through``.
  case page(ChannelName, LogRange)
  /// The entry of a map; what waits for the disk is not there yet.
  case entry(ChannelName, IdentifierKey)
  /// The keys of a map's entries of one ``KeyChange/score`` that end first, however many of other scores there are: what
  /// waits for its time in one lane never waits behind another's.
  case ending(ChannelName, score: Int64, limit: Int)
  /// What a user keeps in a namespace that has a quota, with what is on its way to the disk.
  case kept(QuotaAccount)
  /// Deletes what is kept of an open channel, of which `through` is the newest publication. Epoch and top stay: offsets
  /// are never given out twice.
  case removeHistory(ChannelName, through: UInt64)
}

public enum LogAnswer: Sendable, Equatable {
  case opened(OpenedChannel)
  case page([Publication])
  /// - at: where the channel stands, as ``open(_:_:withEntries:ifExists:)`` would say of a durable one; nil: it has to be
  ///   opened for that.
  case entry(Publication?, at: StreamPosition?)
  case ending([ExpiringKey])
  case kept(KeptAmount)
  case removed
  case failed(LogError)

  public var isFailure: Bool { if case .failed = self { true } else { false } }
}

/// What a store tells by itself.
public enum LogNews: Sendable, Equatable {
  case answered(LogQuestion, LogAnswer)
  /// Channels of which an entry's time is over, and which nobody has opened.
  case due([ChannelName])
  /// Somebody else keeps the channels from now on: what is under way fails, and nothing that is held of any channel is
  /// true any more. What is asked is answered with ``LogError/fenced`` until they are kept here again.
  case lost
  /// They are kept here again, and may be opened.
  case regained
}

/// What is written together: all of it or nothing.
public enum LogBatch: Sendable {
  case one(LogEntry)
  /// Of channels of durability `durable` alone. If one of them is not contiguous because an entry before it failed, all
  /// of them fail. Each is completed by itself, one after another.
  case together([LogEntry])
}

/// What a store keeps in memory, so that the broker can refuse publications before the process is killed for it.
public protocol MemoryAccounts: AnyObject {
  /// Memory that publications and channels take, roughly.
  var memoryBytes: Int { get }

  /// Nil where the user owns no channel.
  func owner(_ user: String) -> ChannelOwner?

  /// Whose an open channel is; nil: nobody's in particular.
  func owner(of channel: ChannelName) -> ChannelOwner?

  /// The channel, which is open and new, is this user's from now on.
  func own(_ channel: ChannelName, by user: String)

  /// Counts an entry of a map that the broker alone keeps, where its namespace has a quota.
  ///
  /// - Parameters:
  ///   - before: the entry that `now` takes the place of; nil: there was none.
  ///   - now: nil: it is removed.
  func countEntry(_ before: Publication?, replacedBy now: Publication?, in scope: QuotaScope)
}

/// An entry of a map channel, and when it goes.
public struct ExpiringKey: Sendable, Equatable {
  public var key: String
  /// Milliseconds since 1970.
  public var expires: Int64

  public init(key: String, expires: Int64) {
    self.key = key
    self.expires = expires
  }
}

/// A publication that takes the place of one that is kept.
public final class LogEdit: Sendable, Equatable {
  /// With the offset, time and sender of the one that it replaces.
  public let replacement: Publication

  public init(replacement: Publication) { self.replacement = replacement }

  public static func == (a: LogEdit, b: LogEdit) -> Bool { a.replacement == b.replacement }
}

/// What the store knows of a channel when the broker opens it.
public struct OpenedChannel: Sendable, Equatable {
  /// Where it does not exist: offset 0 of the epoch that the channel gets. Whoever holds that position missed nothing if
  /// the epoch is still this one when the channel comes to be, and is told so if it is not.
  public var position: StreamPosition
  /// Something was published there, and the channel's epoch and top are kept.
  public var exists: Bool
  /// Of a map, where they were asked for, in no particular order: of each key the publication that wrote it last. What
  /// waits for the disk is not among them.
  public var entries: [Publication] = []
  /// Idempotency keys that are still held, so that a retry after a restart publishes nothing twice.
  public var idempotencyKeys: [IdempotencyRecord]
  /// Who asked for the publications of the last minute (see ``RequestOrigin``).
  public var recentOrigins: [RequestOrigin: UInt64]

  public init(
    position: StreamPosition, exists: Bool? = nil, idempotencyKeys: [IdempotencyRecord] = [],
    recentOrigins: [RequestOrigin: UInt64] = [:]
  ) {
    self.position = position
    self.exists = exists ?? (position.offset > 0)
    self.idempotencyKeys = idempotencyKeys
    self.recentOrigins = recentOrigins
  }
}

/// A publisher's key, held for five minutes in the transaction of its publication.
public struct IdempotencyRecord: Sendable, Equatable {
  public var key: String
  public var offset: UInt64
  /// Digest of the payload: the same key with other data is a conflict, not a retry.
  public var digest: UInt64
  /// Milliseconds since 1970.
  public var expires: Int64

  public init(key: String, offset: UInt64, digest: UInt64, expires: Int64) {
    self.key = key
    self.offset = offset
    self.digest = digest
    self.expires = expires
  }
}

/// The request that a publication came from. A gateway whose broker died with a request under way cannot know whether
/// it was done; it asks again with the same origin, and the broker finds the publication instead of making a second.
public struct RequestOrigin: Sendable, Hashable {
  /// The gateway process, drawn at its start.
  public var gateway: UInt64
  /// The gateway's request.
  public var request: UInt64

  public init(gateway: UInt64, request: UInt64) {
    self.gateway = gateway
    self.request = request
  }
}

public struct LogEntry: Sendable, Equatable {
  /// Given back in the completion.
  public var ticket: UInt64
  public var channel: ChannelName
  /// Epoch in which the offset was given out.
  public var epoch: String
  public var publication: Publication
  public var durability: Durability
  /// Publications kept per channel, this one included; 0 keeps none, only the top is remembered.
  public var historySize: Int
  /// Milliseconds that a publication is kept.
  public var historyTTLMilliseconds: Int64
  public var idempotency: IdempotencyRecord?
  public var origin: RequestOrigin?
  /// The channel's map is written along with the stream: ``Publication/change`` says which entry.
  public var writesMap: Bool
  /// Changes an earlier publication of the channel along with this one.
  public var edit: LogEdit?
  /// It makes room, or must be written whatever room there is: removals, and what the server itself ends.
  public var mayUseReserve: Bool
  /// What it adds to its user's account, where the namespace has a quota.
  public var claim: QuotaClaim?

  @inlinable
  public init(
    ticket: UInt64, channel: ChannelName, epoch: String, publication: Publication, durability: Durability,
    historySize: Int, historyTTLMilliseconds: Int64, idempotency: IdempotencyRecord? = nil,
    origin: RequestOrigin? = nil, writesMap: Bool = false, edit: LogEdit? = nil, mayUseReserve: Bool = false,
    claim: QuotaClaim? = nil
  ) {
    self.ticket = ticket
    self.channel = channel
    self.epoch = epoch
    self.publication = publication
    self.durability = durability
    self.historySize = historySize
    self.historyTTLMilliseconds = historyTTLMilliseconds
    self.idempotency = idempotency
    self.origin = origin
    self.writesMap = writesMap
    self.edit = edit
    self.mayUseReserve = mayUseReserve
    self.claim = claim
  }

  /// As the log is to keep it.
  public var asKept: LogEntry {
    guard let change = publication.change, let kept = change.kept else { return self }
    var entry = self
    entry.publication.data = kept
    entry.publication.change = KeyChange(
      key: change.key, removed: change.removed, score: change.score, expires: change.expires)
    return entry
  }
}

public enum AppendOutcome: Sendable, Equatable {
  case kept
  case pending
  /// Nothing was taken; the offset is free again.
  case refused(LogError)
}

/// The fate of one pending entry.
public struct LogCompletion: Sendable, Equatable {
  public var ticket: UInt64
  /// Nil: on disk.
  public var error: LogError?

  public init(ticket: UInt64, error: LogError? = nil) {
    self.ticket = ticket
    self.error = error
  }
}

/// Which part of a channel to read.
public struct LogRange: Sendable, Hashable {
  /// Exclusive end on the side where reading starts: publications after it, or before it where `reverse`. Nil starts
  /// at the oldest, or at the newest where `reverse`.
  public var since: UInt64?
  /// Inclusive upper bound: the top that the broker has delivered.
  public var through: UInt64
  public var limit: Int
  public var reverse: Bool
  /// Publications with an earlier time are expired, swept or not. Milliseconds since 1970.
  public var notBefore: Int64
  /// Reading ends with the publication with which they weigh more than this (``Publication/cost``): the reader sees from
  /// it that there was no room for all, and no store holds more than this and one publication at a time.
  public var bytes: Int

  public init(
    since: UInt64?, through: UInt64, limit: Int, reverse: Bool = false, notBefore: Int64 = 0, bytes: Int = .max
  ) {
    self.since = since
    self.through = through
    self.limit = limit
    self.reverse = reverse
    self.notBefore = notBefore
    self.bytes = bytes
  }
}

/// Why the log refused. The description is for the operator; clients get no paths.
public enum LogError: Error, Sendable, Equatable, CustomStringConvertible {
  /// No room. Heals by itself when there is room again.
  case full(String)
  /// The data folder or file cannot be written. Heals by itself.
  case readOnly(String)
  /// Too much waits for the disk.
  case backlog(bytes: Int)
  /// The database takes this publication never, and others as ever.
  case rejected(String)
  /// An entry before this one failed, so its offset would leave a hole.
  case notContiguous
  /// The disk failed in a way after which nothing may be trusted (fsync failed, file corrupt). Final until a restart.
  case failed(String)
  /// Somebody else keeps the channel now.
  case fenced
  case closed

  public var description: String {
    switch self {
    case .full(let detail):
      "the disk of the data folder is full (\(detail)); free some space, publishing resumes by itself"
    case .readOnly(let detail):
      "the data folder cannot be written (\(detail)); make it writable, publishing resumes by itself"
    case .backlog(let bytes): "\(bytes) bytes wait for the disk, which is as much as is allowed; publish more slowly"
    case .rejected(let detail): "the database refused one publication (\(detail)); others are stored as ever"
    case .notContiguous: "an earlier publication of this channel was not stored"
    case .failed(let detail):
      "the store failed (\(detail)); what was acknowledged before is kept, nothing more is accepted: check the disk and restart the broker"
    case .fenced: "another broker keeps the channel now; nothing was stored here"
    case .closed: "the log is closed: the broker is shutting down"
    }
  }
}
