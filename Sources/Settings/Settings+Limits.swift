public import Wire

extension Settings {
  /// Limits on connections, in all and of one address. 0 where a share is meant: who reads them knows of how many.
  public struct Admission: Sendable, Equatable {
    public var maxUnsigned: Int
    public var maxHandshakes: Int
    public var maxTLSHandshakes: Int
    public var addressConnections: Int
    public var addressUnsigned: Int
    public var addressHandshakes: Int
    public var addressTLSHandshakes: Int
    public var connectionRate: RateLimit
    public var signInRate: RateLimit
    public var limitsLoopback: Bool
    public var trustedProxies: [AddressRange]
    public var proxyProtocol: Bool
  }

  /// How fast a connection may go, or a user: by the name of what is counted, such as `publications`.
  public struct Rates: Sendable, Equatable {
    public var limits: [String: RateLimit]

    public subscript(name: String) -> RateLimit { limits[name] ?? .unlimited }
  }
}

extension SettingsReader {
  var admission: Settings.Admission {
    .init(
      maxUnsigned: int("server.max_unsigned"), maxHandshakes: int("server.max_handshakes"),
      maxTLSHandshakes: int("server.max_tls_handshakes"),
      addressConnections: int("server.address.max_connections"), addressUnsigned: int("server.address.max_unsigned"),
      addressHandshakes: int("server.address.max_handshakes"),
      addressTLSHandshakes: int("server.address.max_tls_handshakes"),
      connectionRate: rate("server.address.connections"), signInRate: rate("server.address.sign_ins"),
      limitsLoopback: bool("server.address.limit_loopback"),
      // What is no range is reported by the rules, and nothing starts.
      trustedProxies: strings("server.trusted_proxies").compactMap { AddressRange($0) },
      proxyProtocol: bool("server.proxy_protocol"))
  }

  func rates(_ section: String) -> Settings.Rates {
    let names = ["commands", "publications", "bytes", "subscribes", "clique_calls", "state_calls"]
    return .init(
      limits: Dictionary(uniqueKeysWithValues: names.map { ($0, rate("\(section).\($0)")) }))
  }

  private func rate(_ name: String) -> RateLimit {
    RateLimit(perSecond: int("\(name)_per_second"), burst: int("\(name)_burst"))
  }
}
