import Glibc
import Synchronization

/// A server that the bench started, with a process group of its own, so that all of its processes can be counted and
/// ended together.
///
/// A watcher stands beside it: a shell that waits for the bench to end, however it ends, and then ends the server and
/// removes its folder. A death signal from the kernel would not do: it comes when the *thread* ends that started the
/// server.
final class ChildServer: Sendable {
  let identifier: Int32
  private let name: String
  private let folder: PeerFolder
  private let watcher: Int32
  /// An end of a pipe, whose other end is the watcher's standard input: it closes however the bench ends.
  private let lifeline: Int32
  private let state = Mutex(State())

  private struct State {
    var status: Int32?
    var isStopped = false
  }

  /// - Parameters:
  ///   - command: program and arguments; the program's path, or a name that `PATH` leads to.
  ///   - cores: that the server is pinned to by `taskset`; none: it is not pinned.
  ///   - folder: what the server writes goes to `NAME.log` in there.
  ///   - environment: `NAME=value` each; nil: the bench's own, without what configures a Fanfare.
  init(
    _ command: [String], name: String, cores: [Int], folder: PeerFolder, environment: [String]? = nil
  ) throws(BenchError) {
    self.name = name
    self.folder = folder
    let pin = cores.isEmpty ? [] : ["taskset", "-c", cores.map(String.init).joined(separator: ",")]
    identifier = try Spawn.start(
      pin + command, output: folder.file("\(name).log"), environment: environment ?? Self.environment())
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else {
      let reason = systemReason(errno)
      Self.end(identifier)
      throw BenchError("no pipe for \(name)'s watcher: \(reason); raise the limit on open files (ulimit -n).")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    lifeline = ends[1]
    do throws(BenchError) {
      watcher = try Spawn.start(
        ["sh", "-c", Self.watch, "sh", String(identifier), folder.path], input: ends[0], output: "/dev/null",
        environment: Self.environment())
    } catch {
      close(ends[1])
      Self.end(identifier)
      throw error
    }
  }

  deinit { stop() }

  /// The watcher's script. Its arguments are the server's process group and folder.
  static let watch = """
    read -r line
    kill -s TERM -- "-$1" 2>/dev/null
    for i in 1 2 3 4 5 6 7 8 9 10; do kill -s 0 -- "-$1" 2>/dev/null || break; sleep 0.1; done
    kill -s KILL -- "-$1" 2>/dev/null
    rm -rf -- "$2"
    """

  /// The bench's own environment, without the variables that a Fanfare would take for its settings.
  ///
  /// - Parameter keepsPeers: with `FANFARE_PEERS`, which tells the scripts where peers are installed.
  static func environment(keepsPeers: Bool = true) -> [String] {
    var variables: [String] = []
    var place = unsafe environ
    while let text = unsafe place.pointee {
      let variable = unsafe String(cString: text)
      if !variable.hasPrefix("FANFARE_") || keepsPeers && variable.hasPrefix("FANFARE_PEERS=") {
        variables.append(variable)
      }
      unsafe place += 1
    }
    return variables
  }

  /// Whether the server still runs; reaps it where not.
  var isRunning: Bool {
    state.withLock { state in
      guard state.status == nil else { return false }
      var status: Int32 = 0
      guard unsafe waitpid(identifier, &status, WNOHANG) == identifier else { return true }
      state.status = status
      return false
    }
  }

  /// All processes of the server's group.
  var processes: [Int32] { ProcessTable.processes(inGroup: identifier) }

  /// All processes of the server's group, once they were the same for a fifth of a second: a server may listen before it
  /// starts its workers.
  func settledProcesses(seconds: Double = 5) -> [Int32] {
    let deadline = MonotonicTime.now() &+ nanoseconds(seconds)
    return Self.settled(pause: 200_000_000, deadline: deadline, now: MonotonicTime.now, look: { self.processes }) {
      usleep(10_000)
    }
  }

  /// The processes that are seen once they were the same for so many nanoseconds, or at the deadline.
  ///
  /// - Parameters:
  ///   - now: a clock, in nanoseconds.
  ///   - rest: called between two looks.
  static func settled(
    pause: UInt64, deadline: UInt64, now: () -> UInt64, look: () -> [Int32], rest: () -> Void
  ) -> [Int32] {
    var found = look()
    var since = now()
    while now() < min(deadline, since &+ pause) {
      rest()
      let seen = look()
      if seen != found { (found, since) = (seen, now()) }
    }
    return found
  }

  /// Waits until something takes connections at the port of 127.0.0.1.
  func waitForConnections(at port: Int, seconds: Double = 120) throws(BenchError) {
    let deadline = MonotonicTime.now() &+ nanoseconds(seconds)
    while !LoopbackPort.takesConnections(port) {
      guard isRunning else {
        throw BenchError("\(name) ended before it took connections. It said: \(folder.end(of: "\(name).log"))")
      }
      guard MonotonicTime.now() < deadline else {
        throw BenchError(
          "\(name) took no connection at port \(port) within \(seconds) s. It said: \(folder.end(of: "\(name).log"))")
      }
      usleep(10_000)
    }
  }

  /// Ends all of the server's processes: SIGTERM, and SIGKILL to what is there after `patience` seconds. The folder
  /// stays. More than once does no harm.
  func stop(patience: Double = 5) {
    let isFirst = state.withLock { state in
      defer { state.isStopped = true }
      return !state.isStopped
    }
    guard isFirst else { return }
    _ = kill(-identifier, SIGTERM)
    let deadline = MonotonicTime.now() &+ nanoseconds(patience)
    while isRunning || !processes.isEmpty, MonotonicTime.now() < deadline { usleep(5_000) }
    // As long as a process of the group is there, no other group has its number; without one, nobody gets the signal.
    if isRunning || !processes.isEmpty {
      _ = kill(-identifier, SIGKILL)
      // On a busy machine it takes a while until a process that was killed is gone.
      let deadline = MonotonicTime.now() &+ 120_000_000_000
      while !processes.isEmpty, MonotonicTime.now() < deadline { usleep(1000) }
    }
    state.withLock { state in
      guard state.status == nil else { return }
      var status: Int32 = 0
      _ = unsafe waitpid(identifier, &status, 0)
      state.status = status
    }
    // The watcher ends before the lifeline is cut, or it would remove the folder and signal a group that may be another's.
    Self.end(watcher)
    close(lifeline)
  }

  private static func end(_ process: Int32) {
    _ = kill(-process, SIGKILL)
    var status: Int32 = 0
    while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
  }
}
