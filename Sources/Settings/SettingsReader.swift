import Wire

/// Reads the typed settings out of the merged layers.
struct SettingsReader {
  /// Of every key, the defaults included.
  private let values: [String: SettingValue]
  /// Keys that somebody gave, and not the table alone.
  private let given: Set<String>

  /// - Parameter layers: the first that has a key decides.
  init(_ layers: [SettingsLayer]) {
    given = Set(layers.flatMap(\.entries.keys))
    var values: [String: SettingValue] = [:]
    for key in SettingTable.keys + layers.flatMap(\.namespaces).map(\.name).flatMap(SettingTable.namespaceKeys) {
      values[key.name] = key.standard
    }
    for layer in layers.reversed() { for (name, entry) in layer.entries { values[name] = entry.value } }
    self.values = values
  }

  func settings(namespaces: [String]) -> Settings {
    var table = NamespaceTable(withoutNamespace: options(["channel", "without_namespace"]))
    for name in namespaces { table.namespaces[name] = options(["channel", "namespaces", name]) }
    return Settings(
      server: server, client: client, token: token, channels: table, broker: broker, backbone: backbone,
      gateway: .init(
        uplinkWindowBytes: int("gateway.uplink_window_bytes"), egressBytes: int("gateway.egress_bytes"),
        readWindowBytes: int("gateway.read_window_bytes"),
        maximumFiltersPerChannel: int("gateway.max_filters_per_channel"),
        maximumSubscribersPerChannel: int("gateway.max_subscribers_per_channel"), ioUring: bool("gateway.io_uring")),
      clique: clique, state: state, data: data,
      clock: .init(maxStep: duration("clock.max_step"), afterRestart: choice("clock.after_restart")),
      shutdown: .init(deadline: duration("shutdown.deadline")),
      log: .init(level: string("log.level"), format: choice("log.format")))
  }

  private var server: Settings.Server {
    .init(
      host: string("server.host"), port: int("server.port"), eventLoops: int("server.event_loops"),
      backlog: int("server.backlog"), maxConnections: int("server.max_connections"),
      allowedOrigins: strings("server.allowed_origins"),
      tls: .init(
        enabled: bool("server.tls.enabled"), certificateFile: string("server.tls.certificate_file"),
        keyFile: string("server.tls.key_file")),
      headerTimeout: duration("server.header_timeout"), maxHeaderBytes: int("server.max_header_bytes"),
      admission: admission, trustedProxies: strings("server.trusted_proxies"))
  }

  private var clique: Settings.Clique {
    .init(
      enabled: bool("clique.enabled"), requestMessages: int("clique.request_messages"),
      requestCharacters: int("clique.request_characters"), messageCharacters: int("clique.message_characters"),
      declineCooldown: duration("clique.decline_cooldown"), requestLifetime: duration("clique.request_lifetime"),
      crossingWindow: duration("clique.crossing_window"), maximumVisit: duration("clique.maximum_visit"),
      groupSize: int("clique.group_size"), maxConversations: int("clique.max_conversations"),
      maxGroups: int("clique.max_groups"), maxRequestsSent: int("clique.max_requests_sent"),
      maxRequestsReceived: int("clique.max_requests_received"), maxBlocked: int("clique.max_blocked"),
      maxPlaces: int("clique.max_places"), maxRequestsPerDay: int("clique.max_requests_per_day"),
      maxGroupsPerDay: int("clique.max_groups_per_day"), maxInvitationsPerDay: int("clique.max_invitations_per_day"),
      maxBlocksPerDay: int("clique.max_blocks_per_day"), maxVisitsPerDay: int("clique.max_visits_per_day"),
      requirePlaceToken: bool("clique.require_place_token"))
  }

  private var state: Settings.State {
    .init(
      enabled: bool("state.enabled"), lifetime: duration("state.lifetime"),
      revealLifetime: duration("state.reveal_lifetime"), recordLimit: duration("state.record_limit"),
      uploadGrace: duration("state.upload_grace"), pictureLifetime: duration("state.picture_lifetime"),
      pictureDirectory: string("state.picture_directory"), pictureBytes: int("state.picture_bytes"),
      maxRecorders: int("state.max_recorders"),
      maxThreads: int("state.max_threads"), maxBlocks: int("state.max_blocks"),
      maxUnsentPictures: int("state.max_unsent_pictures"),
      maxPictureBytesPerUser: int("state.max_picture_bytes_per_user"),
      maxPictureRequests: int("state.max_picture_requests"),
      maxPictureRequestsPerUser: int("state.max_picture_requests_per_user"),
      maxChangesPerMinute: int("state.max_changes_per_minute"))
  }

  private var client: Settings.Client {
    .init(
      maxMessageBytes: int("client.max_message_bytes"), maxChannelNameBytes: int("client.max_channel_name_bytes"),
      maxChannels: int("client.max_channels"), connectTimeout: duration("client.connect_timeout"),
      pingInterval: duration("client.ping_interval"), pongTimeout: duration("client.pong_timeout"),
      queueBytes: int("client.queue_bytes"), slowCloseGrace: duration("client.slow_close_grace"),
      recoveryMaxPublications: int("client.recovery_max_publications"),
      historyMaxPublications: int("client.history_max_publications"),
      historyMaxBytes: int("client.history_max_bytes"), recoveryMaxBytes: int("client.recovery_max_bytes"),
      readWindowBytes: int("client.read_window_bytes"),
      maxCommandsPerMessage: int("client.max_commands_per_message"),
      maxPendingRequests: int("client.max_pending_requests"),
      allowAnonymousConnectWithoutToken: bool("client.allow_anonymous_connect_without_token"),
      tokenExpiryGrace: duration("client.token_expiry_grace"), requestTimeout: duration("client.request_timeout"),
      userPersonalChannel: .init(
        enabled: bool("client.user_personal_channel.enabled"),
        namespace: string("client.user_personal_channel.namespace")),
      maxConnectionsPerUser: int("client.max_connections_per_user"), maxTokenChecks: int("client.max_token_checks"),
      limits: rates("client.limits"), userLimits: rates("client.user_limits"))
  }

  private var token: Settings.Token {
    .init(
      hmacSecret: string("token.hmac_secret"), hmacSecretFile: string("token.hmac_secret_file"),
      rsaPublicKey: string("token.rsa_public_key"), rsaPublicKeyFile: string("token.rsa_public_key_file"),
      ecdsaPublicKey: string("token.ecdsa_public_key"), ecdsaPublicKeyFile: string("token.ecdsa_public_key_file"),
      ed25519PublicKey: string("token.ed25519_public_key"),
      ed25519PublicKeyFile: string("token.ed25519_public_key_file"),
      jwksFile: string("token.jwks_file"), jwksURL: string("token.jwks_url"),
      jwksCacheTTL: duration("token.jwks_cache_ttl"), jwksMaxAge: duration("token.jwks_max_age"),
      requireExp: bool("token.require_exp"), maxLifetime: duration("token.max_lifetime"),
      maxRevocations: int("token.max_revocations"), audience: string("token.audience"),
      issuer: string("token.issuer"))
  }

  private var broker: Settings.Broker {
    .init(
      idempotencyWindow: duration("broker.idempotency_window"), linkWindowBytes: int("broker.link_window_bytes"),
      gatewayTimeout: duration("broker.gateway_timeout"), pendingBytes: int("broker.pending_bytes"),
      keeping: keeping,
      services: .init(
        enabled: bool("broker.services.enabled"), commands: serviceEndpoint("commands"), tap: serviceEndpoint("tap"),
        secretKeyFile: string("broker.services.secret_key_file"), keys: strings("broker.services.keys"),
        allowAnyoneOnThisMachine: bool("broker.services.allow_anyone_on_this_machine"),
        maxMessageBytes: int("broker.services.max_message_bytes")))
  }

  private func serviceEndpoint(_ name: String) -> String {
    let given = string("broker.services.\(name)")
    return given.isEmpty ? "ipc://\(string("data.directory"))/\(Settings.Broker.Services.folder)/\(name).ipc" : given
  }

  private var data: Settings.Data {
    .init(
      directory: string("data.directory"), minimumFreeBytes: int("data.minimum_free_bytes"),
      maximumBytes: int("data.maximum_bytes"))
  }

  private var backbone: Settings.Backbone {
    .init(
      endpoint: string("backbone.endpoint"), heartbeatInterval: duration("backbone.heartbeat_interval"),
      curve: .init(
        serverPublicKey: string("backbone.curve.server_public_key"),
        serverSecretKeyFile: string("backbone.curve.server_secret_key_file"),
        clientPublicKeys: strings("backbone.curve.client_public_keys"),
        clientSecretKeyFile: string("backbone.curve.client_secret_key_file")))
  }

  private func options(_ path: [String]) -> ChannelOptions {
    func flag(_ name: String) -> Bool { bool(path + [name]) }
    var options = ChannelOptions()
    options.presence = flag("presence")
    options.joinLeave = flag("join_leave")
    options.forcePushJoinLeave = flag("force_push_join_leave")
    options.historySize = int(path + ["history_size"])
    options.historyTTLMilliseconds = Int64(int(path + ["history_ttl"]))
    options.forceRecovery = flag("force_recovery")
    options.forcePositioning = flag("force_positioning")
    options.allowSubscribeForClient = flag("allow_subscribe_for_client")
    options.allowSubscribeForAnonymous = flag("allow_subscribe_for_anonymous")
    options.allowPublishForSubscriber = flag("allow_publish_for_subscriber")
    options.allowPublishForClient = flag("allow_publish_for_client")
    options.allowPublishForAnonymous = flag("allow_publish_for_anonymous")
    options.allowHistoryForSubscriber = flag("allow_history_for_subscriber")
    options.allowHistoryForClient = flag("allow_history_for_client")
    options.allowHistoryForAnonymous = flag("allow_history_for_anonymous")
    options.allowPresenceForSubscriber = flag("allow_presence_for_subscriber")
    options.allowPresenceForClient = flag("allow_presence_for_client")
    options.allowPresenceForAnonymous = flag("allow_presence_for_anonymous")
    options.allowUserLimitedChannels = flag("allow_user_limited_channels")
    options.durability = choice(path + ["durability"])
    options.dataFormat = choice(path + ["publication_data_format"])
    options.lane = found(name(path + ["lane"])) { if case .string(let value) = $0 { Lane(name: value) } else { nil } }
    options.publishIntervalMilliseconds = Int64(int(path + ["publish_interval"]))
    options.allowEditForAuthor = flag("allow_edit_for_author")
    options.followsChannel = flag("follows_channel")
    options.kind = choice(path + ["kind"])
    if options.kind == .map { readMap(path, into: &options) }
    readQuota(path, into: &options)
    return options
  }

  /// Entries of persistent maps have no end of their own, as publications do: there somebody who means ill is bounded
  /// without the operator's having thought of it.
  private func readQuota(_ path: [String], into options: inout ChannelOptions) {
    let isBounded = options.kind == .map && options.mapMode == .persistent
    func value(_ name: String, standard: Int) -> Int {
      let path = path + [name]
      return isBounded && !given.contains(path.joined(separator: ".")) ? standard : int(path)
    }
    options.userQuotaBytes = value("user_quota_bytes", standard: 256 << 20)
    options.userQuotaEntries = value("user_quota_entries", standard: 100_000)
  }

  private func readMap(_ path: [String], into options: inout ChannelOptions) {
    options.mapMode = choice(path + ["map_mode"])
    options.mapOrder = choice(path + ["map_order"])
    options.mapScore = choice(path + ["map_score"])
    options.mapTTLMilliseconds = Int64(int(path + ["map_ttl"]))
    options.mapMaximumEntries = int(path + ["map_max_entries"])
    options.mapKeyIsUser = bool(path + ["map_key_is_user"])
    guard options.mapMode != .ephemeral else { return }
    // The mode says it all; the changes that are kept are for those who were away for a while.
    if options.mapMode == .persistent { options.durability = .durable }
    if options.historySize == 0 && options.historyTTLMilliseconds == 0 {
      options.historySize = 100
      options.historyTTLMilliseconds = 10 * 60 * 1000
    }
    options.forceRecovery = true
  }

  // Every key has a default of the type that the table gives it: a miss is a key that this file spells otherwise than the
  // table.

  private func bool(_ path: [String]) -> Bool { bool(name(path)) }
  func bool(_ name: String) -> Bool { found(name) { if case .bool(let value) = $0 { value } else { nil } } }
  private func int(_ path: [String]) -> Int { int(name(path)) }
  func int(_ name: String) -> Int { found(name) { if case .int(let value) = $0 { value } else { nil } } }
  func strings(_ name: String) -> [String] {
    found(name) { if case .strings(let value) = $0 { value } else { nil } }
  }
  private func string(_ path: [String]) -> String { string(name(path)) }
  private func string(_ name: String) -> String {
    found(name) { if case .string(let value) = $0 { value } else { nil } }
  }
  func duration(_ name: String) -> Duration { .milliseconds(int(name)) }
  private func choice<Choice: RawRepresentable<String>>(_ path: [String]) -> Choice { choice(name(path)) }
  private func choice<Choice: RawRepresentable<String>>(_ name: String) -> Choice {
    found(name) { if case .string(let value) = $0 { Choice(rawValue: value) } else { nil } }
  }

  private func name(_ path: [String]) -> String { path.joined(separator: ".") }

  private func found<Value>(_ name: String, _ read: (SettingValue) -> Value?) -> Value {
    guard let value = values[name].flatMap(read) else {
      preconditionFailure("\(name) is not in the table of settings, or of another kind there")
    }
    return value
  }
}
