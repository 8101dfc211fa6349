public import Wire

extension Settings {
  /// The port for clients.
  public struct Server: Sendable, Equatable {
    /// permessage-deflate (RFC 7692).
    public struct Compression: Sendable, Equatable {
      @Setting public var enabled: Bool
      @Setting public var minBytes: Int

      init(_ declare: inout SettingDeclarations) {
        _enabled = declare.flag(
          "enabled", true, "Compress messages for clients that offer permessage-deflate, and let them compress theirs.")
        _minBytes = declare.bytes(
          "min_bytes", 128, in: 0...kibibytes(64),
          "Shorter messages are sent as they are, and so are those of more than 64 KiB.")
      }
    }

    @Setting public var host: String
    @Setting public var port: Int
    /// Threads for client sockets; 0: one for each core but one.
    @Setting public var eventLoops: Int
    @Setting public var backlog: Int
    /// Connections at a time; 0: as many as the limit on open files allows.
    @Setting public var maxConnections: Int
    /// Origins of web pages that may connect; none: those from the same host alone; `*`: any.
    @Setting public var allowedOrigins: [String]
    /// Whether clients are answered whose network lets no WebSocket through.
    @Setting public var httpStreaming: Bool
    public let tls: TLS
    @Setting public var headerTimeout: Duration
    @Setting public var maxHeaderBytes: Int
    public let compression: Compression
    public let admission: Admission

    init(_ declare: inout SettingDeclarations) {
      _host = declare.text("host", "0.0.0.0", "Address that clients connect to.", rule: SettingFaults.ofHost)
      _port = declare.integer("port", 8000, in: 0...65535, "Port for clients; 0 takes a free one.")
      _eventLoops = declare.integer(
        "event_loops", 0, in: 0...64,
        "Threads for client sockets; 0 means one for each core but one, which is left to the broker and the link to it."
      )
      _backlog = declare.integer("backlog", 4096, in: 1...65535, "Connections that may wait to be accepted.")
      _maxConnections = declare.integer(
        "max_connections", 0, in: 0...10_000_000,
        "Connections at a time, signed in or not; 0 means as many as the limit on open files allows.")
      _allowedOrigins = declare.list(
        "allowed_origins",
        "Web pages that may connect, such as \"https://app.example.com\"; an empty list means pages from the same host, \"*\" means all.",
        rule: SettingFaults.ofOrigin)
      _httpStreaming = declare.flag(
        "http_streaming", true,
        "Serve clients whose network lets no WebSocket through: server-sent events at `/connection/sse`, HTTP streaming at `/connection/http_stream`, and their commands at `/emulation`."
      )
      tls = declare.section("tls", TLS.init)
      _headerTimeout = declare.duration(
        "header_timeout", .seconds(5), in: .milliseconds(100) ... .minutes(10),
        "Time for a client to send its HTTP request.")
      _maxHeaderBytes = declare.bytes(
        "max_header_bytes", kibibytes(16), in: 1024...mebibytes(1), "Largest HTTP request head.")
      compression = declare.section("compression", Compression.init)
      admission = Admission(&declare)
    }
  }

  /// Limits on connections, in all and of one address. A limit of 0 is a share of another one, which whoever reads it works
  /// out.
  public struct Admission: Sendable, Equatable {
    /// Limits on the connections of one address.
    public struct Address: Sendable, Equatable {
      @Setting public var maxConnections: Int
      @Setting public var maxUnsigned: Int
      @Setting public var maxHandshakes: Int
      @Setting public var maxTLSHandshakes: Int
      @RateSetting public var connections: RateLimit
      @RateSetting public var signIns: RateLimit
      @Setting public var limitsLoopback: Bool

      init(_ declare: inout SettingDeclarations) {
        _maxConnections = declare.integer(
          "max_connections", 0, in: 0...10_000_000,
          "Connections of one address, an IPv6 address counted by its /64; 0 means a quarter of server.max_connections. One more is answered 429."
        )
        _maxUnsigned = declare.integer(
          "max_unsigned", 0, in: 0...10_000_000,
          "Of them, those that have not signed in; 0 means a quarter of server.max_unsigned.")
        _maxHandshakes = declare.integer(
          "max_handshakes", 0, in: 0...10_000_000,
          "Of them, those whose request has not come whole; 0 means a quarter of server.max_handshakes.")
        _maxTLSHandshakes = declare.integer(
          "max_tls_handshakes", 0, in: 0...10_000_000,
          "TLS handshakes of one address under way; 0 means a quarter of server.max_tls_handshakes. One more waits.")
        _connections = declare.rate(
          "connections", (500, burst: 5_000), upTo: (1_000_000, burst: 10_000_000),
          "Connections that one address opens; 0: no limit. One more is answered 429.")
        _signIns = declare.rate(
          "sign_ins", (200, burst: 2_000), upTo: (1_000_000, burst: 10_000_000),
          "Sign-ins of one address; 0: no limit. One more waits, for at most five seconds; then the client is disconnected with 3013 and tries again."
        )
        _limitsLoopback = declare.flag(
          "limit_loopback", false, "Limit the addresses of this machine too, where load tests and unlisted proxies are."
        )
      }
    }

    @Setting public var maxUnsigned: Int
    @Setting public var maxHandshakes: Int
    @Setting public var maxTLSHandshakes: Int
    public let address: Address
    @Setting public var trustedProxies: [AddressRange]
    @Setting public var proxyProtocol: Bool

    init(_ declare: inout SettingDeclarations) {
      _maxUnsigned = declare.integer(
        "max_unsigned", 0, in: 0...10_000_000,
        "Connections that have not signed in, those in a handshake among them; 0 means three quarters of server.max_connections. One more is answered 503."
      )
      _maxHandshakes = declare.integer(
        "max_handshakes", 0, in: 0...10_000_000,
        "Connections whose request has not come whole, the TLS handshake included; 0 means half of server.max_connections. One more is answered 503."
      )
      _maxTLSHandshakes = declare.integer(
        "max_tls_handshakes", 0, in: 0...10_000_000,
        "TLS handshakes under way, from a client's first bytes to its last; 0 means half of server.max_handshakes. One more waits for its turn, addresses one after another, for as long as server.header_timeout gives it; every event loop has an equal part."
      )
      address = declare.section("address", Address.init)
      _trustedProxies = declare.list(
        "trusted_proxies",
        "Proxies that say whose connection it is: addresses or ranges, such as \"10.0.0.7\" or \"10.0.0.0/8\". Of their X-Forwarded-For the rightmost address counts that is no trusted proxy.",
        of: AddressRange.init(_:),
        fault: {
          "holds \(SettingKey.quote($0)); write an address or a range, for example \"10.0.0.7\" or \"10.0.0.0/8\""
        })
      _proxyProtocol = declare.flag(
        "proxy_protocol", false,
        "Connections of trusted proxies begin with a PROXY protocol header of version 2; one that does not is closed.")
    }
  }
}
