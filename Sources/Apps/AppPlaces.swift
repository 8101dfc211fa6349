public import Wire

/// Which partition this is, where an app is shared among partitions (docs/decisions/0073-state-in-all-partitions.md and
/// docs/decisions/0074-clique-in-all-partitions.md): its instance here decides about what belongs here, and tells those in
/// other partitions what follows for them (``AppEffect/relay(_:)``).
public struct AppPlaces: Sendable {
  /// From 0.
  public var own: Int
  public var partitioning: Partitioning

  public init(own: Int, partitioning: Partitioning) {
    self.own = own
    self.partitioning = partitioning
  }

  public var isHome: Bool { own == Partitioning.home }

  /// The partition of a user; nil: this one.
  func elsewhere(ofUser user: String) -> Int? { other(partitioning.place(ofUser: user)) }

  /// - Parameter place: a partition.
  /// - Returns: nil: it is this one.
  func other(_ place: Int) -> Int? { place == own ? nil : place }

  /// Where a gateway counts other partitions than this broker, it asks the wrong one. Nothing may be decided there.
  ///
  /// - Parameter app: the app's section in the settings.
  static func misplaced(_ app: String) -> ClientError {
    .internalError.saying(
      "this belongs to another partition; cluster.partitions and \(app).partitioned have to be the same for gateways and "
        + "brokers")
  }

  /// All partitions but this one.
  var others: [Int] { (0..<partitioning.count).filter { $0 != own } }
}
