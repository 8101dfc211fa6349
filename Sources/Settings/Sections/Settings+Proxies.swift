/// What becomes of a client while the backend gives no usable answer.
public enum ProxyFailure: String, Sendable, CaseIterable {
  case refuse
  case token
}

extension Settings {
  /// What the backend is asked about, and where.
  public struct Proxies: Sendable, Equatable {
    /// One kind of event.
    public struct Proxy: Sendable, Equatable {
      /// Empty: the backend is not asked about it.
      @Setting public var endpoint: String
      @Setting public var timeout: Duration
      /// Nil: no client is behind it.
      public let httpHeaders: Setting<[String]>?
      /// Each a name, a colon and a value.
      @Setting public var staticHTTPHeaders: [String]
      /// Nil: without the backend there is nothing to go by.
      public let onFailure: Setting<ProxyFailure>?
      /// Nil: of connects alone.
      public let withToken: Setting<Bool>?
      @Setting public var maxCalls: Int
      @Setting public var breakerFailures: Int
      @Setting public var breakerOpenTime: Duration
      /// Nil: no client is behind it.
      public let includeConnectionMeta: Setting<Bool>?
      /// Nil: it has no payload.
      public let binaryEncoding: Setting<Bool>?

      public var isOn: Bool { !endpoint.isEmpty }

      /// - Parameters:
      ///   - event: what the backend is asked, in a sentence that goes on with "; empty: …".
      ///   - fallback: what `token` means; nil: it means nothing.
      ///   - isOfClient: some client is behind each call.
      init(
        _ declare: inout SettingDeclarations, _ event: String, fallback: String?, isConnect: Bool = false,
        isOfClient: Bool = true
      ) {
        _endpoint = declare.text(
          "endpoint", "", "Address of the backend that is asked \(event); empty: it is not asked.",
          rule: ProxyFaults.ofEndpoint)
        _timeout = declare.duration(
          "timeout", .seconds(1), in: .milliseconds(10) ... .minutes(1),
          "Time for a call, until its reply has come whole.")
        httpHeaders =
          isOfClient
          ? declare.list(
            "http_headers", "Headers of the client's request that are passed on, for example [\"Cookie\"].",
            rule: HeaderLine.fault(ofName:)) : nil
        _staticHTTPHeaders = declare.list(
          "static_http_headers", "Headers of each call, for example [\"Authorization: Bearer abc\"].", isSecret: true,
          rule: HeaderLine.fault(of:))
        withToken =
          isConnect
          ? declare.flag("with_token", false, "Ask about connections with a token too, when the token was found valid.")
          : nil
        onFailure = fallback.map { fallback in
          declare.choice(
            "on_failure", .refuse,
            "While the backend gives no usable answer; refuse: clients are told to try again; token: \(fallback)")
        }
        _maxCalls = declare.integer(
          "max_calls", 1000, in: 1...100_000,
          "Calls that may be under way or wait for a connection; one more counts as a failure.")
        _breakerFailures = declare.integer(
          "breaker_failures", 10, in: 0...10_000,
          "Calls one after another without an answer before the backend is left alone for a while; 0: never.")
        _breakerOpenTime = declare.duration(
          "breaker_open_time", .seconds(5), in: .milliseconds(100) ... .minutes(10),
          "Time for which the backend is left alone, before one call tries it.")
        includeConnectionMeta =
          isOfClient
          ? declare.flag(
            "include_connection_meta", false, "Send along what the token or the backend attached to the connection.")
          : nil
        binaryEncoding =
          isOfClient
          ? declare.flag("binary_encoding", false, "Send payloads as base64 in b64data, whatever they are.") : nil
      }
    }

    public let connect: Proxy
    public let refresh: Proxy
    public let subscribe: Proxy
    public let publish: Proxy
    public let subRefresh: Proxy
    public let rpc: Proxy
    public let sharedPollRefresh: Proxy
    @Setting public var maxConnections: Int
    @Setting public var maxCallsPerClient: Int
    @Setting public var maxReplyBytes: Int
    @Setting public var allowPrivateAddresses: Bool
    @Setting public var certificateAuthorities: String

    init(_ declare: inout SettingDeclarations) {
      connect = declare.section("connect") {
        Proxy(
          &$0, "who connects without a token", fallback: "a connection with a valid token is let in by it alone.",
          isConnect: true)
      }
      refresh = declare.section("refresh") {
        Proxy(
          &$0, "whether a connection that expires goes on",
          fallback: "one that came with a token goes on for a minute at a time.")
      }
      subscribe = declare.section("subscribe") {
        Proxy(
          &$0, "who may subscribe, in namespaces with subscribe_proxy_enabled",
          fallback: "the namespace's options decide.")
      }
      publish = declare.section("publish") {
        Proxy(
          &$0, "what may be published, in namespaces with publish_proxy_enabled",
          fallback: "the namespace's options decide.")
      }
      subRefresh = declare.section("sub_refresh") {
        Proxy(
          &$0, "whether a subscription that expires goes on, in namespaces with sub_refresh_proxy_enabled",
          fallback: "one that came with a token goes on for a minute at a time.")
      }
      rpc = declare.section("rpc") {
        Proxy(&$0, "to answer remote procedure calls that are not the server's own", fallback: nil)
      }
      sharedPollRefresh = declare.section("shared_poll_refresh") {
        Proxy(
          &$0, "what the keys are that clients track, in namespaces whose kind is shared_poll", fallback: nil,
          isOfClient: false)
      }
      _maxConnections = declare.integer(
        "max_connections", 64, in: 1...10_000, "Connections to the backend of each of the seven; further calls wait.")
      _maxCallsPerClient = declare.integer(
        "max_calls_per_client", 16, in: 1...1000, "Calls of one client that are under way; what it sends is read later."
      )
      _maxReplyBytes = declare.bytes(
        "max_reply_bytes", kibibytes(256), in: 1024...mebibytes(16), "Bytes of a reply; a longer one counts as none.")
      _allowPrivateAddresses = declare.flag(
        "allow_private_addresses", true, "Call backends at private addresses, where most of them are.")
      _certificateAuthorities = declare.text(
        "certificate_authorities", "",
        "PEM file with the authorities that the backend's certificate must come from; empty: the system's.")
    }

    public var all: [Proxy] { [connect, refresh, subscribe, publish, subRefresh, rpc, sharedPollRefresh] }
  }
}
