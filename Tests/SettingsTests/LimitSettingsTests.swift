import Settings
import Testing
import Wire

@Suite("Limits, and what Kubernetes sets")
struct LimitSettingsTests {
  @Test("Rates have usual values, and 0 is none")
  func rates() throws {
    let settings = try load(#"{"client": {"limits": {"publications_per_second": 0, "subscribes_burst": 700}}}"#)
    #expect(settings.client.limits.publications.isUnlimited)
    #expect(settings.client.limits.subscribes == RateLimit(perSecond: 500, burst: 700))
    #expect(settings.client.limits.bytes == RateLimit(perSecond: 16 << 20, burst: 64 << 20))
    // A backlog of a thousand messages passes at once.
    #expect(try load("{}").client.limits.publications.burst >= 1000)
    #expect(settings.client.maxConnectionsPerUser == 0)
    #expect(settings.server.admission.address.connections == RateLimit(perSecond: 500, burst: 5000))
    #expect(!settings.server.admission.address.limitsLoopback)
    #expect(settings.server.admission.maxTLSHandshakes == 0 && settings.server.admission.address.maxTLSHandshakes == 0)
    #expect(settings.gateway.maximumSubscribersPerChannel == 0)
  }

  @Test("Trusted proxies are addresses and ranges")
  func proxies() throws {
    let settings = try load(#"{"server": {"trusted_proxies": ["10.0.0.7", "fd00::/8"], "proxy_protocol": true}}"#)
    #expect(settings.server.admission.trustedProxies.count == 2)
    #expect(settings.server.admission.proxyProtocol)
    #expect(
      problems(#"{"server": {"trusted_proxies": ["10.0.0.7/99"]}}"#) == [
        "f.json:1: server.trusted_proxies: holds \"10.0.0.7/99\"; write an address or a range, for example \"10.0.0.7\" or \"10.0.0.0/8\""
      ])
    #expect(
      problems(#"{"server": {"proxy_protocol": true}}"#).first?.contains("server.trusted_proxies is empty") == true)
  }

  @Test("Persistent maps have a quota for each user unless it says 0; other namespaces have one where it is set")
  func quotas() throws {
    func options(_ json: String) throws -> ChannelOptions {
      let settings = try load(#"{"channel": {"namespaces": [{"name": "n", \#(json)}]}}"#)
      return try #require(settings.channels.namespaces["n"])
    }
    let persistent = #""kind": "map", "map_mode": "persistent""#
    let standard = try options(persistent)
    #expect(standard.userQuotaBytes == 256 << 20 && standard.userQuotaEntries == 100_000)
    let given = try options(persistent + #", "user_quota_bytes": "1MiB", "user_quota_entries": 0"#)
    #expect(given.userQuotaBytes == 1 << 20 && given.userQuotaEntries == 0)
    #expect(try !options(persistent + #", "user_quota_bytes": 0, "user_quota_entries": 0"#).hasUserQuota)
    #expect(try !options(#""kind": "map", "map_mode": "recoverable""#).hasUserQuota)
    let stream = #""history_size": 9, "history_ttl": "1m", "durability": "durable""#
    #expect(try !options(stream).hasUserQuota)
    #expect(try options(stream + #", "user_quota_entries": 7"#).userQuotaEntries == 7)
    let shipped = try load(EmbeddedDefault.json).channels
    #expect(shipped.namespacesWithQuota == ["receipts", "journal", "favorites", "site-choice"])
  }

  @Test("A quota where nothing is kept, and one that leaves a map's changes out, are mistakes")
  func pointlessQuotas() {
    func problem(_ json: String) -> String? {
      problems(#"{"channel": {"namespaces": [{"name": "n", \#(json)}]}}"#).first
    }
    #expect(
      problem(#""user_quota_bytes": 9"#)
        == "f.json:1: channel.namespaces.n.user_quota_bytes: is set, but nothing is kept; set history_size and history_ttl, or leave it out"
    )
    #expect(
      problem(#""kind": "map", "map_mode": "recoverable", "user_quota_entries": 9"#)?
        .hasPrefix("f.json:1: channel.namespaces.n.user_quota_entries: is set, but user_quota_bytes is 0") == true)
    #expect(problem(#""kind": "map", "user_quota_entries": 9"#) == "accepted")
  }

  @Test("Places need no token unless it is asked for")
  func placeTokens() throws {
    #expect(try !load("{}").clique.requirePlaceToken)
    #expect(try load(#"{"clique": {"require_place_token": true}}"#).clique.requirePlaceToken)
  }

  @Test("The fields of profiles are short names, university where nobody says anything, and may be none")
  func profileFields() throws {
    #expect(try load("{}").clique.profileFields == ["university"])
    #expect(try load(#"{"clique": {"profile_fields": []}}"#).clique.profileFields.isEmpty)
    let settings = try load(#"{"clique": {"profile_fields": ["shoe_2"], "known_users_only": true}}"#)
    #expect(settings.clique.profileFields == ["shoe_2"] && settings.clique.knownUsersOnly)
    #expect(settings.clique.maxProfileChangesPerDay == 100)
    for name in ["Shoe", "", "é", String(repeating: "x", count: 33)] {
      let found = problems(#"{"clique": {"profile_fields": ["\#(name)"]}}"#)
      #expect(found.count == 1 && found[0].contains("clique.profile_fields: holds \"\(name)\""))
    }
    let many = (0..<17).map { #""f\#($0)""# }.joined(separator: ",")
    #expect(problems(#"{"clique": {"profile_fields": [\#(many)]}}"#).first?.contains("more than 16") == true)
  }

  @Test("Limits of apps are counted under the names of their settings, but for those that are fixed")
  func appLimits() {
    let reference = SettingsReference.markdown()
    let fixed = AppLimit.allCases.filter { !reference.contains("| `\($0.rawValue)` |") }
    #expect(
      fixed == [
        .cliqueGroupName, .cliqueGroupLinks, .cliquePinned, .cliqueDrafts, .cliqueReactions, .cliqueReportsPerDay,
        .cliqueReports, .cliqueReportText, .cliqueSearchText, .cliqueDisappearTimes, .cliquePictureDiscards,
        .stateCaption,
        .cliqueProfileText,
      ])
  }

  @Test("A limit beyond all connections limits nothing")
  func tooLarge() {
    #expect(
      problems(#"{"server": {"max_connections": 100, "address": {"max_connections": 101}}}"#).first?.contains(
        "server.address.max_connections: is more than server.max_connections") == true)
    #expect(
      problems(#"{"server": {"max_connections": 100, "max_tls_handshakes": 101}}"#).first?.contains(
        "server.max_tls_handshakes: is more than server.max_connections") == true)
  }

  @Test("What Kubernetes sets beside services called fanfare keeps nothing from starting")
  func kubernetes() throws {
    let environment = [
      "FANFARE_SERVICE_HOST": "10.96.0.12", "FANFARE_SERVICE_PORT": "8000", "FANFARE_SERVICE_PORT_WEBSOCKET": "8000",
      "FANFARE_PORT": "tcp://10.96.0.12:8000", "FANFARE_PORT_8000_TCP": "tcp://10.96.0.12:8000",
      "FANFARE_PORT_8000_TCP_PROTO": "tcp", "FANFARE_PORT_8000_TCP_PORT": "8000",
      "FANFARE_PORT_8000_TCP_ADDR": "10.96.0.12", "FANFARE_PORT_53_UDP": "udp://10.96.0.12:53",
      "FANFARE_BROKER_SERVICE_HOST": "10.96.0.13", "FANFARE_BROKER_PORT_7500_TCP_ADDR": "10.96.0.13",
      // Kubernetes sets this for a service called fanfare-server, and it is the name of a setting as well.
      "FANFARE_SERVER_PORT": "tcp://10.96.0.14:8000",
    ]
    #expect(try load("{}", environment: environment) == load("{}"))
    #expect(try load("{}", environment: ["FANFARE_SERVER_PORT": "8123"]).server.port == 8123)
  }

  @Test(
    "What only looks like it is still a mistake",
    arguments: [
      ("FANFARE_PORT", "8000"), ("FANFARE_SERVICE_HOSTS", "x"), ("FANFARE_SERVICES_HOST", "x"),
      ("FANFARE_PORT_TCP", "x"), ("FANFARE_PORT_8000", "x"), ("FANFARE_PORT_8000_TCP_ADDRESS", "x"),
      ("FANFARE_PORT_8000_HTTP", "x"), ("FANFARE_SERVER_PORTS", "8000"), ("FANFARE_SERVER_PORT", "http://x"),
    ])
  func mistakes(_ variable: String, _ value: String) {
    #expect(problems("{}", environment: [variable: value]) != ["accepted"])
  }
}
