extension Settings {
  /// The port for backends and operators.
  public struct Admin: Sendable, Equatable {
    /// The server API.
    public struct API: Sendable, Equatable {
      @Setting public var key: String
      @Setting public var maxBodyBytes: Int
      @Setting public var maxCommands: Int
      @Setting public var pendingBytes: Int

      init(_ declare: inout SettingDeclarations) {
        _key = declare.text(
          "key", "",
          "A key for the server API that may use every method and all channels but the apps'; more are made with `fanfare keys create`, each with what it may do.",
          isSecret: true, rule: Self.faultOfKey)
        _maxBodyBytes = declare.bytes(
          "max_body_bytes", mebibytes(4), in: 1024...mebibytes(64), "Largest body of a request to the server API.")
        _maxCommands = declare.integer(
          "max_commands", 10_000, in: 1...100_000,
          "Commands of one batch, and channels of one broadcast; all of a batch together count.")
        _pendingBytes = declare.bytes(
          "pending_bytes", mebibytes(32), in: mebibytes(1)...mebibytes(4096),
          "Bytes of requests of the server API that wait for the broker before more are refused with error 111.")
      }

      /// Fewer characters could be guessed by somebody who may ask often.
      private static let shortestKey = 16

      private static func faultOfKey(_ key: String) -> String? {
        if key.isEmpty || key.utf8.count >= shortestKey { return nil }
        return "has fewer than \(shortestKey) characters; make one with `openssl rand -hex 32`"
      }
    }

    @Setting public var enabled: Bool
    @Setting public var host: String
    @Setting public var port: Int
    @Setting public var maxConnections: Int
    @Setting public var requestTimeout: Duration
    public let api: API

    init(_ declare: inout SettingDeclarations) {
      _enabled = declare.flag("enabled", true, "Open the port for backends and operators: server API, metrics, health.")
      _host = declare.text(
        "host", "127.0.0.1", "Address of that port. It speaks no TLS: beyond this machine put a proxy before it.",
        rule: SettingFaults.ofHost)
      _port = declare.integer("port", 9000, in: 0...65535, "Port for backends and operators; 0 takes a free one.")
      _maxConnections = declare.integer(
        "max_connections", 1024, in: 1...100_000, "Connections at a time on that port; one more waits to be accepted.")
      _requestTimeout = declare.duration(
        "request_timeout", .seconds(30), in: .milliseconds(100) ... .minutes(10),
        "Time for a request on that port to come whole and be answered, and for a connection to say nothing.")
      api = declare.section("api", API.init)
    }

    /// The port itself is the process's that starts the partitions' brokers.
    mutating func enterPartition(_ number: Int) {
      _port = Setting(PartitionEndpoint.port(port, plus: 1 + number) ?? port, $port.place)
    }
  }
}
