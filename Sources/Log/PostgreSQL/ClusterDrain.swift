import Dispatch
import Glibc
import PostgreSQL
import Wire

/// Has the broker that has the log, or a partition of it, hand it over to the next in line, as an operator asks it to by
/// way of the database.
///
/// The request is a number beside the lease: that of the lease which is to end. The fence of the owner's next transaction
/// tells it (an idle one renews its lease once a second), and it ends in order. A request is over with its lease.
public enum ClusterDrain {
  /// What is to be handed over.
  public enum Target: Sendable, Equatable {
    /// The log, where it is not shared out.
    case whole
    case partition(Int)
    /// All partitions that the broker has.
    case broker(String)
  }

  public struct Outcome: Sendable, Equatable {
    /// Nil: the log is not shared out.
    public var partition: Int?
    /// Who had it.
    public var former: String
    /// Who has it now; nil: nobody.
    public var next: String?
  }

  /// Why it was not done. The description is a sentence for the operator.
  public enum Fault: Error, Sendable, Equatable, CustomStringConvertible {
    case noOwner(partition: Int?)
    case nobodyInLine(owner: String, partition: Int?)
    case late(owner: String, partition: Int?)
    case unsaid(partitions: Int)
    case noPartition(Int, partitions: Int)
    case hasNothing(broker: String)

    public var description: String {
      switch self {
      case .noOwner(let partition):
        "no broker has \(Self.log(partition)), so none can hand it over; start one"
      case .nobodyInLine(let owner, let partition):
        "nobody stands in line for \(Self.log(partition)), which \(owner) has: start another broker first, or pass --alone"
      case .late(let owner, let partition):
        "\(owner) has not handed \(Self.log(partition)) over in time, and is not asked to any more; see what it logs, or "
          + "end its process"
      case .unsaid(let partitions):
        "the log has \(partitions) partitions: say which one with --partition (0 to \(partitions - 1)), or whose with "
          + "--broker; fanfare cluster status names both"
      case .noPartition(let partition, let partitions):
        "there is no partition \(partition): the log has \(partitions), which count from 0"
      case .hasNothing(let broker):
        "no partition is kept by a broker of the name \(broker); fanfare cluster status says who keeps which"
      }
    }

    private static func log(_ partition: Int?) -> String { partition.map { "partition \($0)" } ?? "the log" }
  }

  /// Between two looks whether it is done, in microseconds.
  private static let pause: UInt32 = 20_000
  /// How long it is looked for somebody in line, in seconds.
  private static let lookPatience = 1.0

  /// Asks the owner, and waits until another broker has it; one partition after the other. It stays there for five
  /// minutes, whoever is preferred (``LeaseLine``).
  ///
  /// - Parameters:
  ///   - patience: how long each of them may take, in milliseconds.
  ///   - alone: also where nobody stands in line: then it is nobody's afterwards.
  ///   - done: called with each that was handed over.
  /// - Throws: ``Fault``, or ``PostgresStartError`` where the database cannot be asked. Nothing is asked of the owner any
  ///   more then.
  public static func perform(
    _ options: PostgresStore.Options, _ target: Target, within patience: Int64, alone: Bool, done: (Outcome) -> Void
  ) throws {
    let home = try options.server(of: Partitioning.home)
    do {
      let connection = try home.connect()
      defer { connection.close() }
      let reader = try ClusterReader(connection, home)
      for partition in try partitions(of: target, reader) {
        done(try handOver(partition, reader, within: patience, alone: alone))
      }
    } catch let error as Fault {
      throw error
    } catch {
      throw PostgresStore.startError(for: error, home)
    }
  }

  private static func partitions(of target: Target, _ reader: ClusterReader) throws -> [Int] {
    switch target {
    case .whole:
      guard reader.count == 1 else { throw Fault.unsaid(partitions: reader.count) }
      return [Partitioning.home]
    case .partition(let partition):
      guard (0..<reader.count).contains(partition) else {
        throw Fault.noPartition(partition, partitions: reader.count)
      }
      return [partition]
    case .broker(let name):
      let its = try (0..<reader.count).filter { number throws(PostgresError) in
        try reader.partition(number).owner?.broker == name
      }
      guard !its.isEmpty else { throw Fault.hasNothing(broker: name) }
      return its
    }
  }

  private static func handOver(
    _ number: Int, _ reader: ClusterReader, within patience: Int64, alone: Bool
  ) throws -> Outcome {
    let (connection, wait) = (reader.connection, reader.home.patience)
    let told = reader.count == 1 ? nil : number
    var status = try reader.partition(number)
    // Whoever stands in line without a name is out of the queue now and then, to look how the owner is.
    let looksUntil = DispatchTime.now() + lookPatience
    while status.isKept, status.waiting.isEmpty, !alone, DispatchTime.now() < looksUntil {
      usleep(pause)
      status = try reader.partition(number)
    }
    guard let owner = status.owner, status.isKept else { throw Fault.noOwner(partition: told) }
    if status.waiting.isEmpty, !alone { throw Fault.nobodyInLine(owner: owner.name, partition: told) }
    try PostgresLine.leave(number, connection, reader.home)
    let shards = "\(PostgresStore.Options.schema(reader.home.schema, of: number)).shards"
    _ = try connection.query(
      "UPDATE \(shards) SET drain = epoch WHERE shard = 0 AND epoch = $1", [.int(owner.epoch)], within: wait)
    let deadline = DispatchTime.now() + .milliseconds(Int(clamping: patience))
    while DispatchTime.now() < deadline {
      let rows = try connection.query("SELECT owner, epoch FROM \(shards) WHERE shard = 0", within: wait)
      let name = rows.text(0, 0)
      if rows.int(0, 1) > owner.epoch { return Outcome(partition: told, former: owner.name, next: name) }
      if alone, name.isEmpty { return Outcome(partition: told, former: owner.name, next: nil) }
      usleep(pause)
    }
    _ = try connection.query(
      "UPDATE \(shards) SET drain = 0 WHERE shard = 0 AND drain = $1", [.int(owner.epoch)], within: wait)
    throw Fault.late(owner: owner.name, partition: told)
  }
}
