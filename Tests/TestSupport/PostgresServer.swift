import Foundation
import Glibc
import Synchronization

/// A PostgreSQL server of the tests' own, one for the process: in a folder in memory where there is one, on a UNIX
/// socket there, and without a wait for the disk. It ends with the process, however that ends.
///
/// The programs are the machine's, or what `.ci/setup servers` has unpacked. They refuse to run as root; there they run
/// as `nobody`.
public final class PostgresServer: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public var description: String
  }

  /// Whom files and processes belong to where the tests run as root: `nobody`, on each system.
  private static let nobody: UInt32 = 65534
  private static let oldest = 14

  private static let started = Mutex<Result<PostgresServer, any Error>?>(nil)

  /// The server, started when it is first asked for.
  public static func shared() throws -> PostgresServer {
    try started.withLock { started in
      if let started { return try started.get() }
      let result = Result { try PostgresServer() }
      started = result
      if case .success = result { atexit { PostgresServer.end() } }
      return try result.get()
    }
  }

  /// Another server, with nothing in it, which is the caller's to end.
  public static func new() throws -> PostgresServer { try PostgresServer() }

  public static var isThere: Bool { programs != nil && (!isRoot || setpriv != nil) }

  private static var isRoot: Bool { getuid() == 0 }

  private static let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// The folder of the programs, of the newest version that is there.
  private static let programs: URL? = {
    let top = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let roots = ["/usr/lib/postgresql", top.appendingPathComponent(".build/tools/postgresql/usr/lib/postgresql").path]
    let versions = roots.flatMap { root in
      ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }.map { (root, $0) }
    }
    return versions.filter { $0.1 >= oldest }.sorted { $0.1 > $1.1 }
      .map { URL(fileURLWithPath: "\($0.0)/\($0.1)/bin") }
      .first { FileManager.default.isExecutableFile(atPath: $0.appendingPathComponent("initdb").path) && starts($0) }
  }()

  /// Whether the machine has the libraries that programs out of an unpacked package need.
  private static func starts(_ folder: URL) -> Bool {
    let program = Process()
    program.executableURL = folder.appendingPathComponent("postgres")
    program.arguments = ["--version"]
    program.standardOutput = FileHandle.nullDevice
    program.standardError = FileHandle.nullDevice
    guard (try? program.run()) != nil else { return false }
    program.waitUntilExit()
    return program.terminationStatus == 0
  }

  /// Of the data and the socket.
  public let folder: String
  private let process: ChildProcess

  private convenience init() throws {
    try self.init { data in
      ("initdb", ["-D", data, "-U", "fanfare", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
    }
  }

  /// A standby of this server, which follows it from now on, and is the caller's to end.
  public func standby() throws -> PostgresServer {
    try PostgresServer { data in
      ("pg_basebackup", ["-D", data, "-h", folder, "-U", "fanfare", "-R", "-X", "stream", "-c", "fast", "--no-sync"])
    }
  }

  /// - Parameter filling: the program that fills the folder of the data, and its arguments.
  private init(filling: (String) -> (program: String, arguments: [String])) throws {
    guard let programs = Self.programs else { throw Failure(description: "there is no PostgreSQL on this machine") }
    let memory = "/dev/shm"
    let parent = access(memory, W_OK) == 0 ? memory : FileManager.default.temporaryDirectory.path
    folder = "\(parent)/fanfare-pg-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try Self.giveToServers(folder)
    let data = folder + "/data"
    let errors = URL(fileURLWithPath: folder + "/errors.txt")
    let (program, arguments) = filling(data)
    let made = try Self.run(programs.appendingPathComponent(program), arguments, errors: errors)
    let hasEnded = blocksUntil(within: .seconds(120)) { !made.isRunning }
    guard hasEnded, made.status == 0 else {
      let said = String(decoding: (try? Data(contentsOf: errors)) ?? Data(), as: UTF8.self)
      throw Failure(description: "\(program) failed: \(said)")
    }
    let settings = [
      "listen_addresses=", "fsync=off", "full_page_writes=off", "max_connections=300", "shared_buffers=64MB",
      "superuser_reserved_connections=3", "log_min_messages=fatal",
    ]
    process = try Self.run(
      programs.appendingPathComponent("postgres"), ["-D", data, "-k", folder] + settings.flatMap { ["-c", $0] },
      errors: errors)
    let socket = folder + "/.s.PGSQL.5432"
    let process = process
    let lock = data + "/postmaster.pid"
    let isReady = blocksUntil(within: .seconds(60)) {
      if !process.isRunning { return true }
      let status = (try? String(contentsOfFile: lock, encoding: .utf8)) ?? ""
      return (status.contains("ready") || status.contains("standby")) && FileManager.default.fileExists(atPath: socket)
    }
    guard isReady, process.isRunning else {
      let said = String(decoding: (try? Data(contentsOf: errors)) ?? Data(), as: UTF8.self)
      throw Failure(description: "postgres did not start: \(said)")
    }
  }

  /// Lets programs that run as somebody who is not root write into a folder.
  static func giveToServers(_ folder: String) throws {
    guard isRoot else { return }
    guard chown(folder, nobody, nobody) == 0 else { throw Failure(description: "\(folder) cannot be given away") }
  }

  /// Where the tests' own database is.
  public var connection: String { "host=\(folder) user=fanfare dbname=postgres" }
  /// The socket on which the server listens.
  public var socketPath: String { folder + "/.s.PGSQL.5432" }

  private static func end() {
    guard case .success(let server)? = started.withLock({ $0 }) else { return }
    server.end()
  }

  /// Ends the server as a crash would, with all that it has.
  public func end() {
    process.signal(SIGQUIT)
    _ = blocksUntil(within: .seconds(10)) { !process.isRunning }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Starts a program as somebody who is not root, which the kernel ends with SIGQUIT when this process ends.
  static func run(
    _ program: URL, _ arguments: [String], errors: URL, adding more: [String: String] = [:]
  ) throws -> ChildProcess {
    var words = ["--pdeathsig", "QUIT"]
    if isRoot { words += ["--reuid=\(nobody)", "--regid=\(nobody)", "--clear-groups"] }
    let environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C"].merging(more) { $1 }
    guard let setpriv else { return try ChildProcess(program, arguments, environment: environment, errors: errors) }
    let all = words + [program.path] + arguments
    return try Starter.shared.start {
      try ChildProcess(URL(fileURLWithPath: setpriv), all, environment: environment, errors: errors)
    }
  }
}

/// A thread that starts programs and never ends: the kernel takes the end of the thread that started a program for the
/// end of its parent.
private final class Starter: Sendable {
  static let shared = Starter()

  private let jobs = Mutex<[@Sendable () -> Void]>([])
  private let comes = DispatchSemaphore(value: 0)

  private init() {
    Thread.detachNewThread { [self] in
      while true {
        comes.wait()
        let job = jobs.withLock { $0.removeFirst() }
        job()
      }
    }
  }

  func start(_ body: @escaping @Sendable () throws -> ChildProcess) throws -> ChildProcess {
    let done = DispatchSemaphore(value: 0)
    let box = StartedBox()
    jobs.withLock { jobs in
      jobs.append {
        box.result.withLock { $0 = Result { try body() } }
        done.signal()
      }
    }
    comes.signal()
    done.wait()
    guard let result = box.result.withLock({ $0 }) else { throw CancellationError() }
    return try result.get()
  }
}

private final class StartedBox: Sendable {
  let result = Mutex<Result<ChildProcess, any Error>?>(nil)
}
