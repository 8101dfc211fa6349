import Foundation
import Glibc
import Synchronization

/// An object store that speaks the protocol of S3 and checks every signature: moto, one for the process, on a free port. It
/// ends with the process, however that ends: its standard input does.
///
/// Its buckets: `pictures`; `versioned` and `suspended`, which keep versions, or did; `locked`, of whose versions the key may
/// not ask. Tests share them, each with a prefix of its own.
public final class MotoServer: Sendable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// What the server says when it is ready.
  private struct Words: Codable {
    var endpoint: String
    var id: String
    var secret: String
  }

  private actor Start {
    private var starting: Task<MotoServer, any Error>?

    func server() async throws -> MotoServer {
      if let starting { return try await starting.value }
      let task = Task { try await MotoServer() }
      starting = task
      return try await task.value
    }
  }

  private static let start = Start()
  private static let python = PythonEnvironment(
    scripts: ServerProcess.repository.appendingPathComponent("Tests/moto"), name: "moto-venv")

  /// The server, started when it is first asked for.
  public static func shared() async throws -> MotoServer { try await start.server() }

  /// Whether the server can be started here: its environment was made ready by `.ci/setup test`, or can be made.
  public static var isThere: Bool {
    let made = ServerProcess.repository.appendingPathComponent(".build/moto-venv/installed.txt").path
    return FileManager.default.fileExists(atPath: made)
  }

  /// `http://127.0.0.1:…`
  public let endpoint: String
  public let accessKeyID: String
  public let secretAccessKey: String
  public var port: Int { URL(string: endpoint)?.port ?? 0 }

  private let folder: TemporaryFolder
  private let process: ChildProcess
  /// Held open as long as this process lives.
  private let input: Int32

  private init() async throws {
    let interpreter = try await Self.python.interpreter()
    folder = try TemporaryFolder()
    let pipe = folder.path + "/input"
    guard mkfifo(pipe, 0o600) == 0 else { throw Failure(description: "\(pipe) cannot be made") }
    // Both directions, so that neither end waits for the other.
    input = open(pipe, O_RDWR | O_CLOEXEC)
    let words = folder.path + "/words.json"
    let errors = folder.url.appendingPathComponent("errors.txt")
    process = try ChildProcess(
      interpreter, [Self.python.scripts.appendingPathComponent("server.py").path, words],
      environment: ProcessInfo.processInfo.environment, input: URL(fileURLWithPath: pipe), errors: errors)
    let process = process
    _ = await eventually(within: .seconds(120)) {
      !process.isRunning || FileManager.default.fileExists(atPath: words)
    }
    guard let said = try? Data(contentsOf: URL(fileURLWithPath: words)) else {
      let text = String(decoding: (try? Data(contentsOf: errors)) ?? Data(), as: UTF8.self)
      process.signal(SIGKILL)
      throw Failure(description: "moto did not start: \(text.suffix(2000))")
    }
    let read = try JSONDecoder().decode(Words.self, from: said)
    (endpoint, accessKeyID, secretAccessKey) = (read.endpoint, read.id, read.secret)
    atexit { MotoServer.removeFolders() }
    Self.folders.withLock { $0.append(folder.path) }
  }

  /// How many requests of a method there have been whose path holds a text.
  public func requests(_ method: String, holding text: String) -> Int {
    let log = (try? String(contentsOf: folder.url.appendingPathComponent("errors.txt"), encoding: .utf8)) ?? ""
    return log.split(separator: "\n").count { $0.contains("\(method) ") && $0.contains(text) }
  }

  private static let folders = Mutex<[String]>([])

  private static func removeFolders() {
    for path in folders.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
  }
}
