import Wire

/// Why the gateway refuses, holds back or sends away. The names are in docs/OPERATIONS.md.
extension RefusalCause {
  // MARK: Before a WebSocket

  static let full = RefusalCause("server_full", "all connections are taken (server.max_connections)")
  static let handshakes = RefusalCause(
    "handshakes", "too many connections have not sent their request yet (server.max_handshakes)")
  static let unsigned = RefusalCause("unsigned", "too many connections have not signed in yet (server.max_unsigned)")
  static let addressConnections = RefusalCause(
    "address_connections",
    "one address has too many connections (server.address.max_connections); if it is a proxy, list it in server.trusted_proxies"
  )
  static let addressUnsigned = RefusalCause(
    "address_unsigned",
    "one address has too many connections that have not signed in (server.address.max_unsigned)")
  static let addressHandshakes = RefusalCause(
    "address_handshakes",
    "one address has too many connections without a request (server.address.max_handshakes)")
  static let addressRate = RefusalCause(
    "address_rate", "one address opens connections too fast (server.address.connections_per_second)")
  static let signIns = RefusalCause(
    "address_sign_ins", "one address signs in too often (server.address.sign_ins_per_second)")
  static let proxyHeader = RefusalCause(
    "proxy_header", "a trusted proxy sent no PROXY protocol header of version 2, which server.proxy_protocol asks for")

  static let tlsHandshakes = RefusalCause(
    "tls_handshakes",
    "TLS handshakes wait for their turn, as many are under way as server.max_tls_handshakes allows")
  static let addressTLSHandshakes = RefusalCause(
    "address_tls_handshakes",
    "one address has as many TLS handshakes under way as server.address.max_tls_handshakes allows, and more wait")

  static let missingCertificate = RefusalCause(
    "client_certificate_missing",
    "a client showed no certificate and was not let in (server.tls.client_certificates)")
  static let refusedCertificate = RefusalCause(
    "client_certificate_refused",
    "a client's certificate has expired, is not for clients, or comes from none in server.tls.client_ca_file, and the client was not let in; log.level debug says which"
  )

  // MARK: Signed in

  static let polledKeys = RefusalCause(
    "polled_keys",
    "a client or a channel tracks as many keys of a shared poll as its namespace allows (poll_max_keys_per_client, poll_max_keys)"
  )
  static let polledTrackings = RefusalCause(
    "polled_trackings", "all clients together track as many keys of shared polls as shared_poll.max_trackings allows")
  static let userConnections = RefusalCause(
    "user_connections", "a user has too many connections (client.max_connections_per_user)")
  static let tokenChecks = RefusalCause(
    "token_checks", "a client is read later, because it has too many tokens checked (client.max_token_checks)")
  static let channelSubscribers = RefusalCause(
    "channel_subscribers",
    "subscriptions were refused: a channel has as many subscribers here as gateway.max_subscribers_per_channel allows")
  static let revokedToken = RefusalCause("revoked_token", "a revoked token was used, and counts for nothing")
  static let tooManyRefusals = RefusalCause(
    "too_many_refusals", "a client went on with commands that were refused, and was disconnected with 3013")

  static let pictureRequests = RefusalCause(
    "picture_requests",
    "requests for pictures were refused, as many were under way as state.max_picture_requests allows")
  static let pictureRequestsOfUser = RefusalCause(
    "picture_requests_of_user",
    "requests for pictures were refused, as many of their user were under way as state.max_picture_requests_per_user allows"
  )
  static let clientChannels = RefusalCause(
    "client_channels", "subscriptions were refused: a client has as many as client.max_channels")
  static let orderedSubscriptions = RefusalCause(
    "ordered_subscriptions",
    "clients were not subscribed though a service ordered it: the broker refused it or cannot do it now, or this gateway does not know the namespace"
  )
  static let channelFilters = RefusalCause(
    "channel_filters",
    "subscriptions were refused: a channel has as many different filters as gateway.max_filters_per_channel")

  // MARK: The backend

  static let backend = RefusalCause(
    "backend",
    "the backend gave no usable answer, or is left alone for a while (proxies): what clients asked for was refused, or went by their tokens alone"
  )
  static let backendCalls = RefusalCause(
    "backend_calls",
    "as many calls to the backend are under way as proxies allow (max_calls): what clients asked for was refused, or went by their tokens alone"
  )

  // MARK: Ends

  static let egress = RefusalCause(
    "egress",
    "more waits for clients than gateway.egress_bytes allows; those for whom most waits are closed")
  static let slow = RefusalCause("slow", "a client read too slowly and was disconnected with 3008 (client.queue_bytes)")
  static let slowCut = RefusalCause(
    "slow_cut", "a client that read too slowly did not read that either, and was cut off (client.slow_close_grace)")

  /// The cause of a connection's end, where the server ends it because of the client; nil for an end that is nobody's
  /// fault.
  static func closing(_ code: DisconnectCode) -> RefusalCause? { closings[code.code] }

  private static let closings: [UInt16: RefusalCause] = Dictionary(
    uniqueKeysWithValues: [
      (DisconnectCode.noPong, "a client did not answer a ping"),
      (.invalidToken, "a client came without a valid token"),
      (.badRequest, "a client broke the protocol"),
      (.stale, "a client did not sign in in time (client.connect_timeout)"),
      (.channelLimit, "a token names more channels than a client may have (client.max_channels)"),
      (.permissionDenied, "a client may not do what it asked for"),
      (.tooManyErrors, "a client made too many errors"),
    ].map { code, sentence in
      (code.code, RefusalCause("disconnect_\(code.code)", "\(sentence), and was disconnected with \(code.code)"))
    })
}
