import Wire

/// Finds what each key allows and all of them together do not.
struct SettingsRules {
  let settings: Settings
  private let source: (String) -> SettingSource
  private var problems: [SettingsError.Problem] = []

  /// - Parameter source: where a key was given, for the message.
  static func problems(_ settings: Settings, source: @escaping (String) -> SettingSource) -> [SettingsError.Problem] {
    var rules = SettingsRules(settings: settings, source: source)
    rules.checkServer()
    rules.checkLimits()
    rules.checkClient()
    rules.checkToken()
    rules.checkBroker()
    rules.checkBackbone()
    rules.checkChannels()
    rules.checkApps()
    return rules.problems
  }

  private init(settings: Settings, source: @escaping (String) -> SettingSource) {
    self.settings = settings
    self.source = source
  }

  mutating func report(_ key: String, _ message: String) {
    problems.append(.init(source: source(key), keyPath: key, message: message))
  }

  private mutating func checkServer() {
    let server = settings.server
    if server.host.isEmpty {
      report("server.host", "is empty; write an address, \"0.0.0.0\" for all of this machine's")
    }
    if server.tls.enabled {
      for (key, file) in [("certificate_file", server.tls.certificateFile), ("key_file", server.tls.keyFile)]
      where file.isEmpty {
        report("server.tls.enabled", "is true, but server.tls.\(key) is not set; write the path of that PEM file")
      }
    }
    for origin in server.allowedOrigins where !Self.isOrigin(origin) {
      report(
        "server.allowed_origins",
        "holds \(SettingKey.quote(origin)); write scheme and host as browsers send them, for example \"https://app.example.com\", or \"*\""
      )
    }
  }

  private mutating func checkClient() {
    let client = settings.client
    if client.pongTimeout >= client.pingInterval {
      report(
        "client.pong_timeout",
        "is not shorter than client.ping_interval, so the next ping would go out before the last was given up; shorten it or lengthen the interval"
      )
    }
    if client.queueBytes < client.maxMessageBytes {
      report(
        "client.queue_bytes",
        "is smaller than client.max_message_bytes, so one message would disconnect its readers; make it larger")
    }
    let personal = client.userPersonalChannel
    if personal.enabled, !personal.namespace.isEmpty, settings.channels.namespaces[personal.namespace] == nil {
      report(
        "client.user_personal_channel.namespace",
        "is \(SettingKey.quote(personal.namespace)), which is not configured; add it to channel.namespaces or write the name of one that is there"
      )
    }
  }

  private mutating func checkToken() {
    let token = settings.token
    if !token.hmacSecret.isEmpty {
      if token.hmacSecret.contains("-----BEGIN") {
        report("token.hmac_secret", "is a PEM key; put a public key into token.rsa_public_key or its like")
      } else if token.hmacSecret.utf8.count < 32 {
        report(
          "token.hmac_secret",
          "has \(token.hmacSecret.utf8.count) bytes; write at least 32 random ones, for example from `openssl rand -hex 32`"
        )
      }
    }
    let pairs = [
      ("hmac_secret", token.hmacSecret, token.hmacSecretFile),
      ("rsa_public_key", token.rsaPublicKey, token.rsaPublicKeyFile),
      ("ecdsa_public_key", token.ecdsaPublicKey, token.ecdsaPublicKeyFile),
      ("ed25519_public_key", token.ed25519PublicKey, token.ed25519PublicKeyFile),
    ]
    for (key, value, file) in pairs where !value.isEmpty && !file.isEmpty {
      report("token.\(key)_file", "is set, and so is token.\(key); keep one of them")
    }
    for (key, value, _) in pairs.dropFirst() where value.contains("PRIVATE KEY") {
      report(
        "token.\(key)", "is a private key; write the public key here and keep the private one where tokens are made")
    }
    if token.jwksMaxAge > .zero, token.jwksMaxAge < token.jwksCacheTTL {
      report(
        "token.jwks_max_age",
        "is shorter than token.jwks_cache_ttl, so a key set would not be used until it is read again; make it as long or longer"
      )
    }
    if !token.jwksURL.isEmpty, !Self.isKeySetAddress(token.jwksURL) {
      report(
        "token.jwks_url",
        "does not begin with https://; whoever can change the answer can sign tokens (http:// is accepted for this machine only)"
      )
    }
  }

  private mutating func checkBroker() {
    let broker = settings.broker
    if broker.pendingBytes < broker.services.maxMessageBytes {
      report("broker.pending_bytes", "is smaller than broker.services.max_message_bytes; make it larger")
    }
    if broker.linkWindowBytes < broker.services.maxMessageBytes {
      report("broker.link_window_bytes", "is smaller than broker.services.max_message_bytes; make it larger")
    } else {
      checkAnswers()
    }
    guard broker.services.enabled else { return }
    for (name, text) in [("commands", broker.services.commands), ("tap", broker.services.tap)] {
      checkEndpoint("broker.services.\(name)", text, broker.services)
    }
    checkKeys(broker.services)
    if broker.services.commands == broker.services.tap, !broker.services.tap.hasSuffix(":*") {
      report("broker.services.tap", "is the endpoint of broker.services.commands; write another")
    }
  }

  private mutating func checkAnswers() {
    let client = settings.client
    for (key, bytes) in [
      ("history_max_bytes", client.historyMaxBytes), ("recovery_max_bytes", client.recoveryMaxBytes),
    ] where bytes > settings.broker.linkWindowBytes / 4 {
      report(
        "client.\(key)",
        "is more than a quarter of broker.link_window_bytes, so such an answer would find no room; lower it or raise the window"
      )
    }
  }

  private mutating func checkEndpoint(_ key: String, _ text: String, _ services: Settings.Broker.Services) {
    guard let endpoint = ZeroMQEndpoint(text), !endpoint.isInProcess else {
      let path = Settings.Broker.Services.path(of: text) ?? ""
      guard source(key) == .standard, path.utf8.count > ZeroMQEndpoint.maximumPathBytes else {
        return report(key, ZeroMQEndpoint.advice(text))
      }
      return report(
        "data.directory",
        "makes the socket for services \(path.utf8.count) bytes long, and systems take \(ZeroMQEndpoint.maximumPathBytes); write a shorter path, or an ipc://file of its own into \(key)"
      )
    }
    guard Settings.Broker.Services.isTCP(text), services.keys.isEmpty else { return }
    if !endpoint.isLocal {
      report(
        key,
        "is \(SettingKey.quote(text)), which other machines reach, and no service has a key; list them in broker.services.keys, or write ipc://file"
      )
    } else if !services.allowAnyoneOnThisMachine {
      report(
        key,
        "is \(SettingKey.quote(text)), which every process on this machine reaches, and no service has a key; leave it out, so that it is a file in the data folder, list keys in broker.services.keys, or set broker.services.allow_anyone_on_this_machine if all of them may publish and listen"
      )
    }
  }

  private mutating func checkKeys(_ services: Settings.Broker.Services) {
    let key = "broker.services.keys"
    var names: Set<String> = []
    var publicKeys: Set<String> = []
    for text in services.keys {
      do throws(ServiceKey.Invalid) {
        let entry = try ServiceKey(text)
        if !names.insert(entry.name).inserted || !publicKeys.insert(entry.publicKey).inserted {
          report(
            key, "holds the name or the key of \(SettingKey.quote(entry.name)) twice; write one entry for each service")
        }
      } catch {
        report(key, "holds an entry that \(error.why)")
      }
    }
    if services.keys.isEmpty != services.secretKeyFile.isEmpty {
      let missing = services.keys.isEmpty ? "keys" : "secret_key_file"
      let given = services.keys.isEmpty ? "secret_key_file" : "keys"
      report("broker.services.\(given)", "is set, but broker.services.\(missing) is not; endpoints over tcp need both")
    }
    if !services.keys.isEmpty, services.allowAnyoneOnThisMachine {
      report(
        "broker.services.allow_anyone_on_this_machine",
        "is true, and broker.services.keys lists who may do what; keep one of them")
    }
  }

  private mutating func checkBackbone() {
    let curve = settings.backbone.curve
    if !curve.serverPublicKey.isEmpty && !Self.isCurveKey(curve.serverPublicKey) {
      report("backbone.curve.server_public_key", "is not a CURVE key; write the 40 characters of its Z85 form")
    }
    for key in curve.clientPublicKeys where !Self.isCurveKey(key) {
      report(
        "backbone.curve.client_public_keys",
        "holds a text that is not a CURVE key; write the 40 characters of its Z85 form")
    }
    if curve.serverPublicKey.isEmpty != curve.clientSecretKeyFile.isEmpty {
      let missing = curve.serverPublicKey.isEmpty ? "server_public_key" : "client_secret_key_file"
      let given = curve.serverPublicKey.isEmpty ? "client_secret_key_file" : "server_public_key"
      report("backbone.curve.\(given)", "is set, but backbone.curve.\(missing) is not; a gateway needs both")
    }
    if curve.serverSecretKeyFile.isEmpty != curve.clientPublicKeys.isEmpty {
      let missing = curve.serverSecretKeyFile.isEmpty ? "server_secret_key_file" : "client_public_keys"
      let given = curve.serverSecretKeyFile.isEmpty ? "client_public_keys" : "server_secret_key_file"
      report(
        "backbone.curve.\(given)",
        "is set, but backbone.curve.\(missing) is not; a broker needs both, or it would let in whoever knows its public key"
      )
    }
    let text = settings.backbone.endpoint
    guard let endpoint = ZeroMQEndpoint(text) else { return report("backbone.endpoint", ZeroMQEndpoint.advice(text)) }
    let hasKeys = !curve.serverSecretKeyFile.isEmpty || !curve.serverPublicKey.isEmpty
    if !endpoint.isLocal, !hasKeys {
      report(
        "backbone.endpoint",
        "is \(SettingKey.quote(text)), which other machines reach, and no CURVE keys are set; set backbone.curve.server_secret_key_file and client_public_keys (broker) or server_public_key and client_secret_key_file (gateway), or write tcp://127.0.0.1:port or ipc://file"
      )
    }
  }

  private mutating func checkChannels() {
    checkOptions(settings.channels.withoutNamespace, at: "channel.without_namespace")
    for (name, options) in settings.channels.namespaces.sorted(by: { $0.key < $1.key }) {
      checkOptions(options, at: "\(SettingTable.namespaces).\(name)")
    }
  }

  /// How namespaces begin that are the apps' and the server's own, switched on or not.
  static let apps = ["clique", "state", "fanfare"]

  private mutating func checkApps() {
    for name in settings.channels.namespaces.keys.sorted() {
      guard let app = Self.apps.first(where: { name.hasPrefix("\($0).") }) else { continue }
      report(
        "\(SettingTable.namespaces).\(name)",
        "begins with \"\(app).\", as the channels of the app \(app) do; choose another name")
    }
  }

  private mutating func checkOptions(_ options: ChannelOptions, at place: String) {
    if options.historySize > 0, options.historyTTLMilliseconds == 0 {
      report(
        "\(place).history_size",
        "is set, but history_ttl is not, so nothing would be kept; add \"history_ttl\": \"10m\"")
    }
    if options.historySize == 0, options.historyTTLMilliseconds > 0 {
      report(
        "\(place).history_ttl", "is set, but history_size is not, so nothing would be kept; add \"history_size\": 100")
    }
    if options.durability != .memory, options.historySize == 0 {
      report(
        "\(place).durability",
        "is \"\(options.durability.rawValue)\", but history_size is 0, so there is nothing to put on disk; set history_size and history_ttl, or write \"memory\""
      )
    }
    if options.forceRecovery, options.historySize == 0 {
      report(
        "\(place).force_recovery",
        "is true, but history_size is 0, so there is nothing to recover from; set history_size and history_ttl")
    }
    if options.forcePushJoinLeave, !options.joinLeave {
      report("\(place).force_push_join_leave", "is true, but join_leave is not; add \"join_leave\": true")
    }
    checkLane(options, at: place)
    checkMap(options, at: place)
    checkQuota(options, at: place)
  }

  private mutating func checkQuota(_ options: ChannelOptions, at place: String) {
    guard options.hasUserQuota else { return }
    let key = options.userQuotaBytes > 0 ? "user_quota_bytes" : "user_quota_entries"
    if options.kind == .stream, !options.keepsHistory {
      report(
        "\(place).\(key)", "is set, but nothing is kept; set history_size and history_ttl, or leave it out")
    } else if options.kind == .map, options.mapMode != .ephemeral, options.userQuotaBytes == 0 {
      report(
        "\(place).user_quota_entries",
        "is set, but user_quota_bytes is 0; a map's history of changes counts in bytes alone, so set both")
    }
  }

  private mutating func checkMap(_ options: ChannelOptions, at place: String) {
    if options.allowEditForAuthor, options.kind == .map || !options.keepsHistory {
      report(
        "\(place).allow_edit_for_author",
        "is true, but nothing is kept that could be changed; set history_size and history_ttl on a stream, or leave it out"
      )
    }
    if options.followsChannel, place == "channel.without_namespace" {
      report(
        "\(place).follows_channel",
        "is true, but channels without a namespace name no other channel; write it in a namespace")
    }
    guard options.kind == .map else { return }
    if options.mapMode == .ephemeral, options.durability != .memory || options.historySize > 0 {
      report(
        "\(place).map_mode",
        "is \"ephemeral\", which keeps nothing; write \"recoverable\" or \"persistent\", or leave durability and history_size out"
      )
    }
    if options.mapMode == .recoverable, options.durability != .memory {
      report(
        "\(place).map_mode", "is \"recoverable\", which is in memory; write \"persistent\", or leave durability out")
    }
    if options.mapMode != .ephemeral, options.lane.isConflated {
      report(
        "\(place).lane",
        "is \"\(options.lane.name)\", which leaves changes out; write \"map_mode\": \"ephemeral\" with it")
    }
    if options.mapScore != .client, options.mapOrder == .key {
      report("\(place).map_score", "is set, but map_order is \"key\"; write \"ascending\" or \"descending\"")
    }
  }

  /// A lagging reader's gaps in a low lane are meant. To somebody who counts offsets they would be loss.
  private mutating func checkLane(_ options: ChannelOptions, at place: String) {
    guard options.lane.isConflated else { return }
    let lane = "is \"\(options.lane.name)\", where a reader that lags gets the newest per key only"
    if options.historySize > 0 || options.historyTTLMilliseconds > 0 {
      report(
        "\(place).lane",
        "\(lane), but history is kept, from which nothing may be missing; leave history_size and history_ttl out, or write \"publications\""
      )
    } else if options.forcePositioning {
      report(
        "\(place).lane",
        "\(lane), but force_positioning is true, to which that would be loss; leave force_positioning out, or write \"publications\""
      )
    }
  }

  private static func isOrigin(_ text: String) -> Bool {
    if text == "*" { return true }
    for scheme in ["https://", "http://"] where text.hasPrefix(scheme) {
      let host = text.dropFirst(scheme.count)
      return !host.isEmpty && !host.contains { $0 == "/" || $0 == "?" || $0 == "#" || $0 == "@" || $0.isWhitespace }
    }
    return false
  }

  private static func isKeySetAddress(_ text: String) -> Bool {
    if text.hasPrefix("https://") { return text.utf8.count > 8 }
    guard text.hasPrefix("http://") else { return false }
    let authority = text.dropFirst(7).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    if authority.contains("@") { return false }
    if authority.hasPrefix("[::1]") { return true }
    return ["127.0.0.1", "localhost"].contains(authority.prefix { $0 != ":" })
  }

  /// Z85 (ZeroMQ RFC 32): 32 bytes are 40 of these characters.
  static func isCurveKey(_ text: String) -> Bool {
    let punctuation = ".-:+=^!/*?&<>()[]{}@%$#"
    return text.utf8.count == 40
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || punctuation.contains($0)) }
  }
}
