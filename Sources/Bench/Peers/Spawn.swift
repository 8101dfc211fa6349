import Glibc

/// Starts programs as leaders of process groups of their own, with nothing inherited but what is named.
enum Spawn {
  /// - Parameters:
  ///   - command: the program's path, or a name that `PATH` leads to; and its arguments.
  ///   - input: descriptor for standard input; nil: none.
  ///   - output: file for standard output and standard error, made anew.
  ///   - environment: `NAME=value` each.
  /// - Returns: its process id, which is its group's too.
  static func start(
    _ command: [String], input: Int32? = nil, output: String, environment: [String]
  ) throws(BenchError) -> Int32 {
    guard let program = command.first else { throw BenchError("there is no program to start.") }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    if let input {
      unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    unsafe posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600)
    unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
    unsafe closeAll(from: 3, in: &actions)
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    var all = sigset_t()
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    var words = unsafe command.map { unsafe strdup($0) } + [nil]
    var variables = unsafe environment.map { unsafe strdup($0) } + [nil]
    defer { unsafe (words + variables).forEach { unsafe free($0) } }
    var started: pid_t = 0
    let error = unsafe posix_spawnp(&started, program, &actions, &attributes, &words, &variables)
    guard error == 0 else {
      let hint =
        program == "taskset" ? " It pins servers to cores: install util-linux, or measure without pinning." : ""
      throw BenchError("\(program) cannot be started: \(systemReason(error)).\(hint)")
    }
    return started
  }

  /// By name, because Glibc's Swift module leaves the function out (glibc 2.34 has it).
  private static func closeAll(from descriptor: Int32, in actions: inout posix_spawn_file_actions_t) {
    typealias AddCloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    guard let symbol = unsafe dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
    _ = unsafe unsafeBitCast(symbol, to: AddCloseFrom.self)(&actions, descriptor)
  }

  /// Runs a program to its end.
  ///
  /// - Returns: what it wrote, without white space around it.
  /// - Throws: a sentence with what it wrote, where it failed or took longer than `seconds`.
  @discardableResult
  static func run(_ command: [String], seconds: Double = 120) throws(BenchError) -> String {
    let folder = try PeerFolder(for: "run")
    defer { folder.remove() }
    let process = try start(command, output: folder.file("output"), environment: ChildServer.environment())
    let deadline = MonotonicTime.now() &+ nanoseconds(seconds)
    var status: Int32 = 0
    while unsafe waitpid(process, &status, WNOHANG) == 0 {
      guard MonotonicTime.now() < deadline else {
        _ = kill(-process, SIGKILL)
        _ = unsafe waitpid(process, &status, 0)
        throw BenchError("\(command.joined(separator: " ")) was not done within \(seconds) s.")
      }
      usleep(2_000)
    }
    let output = folder.end(of: "output")
    guard status == 0 else {
      throw BenchError(output.isEmpty ? "\(command.joined(separator: " ")) failed with status \(status)." : output)
    }
    return output
  }
}
