/// One connection's subscription to a channel, as the offsets that it stands for: what is kept so that somebody can ask
/// later whether a publication reached a user, and why not.
///
/// Nothing is kept per delivery. Offsets are contiguous, so an interval of them says it for each publication in it:
///
///            low                 from                sure         written      covered
///     --------+-------------------+-------------------+-------------+------------+--------
///             |  came with the    |    went to the socket           | waited for |
///             |  answer, if it    |                   | perhaps in  | the reader |
///             |  recovered        |                   | the queue   |            |
///
/// The states of an interval:
///
///     open ──the subscription ends, for whatever cause──▶ ended
///       │
///       └──the process dies──▶ ended (cause: died), found when its successor opens the file
///
/// - open: the gateway knows how far it is, and is asked; now and then it notes that in its file. Can transition to:
///   ended.
/// - ended: ``reach`` is what the gateway saw when it ended. Where the process died, it is what was noted last: that far
///   the subscription came for sure, and nobody saw whether it came further; nil where nothing was noted. Final.
public struct CoverageInterval: Sendable, Equatable {
  /// The connection, by the id that presence and publications show of it.
  public var client: String
  public var start: CoverageStart
  /// How far it went; nil: not known, because the process died before it noted that, or because the gateway could not be
  /// asked.
  public var reach: CoverageReach?
  /// Nil: the subscription is there now.
  public var end: CoverageEnd?

  public init(client: String, start: CoverageStart, reach: CoverageReach? = nil, end: CoverageEnd? = nil) {
    self.client = client
    self.start = start
    self.reach = reach
    self.end = end
  }
}

/// How a subscription began: when the broker had answered it.
public struct CoverageStart: Sendable, Equatable {
  /// The top of the channel then: what comes after it comes live.
  public var position: StreamPosition
  /// Where the client asked to go on; nil: it did not.
  public var since: StreamPosition?
  /// All that was published between `since` and `position` came with the answer.
  public var recovered: Bool
  /// What the client asked to see; nil: everything.
  public var filter: TagFilter?
  /// What the server lets it see; nil: everything.
  public var audience: TagFilter?
  /// The channel's lane keeps the newest of each key for those who lag, and drops what that replaces.
  public var isConflated: Bool
  /// Milliseconds since 1970, to the second.
  public var at: Int64

  public init(
    position: StreamPosition, since: StreamPosition? = nil, recovered: Bool = false, filter: TagFilter? = nil,
    audience: TagFilter? = nil, isConflated: Bool = false, at: Int64
  ) {
    self.position = position
    self.since = since
    self.recovered = recovered
    self.filter = filter
    self.audience = audience
    self.isConflated = isConflated
    self.at = at
  }

  /// The newest offset that the client had to have already: what comes after it was the server's to send.
  public var low: UInt64 {
    if recovered, let since, since.epoch.isEmpty || since.epoch.hasSameBytes(as: position.epoch) {
      return min(since.offset, position.offset)
    }
    return position.offset
  }
}

/// How far a subscription went. Offsets that are below the interval's start mean its start.
public struct CoverageReach: Sendable, Equatable {
  /// The newest publication that came to the event loop while the subscription was there.
  public var covered: UInt64
  /// The newest one that was handed to the connection.
  public var written: UInt64
  /// So many of the newest ones up to `written` may not have left the connection's own queue; `UInt64.max`: any number.
  public var unsure: UInt64
  /// Nothing was sent, not even the answer to the subscribe: the connection ended before it had signed in.
  public var isUnsent: Bool

  public init(covered: UInt64, written: UInt64, unsure: UInt64 = 0, isUnsent: Bool = false) {
    self.covered = covered
    self.written = written
    self.unsure = unsure
    self.isUnsent = isUnsent
  }
}

/// Why a subscription is over.
public struct CoverageEnd: Sendable, Equatable {
  public enum Cause: UInt8, Sendable, CaseIterable {
    /// The client unsubscribed.
    case unsubscribed = 1
    /// A service, an operator or a revoked token ended it. The code is that of the unsubscribe.
    case removed
    /// Publications were lost on the way to the gateway, and the client was told to come back and recover.
    case lost
    /// Its token expired.
    case expired
    /// The app lets the user no longer see the channel: somebody blocked them, or left.
    case excluded
    /// The server closed the connection. The code is that of the disconnect.
    case disconnected
    /// The client went away, or the network did.
    case gone
    /// What the user may see of the channel changed; the subscription goes on as the next interval.
    case refiltered
    /// The gateway's process died.
    case died
    /// It never began: the subscribe was refused. The code is that of the error.
    case refused
  }

  public var cause: Cause
  /// See the causes; 0 where they name none.
  public var code: UInt32
  /// Milliseconds since 1970, to the second. For `died`, when the process was last known to live.
  public var at: Int64

  public init(_ cause: Cause, code: UInt32 = 0, at: Int64) {
    self.cause = cause
    self.code = code
    self.at = at
  }
}

extension CoverageInterval {
  /// The offset up to which everything was handed to the connection; nil: not known.
  public var written: UInt64? {
    guard let reach else { return nil }
    return reach.isUnsent ? start.low : max(reach.written, start.position.offset)
  }

  /// The offset up to which everything left the connection; nil: not known.
  public var sure: UInt64? {
    guard let reach, let written else { return nil }
    return max(written > reach.unsure ? written - reach.unsure : 0, start.low)
  }

  /// The offset up to which everything came to the gateway while the subscription was there; nil: not known.
  public var covered: UInt64? {
    guard let reach else { return nil }
    return max(reach.covered, start.position.offset)
  }
}
