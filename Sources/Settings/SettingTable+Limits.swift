/// Limits on what one client, one user and one address may do.
extension SettingTable {
  /// Of the public port.
  static let serverLimits: [SettingKey] = [
    SettingKey(
      "server.max_unsigned", .integer(0...10_000_000), .int(0),
      "Connections that have not signed in, those in a handshake among them; 0 means three quarters of server.max_connections. One more is answered 503."
    ),
    SettingKey(
      "server.max_handshakes", .integer(0...10_000_000), .int(0),
      "Connections whose request has not come whole, the TLS handshake included; 0 means half of server.max_connections. One more is answered 503."
    ),
    SettingKey(
      "server.max_tls_handshakes", .integer(0...10_000_000), .int(0),
      "TLS handshakes under way, from a client's first bytes to its last; 0 means half of server.max_handshakes. One more waits for its turn, addresses one after another, for as long as server.header_timeout gives it; every event loop has an equal part."
    ),
    SettingKey(
      "server.address.max_connections", .integer(0...10_000_000), .int(0),
      "Connections of one address, an IPv6 address counted by its /64; 0 means a quarter of server.max_connections. One more is answered 429."
    ),
    SettingKey(
      "server.address.max_unsigned", .integer(0...10_000_000), .int(0),
      "Of them, those that have not signed in; 0 means a quarter of server.max_unsigned."),
    SettingKey(
      "server.address.max_handshakes", .integer(0...10_000_000), .int(0),
      "Of them, those whose request has not come whole; 0 means a quarter of server.max_handshakes."),
    SettingKey(
      "server.address.max_tls_handshakes", .integer(0...10_000_000), .int(0),
      "TLS handshakes of one address under way; 0 means a quarter of server.max_tls_handshakes. One more waits."),
    SettingKey(
      "server.address.connections_per_second", .integer(0...1_000_000), .int(500),
      "Connections that one address opens; 0: no limit. One more is answered 429."),
    SettingKey(
      "server.address.connections_burst", .integer(1...10_000_000), .int(5_000),
      "How many of them at once, after a time of rest."),
    SettingKey(
      "server.address.sign_ins_per_second", .integer(0...1_000_000), .int(200),
      "Sign-ins of one address; 0: no limit. One more waits, for at most five seconds; then the client is disconnected with 3013 and tries again."
    ),
    SettingKey(
      "server.address.sign_ins_burst", .integer(1...10_000_000), .int(2_000),
      "How many of them at once, after a time of rest."),
    SettingKey(
      "server.address.limit_loopback", .bool, .bool(false),
      "Limit the addresses of this machine too, where load tests and unlisted proxies are."),
    SettingKey(
      "server.trusted_proxies", .strings, .strings([]),
      "Proxies that say whose connection it is: addresses or ranges, such as \"10.0.0.7\" or \"10.0.0.0/8\". Of their X-Forwarded-For the rightmost address counts that is no trusted proxy."
    ),
    SettingKey(
      "server.proxy_protocol", .bool, .bool(false),
      "Connections of trusted proxies begin with a PROXY protocol header of version 2; one that does not is closed."),
  ]

  /// Of clients and users.
  static let clientLimits: [SettingKey] =
    [
      SettingKey(
        "client.max_connections_per_user", .integer(0...1_000_000), .int(0),
        "Connections of one user on one gateway; 0: any number. One more is disconnected with 3504."),
      SettingKey(
        "client.max_token_checks", .integer(1...1000), .int(8),
        "Tokens of one client that are checked at a time; meanwhile it is read later."),
    ] + rates("client.limits", of: "one connection", connectionRates, "what is faster is read later")
    + rates(
      "client.user_limits", of: "one user's connections to one gateway together", userRates,
      "what is faster is read later, then refused with error 111; who goes on is disconnected with 3013")

  /// A kind of what clients do, and how much of it is usual.
  struct Rate {
    var name: String
    var what: String
    var perSecond: Int
    var burst: Int
  }

  private static let connectionRates = [
    Rate(name: "commands", what: "Commands", perSecond: 2_000, burst: 20_000),
    Rate(
      name: "publications", what: "Publications, writes of maps, edits and receipts", perSecond: 1_000, burst: 10_000),
    Rate(name: "bytes", what: "Bytes of messages", perSecond: mebibytes(16), burst: mebibytes(64)),
    Rate(name: "subscribes", what: "Subscribes", perSecond: 500, burst: 10_000),
    Rate(name: "clique_calls", what: "Calls of the app Clique", perSecond: 100, burst: 1_000),
    Rate(name: "state_calls", what: "Calls of the app State", perSecond: 50, burst: 500),
  ]

  private static let userRates = [
    Rate(name: "commands", what: "Commands", perSecond: 5_000, burst: 50_000),
    Rate(
      name: "publications", what: "Publications, writes of maps, edits and receipts", perSecond: 2_000, burst: 20_000),
    Rate(name: "bytes", what: "Bytes of messages", perSecond: mebibytes(32), burst: mebibytes(128)),
    Rate(name: "subscribes", what: "Subscribes", perSecond: 1_000, burst: 20_000),
    Rate(name: "clique_calls", what: "Calls of the app Clique", perSecond: 200, burst: 2_000),
    Rate(name: "state_calls", what: "Calls of the app State", perSecond: 100, burst: 1_000),
  ]

  private static func rates(_ section: String, of whom: String, _ rates: [Rate], _ consequence: String) -> [SettingKey]
  {
    rates.flatMap { rate in
      let most = rate.name == "bytes" ? mebibytes(1024 * 1024) : 10_000_000
      let (perSecond, burst): (SettingKey.Kind, SettingKey.Kind) =
        rate.name == "bytes" ? (.bytes(0...most), .bytes(1...most)) : (.integer(0...most), .integer(1...most))
      return [
        SettingKey(
          "\(section).\(rate.name)_per_second", perSecond, .int(rate.perSecond),
          "\(rate.what) of \(whom) per second; 0: no limit; \(consequence)."),
        SettingKey(
          "\(section).\(rate.name)_burst", burst, .int(rate.burst), "How many of them at once, after a time of rest."),
      ]
    }
  }
}
