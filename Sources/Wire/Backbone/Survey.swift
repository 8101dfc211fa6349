/// What the broker asks all gateways, since they alone know it.
///
/// A gateway asks each of its event loops, adds up what they find, and answers once. The broker adds up what the
/// gateways answer, and waits for none of them for long: its own answer says how many did not answer in time.
public enum Survey: Sendable, Equatable {
  /// How much each gateway carries.
  case counts
  /// How many clients are on each channel that fits the pattern.
  case channels(ChannelPattern, ChannelLimit)
  /// What each gateway knows of one channel, user or client, or why somebody may do something or not.
  case inspect(InspectRequest)
  /// The channels and clients of each gateway on which most goes on.
  case top
  /// What each gateway knows of a user's subscriptions to a channel.
  indirect case coverage(CoverageQuery)
}

/// What a gateway found: one case for each of ``Survey``.
public enum Findings: Sendable, Equatable {
  case counts(GatewayCounts)
  case channels(ChannelCounts)
  /// JSON, an object (decision 0048).
  case inspected([UInt8])
  case top(TopFindings)
  indirect case coverage(CoverageFindings)
}

/// A survey with its number, which a gateway's answer says back.
public struct LinkSurvey: Sendable, Equatable {
  public var id: UInt64
  public var survey: Survey

  public init(id: UInt64, _ survey: Survey) {
    self.id = id
    self.survey = survey
  }
}

/// A gateway's one answer to a survey.
public struct LinkFindings: Sendable, Equatable {
  public var id: UInt64
  public var findings: Findings

  public init(id: UInt64, _ findings: Findings) {
    self.id = id
    self.findings = findings
  }
}

/// How much one gateway carries.
public struct GatewayCounts: Sendable, Equatable {
  /// Tells people which gateway it is: its host and a number.
  public var name: String
  /// Name and version of the server.
  public var version: String
  /// Seconds since the gateway began.
  public var uptime: UInt64
  /// Connections that have signed in.
  public var clients: UInt64
  /// Users of those connections, each counted once on this gateway. Those without a user count as one together.
  public var users: UInt64
  /// Subscriptions of all clients, those that the server made among them.
  public var subscriptions: UInt64
  /// Channels that somebody is subscribed to, or about to be.
  public var channels: UInt64

  public init(
    name: String, version: String, uptime: UInt64 = 0, clients: UInt64 = 0, users: UInt64 = 0,
    subscriptions: UInt64 = 0, channels: UInt64 = 0
  ) {
    self.name = name
    self.version = version
    self.uptime = uptime
    self.clients = clients
    self.users = users
    self.subscriptions = subscriptions
    self.channels = channels
  }
}

/// What the whole server carries: the broker, and each gateway that answered.
public struct ServerInfo: Sendable, Equatable {
  public struct Broker: Sendable, Equatable {
    /// Name and version of the server.
    public var version: String
    /// Seconds since the broker began.
    public var uptime: UInt64
    /// Channels in memory, those that nobody is subscribed to among them.
    public var channels: UInt64
    /// Publications since the broker began.
    public var publications: UInt64

    public init(version: String, uptime: UInt64, channels: UInt64, publications: UInt64) {
      self.version = version
      self.uptime = uptime
      self.channels = channels
      self.publications = publications
    }
  }

  public struct Gateway: Sendable, Equatable {
    /// The number that the gateway drew at its start (``LinkHello/gateway``).
    public var number: UInt64
    public var counts: GatewayCounts

    public init(_ number: UInt64, _ counts: GatewayCounts) {
      self.number = number
      self.counts = counts
    }
  }

  public var broker: Broker
  /// Sorted by number.
  public var gateways: [Gateway]
  /// Gateways that did not answer in time.
  public var unanswered: UInt32

  public init(broker: Broker, gateways: [Gateway], unanswered: UInt32) {
    self.broker = broker
    self.gateways = gateways
    self.unanswered = unanswered
  }
}

extension Survey {
  /// What a survey takes in memory, roughly and in bytes.
  var cost: Int {
    switch self {
    case .counts, .channels, .top: 64 + ChannelPattern.maximumLength
    case .inspect(let request): request.cost
    case .coverage(let query): 128 + query.user.utf8.count + query.channel.string.utf8.count
    }
  }
}

extension Findings {
  /// What the findings take in memory, roughly and in bytes.
  var cost: Int {
    switch self {
    case .counts(let counts): counts.cost
    case .channels(let counts): counts.cost
    case .inspected(let bytes): 64 + bytes.count
    case .top(let top): top.cost
    case .coverage(let findings): findings.cost
    }
  }
}

extension GatewayCounts {
  var cost: Int { 128 + name.utf8.count + version.utf8.count }
}

extension ServerInfo {
  var cost: Int { gateways.reduce(128 + broker.version.utf8.count) { $0 + 16 + $1.counts.cost } }
}
