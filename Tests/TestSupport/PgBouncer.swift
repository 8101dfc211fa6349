import Foundation

/// A PgBouncer in transaction mode before a server of the tests: a connection of a client has another one of the server's
/// with each transaction.
public final class PgBouncer: Sendable {
  public static var isThere: Bool { program != nil && PostgresServer.isThere }

  private static let unpacked = ServerProcess.repository.appendingPathComponent(".build/tools/pgbouncer/usr")

  private static let program: URL? = ["/usr/sbin/pgbouncer", unpacked.appendingPathComponent("sbin/pgbouncer").path]
    .first { FileManager.default.isExecutableFile(atPath: $0) }.map { URL(fileURLWithPath: $0) }

  private let folder: String
  private let process: ChildProcess

  /// - Parameter connections: of the server's, which all clients share.
  public init(before server: PostgresServer, connections: Int) throws {
    guard let program = Self.program else {
      throw PostgresServer.Failure(description: "there is no PgBouncer on this machine")
    }
    folder = server.folder + "/bouncer-\(UUID().uuidString.prefix(8))"
    let folder = folder
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try PostgresServer.giveToServers(folder)
    let settings = """
      [databases]
      postgres = host=\(server.folder) dbname=postgres user=fanfare
      [pgbouncer]
      listen_addr =
      unix_socket_dir = \(folder)
      listen_port = 6432
      auth_type = any
      pool_mode = transaction
      default_pool_size = \(connections)
      max_client_conn = 100
      ignore_startup_parameters = extra_float_digits,options,client_min_messages

      """
    let file = folder + "/pgbouncer.ini"
    try settings.write(toFile: file, atomically: true, encoding: .utf8)
    let errors = URL(fileURLWithPath: folder + "/errors.txt")
    let libraries = Self.unpacked.appendingPathComponent("lib/x86_64-linux-gnu").path
    process = try PostgresServer.run(
      program, ["-q", file], errors: errors, adding: ["LD_LIBRARY_PATH": libraries])
    let process = process
    let socket = folder + "/.s.PGSQL.6432"
    let isReady = blocksUntil(within: .seconds(60)) { !process.isRunning || SocketProxy.isListening(socket) }
    guard isReady, process.isRunning else {
      let said = String(decoding: (try? Data(contentsOf: errors)) ?? Data(), as: UTF8.self)
      throw PostgresServer.Failure(description: "pgbouncer did not start: \(said)")
    }
  }

  public var connection: String { "host=\(folder) port=6432 user=fanfare dbname=postgres" }

  public func end() {
    process.signal(SIGKILL)
    _ = blocksUntil(within: .seconds(10)) { !process.isRunning }
  }
}
