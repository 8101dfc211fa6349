import Foundation
import Settings
import Testing
import Wire

@Suite("Where settings come from")
struct SourcesTests {
  @Test("A key that nobody sets has its default")
  func defaults() throws {
    let settings = try load("{}")
    #expect(settings.server.port == 8000)
    #expect(settings.client.pingInterval == .seconds(25))
    #expect(settings.client.queueBytes == 1_048_576)
    #expect(settings.client.slowCloseGrace == .seconds(1))
    #expect(settings.broker.idempotencyWindow == .seconds(300))
    #expect(settings.broker.services.commands == "ipc://data/services/commands.ipc")
    #expect(settings.data.directory == "data")
    #expect(settings.log.format == .text)
    #expect(settings.channels == NamespaceTable())
    #expect(settings.token.needsMadeSecret)
  }

  @Test("Later sources win: file, environment, flags")
  func precedence() throws {
    let json = #"{"client": {"ping_interval": "20s", "max_channels": 1, "queue_bytes": 70000}}"#
    let environment = ["FANFARE_CLIENT_PING_INTERVAL": "30s", "FANFARE_CLIENT_MAX_CHANNELS": "2", "PATH": "/bin"]
    let settings = try load(json, environment: environment, overrides: ["client.ping_interval": "40s"])
    #expect(settings.client.pingInterval == .seconds(40))
    #expect(settings.client.maxChannels == 2)
    #expect(settings.client.queueBytes == 70000)
  }

  @Test("Each kind of value is read from the file")
  func kindsInFile() throws {
    let settings = try load(
      #"""
      {"server": {"allowed_origins": ["https://a.example", "*"], "max_header_bytes": "32KiB", "header_timeout": "250ms",
       "tls": {"enabled": false}}, "client": {"max_message_bytes": 4096}, "log": {"level": "debug", "format": "json"}}
      """#)
    #expect(settings.server.allowedOrigins == ["https://a.example", "*"])
    #expect(settings.server.maxHeaderBytes == 32768)
    #expect(settings.server.headerTimeout == .milliseconds(250))
    #expect(settings.client.maxMessageBytes == 4096)
    #expect(settings.log.level == "debug" && settings.log.format == .json)
  }

  @Test("Each kind of value is read from text")
  func kindsInText() throws {
    let settings = try load(
      "{}",
      overrides: [
        "server.allowed_origins": "https://a.example, https://b.example", "server.max_header_bytes": "2048",
        "shutdown.deadline": "1m", "client.allow_anonymous_connect_without_token": "true", "log.format": "json",
        "data.directory": "/var/lib/x",
      ])
    #expect(settings.server.allowedOrigins == ["https://a.example", "https://b.example"])
    #expect(settings.server.maxHeaderBytes == 2048)
    #expect(settings.shutdown.deadline == .seconds(60))
    #expect(settings.client.allowAnonymousConnectWithoutToken)
    #expect(settings.log.format == .json)
    #expect(settings.data.directory == "/var/lib/x")
  }

  @Test("Namespaces become rules of channels, and environment and flags reach into them")
  func namespaces() throws {
    let json = #"""
      {"channel": {"without_namespace": {"presence": true}, "namespaces": [
        {"name": "chat", "history_size": 10, "history_ttl": "1h", "durability": "durable"},
        {"name": "a.b-c", "publication_data_format": "binary", "lane": "receipts"}]}}
      """#
    let settings = try load(
      json, environment: ["FANFARE_CHANNEL_NAMESPACES_CHAT_HISTORY_SIZE": "20"],
      overrides: ["channel.namespaces.a.b-c.join_leave": "true"])
    var chat = ChannelOptions()
    chat.historySize = 20
    chat.historyTTLMilliseconds = 3_600_000
    chat.durability = .durable
    var other = ChannelOptions()
    other.dataFormat = .binary
    other.lane = .receipts
    other.joinLeave = true
    var plain = ChannelOptions()
    plain.presence = true
    #expect(settings.channels == NamespaceTable(withoutNamespace: plain, namespaces: ["chat": chat, "a.b-c": other]))
  }

  @Test("Every option of a namespace reaches its own field")
  func everyOption() throws {
    let flags = [
      "presence", "join_leave", "force_push_join_leave", "force_recovery", "force_positioning",
      "allow_subscribe_for_client", "allow_subscribe_for_anonymous", "allow_publish_for_subscriber",
      "allow_publish_for_client", "allow_publish_for_anonymous", "allow_history_for_subscriber",
      "allow_history_for_client", "allow_history_for_anonymous", "allow_presence_for_subscriber",
      "allow_presence_for_client", "allow_presence_for_anonymous", "allow_user_limited_channels",
    ]
    let fields: [KeyPath<ChannelOptions, Bool>] = [
      \.presence, \.joinLeave, \.forcePushJoinLeave, \.forceRecovery, \.forcePositioning, \.allowSubscribeForClient,
      \.allowSubscribeForAnonymous, \.allowPublishForSubscriber, \.allowPublishForClient, \.allowPublishForAnonymous,
      \.allowHistoryForSubscriber, \.allowHistoryForClient, \.allowHistoryForAnonymous, \.allowPresenceForSubscriber,
      \.allowPresenceForClient, \.allowPresenceForAnonymous, \.allowUserLimitedChannels,
    ]
    let all = Dictionary(uniqueKeysWithValues: flags.map { ("channel.without_namespace.\($0)", "true") })
    let base = #"""
      {"client": {"allow_anonymous_connect_without_token": true},
       "channel": {"without_namespace": {"history_size": 1, "history_ttl": "1s"}}}
      """#
    for (flag, field) in zip(flags, fields) {
      var overrides = all
      overrides["channel.without_namespace.\(flag)"] = "false"
      if flag == "join_leave" { overrides["channel.without_namespace.force_push_join_leave"] = "false" }
      let options = try load(base, overrides: overrides).channels.withoutNamespace
      #expect(!options[keyPath: field])
      let off = fields.count { !options[keyPath: $0] }
      #expect(off == (flag == "join_leave" ? 2 : 1))
    }
  }

  @Test("The built-in default is config/fanfare.json, byte by byte")
  func builtIn() throws {
    let file = try String(contentsOfFile: repositoryFile("config/fanfare.json"), encoding: .utf8)
    #expect(file == EmbeddedDefault.json)
    #expect(try Settings.load() == Settings.load(file: repositoryFile("config/fanfare.json")))
  }

  @Test("The built-in default lets somebody start at once, and nobody in without a token")
  func builtInRules() throws {
    let settings = try Settings.load()
    let plain = settings.channels.withoutNamespace
    #expect(plain.allowSubscribeForClient && plain.allowPublishForSubscriber && plain.allowHistoryForSubscriber)
    #expect(plain.presence && plain.allowPresenceForSubscriber && plain.joinLeave && plain.forceRecovery)
    #expect(plain.historySize == 100 && plain.historyTTLMilliseconds == 600_000 && plain.durability == .memory)
    let chat = try #require(settings.channels.namespaces["chat"])
    #expect(chat.durability == .durable && chat.historySize == 1000 && chat.allowUserLimitedChannels)
    #expect(chat.historyTTLMilliseconds == 168 * 3_600_000)
    #expect(settings.channels.namespaces["journal"]?.durability == .durable)
    #expect(!settings.client.allowAnonymousConnectWithoutToken)
  }

  @Test("The demo is off wherever nobody asks for it; make serve asks, and can be told otherwise")
  func demoIsOff() throws {
    #expect(try !Settings.load().demo.enabled && !Settings.load().demo.clock, "fanfare serve without a file")
    #expect(try !load("{}").demo.enabled && !load("{}").demo.clock, "a file that says nothing of it")
    for name in ["fanfare.json", "production.json", "split/broker.json", "split/gateway.json"] {
      let demo = try Settings.load(file: repositoryFile("config/\(name)")).demo
      #expect(!demo.enabled && !demo.clock, "\(name)")
    }
    let makefile = try String(contentsOfFile: repositoryFile("Makefile"), encoding: .utf8)
    let line = try #require(makefile.split(separator: "\n").first { $0.contains("/fanfare\" serve ") })
    #expect(line.hasSuffix(" serve --config config/fanfare.json --set demo.enabled=true $(ARGS)"))
    #expect(makefile.components(separatedBy: "demo.enabled").count == 2, "nothing else turns it on")
  }

  @Test(
    "Every shipped configuration loads",
    arguments: ["fanfare.json", "production.json", "split/broker.json", "split/gateway.json"])
  func shipped(_ name: String) throws { try Settings.check(repositoryFile("config/\(name)")) }

  @Test("Every file in the folder of configurations is one of those that a test loads")
  func shippedAll() throws {
    let folder = repositoryFile("config")
    // Grafana's dashboard is no configuration of ours; MeteringTests look at it.
    let names = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
      .filter { $0.hasSuffix(".json") && $0 != "grafana.json" }
    #expect(
      names.sorted() == [
        "cluster/broker.json", "cluster/gateway.json", "fanfare.json", "production.json", "split/broker.json",
        "split/gateway.json",
      ])
  }

  @Test("The broker and the gateway of the split example agree on link and channels")
  func splitAgrees() throws {
    let broker = try Settings.load(file: repositoryFile("config/split/broker.json"))
    let gateway = try Settings.load(file: repositoryFile("config/split/gateway.json"))
    #expect(broker.channels == gateway.channels)
    #expect(broker.backbone == gateway.backbone)
  }

  @Test("Brokers and gateways of the cluster's example agree on channels, and the gateways know each broker's endpoint")
  func clusterAgrees() throws {
    let broker = try Settings.load(file: repositoryFile("config/cluster/broker.json"))
    let gateway = try Settings.load(file: repositoryFile("config/cluster/gateway.json"))
    #expect(broker.channels == gateway.channels)
    #expect(broker.backbone.heartbeatInterval == gateway.backbone.heartbeatInterval)
    let endpoints = gateway.backbone.brokers.map(\.endpoint)
    #expect(endpoints.count == 3 && endpoints.contains(broker.backbone.endpoint))
    #expect(broker.state == gateway.state && broker.state.enabled && broker.clique == gateway.clique)
    #expect(!broker.keys.masterFile.isEmpty, "each broker needs the keys of what another one has sealed")
  }

  @Test("What is wrong with a gateway's list of brokers is told")
  func brokers() throws {
    func faults(_ backbone: String) throws -> String {
      do {
        _ = try load("{\"backbone\": \(backbone)}")
        return ""
      } catch {
        return "\(error)"
      }
    }
    #expect(try faults(#"{"brokers": [{"endpoint": "ipc://a"}, {"endpoint": "ipc://b"}]}"#).isEmpty)
    #expect(try faults(#"{"brokers": [{"endpoint": "http://a"}]}"#).contains("write ipc://file or tcp://address:port"))
    #expect(try faults(#"{"brokers": [{"endpoint": "ipc://a"}, {"endpoint": "ipc://a"}]}"#).contains("twice"))
    #expect(try faults(#"{"brokers": [{"endpoint": "tcp://10.0.0.1:7500"}]}"#).contains("without server_public_key"))
    let key = String(repeating: "a", count: 40)
    let keyed = #"{"brokers": [{"endpoint": "tcp://10.0.0.1:7500", "server_public_key": "\#(key)"}]"#
    #expect(try faults(keyed + "}").contains("client_secret_key_file is not set"))
    #expect(try faults(keyed + #", "curve": {"client_secret_key_file": "k"}}"#).isEmpty)
    let both = #", "curve": {"client_secret_key_file": "k", "server_public_key": "\#(key)"}}"#
    #expect(try faults(keyed + both).contains("give each of the brokers its server_public_key"))
  }

  @Test("The printed defaults load as a file that says nothing")
  func printedDefaults() throws {
    let json = Settings.defaultsJSON()
    #expect(try load(json) == load("{}"))
    #expect(json.contains(#""ping_interval": "25s""#) && json.contains(#""namespaces": []"#))
    #expect(json.contains(#""webhooks": []"#) && json.contains(#""proxies": {"#))
    #expect((try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])?.count == 27)
  }

  @Test("docs/CONFIGURATION.md is what the table of settings says")
  func reference() throws {
    let path = repositoryFile("docs/CONFIGURATION.md")
    if ProcessInfo.processInfo.environment["UPDATE_REFERENCE"] != nil {
      try SettingsReference.markdown().write(toFile: path, atomically: true, encoding: .utf8)
    }
    let file = try String(contentsOfFile: path, encoding: .utf8)
    #expect(file == SettingsReference.markdown(), "run this test with UPDATE_REFERENCE=1 to write the file")
    #expect(file.contains("| `client.ping_interval` | 1s–1h | `25s` |"))
  }
}

@Suite("Where the rules of channels were given")
struct SettingOriginTests {
  @Test("an option's origin is the file with its line, a flag, or that nobody gave it")
  func origins() throws {
    let settings = try load(
      """
      {"channel":{"namespaces":[{"name":"chat",
       "presence":true}]}}
      """, overrides: ["channel.namespaces.chat.join_leave": "true"])
    let origins = settings.channelOrigins
    #expect(origins.origin(of: "channel.namespaces.chat.presence") == "f.json:2")
    #expect(origins.origin(of: "channel.namespaces.chat.join_leave") == "--set")
    #expect(origins.origin(of: "channel.namespaces.chat.allow_publish_for_client") == "default")
    #expect(origins.origin(of: "channel.without_namespace.presence") == "default")
    #expect(origins.origin(of: "channel.namespaces.chat.dance") == "")
    #expect(origins.summary == "flags: 1, f.json: 1")
  }
}
