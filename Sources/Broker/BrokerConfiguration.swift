public import Wire

/// What the broker is told once, at its start. Times in milliseconds, sizes in bytes.
public struct BrokerConfiguration: Sendable {
  public var namespaces: NamespaceTable
  /// Drawn at the process's start, so that gateways can tell a broker that came back from one that was replaced.
  public var instance: UInt64
  /// How long an idempotency key is held.
  public var idempotencyWindow: Int64
  /// What may be under way to one gateway, sent and not yet worked off by its event loops. Answers wait where they would
  /// fill more than half of it; where what is published goes beyond it, the link is reset and the gateway catches up
  /// from the log.
  public var linkWindowBytes: UInt64
  public var heartbeatInterval: Int64
  /// Silence after which a gateway is forgotten, with its presence.
  public var gatewayTimeout: Int64
  /// What may wait for the log before requests are read later.
  public var pendingBytes: Int
  /// Most publications of one answer, whoever asks.
  public var maximumPageSize: UInt32 = 10_000
  /// Most bytes of one answer, whatever the request says: a page ends there, and a recovery that would need more is not
  /// whole. See ``answerBytes``.
  public var maximumPageBytes = 16 << 20
  /// Largest payload of a publication.
  public var maximumPayloadBytes: Int
  /// Revocations in force at a time: one more is refused, none is forgotten for it.
  public var maximumRevocations: Int
  /// Seconds for which a token can hold at most, as the gateways check it; 0: there is no such limit, and a revocation
  /// that says no end of its own has none.
  public var maximumTokenLifetime: Int64
  /// How long the state of a channel without subscribers stays in memory.
  public var idleChannelTimeout: Int64
  /// How long a map that is in memory alone keeps entries that do not end by themselves, after the last subscriber left
  /// and the last write.
  public var idleMapLifetime: Int64
  /// What the records of each app may take in memory beside those on their way to the disk.
  public var appCacheBytes: Int
  /// What is kept in memory, of channels and maps, before publications that add to it are refused.
  public var memoryBytes: Int
  /// Publications of clients on one channel.
  public var channelRate: RateLimit
  /// Members whom the presence of one channel shows.
  public var maximumMembers: Int
  /// Channels that come to be through publications and subscriptions of one user.
  public var creationRate: RateLimit
  /// Channels that one user made and that are kept in memory.
  public var userChannels: Int
  /// Memory that those may take before the user makes no more and adds nothing to them.
  public var userMemoryBytes: Int
  /// Keys that a channel, a publisher and the broker hold at a time.
  public var idempotencyKeys: IdempotencyLimits

  public init(
    namespaces: NamespaceTable, instance: UInt64, idempotencyWindow: Int64, linkWindowBytes: UInt64,
    heartbeatInterval: Int64, gatewayTimeout: Int64, pendingBytes: Int, maximumPayloadBytes: Int,
    maximumRevocations: Int, maximumTokenLifetime: Int64, idleChannelTimeout: Int64, idleMapLifetime: Int64,
    appCacheBytes: Int, memoryBytes: Int, channelRate: RateLimit, maximumMembers: Int, creationRate: RateLimit,
    userChannels: Int, userMemoryBytes: Int, idempotencyKeys: IdempotencyLimits
  ) {
    self.namespaces = namespaces
    self.instance = instance
    self.idempotencyWindow = idempotencyWindow
    self.linkWindowBytes = linkWindowBytes
    self.heartbeatInterval = heartbeatInterval
    self.gatewayTimeout = gatewayTimeout
    self.pendingBytes = pendingBytes
    self.maximumPayloadBytes = maximumPayloadBytes
    self.maximumRevocations = maximumRevocations
    self.maximumTokenLifetime = maximumTokenLifetime
    self.idleChannelTimeout = idleChannelTimeout
    self.idleMapLifetime = idleMapLifetime
    self.appCacheBytes = appCacheBytes
    self.memoryBytes = memoryBytes
    self.channelRate = channelRate
    self.maximumMembers = maximumMembers
    self.creationRate = creationRate
    self.userChannels = userChannels
    self.userMemoryBytes = userMemoryBytes
    self.idempotencyKeys = idempotencyKeys
  }

  /// The same, and no more than a quarter of a link's window: answers keep to half of it (``PeerSession``), and one
  /// alone must find room there.
  var answerBytes: Int { min(maximumPageBytes, Int(clamping: linkWindowBytes / 4)) }

  /// What an answer may hold: what was asked for, and no more than the broker gives.
  func bytes(of answer: AnswerLimit) -> Int { min(Int(answer.bytes), answerBytes) }
}

/// How many idempotency keys are held. A publication with a key beyond it is refused, with a temporary error: that its
/// key is not remembered would break the promise that it is published once.
public struct IdempotencyLimits: Sendable, Equatable {
  public var ofChannel: Int
  public var ofUser: Int
  public var inAll: Int

  public init(ofChannel: Int, ofUser: Int, inAll: Int) {
    self.ofChannel = ofChannel
    self.ofUser = ofUser
    self.inAll = inAll
  }
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
