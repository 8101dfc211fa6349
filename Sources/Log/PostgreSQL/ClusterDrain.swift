import Dispatch
import Glibc
import PostgreSQL

/// Has the broker that has the log hand it over to the next in line, as an operator asks it to by way of the database.
///
/// The request is a number beside the lease: that of the lease which is to end. The fence of the owner's next transaction
/// tells it (an idle one renews its lease once a second), and it ends in order. A request is over with its lease.
public enum ClusterDrain {
  public struct Outcome: Sendable, Equatable {
    /// Who had the log.
    public var former: String
    /// Who has it now; nil: nobody.
    public var next: String?
  }

  /// Why it was not done. The description is a sentence for the operator.
  public enum Fault: Error, Sendable, Equatable, CustomStringConvertible {
    case noOwner
    case nobodyInLine(owner: String)
    case late(owner: String)

    public var description: String {
      switch self {
      case .noOwner: "no broker has the log, so none can hand it over; start one"
      case .nobodyInLine(let owner):
        "nobody stands in line for the log, which \(owner) has: start another broker first, or pass --alone"
      case .late(let owner):
        "\(owner) has not handed the log over in time, and is not asked to any more; see what it logs, or end its process"
      }
    }
  }

  /// Between two looks whether it is done, in microseconds.
  private static let pause: UInt32 = 20_000

  /// Asks the owner, and waits until another broker has the log.
  ///
  /// - Parameters:
  ///   - patience: how long that may take, in milliseconds.
  ///   - alone: also where nobody stands in line: then the log is nobody's afterwards.
  /// - Throws: ``Fault``, or ``PostgresStartError`` where the database cannot be asked. Nothing is asked of the owner any
  ///   more then.
  public static func perform(
    _ options: PostgresStore.Options, within patience: Int64, alone: Bool
  ) throws -> Outcome {
    let server = try options.server()
    do {
      let connection = try server.connect()
      defer { connection.close() }
      let status = try ClusterStatus.read(options)
      guard let owner = status.owner, owner.millisecondsLeft > 0 else { throw Fault.noOwner }
      if status.waiting.isEmpty, !alone { throw Fault.nobodyInLine(owner: owner.name) }
      _ = try connection.query(
        "UPDATE shards SET drain = epoch WHERE shard = 0 AND epoch = $1", [.int(owner.epoch)], within: server.patience)
      let deadline = DispatchTime.now() + .milliseconds(Int(clamping: patience))
      while DispatchTime.now() < deadline {
        if let next = try next(after: owner, connection, server, alone: alone) { return next }
        usleep(pause)
      }
      _ = try connection.query(
        "UPDATE shards SET drain = 0 WHERE shard = 0 AND drain = $1", [.int(owner.epoch)], within: server.patience)
      throw Fault.late(owner: owner.name)
    } catch let error as Fault {
      throw error
    } catch {
      throw PostgresStore.startError(for: error, server)
    }
  }

  private static func next(
    after owner: ClusterStatus.Owner, _ connection: Connection, _ server: PostgresDatabase, alone: Bool
  ) throws(PostgresError) -> Outcome? {
    let rows = try connection.query("SELECT owner, epoch FROM shards WHERE shard = 0", within: server.patience)
    let name = rows.text(0, 0)
    if rows.int(0, 1) > owner.epoch { return Outcome(former: owner.name, next: name) }
    return alone && name.isEmpty ? Outcome(former: owner.name, next: nil) : nil
  }
}
