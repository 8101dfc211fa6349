/// Where the brokers of a machine's partitions are, each at an endpoint of its own beside the one that is configured.
///
///     base                    partition 0             partition 2
///     tcp://10.0.0.5:7500     tcp://10.0.0.5:7500     tcp://10.0.0.5:7502
///     ipc://data/b.ipc        ipc://data/b.ipc        ipc://data/b.ipc.p2
///
/// Brokers and gateways work it out alike, so that a configuration names one endpoint for a machine, however many
/// partitions there are.
public enum PartitionEndpoint {
  /// The endpoint of a partition.
  ///
  /// - Parameters:
  ///   - partition: counted from 0, whose endpoint is the base itself.
  ///   - base: the endpoint that is configured. Where the system is to choose (port `*` or 0, `ipc://*`), it does so for
  ///     each partition.
  /// - Returns: nil where that is no endpoint: its port would be more than 65535, or its path longer than systems take.
  public static func of(_ partition: Int, at base: String) -> String? {
    if partition == 0 { return base }
    guard base.hasPrefix("tcp://") else {
      if base == "ipc://*" { return base }
      let endpoint = "\(base).p\(partition)"
      return ZeroMQEndpoint(endpoint) == nil ? nil : endpoint
    }
    guard let colon = base.lastIndex(of: ":") else { return nil }
    let port = base[base.index(after: colon)...]
    if port == "*" || port == "0" { return base }
    guard let port = Int(port), let shifted = Self.port(port, plus: partition) else { return nil }
    return "\(base[...colon])\(shifted)"
  }

  /// A port that follows the one that is configured; 0, which leaves the choice to the system, stays 0.
  ///
  /// - Returns: nil where there is no such port.
  static func port(_ base: Int, plus offset: Int) -> Int? {
    if base == 0 { return 0 }
    let port = base + offset
    return port <= 65535 ? port : nil
  }
}
