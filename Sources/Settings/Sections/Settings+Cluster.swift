extension Settings {
  /// How brokers share the channels, and what they are called.
  public struct Cluster: Sendable, Equatable {
    /// Each has a lease and a port of its own, and each gateway a link to it.
    public static let mostPartitions = 64

    @Setting public var partitions: Int
    @Setting public var name: String
    /// Which partition's broker these settings are for; nil: they are for the process that was started with them
    /// (``Settings/brokerOfPartition(_:)``).
    public internal(set) var partition: Int?

    /// Whether these are settings of the broker which has what an installation has once: the apps, their keys, the index of
    /// messages, and the sending of notifications. Where channels are not shared, each broker has them.
    public var isHome: Bool { partition ?? 0 == 0 }

    init(_ declare: inout SettingDeclarations) {
      _partitions = declare.integer(
        "partitions", 1, in: 1...Self.mostPartitions,
        "Parts among which channels are shared, each with a broker process of its own; for brokers and gateways, which "
          + "must have the same number ([SCALING.md](SCALING.md)). More than one needs `log.engine` postgres.")
      _name = declare.text(
        "name", "",
        "What this machine's broker is called among those that share the log, in at most 64 bytes; empty: the name of "
          + "the machine.",
        rule: Self.faultOfName)
    }

    private static let longestName = 64

    private static func faultOfName(_ name: String) -> String? {
      if name.utf8.count > longestName {
        return "has \(name.utf8.count) bytes; write at most \(longestName)"
      }
      guard name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
        return "holds a control character; write a name that can be shown"
      }
      return nil
    }
  }
}
