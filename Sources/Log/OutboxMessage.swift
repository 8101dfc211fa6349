public import Wire

/// A publication that a backend has left in the database of the log, in a transaction of its own: a row of the table
/// `outbox`. The database's function `publish` writes it (docs/POSTGRESQL.md).
public struct OutboxMessage: Sendable, Equatable {
  /// A row, and the round in which it was read: what becomes of it in an earlier round counts for nothing.
  public struct ID: Sendable, Hashable {
    public let row: Int64
    public let round: Int

    public init(row: Int64, round: Int) {
      self.row = row
      self.round = round
    }
  }

  public let id: ID
  public let channel: String
  /// Nil: the row has none, as where the key of a map is removed.
  public let data: [UInt8]?
  /// The other parameters of a publish as JSON, as the server API has them.
  public let options: [UInt8]
  /// The app which has sent it from another partition (``LogRelay``): then there is no channel, and there are no options.
  /// Nil: a backend has left it.
  public let app: String?

  public init(id: ID, channel: String, data: [UInt8]?, options: [UInt8], app: String? = nil) {
    self.id = id
    self.app = app
    self.channel = channel
    self.data = data
    self.options = options
  }
}

/// What became of an ``OutboxMessage``.
public enum OutboxFate: Sendable, Equatable {
  /// It is published, or was before.
  case published
  /// It will never be published.
  case refused(ClientError)
  /// It may be published later. All messages are read again then, so that those behind it stay behind it.
  case failed(ClientError)
}

extension RequestOrigin {
  /// The number that stands for no gateway: the request is the row of an outbox.
  public static let outboxGateway: UInt64 = 0

  public init(outboxRow row: Int64) { self.init(gateway: Self.outboxGateway, request: UInt64(bitPattern: row)) }

  /// Nil: the request came from a gateway.
  public var outboxRow: Int64? { gateway == Self.outboxGateway ? Int64(bitPattern: request) : nil }
}
