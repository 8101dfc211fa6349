extension Settings {
  /// The link between a broker and gateways in processes of their own.
  public struct Backbone: Sendable, Equatable {
    public struct Curve: Sendable, Equatable {
      @Setting public var serverPublicKey: String
      @Setting public var serverSecretKeyFile: String
      /// Gateways that the broker lets in.
      @Setting public var clientPublicKeys: [String]
      @Setting public var clientSecretKeyFile: String

      init(_ declare: inout SettingDeclarations) {
        _serverPublicKey = declare.text(
          "server_public_key", "", "The broker's CURVE public key, 40 characters; for gateways.",
          rule: SettingFaults.ofCurveKey)
        _serverSecretKeyFile = declare.text(
          "server_secret_key_file", "", "File with the broker's CURVE secret key; for the broker.")
        _clientPublicKeys = declare.list(
          "client_public_keys",
          "CURVE public keys of the gateways that may connect, 40 characters each; for the broker.",
          rule: SettingFaults.ofCurveKeyInList)
        _clientSecretKeyFile = declare.text(
          "client_secret_key_file", "", "File with the gateway's CURVE secret key; for gateways.")
      }
    }

    /// One of the brokers that a gateway reaches.
    public struct Broker: Sendable, Equatable {
      public let endpoint: String
      /// Empty: the link is not encrypted.
      public let serverPublicKey: String

      static let names = ["endpoint", "server_public_key"]

      init(_ object: [String: String]) {
        endpoint = object["endpoint"] ?? ""
        serverPublicKey = object["server_public_key"] ?? ""
      }

      static func fault(_ broker: Broker) -> String? {
        let name = SettingKey.quote(broker.endpoint)
        guard let address = ZeroMQEndpoint(broker.endpoint), !address.isInProcess, !broker.endpoint.hasSuffix(":*")
        else { return "has a broker with the endpoint \(name); write ipc://file or tcp://address:port" }
        if !broker.serverPublicKey.isEmpty, let fault = SettingFaults.ofCurveKey(broker.serverPublicKey) {
          return "has a broker whose server_public_key \(fault)"
        }
        if broker.serverPublicKey.isEmpty, !address.isLocal {
          return "has the broker \(name), which other machines reach, without server_public_key; make keys with "
            + "'fanfare config curve FILE'"
        }
        return nil
      }
    }

    @Setting public var endpoint: String
    @Setting public var brokers: [Broker]
    @Setting public var heartbeatInterval: Duration
    public let curve: Curve

    init(_ declare: inout SettingDeclarations) {
      _endpoint = declare.text(
        "endpoint", "ipc://data/backbone.ipc",
        "Where a broker and gateways in processes of their own meet: ipc://file or tcp://address:port. With inproc://name, serve puts libzmq between its two halves, which otherwise hand each other their messages as they are.",
        rule: { ZeroMQEndpoint($0) == nil ? ZeroMQEndpoint.advice($0) : nil })
      _brokers = declare.objects(
        "brokers", with: Broker.names,
        "Brokers of which one has the channels, in place of endpoint and of curve.server_public_key; for gateways. See SCALING.md.",
        of: Broker.init, fault: Broker.fault)
      _heartbeatInterval = declare.duration(
        "heartbeat_interval", .seconds(1), in: .milliseconds(100) ... .minutes(1),
        "Time between signs of life on the link.")
      curve = declare.section("curve", Curve.init)
    }

    /// Where there is no such endpoint, the settings have been refused (``PartitionRules``).
    mutating func enterPartition(_ number: Int) {
      _endpoint = Setting(PartitionEndpoint.of(number, at: endpoint) ?? endpoint, $endpoint.place)
    }
  }

  public struct Gateway: Sendable, Equatable {
    @Setting public var uplinkWindowBytes: Int
    @Setting public var egressBytes: Int
    @Setting public var maximumFiltersPerChannel: Int
    /// Subscribers of one channel; 0: any number.
    @Setting public var maximumSubscribersPerChannel: Int
    @Setting public var readWindowBytes: Int
    @Setting public var ioUring: Bool

    init(_ declare: inout SettingDeclarations) {
      _uplinkWindowBytes = declare.bytes(
        "uplink_window_bytes", mebibytes(1), in: kibibytes(64)...mebibytes(1024),
        "Bytes on their way to the broker before client sockets are read later.")
      _egressBytes = declare.bytes(
        "egress_bytes", mebibytes(256), in: mebibytes(16)...mebibytes(1 << 20),
        "Bytes that may wait for all clients together; from half of it on, clients whose answers wait are read later, and beyond it the connection for which most waits is closed. One connection may have a quarter of it."
      )
      _maximumFiltersPerChannel = declare.integer(
        "max_filters_per_channel", 1000, in: 1...1_000_000,
        "Different filters of clients on one channel, for each event loop, with sixteen times as many conditions in all; one more is refused with error 106."
      )
      _maximumSubscribersPerChannel = declare.integer(
        "max_subscribers_per_channel", 0, in: 0...10_000_000,
        "Subscribers of one channel on one gateway process, with presence or without; 0: as many as there are connections. One more is refused with error 106."
      )
      _readWindowBytes = declare.bytes(
        "read_window_bytes", mebibytes(16), in: kibibytes(256)...mebibytes(1024),
        "The same as client.read_window_bytes for all clients together, large answers and small ones each; every event loop has an equal part."
      )
      _ioUring = declare.flag(
        "io_uring", true,
        "Send in batches through io_uring where the kernel allows it; the start-up log says whether it does.")
    }
  }
}
