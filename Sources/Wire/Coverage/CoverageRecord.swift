/// One subscription among all of a gateway process: a connection has one at a time on each channel.
public struct CoverageKey: Sendable, Hashable {
  /// The connection's number in its process.
  public var connection: UInt64
  public var channel: ChannelName

  public init(connection: UInt64, channel: ChannelName) {
    self.connection = connection
    self.channel = channel
  }
}

/// Who a subscription belongs to.
public struct CoverageOwner: Sendable, Equatable {
  public var user: String
  public var client: String

  public init(user: String, client: String) {
    self.user = user
    self.client = client
  }
}

/// What an event loop tells of a subscription, for the file of intervals. Records of one subscription come in order.
public enum CoverageRecord: Sendable, Equatable {
  indirect case began(CoverageKey, CoverageOwner, CoverageStart)
  /// The subscription goes on, and is so far.
  case reached(CoverageKey, CoverageReach)
  indirect case ended(CoverageKey, CoverageReach?, CoverageEnd)
  /// From here on the user may see another part of the channel.
  indirect case refiltered(CoverageKey, CoverageReach, audience: TagFilter?, at: Int64)
  indirect case refused(CoverageKey, CoverageOwner, CoverageEnd)
}

/// What is asked of a gateway: the intervals of one user on one channel that have to do with one publication.
public struct CoverageQuery: Sendable, Equatable {
  public var user: String
  public var channel: ChannelName
  public var position: StreamPosition

  public init(user: String, channel: ChannelName, position: StreamPosition) {
    self.user = user
    self.channel = channel
    self.position = position
  }
}

/// What a gateway knows of a user on a channel.
public struct CoverageFindings: Sendable, Equatable {
  /// Most intervals that one gateway answers with.
  public static let limit = 64

  /// False: the gateway keeps no intervals (`why.enabled`).
  public var isKept: Bool
  /// In the order in which they began, those of one connection at least.
  public var intervals: [CoverageInterval]
  /// Milliseconds since 1970 from which on nothing is missing but `lostRecords`.
  public var keptSince: Int64
  /// Records that could not be written since the process began: the disk was full or behind.
  public var lostRecords: UInt64

  public init(
    isKept: Bool = true, intervals: [CoverageInterval] = [], keptSince: Int64 = 0, lostRecords: UInt64 = 0
  ) {
    self.isKept = isKept
    self.intervals = intervals
    self.keptSince = keptSince
    self.lostRecords = lostRecords
  }
}

/// An interval as the file has it, with its key.
public struct CoverageRow: Sendable, Equatable {
  public var key: CoverageKey
  public var interval: CoverageInterval

  public init(key: CoverageKey, interval: CoverageInterval) {
    self.key = key
    self.interval = interval
  }
}

/// How far a subscription is that is there now.
public struct LiveCoverage: Sendable, Equatable {
  public var connection: UInt64
  public var reach: CoverageReach

  public init(connection: UInt64, reach: CoverageReach) {
    self.connection = connection
    self.reach = reach
  }
}

/// Where a gateway's event loops put their records, and where a question about them is answered.
public struct CoverageSink: Sendable {
  /// What was found in the file.
  public struct Found: Sendable {
    public var rows: [CoverageRow]
    public var keptSince: Int64
    public var lostRecords: UInt64

    public init(rows: [CoverageRow] = [], keptSince: Int64 = 0, lostRecords: UInt64 = 0) {
      self.rows = rows
      self.keptSince = keptSince
      self.lostRecords = lostRecords
    }
  }

  /// Takes a record. Any thread; never waits for a disk.
  public let record: @Sendable (CoverageRecord) -> Void
  /// Looks for the rows of a query, after all records that came before. Calls back once, on any thread.
  public let find: @Sendable (CoverageQuery, _ then: @escaping @Sendable (Found) -> Void) -> Void
  /// Deletes what is kept of users, from the disk too. Calls back once, on any thread: with false where the file was
  /// closed before.
  public let forget: @Sendable ([String], _ then: @escaping @Sendable (Bool) -> Void) -> Void

  /// Deletions that were done while this gateway was away; nil: no file keeps anything of users.
  public let missed: CoverageCatchUp?

  public init(
    record: @escaping @Sendable (CoverageRecord) -> Void,
    find: @escaping @Sendable (CoverageQuery, _ then: @escaping @Sendable (Found) -> Void) -> Void,
    forget: @escaping @Sendable ([String], _ then: @escaping @Sendable (Bool) -> Void) -> Void = { $1(true) },
    missed: CoverageCatchUp? = nil
  ) {
    self.record = record
    self.find = find
    self.forget = forget
    self.missed = missed
  }
}

/// Carries out what a gateway has missed of deletions of users' data.
public struct CoverageCatchUp: Sendable {
  /// Through which deletion that is done, as it stands on the disk; nil: through none, or it cannot be read. Calls back
  /// once, on any thread.
  public let readMark: @Sendable (_ then: @escaping @Sendable (DeletionMark?) -> Void) -> Void
  /// Deletes and overwrites what there is of deleted users, and then writes the mark. Calls back once, on any thread:
  /// with false where the file was closed before, or newer deletions came to be carried out in place of these.
  public let forget: @Sendable (LinkDeletions, _ then: @escaping @Sendable (Bool) -> Void) -> Void

  public init(
    readMark: @escaping @Sendable (_ then: @escaping @Sendable (DeletionMark?) -> Void) -> Void,
    forget: @escaping @Sendable (LinkDeletions, _ then: @escaping @Sendable (Bool) -> Void) -> Void
  ) {
    self.readMark = readMark
    self.forget = forget
  }
}

extension CoverageFindings {
  /// What the file and the event loops know together.
  ///
  /// - Parameter live: how far the subscriptions are that are there. They were asked before the file, so a row that is
  ///   still open belongs to one of them; where none is left of it, its reach is not known.
  public init(_ found: CoverageSink.Found, live: [LiveCoverage]) {
    let reaches = Dictionary(live.map { ($0.connection, $0.reach) }, uniquingKeysWith: { $1 })
    let intervals = found.rows.map { row in
      var interval = row.interval
      if interval.end == nil { interval.reach = reaches[row.key.connection] }
      return interval
    }
    self.init(intervals: intervals, keptSince: found.keptSince, lostRecords: found.lostRecords)
  }

  /// The rows that say something about a position: those around it, and the nearest before and after.
  ///
  /// - Parameter rows: in the order in which they began.
  public static func telling(_ rows: [CoverageRow], of position: StreamPosition) -> [CoverageRow] {
    if rows.count <= limit { return rows }
    var (touching, before, after): ([Int], [Int], [Int]) = ([], [], [])
    for (place, row) in rows.enumerated() {
      let interval = row.interval
      let isOther = !interval.start.position.epoch.hasSameBytes(as: position.epoch)
      if isOther || interval.end?.cause == .refused {
        before.append(place)
      } else if interval.start.low >= position.offset {
        after.append(place)
      } else if let covered = interval.covered, interval.end != nil, covered < position.offset {
        before.append(place)
      } else {
        touching.append(place)
      }
    }
    let side = limit / 4
    let chosen = Set(touching.suffix(limit / 2)).union(before.suffix(side)).union(after.prefix(side))
    return rows.indices.filter(chosen.contains).map { rows[$0] }
  }
}
