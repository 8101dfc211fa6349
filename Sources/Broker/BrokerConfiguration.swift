public import Wire

/// What the broker is told once, at its start. Times in milliseconds, sizes in bytes.
public struct BrokerConfiguration: Sendable {
  public var namespaces: NamespaceTable
  /// Drawn at the process's start, so that gateways can tell a broker that came back from one that was replaced.
  public var instance: UInt64
  /// How long an idempotency key is held.
  public var idempotencyWindow: Int64 = 5 * 60 * 1000
  /// What may be under way to one gateway, sent and not yet worked off by its event loops. Answers wait where they would
  /// fill more than half of it; where what is published goes beyond it, the link is reset and the gateway catches up
  /// from the log.
  public var linkWindowBytes: UInt64 = 64 << 20
  public var heartbeatInterval: Int64 = 1000
  /// Silence after which a gateway is forgotten, with its presence.
  public var gatewayTimeout: Int64 = 10_000
  /// What may wait for the log before requests are read later.
  public var pendingBytes = 64 << 20
  /// Most publications of one answer, whoever asks.
  public var maximumPageSize: UInt32 = 10_000
  /// Most bytes of one answer, whatever the request says: a page ends there, and a recovery that would need more is not
  /// whole. See ``answerBytes``.
  public var maximumPageBytes = 16 << 20
  /// Largest payload of a publication.
  public var maximumPayloadBytes = 1 << 20
  /// Revocations in force at a time: one more is refused, none is forgotten for it.
  public var maximumRevocations = 100_000
  /// Seconds for which a token can hold at most, as the gateways check it; 0: there is no such limit, and a revocation
  /// that says no end of its own has none.
  public var maximumTokenLifetime: Int64 = 0
  /// How long the state of a channel without subscribers stays in memory.
  public var idleChannelTimeout: Int64 = 60_000

  public init(namespaces: NamespaceTable, instance: UInt64) {
    self.namespaces = namespaces
    self.instance = instance
  }

  /// The same, and no more than a quarter of a link's window: answers keep to half of it (``PeerLink``), and one alone
  /// must find room there.
  var answerBytes: Int { min(maximumPageBytes, Int(clamping: linkWindowBytes / 4)) }
}

/// The time of one input: the broker itself never looks at a clock, so that a simulation can be it.
public struct BrokerTime: Sendable, Hashable {
  /// Milliseconds that never go back: for timeouts.
  public var monotonic: Int64
  /// Milliseconds since 1970: for what people and stores see.
  public var wall: Int64
  /// How much later it may be than ``wall``: 0, but while the machine's clock waits to be confirmed.
  public var doubt: Int64

  public init(monotonic: Int64, wall: Int64, doubt: Int64 = 0) {
    self.monotonic = monotonic
    self.wall = wall
    self.doubt = doubt
  }

  /// The latest that it may be.
  var latest: Int64 {
    let (latest, overflow) = wall.addingReportingOverflow(max(0, doubt))
    return overflow ? .max : latest
  }
}
