public import Wire

/// What the broker is told once, at its start. Times in milliseconds, sizes in bytes.
public struct BrokerConfiguration: Sendable {
  public var namespaces: NamespaceTable
  /// How channels are shared among the brokers of a log, and which partition is this one's.
  public var partitioning = Partitioning.whole
  public var partition = Partitioning.home
  /// Drawn at the process's start, so that gateways can tell a broker that came back from one that was replaced.
  public var instance: UInt64
  /// How long an idempotency key is remembered.
  public var idempotencyWindow: Int64
  /// The window of a link: bytes that may be under way to one gateway, sent and not yet worked off by its event loops.
  /// Answers wait where they would fill more than half of the window; where publications go beyond it, the link is
  /// reset and the gateway catches up from the log.
  public var linkWindowBytes: UInt64
  public var heartbeatInterval: Int64
  /// Silence after which a gateway is forgotten, with its presence.
  public var gatewayTimeout: Int64
  /// How long gateways have for a survey, if that is not longer than ``gatewayTimeout``. Then the requester is answered
  /// with what has come.
  public var surveyTimeout: Int64 = 2_000
  /// What a survey is answered with: name and version of the server.
  public var version = "Fanfare"
  /// Bytes that may wait for the log. With more, the broker stops reading requests until some of them are on disk.
  public var pendingBytes: Int
  /// Most entries, members or channels of one answer, whoever asks.
  public var maximumPageSize: UInt32 = 10_000
  /// Most publications of one page of history or one recovery, whoever asks; a recovery that would need more is answered
  /// as one that cannot be had whole.
  public var maximumPublications: UInt32 = 10_000
  /// Most bytes of one answer, whatever the request says: a page of history or of a map ends there, and a recovery that
  /// would need more is answered as one that cannot be had whole. See ``answerBytes``.
  public var maximumPageBytes = 16 << 20
  /// Largest payload of a publication.
  public var maximumPayloadBytes: Int
  /// Revocations in force at a time: one more is refused, none is forgotten for it.
  public var maximumRevocations: Int
  /// Seconds for which a token is valid at most, as the gateways check it; 0: there is no such limit, and a revocation
  /// for which no end was given never ends.
  public var maximumTokenLifetime: Int64
  /// How long the state of a channel without subscribers stays in memory.
  public var idleChannelTimeout: Int64
  /// How long a map that is kept in memory alone stays there after its last write while nobody is subscribed to it.
  /// Then it is forgotten, with its entries that have no end.
  public var idleMapLifetime: Int64
  /// Memory for the records of each app that are on disk as well; those on their way to the disk are not counted.
  public var appCacheBytes: Int
  /// Memory that channels, maps and idempotency keys may take together. With more, publications that would add to it
  /// are refused.
  public var memoryBytes: Int
  /// How fast clients may publish on one channel, all of them together.
  public var channelRate: RateLimit
  /// Most members in the presence of one channel.
  public var maximumMembers: Int
  /// How fast one user may bring new channels into being, by publishing or subscribing.
  public var creationRate: RateLimit
  /// Most channels kept in memory that one user made.
  public var userChannels: Int
  /// Memory that the channels of one user may take. With more, the user makes no new ones and adds nothing to them.
  public var userMemoryBytes: Int
  /// Idempotency keys that a channel, a publisher and the broker hold at a time.
  public var idempotencyKeys: IdempotencyLimits

  /// Gateways keep people's pictures: what is deleted of a user is not gone before at least one of them has said that the
  /// files are.
  public var gatewaysKeepPictures = false
  /// What users may ask about their own data by themselves.
  public var accounts = AccountRules()

  /// The webhooks; their order is that in which they are listed.
  public var webhooks: [WebhookConfiguration] = []
  /// Milliseconds without a subscriber after which a channel counts as vacated.
  public var vacatedAfter: Int64 = 5000

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

  /// Most bytes of one answer: ``maximumPageBytes``, and no more than a quarter of a link's window. Answers keep to
  /// half of the window (``PeerSession``), and the largest of them must find room there.
  var answerBytes: Int { min(maximumPageBytes, Int(clamping: linkWindowBytes / 4)) }

  /// Bytes that an answer may hold: as many as were asked for, and no more than ``answerBytes``.
  func bytes(of answer: AnswerLimit) -> Int { min(Int(answer.bytes), answerBytes) }
}

/// How many idempotency keys are held. A publication whose key would be one too many is refused with a temporary error:
/// if it were taken and its key not remembered, a retry would publish it twice.
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

/// The time of one input. The broker itself never looks at a clock, so that a simulation can say what time it is.
public struct BrokerTime: Sendable, Hashable {
  /// Milliseconds of a clock that never goes back: for timeouts.
  public var monotonic: Int64
  /// Milliseconds since 1970: for what people and stores see.
  public var wall: Int64
  /// Milliseconds by which the true time may be later than ``wall``. 0, except while the machine's clock is not
  /// confirmed (`TrustedClock`).
  public var doubt: Int64
  /// Milliseconds by which ``wall`` was moved ahead, on test servers (`MovedClock`). 0 everywhere else.
  public var moved: Int64

  public init(monotonic: Int64, wall: Int64, doubt: Int64 = 0, moved: Int64 = 0) {
    self.monotonic = monotonic
    self.wall = wall
    self.doubt = doubt
    self.moved = moved
  }

  /// Seconds since 1970, as gateways have them where they check tokens: so what is said of tokens counts by it.
  var tokenSeconds: Int64 { (wall - moved) / 1000 }

  /// The latest that the true time may be, in milliseconds since 1970.
  var latest: Int64 {
    let (latest, overflow) = wall.addingReportingOverflow(max(0, doubt))
    return overflow ? .max : latest
  }
}
