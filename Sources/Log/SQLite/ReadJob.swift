import Wire

/// A question as it goes to a reader's thread: what only the disk can answer.
enum ReadJob: Sendable {
  /// Where a channel stands, with the idempotency keys and origins that are still held at `now`.
  case channel(ChannelName, now: Int64, withEntries: Bool)
  /// - Parameters:
  ///   - span: the offsets to read that are on disk; nil: none of them.
  ///   - warmth: what the channel's tail has room for, read along with the page.
  case page(ChannelName, LogRange, span: ClosedRange<UInt64>?, warmth: Warmth?)
  case entry(ChannelName, IdentifierKey)
  case ending(ChannelName, score: Int64, limit: Int)
  case kept(QuotaAccount)
  case trace(UserTrace)

  /// What to read for a channel's tail: the newest publications of a span, as many as the tail takes.
  struct Warmth: Sendable {
    var span: ClosedRange<UInt64>
    var count: Int
    var bytes: Int
  }

  enum Found: Sendable {
    case channel(ChannelOnDisk)
    /// - warm: publications for the channel's tail, newest first; nil: none were asked for.
    case page([Publication], warm: WarmPublications?)
    case entry(Publication?, of: ChannelOnDisk)
    case ending([ExpiringKey])
    case kept(KeptAmount)
    case traced(TracePage)
    case failed(LogError)
  }

  struct ChannelOnDisk: Sendable {
    var row: ChannelReader.Row?
    /// How many channels were deleted whose names fall into the same bucket (``Schema/epochBucket(of:)``).
    var generation: Int64 = 0
    var keys: [IdempotencyRecord] = []
    var origins: [RequestOrigin: UInt64] = [:]
    var entries: [Publication] = []

    /// The newest offset of an epoch that was found; 0: none. A row of another epoch is one that is to be deleted or
    /// renewed, and says nothing of this one.
    ///
    /// - Parameter storedEpoch: the part of the epoch that stands in the row.
    func top(in storedEpoch: String) -> UInt64 {
      guard let row, row.epoch.hasSameBytes(as: storedEpoch) else { return 0 }
      return row.top
    }
  }

  struct WarmPublications: Sendable {
    var publications: [Publication] = []
    /// The newest offset that was looked for.
    var through: UInt64
    /// Nothing older of the channel is on disk.
    var isAll = false
  }

  /// Whether a reader may answer it together with others of its kind: that costs little, however many they are.
  var isBatchable: Bool { if case .channel(_, _, withEntries: false) = self { true } else { false } }

  /// The newest offset that a page looks for on disk; 0 for other questions.
  var end: UInt64 {
    if case .page(_, _, let span?, _) = self { span.upperBound } else { 0 }
  }

  /// Reads the answer, on a reader's thread.
  func read(from reader: ChannelReader) -> Found {
    do { return try answer(from: reader) } catch {
      return .failed((error as? LogError) ?? StoreFault.logError(for: error))
    }
  }

  private func answer(from reader: ChannelReader) throws -> Found {
    switch self {
    case .channel(let name, let now, let withEntries):
      guard let row = try reader.row(of: name) else {
        return .channel(ChannelOnDisk(generation: try reader.epochGeneration(of: name)))
      }
      return .channel(
        ChannelOnDisk(
          row: row, generation: try reader.epochGeneration(of: name), keys: try reader.keys(of: row.id, at: now),
          origins: try reader.origins(of: row.id, at: now),
          entries: withEntries ? try reader.entries(of: row.id) : []))
    case .page(let name, let range, let span, let warmth):
      guard let id = try reader.row(of: name)?.id else {
        return .page([], warm: warmth.map { WarmPublications(through: $0.span.upperBound) })
      }
      return .page(
        try span.map { try Self.page(of: id, in: $0, range, reader) } ?? [],
        warm: try warmth.map { try Self.warm($0, of: id, reader) })
    case .entry(let name, let key):
      let row = try reader.row(of: name)
      return .entry(
        try row.flatMap { try reader.entries(of: $0.id, key: key.string).first },
        of: ChannelOnDisk(row: row, generation: try reader.epochGeneration(of: name)))
    case .ending(let name, let score, let limit):
      guard let id = try reader.row(of: name)?.id else { return .ending([]) }
      return .ending(try reader.keys(of: id, score: score, expiringBy: .max, limit: limit))
    case .kept(let account): return .kept(try reader.kept(by: account))
    case .trace(let trace): return .traced(try trace.read(from: reader))
    }
  }

  private static func page(
    of id: Int64, in span: ClosedRange<UInt64>, _ range: LogRange, _ reader: ChannelReader
  ) throws -> [Publication] {
    var found = FoundPublications(range)
    try reader.publications(
      of: id, in: span, limit: range.limit, reverse: range.reverse, notBefore: range.notBefore
    ) {
      found.add($0, cost: $0.cost)
      return !found.isFull
    }
    return found.publications
  }

  private static func warm(_ warmth: Warmth, of id: Int64, _ reader: ChannelReader) throws -> WarmPublications {
    var tail = WarmTail(warmth)
    try reader.publications(of: id, in: warmth.span, limit: warmth.count, reverse: true, notBefore: .min) {
      tail.add($0)
    }
    return tail.found
  }
}

/// Gathers what fits into a channel's tail, from the newest on.
struct WarmTail {
  private let warmth: ReadJob.Warmth
  private var warm: ReadJob.WarmPublications
  private var (bytes, count, isFull) = (0, 0, false)

  init(_ warmth: ReadJob.Warmth) {
    self.warmth = warmth
    warm = ReadJob.WarmPublications(through: warmth.span.upperBound)
  }

  /// - Returns: whether the next one may fit.
  mutating func add(_ publication: Publication) -> Bool {
    count += 1
    bytes += publication.cost
    isFull = bytes > warmth.bytes || publication.offset != warmth.span.upperBound - UInt64(warm.publications.count)
    if !isFull { warm.publications.append(publication) }
    return !isFull
  }

  var found: ReadJob.WarmPublications {
    var found = warm
    found.isAll = !isFull && count < warmth.count
    return found
  }
}

/// A job for a reader's thread, and what it is for.
struct ReadRequest: Sendable {
  enum Purpose: Sendable {
    case answer(LogQuestion)
    /// The channel does not stand where it was thought to, and is read anew.
    case refresh(HotPlace)
  }

  var job: ReadJob
  var purpose: Purpose
  /// Deletions of rows that were over when the job was given (``ChannelUpkeep/deletions``).
  var deletions: Int
  /// How often the channels had been lost when the job was given (``TailedStore/terms``).
  var terms = 0
  /// The newest offset of the channel to open of which the store knew, when the job was given, that it is on disk; 0:
  /// of none, or another job.
  var committed: UInt64 = 0
}

/// Answers jobs, on a thread of its own.
protocol JobReader: Sendable {
  /// How many jobs that are alike (``ReadJob/isBatchable``) it wants at once.
  var batchSize: Int { get }

  func read(_ job: ReadJob) -> ReadJob.Found
  /// Answers jobs that can be answered together, each at its place.
  func read(_ jobs: [ReadJob]) -> [ReadJob.Found]
  func close()
}

extension JobReader {
  var batchSize: Int { 1 }

  func read(_ jobs: [ReadJob]) -> [ReadJob.Found] { jobs.map { read($0) } }
}
