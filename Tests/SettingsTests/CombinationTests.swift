import Settings
import Testing
import Wire

@Suite("Combinations that cannot work are refused")
struct CombinationTests {
  /// The problems' keys and the first words of what is said.
  private func refused(_ json: String, _ key: String, _ words: String) -> Bool {
    let found = problems(json)
    return found.count == 1 && found[0].hasPrefix("f.json:1: \(key): \(words)")
  }

  private func channel(_ options: String) -> String { #"{"channel": {"without_namespace": {\#(options)}}}"# }

  @Test("Durability without a history")
  func durability() {
    for value in ["relaxed", "durable"] {
      #expect(
        refused(
          channel(#""durability": "\#(value)""#), "channel.without_namespace.durability",
          "is \"\(value)\", but history_size is 0, so there is nothing to put on disk"))
    }
    #expect(problems(channel(#""durability": "memory""#)) == ["accepted"])
  }

  @Test("One half of a history")
  func halfHistory() {
    let place = "channel.without_namespace"
    #expect(refused(channel(#""history_size": 1"#), "\(place).history_size", "is set, but history_ttl is not"))
    #expect(refused(channel(#""history_ttl": "1s""#), "\(place).history_ttl", "is set, but history_size is not"))
    #expect(problems(channel(#""history_size": 1, "history_ttl": "1s", "force_recovery": true"#)) == ["accepted"])
  }

  @Test("Recovery without a history")
  func recovery() {
    #expect(
      refused(
        channel(#""force_recovery": true"#), "channel.without_namespace.force_recovery",
        "is true, but history_size is 0, so there is nothing to recover from"))
  }

  @Test("A clock that could be moved by nobody")
  func demoClock() {
    for demo in [#""clock": true"#, #""clock": true, "enabled": false"#] {
      #expect(refused("{\"demo\": {\(demo)}}", "demo.clock", "is true, but demo.enabled is not"))
    }
    #expect(problems(#"{"demo": {"clock": true, "enabled": true}}"#) == ["accepted"])
    #expect(problems(#"{"demo": {"enabled": true}}"#) == ["accepted"])
  }

  @Test("A master key for keys that are in files")
  func masterKey() {
    let keys = #""keys": {"master_file": "m"}"#
    #expect(
      refused("{\(keys)}", "keys.master_file", "is set, but log.engine is sqlite, beside which the keys are in files"))
    #expect(
      problems(#"{"log": {"engine": "postgres", "postgres": {"connection": "host=x"}}, \#(keys)}"#) == ["accepted"])
  }

  @Test("Keys of maps that the server gives")
  func mapKeys() {
    let place = "channel.without_namespace"
    let map = #""kind": "map", "map_client_key": "client_id""#
    #expect(refused(channel(map), "\(place).map_client_key", "is \"client_id\", but map_ttl is not set"))
    #expect(
      refused(
        channel(map + #", "map_ttl": "1m", "map_key_is_user": true"#), "\(place).map_key_is_user",
        "is true, but map_client_key says what the key is"))
    #expect(problems(channel(map + #", "map_ttl": "1m""#)) == ["accepted"])
    #expect(problems(channel(#""kind": "map", "map_client_key": "user_id""#)) == ["accepted"])
  }

  @Test("Maps of presence that show nothing, or keep something", arguments: ["clients", "users"])
  func mapPresence(_ kind: String) {
    func file(_ more: String) -> String {
      #"{"channel": {"namespaces": [{"name": "n", "kind": "map", "map_presence": "\#(kind)"\#(more)}]}}"#
    }
    let place = "channel.namespaces.n.map_presence"
    #expect(refused(file(""), place, "is \"\(kind)\", but the map shows the presence of no channel"))
    let follows = #", "follows_channel": true"#
    #expect(problems(file(follows)) == ["accepted"])
    for more in [#", "map_ttl": "1m""#, #", "map_mode": "recoverable""#] {
      #expect(refused(file(follows + more), place, "is \"\(kind)\", which is kept as long as people are there"))
    }
    #expect(
      refused(file(follows + #", "user_quota_entries": 5"#), place, "is \"\(kind)\", of which users keep nothing"))
    #expect(refused(file(follows + #", "lane": "typing""#), place, "is \"\(kind)\", of which nothing may be left out"))
  }

  @Test("Pushed joins that nobody makes")
  func joins() {
    #expect(
      refused(
        channel(#""force_push_join_leave": true"#), "channel.without_namespace.force_push_join_leave",
        "is true, but join_leave is not"))
  }

  @Test("A low lane with a history or with positioning", arguments: ["receipts", "typing"])
  func lane(_ lane: String) {
    let place = "channel.without_namespace.lane"
    let history = #""lane": "\#(lane)", "history_size": 1, "history_ttl": "1s""#
    #expect(
      refused(
        channel(history), place,
        "is \"\(lane)\", where a reader that lags gets the newest per key only, but history is kept"))
    #expect(
      refused(
        channel(#""lane": "\#(lane)", "force_positioning": true"#), place,
        "is \"\(lane)\", where a reader that lags gets the newest per key only, but force_positioning is true"))
    #expect(problems(channel(#""lane": "\#(lane)", "presence": true, "join_leave": true"#)) == ["accepted"])
    let inNamespace = #"{"channel": {"namespaces": [{"name": "n", "lane": "\#(lane)", "force_positioning": true}]}}"#
    #expect(refused(inNamespace, "channel.namespaces.n.lane", "is \"\(lane)\""))
  }

  @Test("Patches where publications are left out, or have none before them")
  func delta() {
    let place = "channel.without_namespace.allow_delta"
    #expect(refused(channel(#""allow_delta": true, "lane": "typing""#), place, "is true, but lane is \"typing\""))
    #expect(refused(channel(#""allow_delta": true, "kind": "map""#), place, "is true, but a map has no publication"))
    #expect(problems(channel(#""allow_delta": true, "publication_data_format": "binary""#)) == ["accepted"])
    #expect(problems(channel(#""allow_delta": false, "kind": "map""#)) == ["accepted"])
  }

  @Test("The lane of publications goes with everything, and there is no fourth")
  func publicationsLane() {
    let all = #""lane": "publications", "history_size": 1, "history_ttl": "1s", "force_positioning": true"#
    #expect(problems(channel(all)) == ["accepted"])
    #expect(problems(channel(#""lane": "control""#)) != ["accepted"])
  }

  @Test(
    "Rights for anonymous clients are possible without open connects: a token without a user is anonymous too",
    arguments: ["subscribe", "publish", "history", "presence"])
  func anonymous(_ what: String) {
    let option = "allow_\(what)_for_anonymous"
    let json = channel(#""\#(option)": true"#)
    #expect(problems(json) == ["accepted"])
    #expect(problems(json, overrides: ["client.allow_anonymous_connect_without_token": "true"]) == ["accepted"])
  }

  @Test("The line told is that of the namespace's option")
  func lineInNamespace() {
    let json = """
      {"channel": {"namespaces": [
        { "name": "a" },
        { "name": "b",
          "force_recovery": true }
      ]}}
      """
    let found = problems(json)
    #expect(found.count == 1 && found[0].hasPrefix("f.json:4: channel.namespaces.b.force_recovery: is true"))
  }

  @Test("A pong that may come after the next ping")
  func pong() {
    let words = "is not shorter than client.ping_interval"
    #expect(refused(#"{"client": {"pong_timeout": "25s"}}"#, "client.pong_timeout", words))
    #expect(problems(#"{"client": {"pong_timeout": "24s"}}"#) == ["accepted"])
    let byFlag = problems("{}", overrides: ["client.pong_timeout": "30s"])
    #expect(byFlag.count == 1 && byFlag[0].hasPrefix("--set: client.pong_timeout: \(words)"))
    let byOther = problems("{}", environment: ["FANFARE_CLIENT_PING_INTERVAL": "5s"])
    #expect(byOther.count == 1 && byOther[0].hasPrefix("default: client.pong_timeout: \(words)"))
  }

  @Test("TLS without its files")
  func tls() {
    let found = problems(#"{"server": {"tls": {"enabled": true}}}"#)
    #expect(
      found.count == 2 && found.allSatisfy { $0.hasPrefix("f.json:1: server.tls.enabled: is true, but server.tls.") })
    #expect(
      problems(#"{"server": {"tls": {"enabled": true, "certificate_file": "c", "key_file": "k"}}}"#) == ["accepted"])
  }

  @Test("Certificates in two places, too many of them, or without their files")
  func certificates() {
    let one = #"{"certificate_file": "c", "key_file": "k"}"#
    func tls(_ rest: String) -> String { #"{"server": {"tls": {"enabled": true, \#(rest)}}}"# }
    #expect(problems(tls(#""certificates": [\#(one)]"#)) == ["accepted"])
    #expect(
      refused(
        tls(#""certificates": [\#(one)], "key_file": "k""#), "server.tls.key_file",
        "is set beside server.tls.certificates"))
    let many = Array(repeating: one, count: 101).joined(separator: ",")
    #expect(refused(tls(#""certificates": [\#(many)]"#), "server.tls.certificates", "holds more than 100"))
    #expect(
      refused(
        tls(#""certificates": [\#(one), {"certificate_file": "d"}]"#), "server.tls.certificates",
        #"holds "d" without key_file"#))
    #expect(
      refused(
        tls(#""certificates": [\#(one), {"key_file": "k"}]"#), "server.tls.certificates",
        "holds one without certificate_file"))
  }

  @Test("Clients' certificates that nobody would ask for")
  func clientCertificates() {
    #expect(
      refused(
        #"{"server": {"tls": {"client_ca_file": "ca"}}}"#, "server.tls.client_ca_file",
        "is set, but server.tls.enabled is false"))
    #expect(
      refused(
        #"{"server": {"tls": {"client_certificates": "optional"}}}"#, "server.tls.client_certificates",
        "says nothing while server.tls.client_ca_file is not set"))
  }

  @Test(
    "A namespace without a usable name",
    arguments: [
      (#"{"presence": true}"#, "channel.namespaces[0]: has no name"),
      (#"{"name": ""}"#, "channel.namespaces[0].name: is not a name"),
      (#"{"name": 5}"#, "channel.namespaces[0].name: is not a name"),
      (#"{"name": "a:b"}"#, "channel.namespaces[0].name: is \"a:b\"; write at most 64 letters"),
      (#"{"name": "a b"}"#, "channel.namespaces[0].name: is \"a b\""),
      (#"{"name": "é"}"#, "channel.namespaces[0].name: is \"é\""),
      (#"{"name": "a"}, {"name": "a"}"#, "channel.namespaces[1].name: is \"a\" again, like at f.json:1"),
    ])
  func names(_ namespaces: String, _ expected: String) {
    let found = problems(#"{"channel": {"namespaces": [\#(namespaces)]}}"#)
    #expect(found.count == 1 && found[0].hasPrefix("f.json:1: " + expected))
  }

  @Test("A personal channel in a namespace that is not there")
  func personal() {
    let json = #"{"client": {"user_personal_channel": {"enabled": true, "namespace": "me"}}"#
    #expect(
      refused(json + "}", "client.user_personal_channel.namespace", "is \"me\", which is not configured"))
    #expect(problems(json + #", "channel": {"namespaces": [{"name": "me"}]}}"#) == ["accepted"])
  }

  @Test(
    "A backbone that other machines reach without keys",
    arguments: [
      "tcp://0.0.0.0:7100", "tcp://*:7100", "tcp://10.0.0.1:7100", "tcp://127.0.0.1.evil.com:1", "tcp://127.1:1",
    ])
  func backbone(_ endpoint: String) {
    let json = #"{"backbone": {"endpoint": "\#(endpoint)""#
    #expect(
      refused(
        json + "}}", "backbone.endpoint", "is \"\(endpoint)\", which other machines reach, and no CURVE keys are set")
    )
    #expect(problems(json + #", "curve": {"server_secret_key_file": "k"}}}"#) != ["accepted"])
    let key = String(repeating: "a", count: 40)
    let broker = #", "curve": {"server_secret_key_file": "k", "client_public_keys": ["\#(key)"]}}}"#
    #expect(problems(json + broker) == ["accepted"])
    let gateway = #", "curve": {"server_public_key": "\#(key)""#
    #expect(problems(json + gateway + "}}}") != ["accepted"])
    #expect(
      problems(json + gateway + #", "client_secret_key_file": "k"}}}"#) == ["accepted"])
  }

  @Test(
    "A backbone on this machine needs no keys",
    arguments: [
      "tcp://127.0.0.1:7100", "tcp://127.8.9.1:1", "tcp://[::1]:7100", "tcp://localhost:*", "ipc:///run/f.ipc",
    ])
  func localBackbone(_ endpoint: String) {
    #expect(problems(#"{"backbone": {"endpoint": "\#(endpoint)"}}"#) == ["accepted"])
  }

  @Test(
    "An endpoint that is none",
    arguments: [
      "", "7100", "tcp://", "tcp://127.0.0.1", "tcp://:1", "tcp://127.0.0.1:0", "tcp://127.0.0.1:65536", "ipc://",
      "udp://x:1",
    ])
  func endpoints(_ endpoint: String) {
    for key in ["backbone.endpoint", "broker.services.tap"] {
      let found = problems("{}", overrides: [key: endpoint])
      if endpoint.isEmpty, key == "broker.services.tap" {
        // An empty endpoint stands for a socket in the data folder.
        #expect(found == ["accepted"])
        continue
      }
      #expect(found.count == 1 && found[0].contains("write tcp://address:port or ipc://file"))
    }
    let long = "ipc://" + String(repeating: "a", count: 108)
    #expect(problems("{}", overrides: ["backbone.endpoint": long]) != ["accepted"])
  }

  @Test("Half of a gateway's CURVE keys, or a key that is none")
  func curve() {
    let key = String(repeating: "a", count: 40)
    for (name, value) in [
      ("client_secret_key_file", "f"), ("server_public_key", key), ("server_public_key", "short"),
      ("server_public_key", String(repeating: "\\\"", count: 40)),
    ] {
      #expect(problems(#"{"backbone": {"curve": {"\#(name)": "\#(value)"}}}"#) != ["accepted"])
    }
  }

  @Test("Services that other machines reach, or two on one endpoint")
  func services() {
    for key in ["commands", "tap"] {
      let json = #"{"broker": {"services": {"\#(key)": "tcp://0.0.0.0:7005""#
      #expect(
        refused(json + "}}}", "broker.services.\(key)", "is \"tcp://0.0.0.0:7005\", which other machines reach"))
      #expect(problems(json + #", "enabled": false}}}"#) == ["accepted"])
      let local = #"{"broker": {"services": {"\#(key)": "tcp://127.0.0.1:7005""#
      #expect(
        refused(
          local + "}}}", "broker.services.\(key)",
          "is \"tcp://127.0.0.1:7005\", which every process on this machine reaches"))
      #expect(problems(local + #", "allow_anyone_on_this_machine": true}}}"#) == ["accepted"])
      // The permission is for this machine alone: an endpoint that other machines reach stays refused.
      #expect(problems(json + #", "allow_anyone_on_this_machine": true}}}"#) != ["accepted"])
    }
    let same = #"{"broker": {"services": {"tap": "ipc://data/services/commands.ipc"}}}"#
    #expect(refused(same, "broker.services.tap", "is the endpoint of broker.services.commands"))
  }

  private static let key = String(repeating: "a", count: 40)

  @Test("Keys of services: read with what they may do, or refused with what is wrong")
  func serviceKeys() throws {
    func json(_ entries: String..., secret: String = #", "secret_key_file": "k""#) -> String {
      let keys = entries.map { "\"\($0)\"" }.joined(separator: ",")
      return #"{"broker": {"services": {"commands": "tcp://0.0.0.0:7005", "keys": [\#(keys)]\#(secret)}}}"#
    }
    let text =
      "billing \(Self.key) publish=news publish=chat:* tap=* read=x subscribe=chat:* call=clique.* disconnect revoke "
      + "push"
    #expect(problems(json(text)) == ["accepted"])
    let entry = try #require(try load(json(text)).broker.services.serviceKeys.first)
    #expect(entry.name == "billing" && entry.publicKey == Self.key)
    #expect(entry.grant.publish == [NamePattern("news"), NamePattern("chat:*")])
    #expect(entry.grant.tap == [NamePattern("*")] && entry.grant.read == [NamePattern("x")])
    #expect(entry.grant.subscribe == [NamePattern("chat:*")])
    #expect(entry.grant.call == [NamePattern("clique.*")] && entry.grant.mayDisconnect && entry.grant.mayRevoke)
    #expect(entry.grant.mayPush && !entry.grant.mayUseWebhooks)
    let other = String(repeating: "b", count: 40)
    for wrong in [
      json("billing"), json("billing short publish=*"), json("billing \(Self.key) write=*"),
      json("billing \(Self.key) publish="), json("billing \(Self.key) everything"),
      json("a \(Self.key)", "a \(other)"), json("a \(Self.key)", "b \(Self.key)"), json(text, secret: ""),
      json(text, secret: #", "secret_key_file": "k", "allow_anyone_on_this_machine": true"#),
      #"{"broker": {"services": {"secret_key_file": "k"}}}"#,
    ] { #expect(problems(wrong) != ["accepted"], "\(wrong)") }
  }

  @Test("A data folder whose name leaves no room for the socket's is refused with its length")
  func longFolder() {
    let folder = "/" + String(repeating: "d", count: 85)
    #expect(problems("{}", overrides: ["data.directory": String(folder.dropLast())]) == ["accepted"])
    let found = problems("{}", overrides: ["data.directory": folder])
    #expect(
      found.count == 1 && found.allSatisfy { $0.contains("data.directory: makes the socket for services 108 bytes") },
      "\(found)")
  }

  @Test("Windows smaller than one message")
  func windows() {
    #expect(refused(#"{"client": {"queue_bytes": "32KiB"}}"#, "client.queue_bytes", "is smaller than"))
    let services = #"{"broker": {"services": {"max_message_bytes": "64MiB"}, "#
    #expect(refused(services + #""pending_bytes": "1MiB"}}"#, "broker.pending_bytes", "is smaller than"))
    #expect(refused(services + #""link_window_bytes": "1MiB"}}"#, "broker.link_window_bytes", "is smaller than"))
    let window = #"{"broker": {"link_window_bytes": "8MiB"}, "client": {"recovery_max_bytes": "#
    #expect(refused(window + #""3MiB"}}"#, "client.recovery_max_bytes", "is more than a quarter"))
    #expect(problems(window + #""2MiB"}}"#) == ["accepted"])
  }

  @Test("A secret that is short, a PEM or given twice")
  func secrets() {
    #expect(refused(#"{"token": {"hmac_secret": "short"}}"#, "token.hmac_secret", "has 5 bytes"))
    #expect(
      refused(#"{"token": {"hmac_secret": "-----BEGIN PUBLIC KEY-----"}}"#, "token.hmac_secret", "is a PEM key"))
    for name in ["hmac_secret", "rsa_public_key", "ecdsa_public_key", "ed25519_public_key"] {
      let value = String(repeating: "a", count: 32)
      let json = #"{"token": {"\#(name)": "\#(value)", "\#(name)_file": "f"}}"#
      #expect(refused(json, "token.\(name)_file", "is set, and so is token.\(name)"))
    }
    #expect(
      refused(
        #"{"token": {"rsa_public_key": "-----BEGIN RSA PRIVATE KEY-----"}}"#, "token.rsa_public_key",
        "is a private key"))
  }

  @Test(
    "A key set without TLS on another machine",
    arguments: [
      ("https://id.example/k", true), ("http://127.0.0.1:8080/k", true), ("http://localhost/k", true),
      ("http://[::1]:80/k", true), ("http://id.example/k", false), ("http://127.0.0.1.evil.com/k", false),
      ("http://localhost@evil.com/k", false), ("ftp://x", false), ("https://", false),
    ])
  func keySet(_ address: String, _ accepted: Bool) {
    #expect((problems(#"{"token": {"jwks_url": "\#(address)"}}"#) == ["accepted"]) == accepted)
  }

  @Test(
    "An origin that no browser sends",
    arguments: [
      ("*", true), ("https://a.example", true), ("http://a.example:8080", true), ("https://*.a.example", true),
      ("a.example", false), ("https://a.example/", false), ("null", false), ("https://", false), ("https://u@a", false),
    ])
  func origins(_ origin: String, _ accepted: Bool) {
    #expect((problems(#"{"server": {"allowed_origins": ["\#(origin)"]}}"#) == ["accepted"]) == accepted)
  }
}
