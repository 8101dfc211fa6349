/// What the backend can be asked about, as Centrifugo names it: what a client does, and keys of shared polls.
public enum ProxyKind: String, Sendable, CaseIterable {
  case connect
  case refresh
  case subscribe
  case publish
  case subRefresh = "sub_refresh"
  case rpc
  case sharedPollRefresh = "shared_poll_refresh"
}

/// Where and how the backend is asked about one kind of event.
public struct ProxyEndpoint: Sendable {
  /// What becomes of a client while the backend gives no usable answer.
  public enum OnFailure: String, Sendable, CaseIterable {
    /// The client is refused, for now.
    case refuse
    /// It is decided as if there were no proxy: by the client's token and the namespace's options.
    case token
  }

  /// `http://` or `https://`.
  public var url: String
  /// From the call to the whole reply.
  public var timeoutMilliseconds: Int
  /// Headers of the client's own request that are passed on, in lower case.
  public var forwardedHeaders: [String]
  /// Headers that go with each call; one that the client sent and that is passed on replaces the one of its name.
  public var staticHeaders: [BackendHeader]
  public var onFailure: OnFailure
  /// Calls that may be under way, those among them that wait for a connection: the client of one more is refused.
  public var maximumCalls: Int
  public var breaker: ProxyBreaker.Limits
  /// Payloads go out as base64 in `b64data`, whatever they are.
  public var usesBase64: Bool
  /// The connection's `meta` goes with each call.
  public var includesMeta: Bool
  /// Connect alone: the backend is asked about connections with a token too, when the token was found valid.
  public var asksWithToken: Bool

  public init(
    url: String, timeoutMilliseconds: Int, forwardedHeaders: [String] = [], staticHeaders: [BackendHeader] = [],
    onFailure: OnFailure = .refuse, maximumCalls: Int, breaker: ProxyBreaker.Limits, usesBase64: Bool = false,
    includesMeta: Bool = false, asksWithToken: Bool = false
  ) {
    self.url = url
    self.timeoutMilliseconds = timeoutMilliseconds
    self.forwardedHeaders = forwardedHeaders
    self.staticHeaders = staticHeaders
    self.onFailure = onFailure
    self.maximumCalls = maximumCalls
    self.breaker = breaker
    self.usesBase64 = usesBase64
    self.includesMeta = includesMeta
    self.asksWithToken = asksWithToken
  }
}

/// One header line.
public struct BackendHeader: Sendable, Equatable {
  public var name: String
  public var value: String

  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// All proxies of a gateway.
public struct ProxyConfiguration: Sendable {
  /// Kinds that are not in it are not asked about.
  public var endpoints: [ProxyKind: ProxyEndpoint]
  /// Connections to the backend that one proxy may have; further calls wait for one of them.
  public var connections: Int
  /// Bytes of a reply's body; a longer reply counts as none.
  public var replyBytes: Int
  /// Whether the backend may be at a private address. It usually is.
  public var allowsPrivateAddresses: Bool
  /// A file of PEM certificates that the backend's must come from; nil: the system's.
  public var certificateAuthorities: String?
  /// Calls of one client that may be under way: what it sends beyond them is read later.
  public var callsPerClient: Int

  public init(
    endpoints: [ProxyKind: ProxyEndpoint], connections: Int, replyBytes: Int, allowsPrivateAddresses: Bool,
    certificateAuthorities: String?, callsPerClient: Int
  ) {
    self.endpoints = endpoints
    self.connections = connections
    self.replyBytes = replyBytes
    self.allowsPrivateAddresses = allowsPrivateAddresses
    self.certificateAuthorities = certificateAuthorities
    self.callsPerClient = callsPerClient
  }

  /// Every header that some proxy passes on, in lower case: what is kept of a client's request.
  var forwardedHeaders: [String] { Set(endpoints.values.flatMap(\.forwardedHeaders)).sorted() }
}

/// What sessions go by: which events are put to the backend, and what happens without it.
public struct ProxyRules: Sendable {
  var onFailure: [ProxyKind: ProxyEndpoint.OnFailure] = [:]
  var asksWithToken = false
  /// Whether some call says what is attached to the connection: else it is not kept.
  var passesMeta = false
  var callsPerClient = 16

  /// Nothing is put to a backend.
  public init() {}

  public init(_ configuration: ProxyConfiguration) {
    onFailure = configuration.endpoints.mapValues(\.onFailure)
    asksWithToken = configuration.endpoints[.connect]?.asksWithToken ?? false
    passesMeta = configuration.endpoints.values.contains(where: \.includesMeta)
    callsPerClient = max(configuration.callsPerClient, 1)
  }

  func asks(_ kind: ProxyKind) -> Bool { onFailure[kind] != nil }

  /// Whether the token alone decides while the backend is away.
  func goesByToken(_ kind: ProxyKind) -> Bool { onFailure[kind] == .token }
}
