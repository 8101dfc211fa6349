/// Stands between a store and a PostgreSQL server, on a socket in a folder of its own, and fails as a network does.
public final class PostgresProxy: Sendable {
  private let folder: TemporaryFolder
  public let socket: SocketProxy

  /// - Parameter server: nil: that which the tests share.
  public init(to server: PostgresServer? = nil) throws {
    folder = try TemporaryFolder()
    socket = try SocketProxy(
      at: folder.path + "/.s.PGSQL.5432", to: (server ?? PostgresServer.shared()).socketPath)
  }

  public var connection: String { "host=\(folder.path) user=fanfare dbname=postgres" }
  public var accepted: Int { socket.accepted }
  public var droppedBytes: Int { socket.droppedBytes }

  public func set(_ mode: SocketProxy.Mode) { socket.set(mode) }

  /// Leads to another server from now on, and ends all connections to the former one.
  public func lead(to server: PostgresServer) { socket.lead(to: server.socketPath) }

  /// Ends all connections.
  public func cut() { socket.cut() }

  public func close() { socket.close() }
}
