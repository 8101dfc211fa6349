public import Foundation
import Glibc

/// A folder on LazyFS, a file system in FUSE that keeps in its memory what was written and hands it to the disk when it
/// is synced: so the power can be cut. `FANFARE_LAZYFS` names the program (docs/GUARANTEES.md, Longer runs).
///
/// It forgets bytes and sizes of files. Names are the disk's at once: a file that was made, renamed or removed stays so,
/// synced or not. It knows neither sockets nor free space, for which ``settings`` make up. A cut leaves nothing that was
/// not synced; of a disk that keeps some of it, the simulation has one.
public final class LazyFS: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public var description: String
  }

  private static let program = ProcessInfo.processInfo.environment["FANFARE_LAZYFS"]

  public static var isThere: Bool { program != nil }

  /// Mounts, waits for an end of its input, which comes with the end of the tests at the latest, and unmounts. LazyFS
  /// itself then ends by an abort.
  private static let script = """
    ulimit -c 0
    "$0" "$@" >&2 & program=$!
    read -r end
    fusermount3 -u -z "$1" 2>/dev/null || umount -l "$1"
    kill $program 2>/dev/null
    wait $program
    exit 0
    """

  /// Where the server finds its files.
  public let folder: URL
  /// What is on the disk: after ``cutPower()`` nothing else is in ``folder``.
  public let disk: URL
  private let beside: URL
  private let process: ChildProcess
  /// The script's input, as long as the folder is mounted.
  private let input: Int32
  /// Says when a cut is done.
  private let finished: Int32

  /// Settings of a server whose data are on it. Its sockets are beside the folder.
  public var settings: [String] {
    [
      "broker.services.commands=ipc://\(beside.path)/commands.ipc", "broker.services.tap=ipc://\(beside.path)/tap.ipc",
      "data.minimum_free_bytes=0",
    ]
  }

  /// Mounts a folder for as long as the body runs.
  ///
  /// - Parameters:
  ///   - name: of the folder, which is made.
  ///   - beside: the folder in which it is, and the disk with it.
  public static func with<Result>(
    _ name: String, in beside: URL, _ body: (LazyFS) async throws -> Result
  ) async throws -> Result {
    let mounted = try LazyFS(name, in: beside)
    do {
      try await mounted.awaitMount()
      let result = try await body(mounted)
      await mounted.unmount()
      return result
    } catch {
      await mounted.unmount()
      throw error
    }
  }

  private init(_ name: String, in beside: URL) throws {
    guard let program = Self.program else { throw Failure(description: "FANFARE_LAZYFS names no program") }
    self.beside = beside
    (folder, disk) = (beside.appendingPathComponent(name), beside.appendingPathComponent("\(name)-disk"))
    for made in [folder, disk] {
      try FileManager.default.createDirectory(
        at: made, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    // Its cache never writes by itself, and must have room for all that is written between two cuts.
    let configuration = """
      [faults]
      fifo_path="\(beside.path)/lazyfs.fifo"
      fifo_path_completed="\(beside.path)/lazyfs.finished"
      [cache]
      apply_eviction=false
      [cache.simple]
      custom_size="128mb"
      blocks_per_page=1
      [filesystem]
      log_all_operations=false
      logfile=""

      """
    let file = beside.appendingPathComponent("lazyfs.toml")
    try configuration.write(to: file, atomically: true, encoding: .utf8)
    finished = try Self.openPipe(beside.path + "/lazyfs.finished")
    input = try Self.openPipe(beside.path + "/lazyfs.input")
    // One thread: its tables are not safe with several.
    process = try ChildProcess(
      URL(fileURLWithPath: "/bin/sh"),
      [
        "-c", Self.script, program, folder.path, "--config-path", file.path, "-o", "modules=subdir", "-o",
        "subdir=\(disk.path)", "-s", "-f",
      ], environment: ProcessInfo.processInfo.environment,
      input: beside.appendingPathComponent("lazyfs.input"), errors: beside.appendingPathComponent("lazyfs.txt"))
  }

  /// Makes a named pipe, and opens it for both directions, so that nobody waits for whoever opens the other end.
  private static func openPipe(_ path: String) throws -> Int32 {
    let descriptor = mkfifo(path, 0o600) == 0 ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1
    guard descriptor >= 0 else { throw Failure(description: "\(path) cannot be made: errno \(errno)") }
    return descriptor
  }

  private func failure(_ what: String) -> Failure {
    let said = (try? String(contentsOf: beside.appendingPathComponent("lazyfs.txt"), encoding: .utf8)) ?? ""
    return Failure(description: "\(what): \(said.suffix(2000))")
  }

  private var isMounted: Bool {
    var (mounted, parent) = (stat(), stat())
    return stat(folder.path, &mounted) == 0 && stat(beside.path, &parent) == 0 && mounted.st_dev != parent.st_dev
  }

  private func awaitMount() async throws {
    guard await eventually({ isMounted }) else { throw failure("LazyFS does not mount \(folder.path)") }
  }

  private func unmount() async {
    close(input)
    if await !eventually({ !process.isRunning }) { process.signal(SIGKILL) }
    close(finished)
  }

  /// Whether FUSE keeps a file that was removed while somebody had it open, under a name of its own. It goes when the
  /// file is closed, of which LazyFS hears a moment after the end of the process.
  private var keepsRemovedFiles: Bool {
    let names = FileManager.default.enumerator(atPath: disk.path)
    while let name = names?.nextObject() as? String {
      if name.split(separator: "/").last?.hasPrefix(".fuse_hidden") == true { return true }
    }
    return false
  }

  /// Forgets what was not synced. Whoever has a file open must have ended before: a process that goes on would notice
  /// nothing.
  public func cutPower() async throws {
    guard await eventually({ !keepsRemovedFiles }) else { throw failure("somebody has a file open in \(folder.path)") }
    // LazyFS opens this pipe on a thread of its own, which may begin later than the mount.
    var orders: Int32 = -1
    let isHeard = await eventually {
      orders = open(beside.path + "/lazyfs.fifo", O_WRONLY | O_CLOEXEC | O_NONBLOCK)
      return orders >= 0
    }
    guard isHeard else { throw failure("LazyFS listens to nobody") }
    defer { close(orders) }
    let order = Array("lazyfs::clear-cache\n".utf8)
    guard write(orders, order, order.count) == order.count else { throw failure("LazyFS takes no order") }
    var answer: [UInt8] = []
    let isDone = await eventually {
      var buffer = [UInt8](repeating: 0, count: 100)
      let count = read(finished, &buffer, buffer.count)
      if count > 0 { answer += buffer[..<count] }
      return answer.contains(UInt8(ascii: "\n"))
    }
    guard isDone, isMounted else { throw failure("LazyFS did not cut the power") }
  }
}
