import Foundation
import Glibc

/// A worker as the coordinator sees it: a process with a pipe to its standard input and one from its standard output.
///
/// A worker ends when its standard input does, so that none outlives the coordinator, however that ends. Bound to the
/// coordinator's thread.
final class WorkerProcess {
  let number: Int
  /// The worker's standard output, to be polled for reading.
  let output: Int32
  private let input: Int32
  private let process: Int32
  private var bytes: [UInt8] = []
  private(set) var hasEnded = false
  private var isReaped = false

  /// Starts it in a process group of its own, so that a terminal's Ctrl-C reaches the coordinator alone, which then
  /// ends all workers in order. It runs on the cores that the calling thread is pinned to.
  init(number: Int, command: [String]) throws(BenchError) {
    var toWorker: [Int32] = [-1, -1]
    var fromWorker: [Int32] = [-1, -1]
    guard unsafe pipe(&toWorker) == 0 else { throw Self.noPipe() }
    guard unsafe pipe(&fromWorker) == 0 else {
      let error = Self.noPipe()
      for end in toWorker { close(end) }
      throw error
    }
    for end in toWorker + fromWorker { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (self.number, input, output) = (number, toWorker[1], fromWorker[0])
    defer {
      close(toWorker[0])
      close(fromWorker[1])
    }
    do throws(BenchError) {
      process = try Self.start(command, input: toWorker[0], output: fromWorker[1])
    } catch {
      close(toWorker[1])
      close(fromWorker[0])
      throw error
    }
    _ = fcntl(output, F_SETFL, O_NONBLOCK)
  }

  deinit { stop(patience: 0) }

  private static func noPipe() -> BenchError {
    BenchError("no pipe for a worker: \(systemReason(errno)); raise the limit on open files (ulimit -n).")
  }

  private static func start(_ command: [String], input: Int32, output: Int32) throws(BenchError) -> Int32 {
    guard let program = command.first else { throw BenchError("there is no worker to start.") }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    var words = unsafe command.map { unsafe strdup($0) } + [nil]
    defer { unsafe words.forEach { unsafe free($0) } }
    var started: pid_t = 0
    let error = unsafe posix_spawnp(&started, program, &actions, &attributes, &words, environ)
    guard error == 0 else { throw BenchError("the worker \(program) cannot be started: \(systemReason(error)).") }
    return started
  }

  // MARK: Lines

  func send(_ plan: WorkerPlan) throws(BenchError) { try sendLine(plan) }
  func send(_ order: WorkerOrder) throws(BenchError) { try sendLine(order) }

  private func sendLine(_ value: some Encodable) throws(BenchError) {
    guard var line = try? JSONEncoder().encode(value) else { throw BenchError("an order cannot be written as JSON.") }
    line.append(10)
    var rest = line[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(input, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw BenchError("worker \(number) ended before it was told to.") }
      rest = rest.dropFirst(count)
    }
  }

  /// What the worker said since the last call. Never blocks.
  ///
  /// - Throws: where a line is no message.
  func readMessages() throws(BenchError) -> [WorkerMessage] {
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while !hasEnded {
      let count = unsafe read(output, &chunk, chunk.count)
      if count > 0 {
        bytes += chunk[..<count]
      } else if count == 0 {
        hasEnded = true
      } else if errno != EINTR {
        if errno != EAGAIN { hasEnded = true }
        break
      }
    }
    var messages: [WorkerMessage] = []
    while let end = bytes.firstIndex(of: 10) {
      guard let message = try? JSONDecoder().decode(WorkerMessage.self, from: Data(bytes[..<end])) else {
        throw BenchError("worker \(number) said what is no message; is it of the same build?")
      }
      bytes.removeSubrange(...end)
      messages.append(message)
    }
    return messages
  }

  /// Closes the worker's input, waits so many seconds for its end, and then kills it. More than once does no harm.
  func stop(patience: Double) {
    guard !isReaped else { return }
    isReaped = true
    close(input)
    let deadline = MonotonicTime.now() &+ nanoseconds(patience)
    var status: Int32 = 0
    while unsafe waitpid(process, &status, WNOHANG) == 0 {
      // A worker whose output nobody reads could not end.
      _ = try? readMessages()
      if MonotonicTime.now() >= deadline {
        _ = kill(process, SIGKILL)
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        break
      }
      usleep(2_000)
    }
    close(output)
  }
}
