/// Every key there is. Parsing, the check for unknown keys, the defaults and the reference all come from here.
enum SettingTable {
  /// All keys outside namespaces, in the order of the reference.
  static let keys: [SettingKey] =
    server + serverLimits + client + clientLimits + token + withoutNamespace + broker + brokerLimits + backbone
    + gateway
    + clique + state + process

  /// Keys by their dotted name.
  static let byName: [String: SettingKey] = Dictionary(
    keys.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  /// The names of objects that hold keys: `client`, `server.tls`.
  static let sections: Set<String> = {
    var sections: Set<String> = [""]
    for key in keys {
      for length in 1..<max(key.path.count, 1) { sections.insert(key.path.prefix(length).joined(separator: ".")) }
    }
    return sections
  }()

  static let namespaces = "channel.namespaces"

  static func namespaceKeys(_ name: String) -> [SettingKey] {
    channelOptions.map { $0.moved(under: ["channel", "namespaces", name]) }
  }

  /// What may stand directly in a section.
  static func children(of section: String) -> [String] {
    let prefix = section.isEmpty ? "" : section + "."
    var names = Set(
      keys.map(\.name).filter { $0.hasPrefix(prefix) }
        .compactMap { $0.dropFirst(prefix.count).split(separator: ".").first.map(String.init) })
    if section == "channel" { names.insert("namespaces") }
    return names.sorted()
  }

  private static let withoutNamespace = channelOptions.map { $0.moved(under: ["channel", "without_namespace"]) }

  private static let server: [SettingKey] = [
    SettingKey("server.host", .string, .string("0.0.0.0"), "Address that clients connect to."),
    SettingKey("server.port", .integer(0...65535), .int(8000), "Port for clients; 0 takes a free one."),
    SettingKey(
      "server.event_loops", .integer(0...64), .int(0),
      "Threads for client sockets; 0 means one for each core but one, which is left to the broker and the link to it."),
    SettingKey("server.backlog", .integer(1...65535), .int(4096), "Connections that may wait to be accepted."),
    SettingKey(
      "server.max_connections", .integer(0...10_000_000), .int(0),
      "Connections at a time, signed in or not; 0 means as many as the limit on open files allows."),
    SettingKey(
      "server.allowed_origins", .strings, .strings([]),
      "Web pages that may connect, such as \"https://app.example.com\"; an empty list means pages from the same host, \"*\" means all."
    ),
    SettingKey("server.tls.enabled", .bool, .bool(false), "Speak TLS on the port for clients."),
    SettingKey(
      "server.tls.certificate_file", .string, .string(""), "PEM file with the certificate and its chain."),
    SettingKey("server.tls.key_file", .string, .string(""), "PEM file with the certificate's private key."),
    SettingKey(
      "server.header_timeout", .duration(100...minutes(10)), .int(seconds(5)),
      "Time for a client to send its HTTP request."),
    SettingKey(
      "server.max_header_bytes", .bytes(1024...mebibytes(1)), .int(kibibytes(16)), "Largest HTTP request head."),
  ]

  private static let token: [SettingKey] = [
    SettingKey(
      "token.hmac_secret", .string, .string(""),
      "Shared secret for HS256, HS384 and HS512, at least 32 bytes; with no key at all, one is made in the data folder on the first start.",
      isSecret: true),
    SettingKey(
      "token.hmac_secret_file", .string, .string(""), "File with the shared secret; only its owner may read it."),
    SettingKey("token.rsa_public_key", .string, .string(""), "RSA public key as PEM, for RS256, RS384 and RS512."),
    SettingKey("token.rsa_public_key_file", .string, .string(""), "File with the RSA public key."),
    SettingKey(
      "token.ecdsa_public_key", .string, .string(""), "ECDSA public key as PEM, for ES256, ES384 or ES512."),
    SettingKey("token.ecdsa_public_key_file", .string, .string(""), "File with the ECDSA public key."),
    SettingKey(
      "token.ed25519_public_key", .string, .string(""), "Ed25519 public key as PEM or base64url, for EdDSA."),
    SettingKey("token.ed25519_public_key_file", .string, .string(""), "File with the Ed25519 public key."),
    SettingKey("token.jwks_file", .string, .string(""), "File with a JSON Web Key Set."),
    SettingKey("token.jwks_url", .string, .string(""), "Address of a JSON Web Key Set, beginning with https://."),
    SettingKey(
      "token.jwks_cache_ttl", .duration(seconds(10)...hours(168)), .int(hours(1)),
      "Time after which a key set is read again; an unknown key id reads it sooner."),
    SettingKey(
      "token.jwks_max_age", .duration(0...hours(720)), .int(0),
      "Time for which a key set is used that cannot be read again, so how long a withdrawn key counts while its source is down; 0 means twice token.jwks_cache_ttl."
    ),
    SettingKey(
      "token.require_exp", .bool, .bool(false), "Refuse tokens without an end (exp)."),
    SettingKey(
      "token.max_lifetime", .duration(0...hours(24 * 366)), .int(0),
      "Longest time for which a token may hold, from iat or else from now, and a subscription that it grants; with it exp is required; 0 means no limit."
    ),
    SettingKey(
      "token.max_revocations", .integer(1...1_000_000), .int(100_000),
      "Revoked tokens and users that are in force at a time; for the broker."),
    SettingKey("token.audience", .string, .string(""), "What a token's aud must name; empty: not checked."),
    SettingKey("token.issuer", .string, .string(""), "What a token's iss must be; empty: not checked."),
  ]

  private static let broker: [SettingKey] = [
    SettingKey(
      "broker.idempotency_window", .duration(seconds(1)...hours(24)), .int(minutes(5)),
      "Time for which an idempotency key is remembered."),
    SettingKey(
      "broker.link_window_bytes", .bytes(mebibytes(1)...mebibytes(4096)), .int(mebibytes(64)),
      "Bytes on their way to one gateway before the broker sends it no more; answers wait where they would fill half of it."
    ),
    SettingKey(
      "broker.gateway_timeout", .duration(seconds(1)...minutes(10)), .int(seconds(10)),
      "Silence after which a gateway counts as gone."),
    SettingKey(
      "broker.pending_bytes", .bytes(mebibytes(1)...mebibytes(4096)), .int(mebibytes(64)),
      "Bytes that wait for the disk before requests are read later instead."),
    SettingKey("broker.services.enabled", .bool, .bool(true), "Open the ZeroMQ endpoints for backend services."),
    SettingKey(
      "broker.services.commands", .string, .string(""),
      "Endpoint for commands: ipc://file, or tcp://address:port with keys; empty means services/commands.ipc in the data folder."
    ),
    SettingKey(
      "broker.services.tap", .string, .string(""),
      "Endpoint to listen to channels, likewise; empty means services/tap.ipc in the data folder."),
    SettingKey(
      "broker.services.secret_key_file", .string, .string(""),
      "File with the CURVE secret key of the endpoints over tcp; only its owner may read it."),
    SettingKey(
      "broker.services.keys", .strings, .strings([]),
      "Services that may use the endpoints over tcp, each a text of its name, its CURVE public key and what it may do, such as publish=news publish=chat:* read=* tap=chat:* call=clique.* disconnect revoke."
    ),
    SettingKey(
      "broker.services.allow_anyone_on_this_machine", .bool, .bool(false),
      "Let every process on this machine publish, listen, disconnect and revoke at the endpoints, apps' channels left out."
    ),
    SettingKey(
      "broker.services.max_message_bytes", .bytes(1024...mebibytes(64)), .int(mebibytes(1)),
      "Largest message from a service."),
  ]

  private static let backbone: [SettingKey] = [
    SettingKey(
      "backbone.endpoint", .string, .string("ipc://data/backbone.ipc"),
      "Where a broker and gateways in processes of their own meet: ipc://file or tcp://address:port. With inproc://name, serve puts libzmq between its two halves, which otherwise hand each other their messages as they are."
    ),
    SettingKey(
      "backbone.heartbeat_interval", .duration(100...minutes(1)), .int(seconds(1)),
      "Time between signs of life on the link."),
    SettingKey(
      "backbone.curve.server_public_key", .string, .string(""),
      "The broker's CURVE public key, 40 characters; for gateways."),
    SettingKey(
      "backbone.curve.server_secret_key_file", .string, .string(""),
      "File with the broker's CURVE secret key; for the broker."),
    SettingKey(
      "backbone.curve.client_public_keys", .strings, .strings([]),
      "CURVE public keys of the gateways that may connect, 40 characters each; for the broker."),
    SettingKey(
      "backbone.curve.client_secret_key_file", .string, .string(""),
      "File with the gateway's CURVE secret key; for gateways."),
  ]

  private static let gateway: [SettingKey] = [
    SettingKey(
      "gateway.uplink_window_bytes", .bytes(kibibytes(64)...mebibytes(1024)), .int(mebibytes(1)),
      "Bytes on their way to the broker before client sockets are read later."),
    SettingKey(
      "gateway.egress_bytes", .bytes(mebibytes(16)...mebibytes(1 << 20)), .int(mebibytes(256)),
      "Bytes that may wait for all clients together; from half of it on, clients whose answers wait are read later, and beyond it the connection for which most waits is closed. One connection may have a quarter of it."
    ),
    SettingKey(
      "gateway.max_filters_per_channel", .integer(1...1_000_000), .int(1000),
      "Different filters of clients on one channel, for each event loop, with sixteen times as many conditions in all; one more is refused with error 106."
    ),
    SettingKey(
      "gateway.max_subscribers_per_channel", .integer(0...10_000_000), .int(0),
      "Subscribers of one channel on one gateway process, with presence or without; 0: as many as there are connections. One more is refused with error 106."
    ),
    SettingKey(
      "gateway.read_window_bytes", .bytes(kibibytes(256)...mebibytes(1024)), .int(mebibytes(16)),
      "The same as client.read_window_bytes for all clients together, large answers and small ones each; every event loop has an equal part."
    ),
    SettingKey(
      "gateway.io_uring", .bool, .bool(true),
      "Send in batches through io_uring where the kernel allows it; the start-up log says whether it does."),
  ]

  private static let process: [SettingKey] = [
    SettingKey(
      "data.directory", .string, .string("data"), "Folder for the log and the secret; made where it is missing."),
    SettingKey(
      "data.minimum_free_bytes", .bytes(0...mebibytes(1024 * 1024)), .int(mebibytes(64)),
      "Room on the disk that stays free: with less, publications are refused with error 100, and ends and removals go on."
    ),
    SettingKey(
      "data.maximum_bytes", .bytes(0...mebibytes(1024 * 1024 * 1024)), .int(0),
      "Bytes that the log may hold before publications are refused with error 100; 0: no limit."),
    SettingKey(
      "clock.max_step", .duration(seconds(1)...hours(24)), .int(minutes(10)),
      "By how much the machine's clock may be set within a day; a larger step is not followed before the clock is right "
        + "again or a person confirms it with `fanfare clock confirm`."),
    SettingKey(
      "clock.after_restart", .choice(["synchronized", "always"]), .string("synchronized"),
      "When the machine's clock counts after the machine was off for longer: if the kernel says that a time server keeps "
        + "it, or a person confirms it; or always."),
    SettingKey(
      "shutdown.deadline", .duration(100...minutes(10)), .int(seconds(10)),
      "Time to finish what is under way when the server is told to stop."),
    SettingKey(
      "log.level", .choice(["trace", "debug", "info", "notice", "warning", "error", "critical"]), .string("info"),
      "Least severe message that is logged."),
    SettingKey(
      "log.format", .choice(["text", "json"]), .string("text"), "One line of text or one JSON object a message."),
  ]
}
