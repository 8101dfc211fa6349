public import Wire

/// Where channels' publications and the entries of maps are kept: the seam behind which a store stands.
///
/// **The broker never waits for a store.** It asks (``ask(_:)``) and appends (``append(_:)``), and goes on. What a
/// store has in memory it answers at once; what it has to wait for comes as news (``takeNews()``), and what became of
/// an entry as a ``LogCompletion``. So an embedded database, one in another building and one that hangs are the same to
/// the broker.
///
/// Whoever has the broker's turn is the only caller of every method, and none of them waits for a disk or a network,
/// except ``close()``. One behaviour suite (`Tests/LogTests`) runs against each store, and against one that delays,
/// fences and fails.
public protocol LogStore: AnyObject {
  /// Asks for something that is kept.
  ///
  /// - Returns: nil where the answer comes later, as ``LogNews/answered(_:_:)``, exactly once for each such question.
  ///   The same question must not be asked again before that.
  func ask(_ question: LogQuestion) -> LogAnswer?

  /// News since the last call, in order. A store says through its handler that there is some.
  func takeNews() -> [LogNews]

  /// Takes a batch of entries to be kept: all of them or none. Offsets must be contiguous in each channel, which must
  /// be open: one more than the last that was not refused.
  ///
  /// - Returns: `.kept` where the batch may be delivered and acknowledged now; `.pending` where the store calls its
  ///   completion handler later, in the order of the calls, exactly once for each entry.
  func append(_ batch: LogBatch) -> AppendOutcome

  /// Tells the store that the broker has forgotten the channel: nothing of it is under way, and it is opened again
  /// before it is used again. The store may drop what nobody will ask for.
  func release(_ channel: ChannelName)

  /// Drops publications, idempotency keys and origins that are too old. Called every few seconds.
  ///
  /// - Parameter now: milliseconds since 1970.
  func sweep(now: Int64)

  /// The number of the lease under which this store has its channels; it rises whenever they change hands. 0: no other
  /// broker can ever have them.
  var term: UInt64 { get }

  /// Says what became of a message of the outbox (``LogNews/outbox(_:)``). To be called once for each.
  func conclude(_ message: OutboxMessage.ID, _ fate: OutboxFate)

  /// Overwrites what the files still hold of entries that were replaced or removed, as soon as the disk has a moment
  /// and nobody reads from them.
  func scrub()

  /// Bytes of entries that were taken and are not on disk yet. While they are many, the broker stops reading requests.
  var bytesWaiting: Int { get }

  /// The disk takes nothing now, so that a wait for it may last until an operator looks after it.
  var isRefusing: Bool { get }

  /// Writes the entries that wait, and marks the shutdown as clean. No call may follow.
  func close()
}

extension LogStore {
  public var term: UInt64 { 0 }

  /// A store without an outbox hands out no messages of one.
  public func conclude(_ message: OutboxMessage.ID, _ fate: OutboxFate) {}
}

/// What a broker asks of a store. Each question has one kind of ``LogAnswer``, or ``LogAnswer/failed(_:)``.
public enum LogQuestion: Sendable, Hashable {
  /// Loads the channel; answered with ``LogAnswer/opened(_:)``. The channel is open then, until it is released: it is
  /// not asked for again before that.
  ///
  /// - withEntries: it is a map whose entries the store keeps.
  /// - ifExists: a channel on which nothing was ever published is not opened, and nothing of the question stays.
  case open(ChannelName, Durability, withEntries: Bool, ifExists: Bool)
  /// Publications that are kept of an open channel. Entries whose completion is still to come are never part of the
  /// answer beyond ``LogRange/through``.
  case page(ChannelName, LogRange)
  /// The map's entry of a key. A publication that still waits for the disk does not show in it.
  case entry(ChannelName, IdentifierKey)
  /// The keys of a map's entries of one ``KeyChange/score`` whose time is over first, however many entries of other
  /// scores there are. An app gives each kind of record that waits for its time a score of its own, and none waits
  /// behind those of another kind.
  case ending(ChannelName, score: Int64, limit: Int)
  /// How much a user keeps in a namespace that has a quota, with what is on its way to the disk.
  case kept(QuotaAccount)
  /// Deletes the history of an open channel, of which `through` is the newest publication. The channel's epoch and top
  /// stay, so that offsets are never given out twice.
  case removeHistory(ChannelName, through: UInt64)
  /// Part of deleting a user's data; answered with ``LogAnswer/erasure(_:)``.
  case erasure(ErasureQuestion)
}

public enum LogAnswer: Sendable, Equatable {
  case opened(OpenedChannel)
  case page([Publication])
  /// - at: where the channel stands, as ``open(_:_:withEntries:ifExists:)`` would say of a durable one; nil: only
  ///   opening the channel tells.
  case entry(Publication?, at: StreamPosition?)
  case ending([ExpiringKey])
  case kept(KeptAmount)
  case removed
  case erasure(ErasureAnswer)
  case failed(LogError)

  public var isFailure: Bool { if case .failed = self { true } else { false } }
}

/// What a store tells through ``LogStore/takeNews()``.
public enum LogNews: Sendable, Equatable {
  case answered(LogQuestion, LogAnswer)
  /// Maps that the broker has not opened, and in which an entry's time is over.
  case due([ChannelName])
  /// Another broker keeps the channels from now on: entries under way fail, and nothing that this broker holds of any
  /// channel is true any more. Questions are answered with ``LogError/fenced`` until ``regained``.
  case lost
  /// This store keeps the channels again, and they may be opened.
  case regained
  /// Publications that backends have committed beside their own data, in the order of their commits. Each is concluded
  /// once (``LogStore/conclude(_:_:)``).
  case outbox([OutboxMessage])
}

/// Entries that are written together: all of them or none.
public enum LogBatch: Sendable {
  case one(LogEntry)
  /// Entries of channels of durability `durable` alone. If one of them is not contiguous because an entry before it
  /// failed, all of them fail. Each is completed by itself, one after another.
  case together([LogEntry])
  /// Entries as in ``together(_:)``, one at least, and in the same transaction what other partitions' brokers are to take
  /// in. Only of a store that has partitions.
  case relaying([LogEntry], [LogRelay])
}

/// Something for an app in another partition of the same log, where it comes as an ``OutboxMessage``: exactly once, in the
/// order of this partition's commits.
public struct LogRelay: Sendable, Equatable {
  /// Not the store's own.
  public var partition: Int
  /// The app's name.
  public var app: String
  public var data: [UInt8]

  public init(to partition: Int, of app: String, _ data: [UInt8]) {
    self.partition = partition
    self.app = app
    self.data = data
  }
}

/// The key of an entry of a map, and when the entry ends by itself.
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
  /// Has the offset and time of the publication that it replaces, and its sender unless the edit ``erases``.
  public let replacement: Publication
  /// The sender goes too, and the idempotency key with which it was published: a user's data is being deleted.
  public let erases: Bool

  public init(replacement: Publication, erases: Bool = false) {
    self.replacement = replacement
    self.erases = erases
  }

  public static func == (a: LogEdit, b: LogEdit) -> Bool { a.replacement == b.replacement && a.erases == b.erases }
}

/// What the store knows of a channel when the broker opens it.
public struct OpenedChannel: Sendable, Equatable {
  /// Where the channel stands. One that does not exist stands at offset 0 of the epoch that it would get now. A client
  /// that holds that position has missed nothing if the channel comes to be in this epoch; if in another one, the epoch
  /// tells the client that it may have.
  public var position: StreamPosition
  /// Something was published on the channel, and its epoch and top are kept.
  public var exists: Bool
  /// A map's entries, where they were asked for, in no particular order: for each key the publication that wrote it
  /// last. Publications that wait for the disk are not among them.
  public var entries: [Publication] = []
  /// Idempotency keys that are still held, so that a retry after a restart publishes nothing twice.
  public var idempotencyKeys: [IdempotencyRecord]
  /// The requests that the publications of the last minute came from, each with the offset of its publication.
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

/// A publisher's idempotency key: written in the transaction of its publication, and held for five minutes.
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
  /// Identifies the gateway process: a number drawn at its start, and never ``outboxGateway``.
  public var gateway: UInt64
  /// Identifies the request among those of the gateway process.
  public var request: UInt64

  public init(gateway: UInt64, request: UInt64) {
    self.gateway = gateway
    self.request = request
  }
}

public struct LogEntry: Sendable, Equatable {
  /// The caller's number for the entry, given back in its completion.
  public var ticket: UInt64
  public var channel: ChannelName
  /// The epoch in which the publication's offset was given out.
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
  /// The entry may be written into the room that ``DiskLimits`` leaves free, because it makes room, or must be written
  /// whatever room there is: removals, and ends of entries by the server itself.
  public var mayUseReserve: Bool
  /// What the entry adds to its user's account, where the namespace has a quota.
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

  /// The entry as the log is to keep it: with ``KeyChange/kept`` in place of the data, where a change says so.
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
  /// Nil: the entry is on disk.
  public var error: LogError?

  public init(ticket: UInt64, error: LogError? = nil) {
    self.ticket = ticket
    self.error = error
  }
}

/// Which part of a channel to read.
public struct LogRange: Sendable, Hashable {
  /// Exclusive end on the side where reading starts: publications after this offset, or before it where `reverse`. Nil
  /// starts at the oldest, or at the newest where `reverse`.
  public var since: UInt64?
  /// Inclusive upper bound of the offsets: the top that the broker has delivered.
  public var through: UInt64
  public var limit: Int
  public var reverse: Bool
  /// Publications with an earlier time are expired, swept or not. Milliseconds since 1970.
  public var notBefore: Int64
  /// Bytes (``Publication/cost``) after which reading ends, with the publication that goes beyond them: whoever asked
  /// sees from it that there was no room for all, and no store holds more than this and one publication at a time.
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
  /// There is no room on the disk. The log takes entries again when there is.
  case full(String)
  /// The data folder or file cannot be written. The log takes entries again when it can be.
  case readOnly(String)
  /// The database server takes nothing now. The log takes entries again when it does.
  case unavailable(String)
  /// Too many bytes wait for the disk.
  case backlog(bytes: Int)
  /// The database will never take this publication, and takes others as ever.
  case rejected(String)
  /// An entry before this one failed, so its offset would leave a hole.
  case notContiguous
  /// The disk failed in a way after which nothing may be trusted (fsync failed, file corrupt). Final until a restart.
  case failed(String)
  /// Another broker keeps the channel now.
  case fenced
  case closed

  public var description: String {
    switch self {
    case .full(let detail):
      "the disk of the data folder is full (\(detail)); free some space, publishing resumes by itself"
    case .readOnly(let detail):
      "the data folder cannot be written (\(detail)); make it writable, publishing resumes by itself"
    case .unavailable(let detail):
      "the database takes nothing now (\(detail)); publishing resumes by itself when it does"
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
