public import Foundation
import Glibc
import Synchronization
import Testing

/// A program that runs beside the tests, reaped whatever happens.
///
/// Foundation's `Process` learns of an exit from a socket that other children inherit which are started at the same
/// moment. So it may take a child for running until another one has ended, and is not used here.
public final class ChildProcess: Sendable {
  public struct StartFailure: Error, CustomStringConvertible {
    public var description: String
  }

  /// The environment for a `fanfare` process. It has no FANFARE_… variables of the tests, so that settings come from
  /// the file and the flags alone. It makes a crash print a backtrace, because some crashes happen once in hundreds of
  /// runs. With it, a task for an event loop that is gone is such a crash: NIO would drop the task and go on.
  public static let fanfareEnvironment = ProcessInfo.processInfo.environment
    .filter { !$0.key.hasPrefix("FANFARE_") }
    .merging([
      "SWIFT_BACKTRACE": "enable=yes,interactive=no,color=no,threads=crashed,registers=none,images=none",
      "SWIFTNIO_STRICT": "1",
    ]) { $1 }

  /// Signals that end a program which has crashed, rather than one that was ended.
  private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

  public let identifier: Int32
  private let errors: URL
  private let onCrash: @Sendable (String) -> Void
  private let ended = Mutex<Int32?>(nil)

  /// - Parameters:
  ///   - input: file for standard input; nil: an empty one.
  ///   - output: file for standard output, made anew; nil: output is dropped.
  ///   - errors: file for standard error, made anew.
  ///   - onCrash: called once if the program crashes. By default the test fails then, whatever it expected of the
  ///     program.
  public init(
    _ executable: URL, _ arguments: [String], environment: [String: String], input: URL? = nil,
    output: URL? = nil, errors: URL, onCrash: @escaping @Sendable (String) -> Void = { Issue.record("\($0)") }
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input?.path ?? "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(
      &actions, 1, output?.path ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, errors.path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    // No other descriptor is inherited: if a socket of another test stayed open in this child, the other end would not
    // learn that it was closed.
    Self.closeAll(from: 3, in: &actions)
    // Signals that the test runner ignores or blocks must reach the child.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var words = ([executable.path] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for word in words + variables { free(word) } }
    var started: pid_t = 0
    let error = posix_spawn(&started, executable.path, &actions, &attributes, &words, &variables)
    guard error == 0 else {
      throw StartFailure(description: "\(executable.path) cannot be started: \(String(cString: strerror(error)))")
    }
    identifier = started
    self.errors = errors
    self.onCrash = onCrash
  }

  /// Closes all descriptors from one on in the child. The function is looked up by name, because Glibc's Swift module
  /// leaves it out (glibc 2.34 has it).
  private static func closeAll(from descriptor: Int32, in actions: inout posix_spawn_file_actions_t) {
    typealias AddCloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
    _ = unsafeBitCast(symbol, to: AddCloseFrom.self)(&actions, descriptor)
  }

  deinit {
    guard ended.withLock({ $0 == nil }) else { return }
    kill(identifier, SIGKILL)
    var status: Int32 = 0
    waitpid(identifier, &status, 0)
    reportCrash(Self.result(status))
  }

  /// Nil while the program runs; then its exit status, or the negative number of the signal that ended it.
  public var status: Int32? {
    let (status, isNew) = ended.withLock { ended -> (Int32?, Bool) in
      if ended != nil { return (ended, false) }
      var status: Int32 = 0
      guard waitpid(identifier, &status, WNOHANG) == identifier else { return (nil, false) }
      ended = Self.result(status)
      return (ended, true)
    }
    if isNew, let status { reportCrash(status) }
    return status
  }

  private static func result(_ status: Int32) -> Int32 {
    status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
  }

  private func reportCrash(_ status: Int32) {
    guard Self.crashes.contains(-status) else { return }
    let said = String(decoding: ((try? Data(contentsOf: errors)) ?? Data()).suffix(16384), as: UTF8.self)
    onCrash("process \(identifier) crashed with signal \(-status): \(said)")
  }

  public var isRunning: Bool { status == nil }

  public func signal(_ signal: Int32) {
    // Under the lock no other thread reaps the child, so its number cannot belong to another process by now.
    ended.withLock { if $0 == nil { _ = kill(identifier, signal) } }
  }
}
