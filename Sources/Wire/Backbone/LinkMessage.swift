/// The first of the two frames in which a message travels between processes.
///
///     header   kind (1 byte) · session (8, least significant first) · sequence number (8)
///     body     by kind; for a publication the same bytes go to every gateway, so that they are encoded and held once
///
/// Both sides number the messages that they send from 0 in each session, heartbeats included. A missing number means
/// that a pipe lost something; the gateway then opens a new session and asks the log for what it missed.
public struct LinkHeader: Sendable, Equatable {
  public enum Kind: UInt8, Sendable {
    // From the gateway.
    case hello = 1
    case request = 2
    case gatewayHeartbeat = 3
    case resynced = 4
    case goodbye = 5
    case obeyed = 6
    case findings = 7
    case forgotten = 8
    // From the broker.
    case welcome = 17
    case reply = 18
    case publication = 19
    case join = 20
    case leave = 21
    case brokerHeartbeat = 22
    case reset = 23
    case audience = 24
    case discard = 25
    case order = 26
    case survey = 27
    case deletions = 28
    // From either.
    case trace = 50
  }

  public static let length = 17

  public var kind: Kind
  /// Drawn by the gateway, rising: tells messages of the present session from those of a former one that were still in
  /// the pipe.
  public var session: UInt64
  public var sequence: UInt64

  public init(kind: Kind, session: UInt64, sequence: UInt64) {
    self.kind = kind
    self.session = session
    self.sequence = sequence
  }

  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.reserveCapacity(Self.length)
    sink.write(byte: kind.rawValue)
    sink.write(fixed: session)
    sink.write(fixed: sequence)
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    guard bytes.count == Self.length, let kind = Kind(rawValue: bytes[0]) else { throw MalformedMessage() }
    var reader = ByteReader(bytes)
    _ = try reader.readByte()
    self.init(kind: kind, session: try reader.readFixed(), sequence: try reader.readFixed())
  }
}

/// One message of a session, as the machines at both ends of the link give and take it. A pipe carries it: in memory as
/// it is, over ZeroMQ as bytes.
public struct LinkMessage: Sendable, Equatable {
  public var session: UInt64
  public var sequence: UInt64
  public var body: LinkBody

  public init(session: UInt64, sequence: UInt64, body: LinkBody) {
    self.session = session
    self.sequence = sequence
    self.body = body
  }

  /// What the message takes of a link's window, in bytes of memory, roughly. Worked out from its values, so that both
  /// ends come to the same sum whatever pipe lies between them.
  public var cost: Int { body.cost }
}

/// What a message says.
public enum LinkBody: Sendable, Equatable {
  // From the gateway.
  case hello(LinkHello)
  case request(LinkRequest)
  case gatewayHeartbeat(GatewayHeartbeat)
  /// All channels of the new session have been asked for.
  case resynced
  case goodbye
  case obeyed(LinkObeyed)
  indirect case findings(LinkFindings)
  indirect case forgotten(LinkForgotten)
  // From the broker.
  case welcome(LinkWelcome)
  case reply(LinkReply)
  case publication(LinkPublication)
  case join(LinkPresenceEvent)
  case leave(LinkPresenceEvent)
  case brokerHeartbeat
  /// The session is over. Has no number in the session.
  case reset
  indirect case audience(LinkAudience)
  case discard(LinkDiscard)
  indirect case order(LinkOrder)
  indirect case survey(LinkSurvey)
  indirect case deletions(LinkDeletions)
  // From either.
  indirect case trace(LinkTrace)
  /// A message of this kind came whose body could not be read.
  case unreadable(LinkHeader.Kind)

  public var kind: LinkHeader.Kind {
    switch self {
    case .hello: .hello
    case .request: .request
    case .gatewayHeartbeat: .gatewayHeartbeat
    case .resynced: .resynced
    case .goodbye: .goodbye
    case .obeyed: .obeyed
    case .findings: .findings
    case .forgotten: .forgotten
    case .welcome: .welcome
    case .reply: .reply
    case .publication: .publication
    case .join: .join
    case .leave: .leave
    case .brokerHeartbeat: .brokerHeartbeat
    case .reset: .reset
    case .audience: .audience
    case .discard: .discard
    case .order: .order
    case .survey: .survey
    case .deletions: .deletions
    case .trace: .trace
    case .unreadable(let kind): kind
    }
  }
}

/// The first message of a session, in which a gateway introduces itself.
public struct LinkHello: Sendable, Equatable {
  /// Raised with every change of this encoding or of what messages cost: two versions do not mix.
  public static let protocolVersion: UInt8 = 13

  /// Identifies the gateway process: a number drawn at its start.
  public var gateway: UInt64
  /// The partition that the gateway takes the broker to have, and how many it takes the log to have.
  public var partition: UInt64
  public var partitions: UInt64
  /// False where only services ask by way of it: it is not asked about clients, and gets no orders about them.
  public var hasClients: Bool

  public init(gateway: UInt64, partition: UInt64 = 0, partitions: UInt64 = 1, hasClients: Bool = true) {
    self.gateway = gateway
    self.partition = partition
    self.partitions = partitions
    self.hasClients = hasClients
  }

  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(byte: Self.protocolVersion)
    sink.write(fixed: gateway)
    sink.write(partition)
    sink.write(partitions)
    sink.write(flag: hasClients)
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    guard try reader.readByte() == Self.protocolVersion else { throw MalformedMessage() }
    self.init(
      gateway: try reader.readFixed(), partition: try reader.readNumber(), partitions: try reader.readNumber(),
      hasClients: try reader.readFlag())
    try reader.requireEnd()
  }
}

/// The broker's answer to ``LinkHello``: the session is open.
public struct LinkWelcome: Sendable, Equatable {
  /// Identifies the broker process: a number drawn at its start, which tells a broker that came back from one that was
  /// replaced.
  public var broker: UInt64
  /// The number of the lease under which the broker has the channels: of two brokers that welcome a gateway, the one with
  /// the higher term has them. 0: the log can have no other broker.
  public var term: UInt64
  /// Bytes that may be under way to the gateway, which reports what it has worked off often enough for that.
  public var windowBytes: UInt64

  public init(broker: UInt64, term: UInt64 = 0, windowBytes: UInt64 = .max) {
    self.broker = broker
    self.term = term
    self.windowBytes = windowBytes
  }

  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(fixed: broker)
    sink.write(term)
    sink.write(windowBytes)
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    self.init(
      broker: try reader.readFixed(), term: try reader.readNumber(), windowBytes: try reader.readNumber())
    try reader.requireEnd()
  }
}

/// Says that a gateway lives, and how much of what the broker sent its event loops have worked off.
public struct GatewayHeartbeat: Sendable, Equatable {
  /// Bytes of this session's messages that were worked off, headers included: they make room in the broker's window.
  public var consumedBytes: UInt64

  public init(consumedBytes: UInt64) { self.consumedBytes = consumedBytes }

  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(consumedBytes)
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    self.init(consumedBytes: try reader.readNumber())
    try reader.requireEnd()
  }
}

/// A request with its id, as it travels on the link.
public struct LinkRequest: Sendable, Equatable {
  /// The request's number: rising, and never used twice by a gateway.
  public var id: UInt64
  /// The oldest request that is still without an answer: the broker may forget the answers to those before it.
  public var oldestPending: UInt64
  /// The request was sent before, in a session whose end may have swallowed it or its answer.
  public var isRetry: Bool
  /// The request is part of a resync: presence comes back without being announced again.
  public var isResync: Bool
  /// A service asks, by way of a process that has no channels itself. What it may ask was checked there.
  public var isService: Bool
  public var request: BrokerRequest

  public init(
    id: UInt64, oldestPending: UInt64, isRetry: Bool = false, isResync: Bool = false, isService: Bool = false,
    request: BrokerRequest
  ) {
    self.id = id
    self.oldestPending = oldestPending
    self.isRetry = isRetry
    self.isResync = isResync
    self.isService = isService
    self.request = request
  }
}

/// The broker's one answer to a request.
public struct LinkReply: Sendable, Equatable {
  public var id: UInt64
  public var response: BrokerResponse

  public init(id: UInt64, response: BrokerResponse) {
    self.id = id
    self.response = response
  }
}

/// A live publication.
public struct LinkPublication: Sendable, Equatable {
  public var channel: ChannelName
  public var publication: Publication

  public init(channel: ChannelName, publication: Publication) {
    self.channel = channel
    self.publication = publication
  }
}

/// Says that what a user may see of a channel has changed, for the user's live subscriptions.
public struct LinkAudience: Sendable, Equatable {
  public enum Admission: UInt8, Sendable {
    /// The subscriptions end.
    case refused
    case admitted
    /// The broker has to look first: the subscriptions end so that clients subscribe again and recover.
    case unknown
  }

  public var channel: ChannelName
  public var user: String
  public var admission: Admission
  /// The filter that publications must pass to reach the user; nil: everything may.
  public var audience: TagFilter?

  public init(channel: ChannelName, user: String, _ admission: Admission, audience: TagFilter?) {
    self.channel = channel
    self.user = user
    self.admission = admission
    self.audience = audience
  }
}

/// Somebody joined or left a channel.
public struct LinkPresenceEvent: Sendable, Equatable {
  public var channel: ChannelName
  public var member: ClientInfo

  public init(channel: ChannelName, member: ClientInfo) {
    self.channel = channel
    self.member = member
  }
}

/// How a ROUTER tells gateways apart.
public enum LinkIdentity {
  /// libzmq keeps identities that begin with zero for itself, so they begin with this.
  private static let prefix = UInt8(ascii: "g")

  /// The routing identity of a gateway's DEALER.
  public static func bytes(of gateway: UInt64) -> [UInt8] {
    var sink: [UInt8] = []
    sink.reserveCapacity(9)
    sink.write(byte: prefix)
    sink.write(fixed: gateway)
    return sink
  }

  /// A gateway's number as people see it: 16 hexadecimal digits.
  public static func text(of gateway: UInt64) -> String { TraceContext.hexadecimal(gateway) }

  /// The gateway that has a routing identity; nil for a peer that is no gateway.
  public static func gateway(of identity: [UInt8]) -> UInt64? {
    guard identity.count == 9, identity[0] == prefix else { return nil }
    var reader = ByteReader(identity)
    _ = try? reader.readByte()
    return try? reader.readFixed()
  }
}
