import Wire

/// Finds what each setting allows and some of them together do not. What one alone must fulfil stands where it is declared.
struct SettingsRules {
  private let settings: Settings
  private var problems: [SettingsError.Problem] = []

  /// - Parameter channels: the options behind `settings.channels`, those without a namespace first, and where each was
  ///   given.
  static func problems(_ settings: Settings, channels: [ChannelDeclaration]) -> [SettingsError.Problem] {
    var rules = SettingsRules(settings: settings)
    rules.checkTLS()
    rules.checkLimits()
    rules.checkClient()
    rules.checkToken()
    rules.checkBroker()
    rules.checkBackbone()
    rules.checkDemo()
    rules.checkLog()
    rules.checkPictures()
    let namespaces = channels.dropFirst().sorted { $0.path < $1.path }
    for channel in channels.prefix(1) + namespaces { rules.checkOptions(channel) }
    rules.checkApps()
    return rules.problems + ProxyFaults.problems(settings, channels: channels) + WebhookRules.problems(settings)
      + PushRules.problems(settings) + PartitionRules.problems(settings)
      + PollFaults.problems(settings, channels: channels)
  }

  private init(settings: Settings) { self.settings = settings }

  private mutating func report(_ place: SettingPlace, _ message: String) {
    problems.append(.init(source: place.source, keyPath: place.key, message: message))
  }

  private mutating func report<Value>(_ setting: Setting<Value>, _ message: String) { report(setting.place, message) }

  private mutating func checkDemo() {
    let demo = settings.demo
    if demo.clock, !demo.enabled {
      report(
        demo.$clock, "is true, but \(demo.$enabled) is not, so nobody could move the clock; it is for test servers only"
      )
    }
  }

  private mutating func checkLog() {
    let log = settings.log
    if log.engine == .postgres, log.postgres.connection.isEmpty {
      report(
        log.$engine,
        "is postgres, but \(log.postgres.$connection) is not set; write it as postgresql://user@host:5432/database")
    }
    if log.engine != .postgres, !settings.keys.masterFile.isEmpty {
      report(
        settings.keys.$masterFile,
        "is set, but \(log.$engine) is \(log.engine.rawValue), beside which the keys are in files; leave it out, or keep the log in postgres"
      )
    }
  }

  private mutating func checkPictures() {
    let pictures = settings.pictures
    guard pictures.store == .s3 else { return }
    for needed in [
      pictures.s3.$endpoint, pictures.s3.$bucket, pictures.s3.$accessKeyID, pictures.s3.$secretAccessKeyFile,
    ] where needed.wrappedValue.isEmpty {
      report(pictures.$store, "is s3, but \(needed) is not set; write where the bucket is, and the key to it")
    }
  }

  private mutating func checkTLS() {
    let tls = settings.server.tls
    let alone = [tls.$certificateFile, tls.$keyFile, tls.$ocspFile]
    if !tls.certificates.isEmpty {
      for file in alone where !file.wrappedValue.isEmpty {
        report(
          file, "is set beside \(tls.$certificates); put the certificate there too, where the first is for any name")
      }
      let most = Settings.Server.TLS.Certificate.most
      if tls.certificates.count > most { report(tls.$certificates, "holds more than \(most); leave some out") }
    } else if tls.enabled {
      for file in alone.prefix(2) where file.wrappedValue.isEmpty {
        report(tls.$enabled, "is true, but \(file) is not set; write the path of that PEM file")
      }
    }
    if tls.clientCertificates != .required, tls.clientCAFile.isEmpty {
      report(
        tls.$clientCertificates,
        "says nothing while \(tls.$clientCAFile) is not set; write the path of the PEM file with their authorities")
    }
    if !tls.clientCAFile.isEmpty, !tls.enabled {
      report(
        tls.$clientCAFile, "is set, but \(tls.$enabled) is false, so nobody is asked for a certificate; set it to true")
    }
  }

  private mutating func checkLimits() {
    let server = settings.server
    let admission = server.admission
    if admission.proxyProtocol, admission.trustedProxies.isEmpty {
      report(
        admission.$proxyProtocol,
        "is true, but \(admission.$trustedProxies) is empty, so nobody would be believed; list the proxies' addresses")
    }
    for limit in [
      admission.$maxUnsigned, admission.$maxHandshakes, admission.address.$maxConnections,
      admission.address.$maxUnsigned, admission.address.$maxHandshakes, admission.$maxTLSHandshakes,
      admission.address.$maxTLSHandshakes,
    ] where server.maxConnections > 0 && limit.wrappedValue > server.maxConnections {
      report(limit, "is more than \(server.$maxConnections), so it limits nothing; make it smaller")
    }
    let bytes = settings.client.limits.bytes
    if !bytes.isUnlimited, bytes.burst < settings.client.maxMessageBytes {
      report(
        settings.client.limits.$bytes.burst,
        "is smaller than \(settings.client.$maxMessageBytes), so a client would rest after each large message; make it larger"
      )
    }
  }

  private mutating func checkClient() {
    let client = settings.client
    if client.pongTimeout >= client.pingInterval {
      report(
        client.$pongTimeout,
        "is not shorter than \(client.$pingInterval), so the next ping would go out before the last was given up; shorten it or lengthen the interval"
      )
    }
    if client.queueBytes < client.maxMessageBytes {
      report(
        client.$queueBytes,
        "is smaller than \(client.$maxMessageBytes), so one message would disconnect its readers; make it larger")
    }
    let personal = client.userPersonalChannel
    if personal.enabled, !personal.namespace.isEmpty, settings.channels.namespaces[personal.namespace] == nil {
      report(
        personal.$namespace,
        "is \(SettingKey.quote(personal.namespace)), which is not configured; add it to \(SettingTable.namespaces) or write the name of one that is there"
      )
    }
  }

  private mutating func checkToken() {
    let token = settings.token
    for (key, file) in [
      (token.$hmacSecret, token.$hmacSecretFile), (token.$rsaPublicKey, token.$rsaPublicKeyFile),
      (token.$ecdsaPublicKey, token.$ecdsaPublicKeyFile), (token.$ed25519PublicKey, token.$ed25519PublicKeyFile),
    ] where !key.wrappedValue.isEmpty && !file.wrappedValue.isEmpty {
      report(file, "is set, and so is \(key); keep one of them")
    }
    if token.jwksMaxAge > .zero, token.jwksMaxAge < token.jwksCacheTTL {
      report(
        token.$jwksMaxAge,
        "is shorter than \(token.$jwksCacheTTL), so a key set would not be used until it is read again; make it as long or longer"
      )
    }
  }

  private mutating func checkBroker() {
    let broker = settings.broker
    if broker.pendingBytes < broker.services.maxMessageBytes {
      report(broker.$pendingBytes, "is smaller than \(broker.services.$maxMessageBytes); make it larger")
    }
    if broker.linkWindowBytes < broker.services.maxMessageBytes {
      report(broker.$linkWindowBytes, "is smaller than \(broker.services.$maxMessageBytes); make it larger")
    } else {
      checkAnswers()
    }
    guard broker.services.enabled else { return }
    checkEndpoint(broker.services.$commands, broker.services)
    checkEndpoint(broker.services.$tap, broker.services)
    checkKeys(broker.services)
    if broker.services.commands == broker.services.tap, !broker.services.tap.hasSuffix(":*") {
      report(broker.services.$tap, "is the endpoint of \(broker.services.$commands); write another")
    }
  }

  private mutating func checkAnswers() {
    let window = settings.broker.$linkWindowBytes
    for answer in [settings.client.$historyMaxBytes, settings.client.$recoveryMaxBytes]
    where answer.wrappedValue > window.wrappedValue / 4 {
      report(
        answer,
        "is more than a quarter of \(window), so such an answer would find no room; lower it or raise the window")
    }
  }

  private mutating func checkEndpoint(_ setting: Setting<String>, _ services: Settings.Broker.Services) {
    let text = setting.wrappedValue
    guard let endpoint = ZeroMQEndpoint(text), !endpoint.isInProcess else {
      let path = Settings.Broker.Services.path(of: text) ?? ""
      guard setting.place.source == .standard, path.utf8.count > ZeroMQEndpoint.maximumPathBytes else {
        return report(setting, ZeroMQEndpoint.advice(text))
      }
      return report(
        settings.data.$directory,
        "makes the socket for services \(path.utf8.count) bytes long, and systems take \(ZeroMQEndpoint.maximumPathBytes); write a shorter path, or an ipc://file of its own into \(setting)"
      )
    }
    guard Settings.Broker.Services.isTCP(text), services.keys.isEmpty else { return }
    if !endpoint.isLocal {
      report(
        setting,
        "is \(SettingKey.quote(text)), which other machines reach, and no service has a key; list them in \(services.$keys), or write ipc://file"
      )
    } else if !services.allowAnyoneOnThisMachine {
      report(
        setting,
        "is \(SettingKey.quote(text)), which every process on this machine reaches, and no service has a key; leave it out, so that it is a file in the data folder, list keys in \(services.$keys), or set \(services.$allowAnyoneOnThisMachine) if all of them may publish and listen"
      )
    }
  }

  private mutating func checkKeys(_ services: Settings.Broker.Services) {
    var names: Set<String> = []
    var publicKeys: Set<String> = []
    for text in services.keys {
      do throws(ServiceKey.Invalid) {
        let entry = try ServiceKey(text)
        if !names.insert(entry.name).inserted || !publicKeys.insert(entry.publicKey).inserted {
          report(
            services.$keys,
            "holds the name or the key of \(SettingKey.quote(entry.name)) twice; write one entry for each service")
        }
      } catch {
        report(services.$keys, "holds an entry that \(error.why)")
      }
    }
    let endpoints = "endpoints over tcp need both"
    if services.keys.isEmpty, !services.secretKeyFile.isEmpty {
      report(services.$secretKeyFile, "is set, but \(services.$keys) is not; \(endpoints)")
    } else if !services.keys.isEmpty, services.secretKeyFile.isEmpty {
      report(services.$keys, "is set, but \(services.$secretKeyFile) is not; \(endpoints)")
    }
    if !services.keys.isEmpty, services.allowAnyoneOnThisMachine {
      report(
        services.$allowAnyoneOnThisMachine, "is true, and \(services.$keys) lists who may do what; keep one of them")
    }
  }

  private mutating func checkBackbone() {
    let curve = settings.backbone.curve
    let brokers = settings.backbone.brokers
    let hasServerKey = !curve.serverPublicKey.isEmpty || brokers.contains { !$0.serverPublicKey.isEmpty }
    switch (!hasServerKey, curve.clientSecretKeyFile.isEmpty) {
    case (true, false):
      report(curve.$clientSecretKeyFile, "is set, but \(curve.$serverPublicKey) is not; a gateway needs both")
    case (false, true) where curve.serverPublicKey.isEmpty:
      report(
        settings.backbone.$brokers,
        "has a server_public_key, but \(curve.$clientSecretKeyFile) is not set; a gateway needs both")
    case (false, true):
      report(curve.$serverPublicKey, "is set, but \(curve.$clientSecretKeyFile) is not; a gateway needs both")
    default: break
    }
    let broker = "a broker needs both, or it would let in whoever knows its public key"
    switch (curve.serverSecretKeyFile.isEmpty, curve.clientPublicKeys.isEmpty) {
    case (true, false):
      report(curve.$clientPublicKeys, "is set, but \(curve.$serverSecretKeyFile) is not; \(broker)")
    case (false, true):
      report(curve.$serverSecretKeyFile, "is set, but \(curve.$clientPublicKeys) is not; \(broker)")
    default: break
    }
    if !brokers.isEmpty, !curve.serverPublicKey.isEmpty {
      report(
        curve.$serverPublicKey,
        "is set beside \(settings.backbone.$brokers); give each of the brokers its server_public_key")
    }
    if brokers.count > 16 { report(settings.backbone.$brokers, "has more than 16 brokers; leave some out") }
    if Set(brokers.map(\.endpoint)).count < brokers.count {
      report(settings.backbone.$brokers, "names an endpoint twice; leave one out")
    }
    let endpoint = settings.backbone.$endpoint
    let hasKeys = !curve.serverSecretKeyFile.isEmpty || !curve.serverPublicKey.isEmpty
    if let address = ZeroMQEndpoint(endpoint.wrappedValue), !address.isLocal, !hasKeys {
      report(
        endpoint,
        "is \(SettingKey.quote(endpoint.wrappedValue)), which other machines reach, and no CURVE keys are set; set \(curve.$serverSecretKeyFile) and client_public_keys (broker) or server_public_key and client_secret_key_file (gateway), or write tcp://127.0.0.1:port or ipc://file"
      )
    }
  }

  /// The names before the dot of namespaces that are the apps' and the server's own, whether an app is switched on or not.
  static let apps = ["clique", "state", "fanfare"]

  private mutating func checkApps() {
    if settings.clique.profileFields.count > 16 {
      report(settings.clique.$profileFields, "has more than 16 names; leave some out")
    }
    for name in settings.channels.namespaces.keys.sorted() {
      guard let app = Self.apps.first(where: { name.hasPrefix("\($0).") }) else { continue }
      report(
        SettingPlace(key: "\(SettingTable.namespaces).\(name)", source: .standard),
        "begins with \"\(app).\", as the channels of the app \(app) do; choose another name")
    }
  }

  private mutating func checkOptions(_ channel: ChannelDeclaration) {
    let options = channel.options
    if options.historySize > 0, options.historyTTLMilliseconds == 0 {
      report(
        channel.place(\.historySize),
        "is set, but history_ttl is not, so nothing would be kept; add \"history_ttl\": \"10m\"")
    }
    if options.historySize == 0, options.historyTTLMilliseconds > 0 {
      report(
        channel.place(\.historyTTLMilliseconds),
        "is set, but history_size is not, so nothing would be kept; add \"history_size\": 100")
    }
    if options.durability != .memory, options.historySize == 0 {
      report(
        channel.place(\.durability),
        "is \"\(options.durability.rawValue)\", but history_size is 0, so there is nothing to put on disk; set history_size and history_ttl, or write \"memory\""
      )
    }
    if options.forceRecovery, options.historySize == 0 {
      report(
        channel.place(\.forceRecovery),
        "is true, but history_size is 0, so there is nothing to recover from; set history_size and history_ttl")
    }
    if options.forcePushJoinLeave, !options.joinLeave {
      report(channel.place(\.forcePushJoinLeave), "is true, but join_leave is not; add \"join_leave\": true")
    }
    if let fault = NotificationFaults.ofChannel(options, settings.push) { report(channel.place(\.push), fault) }
    checkDelta(channel)
    checkLane(channel)
    checkMap(channel)
    checkQuota(channel)
  }

  private mutating func checkDelta(_ channel: ChannelDeclaration) {
    let options = channel.options
    guard options.allowDelta, !options.allowsDelta else { return }
    report(
      channel.place(\.allowDelta),
      options.kind == .map
        ? "is true, but a map has no publication before each to make patches against; leave it out"
        : "is true, but lane is \"\(options.lane.name)\", where publications are left out that patches are made against; leave it out, or write \"publications\""
    )
  }

  private mutating func checkQuota(_ channel: ChannelDeclaration) {
    let options = channel.options
    guard options.hasUserQuota else { return }
    let quota = channel.place(options.userQuotaBytes > 0 ? \.userQuotaBytes : \.userQuotaEntries)
    if options.kind == .stream, !options.keepsHistory {
      report(
        quota, "is set, but nothing is kept; set history_size and history_ttl, or leave it out")
    } else if options.kind == .map, options.mapMode != .ephemeral, options.userQuotaBytes == 0 {
      report(
        channel.place(\.userQuotaEntries),
        "is set, but user_quota_bytes is 0; a map's history of changes counts in bytes alone, so set both")
    }
  }

  private mutating func checkMap(_ channel: ChannelDeclaration) {
    let options = channel.options
    if options.allowEditForAuthor, options.kind == .map || !options.keepsHistory {
      report(
        channel.place(\.allowEditForAuthor),
        "is true, but nothing is kept that could be changed; set history_size and history_ttl on a stream, or leave it out"
      )
    }
    if options.followsChannel, channel.isWithoutNamespace {
      report(
        channel.place(\.followsChannel),
        "is true, but channels without a namespace name no other channel; write it in a namespace")
    }
    guard options.kind == .map else { return }
    checkMapKeys(channel)
    checkMapPresence(channel)
    if options.mapMode == .ephemeral, options.durability != .memory || options.historySize > 0 {
      report(
        channel.place(\.mapMode),
        "is \"ephemeral\", which keeps nothing; write \"recoverable\" or \"persistent\", or leave durability and history_size out"
      )
    }
    if options.mapMode == .recoverable, options.durability != .memory {
      report(
        channel.place(\.mapMode),
        "is \"recoverable\", which is in memory; write \"persistent\", or leave durability out")
    }
    if options.mapMode != .ephemeral, options.lane.isConflated {
      report(
        channel.place(\.lane),
        "is \"\(options.lane.name)\", which leaves changes out; write \"map_mode\": \"ephemeral\" with it")
    }
    if options.mapScore != .client, options.mapOrder == .key {
      report(channel.place(\.mapScore), "is set, but map_order is \"key\"; write \"ascending\" or \"descending\"")
    }
  }

  private mutating func checkMapKeys(_ channel: ChannelDeclaration) {
    let options = channel.options
    if options.mapClientKey != .given, options.mapKeyIsUser {
      report(channel.place(\.mapKeyIsUser), "is true, but map_client_key says what the key is; leave one of them out")
    }
    // A client's id ends with its connection, and nobody writes that key again.
    if options.mapClientKey == .client, options.mapTTLMilliseconds == 0 {
      report(
        channel.place(\.mapClientKey),
        "is \"client_id\", but map_ttl is not set, so the entries of clients that have left would stay for ever; set map_ttl"
      )
    }
  }

  private mutating func checkMapPresence(_ channel: ChannelDeclaration) {
    let options = channel.options
    guard options.mapPresence != .none else { return }
    let place = channel.place(\.mapPresence)
    let presence = "is \"\(options.mapPresence.rawValue)\""
    if !options.followsChannel {
      report(place, "\(presence), but the map shows the presence of no channel; add \"follows_channel\": true")
    }
    if options.mapMode != .ephemeral || options.mapTTLMilliseconds > 0 {
      report(place, "\(presence), which is kept as long as people are there; leave map_mode and map_ttl out")
    }
    if options.hasUserQuota {
      report(place, "\(presence), of which users keep nothing; leave user_quota_bytes and user_quota_entries out")
    }
    if options.lane.isConflated {
      report(place, "\(presence), of which nothing may be left out; write \"lane\": \"publications\"")
    }
  }

  /// Refuses low lanes beside history and positions: a reader that lags gets gaps there on purpose, and to somebody who
  /// counts offsets a gap is loss.
  private mutating func checkLane(_ channel: ChannelDeclaration) {
    let options = channel.options
    guard options.lane.isConflated else { return }
    let lane = "is \"\(options.lane.name)\", where a reader that lags gets the newest per key only"
    if options.historySize > 0 || options.historyTTLMilliseconds > 0 {
      report(
        channel.place(\.lane),
        "\(lane), but history is kept, from which nothing may be missing; leave history_size and history_ttl out, or write \"publications\""
      )
    } else if options.forcePositioning {
      report(
        channel.place(\.lane),
        "\(lane), but force_positioning is true, to which that would be loss; leave force_positioning out, or write \"publications\""
      )
    }
  }
}
