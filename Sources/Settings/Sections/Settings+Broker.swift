public import Wire

extension Settings {
  public struct Broker: Sendable, Equatable {
    /// ZeroMQ endpoints for backend services.
    public struct Services: Sendable, Equatable {
      @Setting public var enabled: Bool
      /// The endpoint for commands: a socket in the data folder where no endpoint is given. Empty for the broker of a
      /// partition, which takes none.
      @Setting public var commands: String
      @Setting public var tap: String
      @Setting public var secretKeyFile: String
      /// The services' keys as they are written: see ``ServiceKey``.
      @Setting public var keys: [String]
      @Setting public var allowAnyoneOnThisMachine: Bool
      @Setting public var maxMessageBytes: Int

      init(_ declare: inout SettingDeclarations) {
        _enabled = declare.flag("enabled", true, "Open the ZeroMQ endpoints for backend services.")
        _commands = declare.text(
          "commands", "",
          "Endpoint for commands: ipc://file, or tcp://address:port with keys; empty means services/commands.ipc in the data folder."
        )
        _tap = declare.text(
          "tap", "", "Endpoint to listen to channels, likewise; empty means services/tap.ipc in the data folder.")
        _secretKeyFile = declare.text(
          "secret_key_file", "", "File with the CURVE secret key of the endpoints over tcp; only its owner may read it."
        )
        _keys = declare.list(
          "keys",
          "Services that may use the endpoints over tcp, each a text of its name, its CURVE public key and what it may do, such as publish=news publish=chat:* read=* tap=chat:* subscribe=chat:* call=clique.* disconnect revoke."
        )
        _allowAnyoneOnThisMachine = declare.flag(
          "allow_anyone_on_this_machine", false,
          "Let every process on this machine publish, listen, subscribe clients, disconnect and revoke at the endpoints, apps' channels left out."
        )
        _maxMessageBytes = declare.bytes(
          "max_message_bytes", mebibytes(1), in: 1024...mebibytes(64), "Largest message from a service.")
      }

      /// Makes endpoints that are not given sockets in the data folder.
      mutating func place(in dataFolder: String) {
        func endpoint(_ setting: Setting<String>, _ name: String) -> Setting<String> {
          guard setting.wrappedValue.isEmpty else { return setting }
          return Setting("ipc://\(dataFolder)/\(Self.folder)/\(name).ipc", setting.place)
        }
        _commands = endpoint($commands, "commands")
        _tap = endpoint($tap, "tap")
      }

      /// Has services listen to a partition at an endpoint of its own, and send it no commands.
      mutating func enterPartition(_ number: Int) {
        _commands = Setting("", $commands.place)
        _tap = Setting(PartitionEndpoint.of(number, at: tap) ?? tap, $tap.place)
      }
    }

    @Setting public var idempotencyWindow: Duration
    @Setting public var linkWindowBytes: Int
    @Setting public var gatewayTimeout: Duration
    @Setting public var pendingBytes: Int
    @Setting public var vacatedAfter: Duration
    public internal(set) var services: Services
    public let keeping: Keeping

    init(_ declare: inout SettingDeclarations) {
      _idempotencyWindow = declare.duration(
        "idempotency_window", .minutes(5), in: .seconds(1) ... .hours(24),
        "Time for which an idempotency key is remembered.")
      _linkWindowBytes = declare.bytes(
        "link_window_bytes", mebibytes(64), in: mebibytes(1)...mebibytes(4096),
        "Bytes on their way to one gateway before the broker sends it no more; answers wait where they would fill half of it."
      )
      _gatewayTimeout = declare.duration(
        "gateway_timeout", .seconds(10), in: .seconds(1) ... .minutes(10),
        "Silence after which a gateway counts as gone.")
      _pendingBytes = declare.bytes(
        "pending_bytes", mebibytes(64), in: mebibytes(1)...mebibytes(4096),
        "Bytes that wait for the disk before requests are read later instead.")
      _vacatedAfter = declare.duration(
        "vacated_after", .seconds(5), in: .zero ... .minutes(10),
        "Time without a subscriber after which a channel is told of to webhooks as vacated; whoever comes back sooner was never away."
      )
      services = declare.section("services", Services.init)
      keeping = Keeping(&declare)
    }
  }

  /// What the broker keeps, for how long, and for whom.
  public struct Keeping: Sendable, Equatable {
    /// What the broker keeps of one channel.
    public struct Channel: Sendable, Equatable {
      @RateSetting public var publications: RateLimit
      @Setting public var maxMembers: Int
      @Setting public var maxKeys: Int

      init(_ declare: inout SettingDeclarations) {
        _publications = declare.rate(
          "publications", (10_000, burst: 20_000), upTo: (10_000_000, burst: 10_000_000),
          "Publications of clients on one channel; 0: no limit; more are refused with error 111.")
        _maxMembers = declare.integer(
          "max_members", 100_000, in: 1...10_000_000,
          "Subscribers of one channel with presence or joins; one more is refused with error 106.")
        _maxKeys = declare.integer("max_idempotency_keys", 65_536, in: 1...65_536, "Of the keys, those of one channel.")
      }
    }

    /// What the broker keeps of one user.
    public struct User: Sendable, Equatable {
      @RateSetting public var creations: RateLimit
      @Setting public var maxChannels: Int
      @Setting public var memoryBytes: Int
      @Setting public var maxKeys: Int
      @Setting public var maxSearches: Int

      init(_ declare: inout SettingDeclarations) {
        _creations = declare.rate(
          "channels", (100, burst: 2_000), upTo: (1_000_000, burst: 1_000_000),
          "Channels that come to be through one user's publications and joins; 0: no limit; more are refused with error 111."
        )
        _maxChannels = declare.integer(
          "max_channels", 5_000, in: 1...10_000_000,
          "Channels with history in memory, or maps, that one user made and that are still kept; one more is refused with error 106."
        )
        _memoryBytes = declare.bytes(
          "memory_bytes", mebibytes(64), in: kibibytes(64)...mebibytes(1024 * 1024),
          "Memory that the history of those channels may take before the user adds nothing more; refused with error 111."
        )
        _maxKeys = declare.integer(
          "max_idempotency_keys", 16_384, in: 1...100_000_000, "Of the keys, those of one user.")
        _maxSearches = declare.integer(
          "max_searches", 8, in: 1...256, "Searches of one user that wait; one more is refused with error 111.")
      }
    }

    @Setting public var idleChannelTimeout: Duration
    @Setting public var historyMetaTTL: Duration
    @Setting public var idleMapLifetime: Duration
    /// Memory for publications, maps and channels; 0: half of what the machine has.
    @Setting public var memoryBytes: Int
    @Setting public var appCacheBytes: Int
    @Setting public var maxKeys: Int
    public let channel: Channel
    public let user: User

    init(_ declare: inout SettingDeclarations) {
      _idleChannelTimeout = declare.duration(
        "idle_channel_timeout", .minutes(1), in: .seconds(1) ... .hours(24),
        "Time after which a channel without subscribers leaves the memory; one without history is then forgotten.")
      _historyMetaTTL = declare.duration(
        "history_meta_ttl", .hours(24), in: .seconds(1) ... .hours(24 * 366),
        "Time after its last publication for which epoch and offset of a channel are known of which nothing is kept any more; in memory at most an hour."
      )
      _idleMapLifetime = declare.duration(
        "idle_map_lifetime", .hours(24), in: .seconds(1) ... .hours(24 * 366),
        "Time after which a map that is in memory alone is forgotten, with its entries, if nobody writes it or is subscribed."
      )
      _memoryBytes = declare.bytes(
        "memory_bytes", 0, in: 0...mebibytes(1024 * 1024),
        "Memory that publications, maps and channels may take before more are refused with error 100; 0 means half of what the machine or its container has, or an equal part of that for the broker of each partition."
      )
      _appCacheBytes = declare.bytes(
        "app_cache_bytes", mebibytes(64), in: kibibytes(64)...mebibytes(65_536),
        "Memory for records of each app that are on disk as well.")
      _maxKeys = declare.integer(
        "max_idempotency_keys", 1_000_000, in: 1...100_000_000,
        "Idempotency keys that are held at a time; a publication with one more is refused with error 111.")
      channel = declare.section("channel", Channel.init)
      user = declare.section("user", User.init)
    }
  }
}
