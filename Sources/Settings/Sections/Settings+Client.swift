public import Wire

extension Settings {
  /// Limits and times of one client.
  public struct Client: Sendable, Equatable {
    public struct UserPersonalChannel: Sendable, Equatable {
      @Setting public var enabled: Bool
      @Setting public var namespace: String

      init(_ declare: inout SettingDeclarations) {
        _enabled = declare.flag("enabled", false, "Subscribe every client with a user to a channel of that user's own.")
        _namespace = declare.text("namespace", "", "Namespace of personal channels; empty: none.")
      }
    }

    @Setting public var maxMessageBytes: Int
    @Setting public var maxChannelNameBytes: Int
    @Setting public var maxChannels: Int
    @Setting public var connectTimeout: Duration
    @Setting public var pingInterval: Duration
    @Setting public var pongTimeout: Duration
    @Setting public var queueBytes: Int
    @Setting public var slowCloseGrace: Duration
    @Setting public var recoveryMaxPublications: Int
    @Setting public var historyMaxPublications: Int
    @Setting public var historyMaxBytes: Int
    @Setting public var recoveryMaxBytes: Int
    @Setting public var readWindowBytes: Int
    @Setting public var maxCommandsPerMessage: Int
    @Setting public var maxPendingRequests: Int
    @Setting public var allowAnonymousConnectWithoutToken: Bool
    /// How long a client may take to send a new token after the old one expired.
    @Setting public var tokenExpiryGrace: Duration
    @Setting public var requestTimeout: Duration
    public let userPersonalChannel: UserPersonalChannel
    /// Connections of one user; 0: any number.
    @Setting public var maxConnectionsPerUser: Int
    @Setting public var maxTokenChecks: Int
    public let limits: Rates
    public let userLimits: Rates

    init(_ declare: inout SettingDeclarations) {
      _maxMessageBytes = declare.bytes(
        "max_message_bytes", kibibytes(64), in: 256...mebibytes(16), "Largest message from a client.")
      _maxChannelNameBytes = declare.integer(
        "max_channel_name_bytes", ChannelName.defaultMaximumLength, in: 1...ChannelName.defaultMaximumLength,
        "Longest channel name, in bytes of UTF-8.")
      _maxChannels = declare.integer("max_channels", 128, in: 1...100_000, "Subscriptions of one client.")
      _connectTimeout = declare.duration(
        "connect_timeout", .seconds(10), in: .milliseconds(100) ... .minutes(10),
        "Time for a client to sign in after its socket is open.")
      _pingInterval = declare.duration(
        "ping_interval", .seconds(25), in: .seconds(1) ... .hours(1), "Time between pings to a client.")
      _pongTimeout = declare.duration(
        "pong_timeout", .seconds(8), in: .milliseconds(100) ... .hours(1),
        "Time for a client to answer a ping; shorter than client.ping_interval.")
      _queueBytes = declare.bytes(
        "queue_bytes", mebibytes(1), in: kibibytes(4)...mebibytes(1024),
        "Bytes of publications that may wait for a slow client before it is disconnected; it reconnects and recovers. While more of what it asked for waits, it is read later."
      )
      _slowCloseGrace = declare.duration(
        "slow_close_grace", .seconds(1), in: .milliseconds(50) ... .minutes(10),
        "Time for a client that was too slow to read what waits for it, and then the code 3008, before its connection is cut."
      )
      _recoveryMaxPublications = declare.integer(
        "recovery_max_publications", 300, in: 1...100_000, "Publications that one recovery gives.")
      _historyMaxPublications = declare.integer(
        "history_max_publications", 1000, in: 1...100_000, "Publications that one history call gives.")
      _historyMaxBytes = declare.bytes(
        "history_max_bytes", mebibytes(1), in: kibibytes(64)...mebibytes(32),
        "Bytes of one history answer or page of a map, which ends there; ask for the rest from its last publication or cursor."
      )
      _recoveryMaxBytes = declare.bytes(
        "recovery_max_bytes", mebibytes(16), in: kibibytes(64)...mebibytes(32),
        "Bytes of an answer that comes whole or not at all: a recovery, who is present, an ephemeral map.")
      _readWindowBytes = declare.bytes(
        "read_window_bytes", mebibytes(2), in: kibibytes(64)...mebibytes(1024),
        "Bytes of answers to one client's reads that may be under way; more reads wait, and go one at a time where one alone is larger."
      )
      _maxCommandsPerMessage = declare.integer(
        "max_commands_per_message", 1000, in: 128...4096,
        "Commands in one message from a client; SDKs send all their subscribes in one after a reconnect.")
      _maxPendingRequests = declare.integer(
        "max_pending_requests", 256, in: 1...100_000,
        "Requests of one client that may wait for the broker; while they do, it is read later.")
      _allowAnonymousConnectWithoutToken = declare.flag(
        "allow_anonymous_connect_without_token", false, "Let clients connect without a token.")
      _tokenExpiryGrace = declare.duration(
        "token_expiry_grace", .seconds(25), in: .zero ... .hours(1),
        "Time for a client to send a new token after the old one expired.")
      _requestTimeout = declare.duration(
        "request_timeout", .seconds(10), in: .milliseconds(100) ... .minutes(10),
        "Time for the broker to answer a client's request.")
      userPersonalChannel = declare.section("user_personal_channel", UserPersonalChannel.init)
      _maxConnectionsPerUser = declare.integer(
        "max_connections_per_user", 0, in: 0...1_000_000,
        "Connections of one user on one gateway; 0: any number. One more is disconnected with 3504.")
      _maxTokenChecks = declare.integer(
        "max_token_checks", 8, in: 1...1000,
        "Tokens of one client that are checked at a time; meanwhile it is read later.")
      limits = declare.section("limits", Rates.ofConnection)
      userLimits = declare.section("user_limits", Rates.ofUser)
    }
  }

  /// How fast one connection may go, or all connections of one user together.
  public struct Rates: Sendable, Equatable {
    @RateSetting public var commands: RateLimit
    @RateSetting public var publications: RateLimit
    @RateSetting public var bytes: RateLimit
    @RateSetting public var subscribes: RateLimit
    @RateSetting public var cliqueCalls: RateLimit
    @RateSetting public var stateCalls: RateLimit
    @RateSetting public var pushCalls: RateLimit

    /// The rates of `client.limits`.
    static func ofConnection(_ declare: inout SettingDeclarations) -> Rates {
      Rates(
        &declare, of: "one connection", "what is faster is read later", commands: (2_000, burst: 20_000),
        publications: (1_000, burst: 10_000), bytes: (mebibytes(16), burst: mebibytes(64)),
        subscribes: (500, burst: 10_000), cliqueCalls: (100, burst: 1_000), stateCalls: (50, burst: 500),
        pushCalls: (50, burst: 500))
    }

    /// The rates of `client.user_limits`.
    static func ofUser(_ declare: inout SettingDeclarations) -> Rates {
      Rates(
        &declare, of: "one user's connections to one gateway together",
        "what is faster is read later, then refused with error 111; who goes on is disconnected with 3013",
        commands: (5_000, burst: 50_000), publications: (2_000, burst: 20_000),
        bytes: (mebibytes(32), burst: mebibytes(128)), subscribes: (1_000, burst: 20_000),
        cliqueCalls: (200, burst: 2_000), stateCalls: (100, burst: 1_000), pushCalls: (100, burst: 1_000))
    }

    private typealias Standard = (perSecond: Int, burst: Int)

    /// - Parameters:
    ///   - whom: who is counted, for the reference.
    ///   - consequence: what becomes of who is faster, for the reference.
    private init(
      _ declare: inout SettingDeclarations, of whom: String, _ consequence: String, commands: Standard,
      publications: Standard, bytes: Standard, subscribes: Standard, cliqueCalls: Standard, stateCalls: Standard,
      pushCalls: Standard
    ) {
      func meaning(_ what: String) -> String { "\(what) of \(whom) per second; 0: no limit; \(consequence)." }
      let most = (10_000_000, burst: 10_000_000)
      let mostBytes = (mebibytes(1024 * 1024), burst: mebibytes(1024 * 1024))
      _commands = declare.rate("commands", commands, upTo: most, meaning("Commands"))
      _publications = declare.rate(
        "publications", publications, upTo: most, meaning("Publications, writes of maps, edits and receipts"))
      _bytes = declare.rate("bytes", bytes, upTo: mostBytes, inBytes: true, meaning("Bytes of messages"))
      _subscribes = declare.rate("subscribes", subscribes, upTo: most, meaning("Subscribes"))
      _cliqueCalls = declare.rate("clique_calls", cliqueCalls, upTo: most, meaning("Calls of the app Clique"))
      _stateCalls = declare.rate("state_calls", stateCalls, upTo: most, meaning("Calls of the app State"))
      _pushCalls = declare.rate(
        "push_calls", pushCalls, upTo: most, meaning("Calls about notifications, push.register and others,"))
    }
  }
}
