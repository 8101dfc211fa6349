// What a broker and a gateway say to each other of deletions of users' data that were done while the gateway was away.

/// How far a gateway has carried deletions out: through this one.
///
/// Both parts, because numbers alone can come twice: a broker whose folder was restored from a backup counts on from
/// there. Where it does not know a mark, it tells all deletions that it remembers.
public struct DeletionMark: Sendable, Hashable {
  /// Rises with each deletion that is done.
  public var number: UInt64
  /// When it was done, in milliseconds since 1970.
  public var at: Int64

  public init(number: UInt64, at: Int64) {
    self.number = number
    self.at = at
  }
}

/// Deletions of users' data that are done, for a gateway that may have missed them. It names nobody: the gateway works
/// out the digests of the users whom it knows, and forgets those that are among these.
///
/// The states of the telling, for each session of a link, as the broker sees it:
///
///     silent ──the gateway says its mark──▶ waiting ──something newer is done──▶ told
///                                              ▲                                   │
///                                              └────the gateway says its mark──────┘
///
/// - silent: the gateway has not said how far it is; one that keeps nothing of users never does. Can transition to:
///   waiting, and at once on to told where there is something newer than its mark.
/// - told: one message is under way, and no other is sent. Can transition to: waiting (the gateway has carried it out
///   and says the new mark).
/// - waiting: the gateway has carried out all that it was told. Can transition to: told (something newer is done; where
///   the gateway has forgotten those users by order, the message has no records, and moves its mark alone).
///
/// The end of a session ends it: the next one begins silent, and the gateway says the mark that stands on its disk.
/// Nothing is lost by that, since carrying something out twice changes nothing.
public struct LinkDeletions: Sendable, Equatable {
  /// A user whose data was deleted.
  public struct Record: Sendable, Equatable {
    /// Of the user's id with ``LinkDeletions/pepper``, as hexadecimal digits.
    public var digest: String
    /// When the deletion was done, in milliseconds since 1970: what began later is kept.
    public var at: Int64

    public init(digest: String, at: Int64) {
      self.digest = digest
      self.at = at
    }
  }

  /// Most records of a message, but for those that were done with the last of them.
  public static let mostRecords = 2000

  /// Makes the digests. Not to be kept.
  public var pepper: [UInt8]
  /// Deletions that the gateway has missed are not remembered any more, so everybody's intervals go that began at this
  /// time or before it, in milliseconds since 1970; nil: there are none.
  public var forgottenUntil: Int64?
  public var records: [Record]
  /// What the gateway has carried out when it has carried out this.
  public var through: DeletionMark

  public init(pepper: [UInt8], forgottenUntil: Int64? = nil, records: [Record], through: DeletionMark) {
    self.pepper = pepper
    self.forgottenUntil = forgottenUntil
    self.records = records
    self.through = through
  }

  /// What the message takes in memory, roughly.
  var cost: Int { records.reduce(64 + pepper.count) { $0 + 32 + $1.digest.utf8.count } }
}

/// Says how far a gateway has carried deletions out: once in each session by itself, and after each ``LinkDeletions``.
public struct LinkForgotten: Sendable, Equatable {
  /// Nil: through none.
  public var through: DeletionMark?

  public init(through: DeletionMark?) { self.through = through }
}

extension LinkDeletions {
  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(pepper)
    sink.write(flag: forgottenUntil != nil)
    if let forgottenUntil { sink.write(fixed: UInt64(bitPattern: forgottenUntil)) }
    sink.write(through)
    sink.write(UInt64(records.count))
    for record in records {
      sink.write(record.digest)
      sink.write(fixed: UInt64(bitPattern: record.at))
    }
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    let pepper = try reader.readBytes()
    let until = try reader.readFlag() ? Int64(bitPattern: try reader.readFixed()) : nil
    let through = try reader.readMark()
    var records: [Record] = []
    for _ in 0..<(try reader.readCount()) {
      records.append(Record(digest: try reader.readString(), at: Int64(bitPattern: try reader.readFixed())))
    }
    try reader.requireEnd()
    self.init(pepper: pepper, forgottenUntil: until, records: records, through: through)
  }
}

extension LinkForgotten {
  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(flag: through != nil)
    if let through { sink.write(through) }
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    self.init(through: try reader.readFlag() ? try reader.readMark() : nil)
    try reader.requireEnd()
  }
}

extension ByteSink {
  fileprivate mutating func write(_ mark: DeletionMark) {
    write(fixed: mark.number)
    write(fixed: UInt64(bitPattern: mark.at))
  }
}

extension ByteReader {
  fileprivate mutating func readMark() throws(MalformedMessage) -> DeletionMark {
    DeletionMark(number: try readFixed(), at: Int64(bitPattern: try readFixed()))
  }
}
