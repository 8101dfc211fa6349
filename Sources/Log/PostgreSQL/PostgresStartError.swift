/// Why the log in PostgreSQL could not be opened. The description is for the operator, and never holds a password.
public enum PostgresStartError: Error, Sendable, Equatable, CustomStringConvertible {
  case malformedConnection
  case invalidSchema(String)
  /// - target: host, port and database.
  case unreachable(String, reason: String)
  case login(String, reason: String)
  case missingDatabase(String)
  case oldServer(version: String)
  case notPermitted(schema: String, reason: String)
  /// A standby, or a server that an operator has made read-only.
  case readOnly(String)
  /// A newer Fanfare made the tables.
  case newerSchema(String)
  /// The log is shared in another number of partitions than the broker was told.
  case otherPartitions(inLog: Int, configured: Int)
  /// A namespace's channels are to be in other partitions than they are.
  case displaced(namespace: String, partitions: Int)
  /// An app's records are in other partitions than those in which it would look for them.
  case displacedApp(String)
  /// Another broker keeps the log.
  case held(by: String, until: String)
  /// The mark cannot be written (``LogMark``).
  case unusableFolder(reason: String)
  /// The process was told to end while it waited.
  case stopped
  case refused(reason: String)

  public var description: String {
    switch self {
    case .malformedConnection:
      "the connection string of the log cannot be read; write it as postgresql://user@host:5432/database"
    case .invalidSchema(let name):
      "\(name) cannot be the schema's name; use up to 40 of a-z, 0-9 and _, beginning with a letter"
    case .unreachable(let target, let reason):
      "the \(target) cannot be reached (\(reason)); start the server, or correct the connection string"
    case .login(let target, let reason):
      "the \(target) does not let us in (\(reason)); correct user and password, or the server's pg_hba.conf"
    case .missingDatabase(let target):
      "there is no \(target); make it with createdb, or correct the connection string"
    case .oldServer(let version):
      "the server runs PostgreSQL \(version), and the log needs \(PostgresStore.minimumVersion) or newer; upgrade it"
    case .notPermitted(let schema, let reason):
      "the database user may not use the schema \(schema) (\(reason)); as its owner run: CREATE SCHEMA \(schema) AUTHORIZATION the_user"
    case .readOnly(let target):
      "the \(target) takes no writes: it is a standby, or read-only; connect to the primary (target_session_attrs=read-write)"
    case .newerSchema(let schema):
      "the tables in the schema \(schema) were made by a newer version of Fanfare; run that version, or a later one"
    case .otherPartitions(let inLog, let configured):
      """
      the log is shared in \(inLog) partition\(inLog == 1 ? "" : "s"), and cluster.partitions is \(configured): set it to \
      \(inLog) on all brokers and gateways, or stop all brokers and run fanfare cluster partition \(configured)
      """
    case .displaced(let namespace, let partitions):
      """
      \(namespace.isEmpty ? "channels without a namespace are" : "the namespace \(namespace) is") placed in other partitions \
      than before, by what is set for it (an app, a quota for users, notifications, or that it follows channels), and the \
      log, which is shared in \(partitions), holds such channels: set that back, or stop all brokers and run fanfare \
      cluster partition \(partitions), which moves them
      """
    case .displacedApp(let app):
      """
      \(PartitionMove.title(of: app)) has records in this log, and they stay in the partitions in which they are: set \
      \(app).partitioned to what it was
      """
    case .held(let owner, let until):
      "the broker \(owner) keeps this log until \(until) at least; stop it, or give this one a schema of its own"
    case .unusableFolder(let reason):
      "the data folder takes no \(DataFolderLock.markName) (\(reason)); make room in it, or let the server's user write there"
    case .stopped: "told to stop while another broker keeps the log"
    case .refused(let reason): "the database refused what the log needs (\(reason))"
    }
  }
}
