public import Wire

/// The limits and rules of every session. Each limit says what happens to whoever goes over it.
public struct SessionConfiguration: Sendable {
  /// Subscriptions of one connection, server-side ones included: error 106; disconnect 3505 where a token alone names
  /// more.
  public var maximumChannels: Int
  /// Bytes of UTF-8: error 107.
  public var maximumChannelNameLength: Int
  /// Commands in one message, and commands held while a connect is under way: disconnect 3501.
  public var maximumCommandsPerMessage: Int
  /// Commands of one connection that wait for the broker or for a token check: what comes beyond them is read later.
  public var maximumPendingCommands: Int
  /// Publications in one history answer; more are asked for page by page: the limit is lowered, nothing is refused.
  public var maximumHistoryLimit: UInt32
  /// Publications in one recovery; where more are missing, nothing is recovered.
  public var recoveryLimit: UInt32
  /// Bytes of publications in one history answer, and of entries in one page of a map: the page ends earlier.
  public var historyBytes: Int
  /// Bytes of answers that come whole or not at all: a recovery that would need more recovers nothing; a list of who is
  /// present, or an ephemeral map: error 106.
  public var recoveryBytes: Int
  /// Bytes of UTF-8: error 107.
  public var maximumIdempotencyKeyLength = 255
  /// Different filters of clients on one channel and event loop, each of which every publication is held against: error
  /// 106.
  public var maximumFiltersPerChannel: Int
  /// From the opened transport to the connect command, and from there to its answer: disconnect 3502, or 3004 where
  /// it is the server that is late.
  public var connectTimeoutMilliseconds: Int64
  public var pingIntervalMilliseconds: Int64
  /// How long a client may take for its pong: disconnect 3012. Has to be shorter than the ping interval.
  public var pongTimeoutMilliseconds: Int64
  /// How long an expired connection or subscription lives on, so that a refresh on its way still counts.
  public var expiryGraceSeconds: Int64
  /// Tokens of one connection that are checked at a time; meanwhile it is read later.
  public var maximumTokenChecks: Int
  /// How much one connection may do: what is faster is read later.
  public var rates: ClientRates { didSet { updateRateLimiting() } }
  /// How much all connections of one user on this gateway may do together: what is faster is read later, then refused
  /// with error 111, and a client that goes on is disconnected with 3013.
  public var userRates: ClientRates { didSet { updateRateLimiting() } }
  /// Connections of one user on this gateway: disconnect 3504. 0: any number.
  public var maximumConnectionsPerUser: Int
  /// Whether anything is counted: looked at with each command.
  private(set) var isRateLimited = false
  /// Whether a connect without a token is accepted, with an empty user: else disconnect 3500.
  public var allowAnonymous: Bool
  /// Where set, each user is subscribed to `#user` in this namespace when connecting; empty: the channels without
  /// namespace.
  public var personalChannelNamespace: String?
  /// Whether intervals of subscriptions are kept, so that somebody can ask later what was delivered to whom.
  public var keepsCoverage = false
  /// What of clients is told to the broker, because some webhook wants it.
  public var reports = ClientEventInterest()
  /// Sent in the connect result: name and version of the server.
  public var version = "Fanfare"
  /// Sent in the connect result: this gateway among several.
  public var node = ""

  public init(
    maximumChannels: Int, maximumChannelNameLength: Int, maximumCommandsPerMessage: Int, maximumPendingCommands: Int,
    maximumHistoryLimit: UInt32, recoveryLimit: UInt32, historyBytes: Int, recoveryBytes: Int,
    maximumFiltersPerChannel: Int, connectTimeoutMilliseconds: Int64, pingIntervalMilliseconds: Int64,
    pongTimeoutMilliseconds: Int64, expiryGraceSeconds: Int64, maximumTokenChecks: Int, rates: ClientRates,
    userRates: ClientRates, maximumConnectionsPerUser: Int, allowAnonymous: Bool
  ) {
    self.maximumChannels = maximumChannels
    self.maximumChannelNameLength = maximumChannelNameLength
    self.maximumCommandsPerMessage = maximumCommandsPerMessage
    self.maximumPendingCommands = maximumPendingCommands
    self.maximumHistoryLimit = maximumHistoryLimit
    self.recoveryLimit = recoveryLimit
    self.historyBytes = historyBytes
    self.recoveryBytes = recoveryBytes
    self.maximumFiltersPerChannel = maximumFiltersPerChannel
    self.connectTimeoutMilliseconds = connectTimeoutMilliseconds
    self.pingIntervalMilliseconds = pingIntervalMilliseconds
    self.pongTimeoutMilliseconds = pongTimeoutMilliseconds
    self.expiryGraceSeconds = expiryGraceSeconds
    self.maximumTokenChecks = maximumTokenChecks
    self.rates = rates
    self.userRates = userRates
    self.maximumConnectionsPerUser = maximumConnectionsPerUser
    self.allowAnonymous = allowAnonymous
    updateRateLimiting()
  }

  private mutating func updateRateLimiting() { isRateLimited = !(rates.isUnlimited && userRates.isUnlimited) }
}

/// What all sessions of a gateway go by: one object, so that a session pays one pointer for it.
public final class SessionRules: Sendable {
  public let configuration: SessionConfiguration
  public let namespaces: NamespaceTable
  /// What is put to the backend.
  let proxies: ProxyRules
  /// What keys of shared polls are signed with; nil: there are no shared polls.
  let trackSignatures: TrackSignatures?
  /// How the name of every personal channel begins; nil where there are none.
  let personalChannelPrefix: String?

  public init(
    _ configuration: SessionConfiguration, namespaces: NamespaceTable, proxies: ProxyRules = ProxyRules(),
    trackSignatures: TrackSignatures? = nil
  ) {
    self.configuration = configuration
    self.trackSignatures = trackSignatures
    self.namespaces = namespaces
    self.proxies = proxies
    personalChannelPrefix = configuration.personalChannelNamespace.map { $0.isEmpty ? "#" : "\($0):#" }
  }
}

/// What tells one session from all others.
public struct SessionIdentity: Sendable, Equatable {
  /// Shown to others in presence and publications, so it opens nothing.
  public var client: String
  /// Known to this client alone: it goes with each command of an emulated connection.
  public var session: String

  public init(client: String, session: String) {
    self.client = client
    self.session = session
  }
}

/// The time, handed in with every input: a session has no clock of its own.
public struct SessionTime: Sendable, Equatable {
  /// Milliseconds that never go back.
  public var monotonic: Int64
  /// Seconds since 1970, for what a token says.
  public var wall: Int64

  public init(monotonic: Int64, wall: Int64) {
    self.monotonic = monotonic
    self.wall = wall
  }
}
