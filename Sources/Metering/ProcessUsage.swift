#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What the process takes of its machine, as Linux says in `/proc` (proc(5)), under the names by which Prometheus's
/// client libraries give it in every language.
struct ProcessUsage: Equatable {
  /// Of user and system, of all threads.
  var cpuSeconds: Double
  var residentBytes: Double
  var virtualBytes: Double
  /// Seconds between the machine's start and the process's.
  var startSeconds: Double

  /// What the metrics say now. What the system does not tell is missing, which on a Mac is all of it.
  static func now() -> [(name: String, kind: MetricKind, value: Double)] {
    var found: [(name: String, kind: MetricKind, value: Double)] = []
    #if os(Linux)
      let stat = ProcFile.text(of: "/proc/self/stat") ?? ""
      let ticks = Double(max(sysconf(Int32(_SC_CLK_TCK)), 1))
      if let usage = ProcessUsage(stat, ticksPerSecond: ticks, pageBytes: Double(getpagesize())) {
        found.append(("process_cpu_seconds_total", .counter, usage.cpuSeconds))
        found.append(("process_resident_memory_bytes", .gauge, usage.residentBytes))
        found.append(("process_virtual_memory_bytes", .gauge, usage.virtualBytes))
        if let bootTime {
          found.append(("process_start_time_seconds", .gauge, bootTime + usage.startSeconds))
        }
      }
      if let count = ProcFile.openDescriptors() { found.append(("process_open_fds", .gauge, Double(count))) }
      var limit = rlimit()
      if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
        found.append(("process_max_fds", .gauge, Double(limit.rlim_cur)))
      }
    #endif
    return found
  }

  /// Reads the one line of `/proc/PID/stat`.
  ///
  /// - Returns: nil where the line is not one.
  init?(_ stat: String, ticksPerSecond: Double, pageBytes: Double) {
    // The second field, the program's name, stands in parentheses and may hold anything; the third follows it.
    guard let end = stat.lastIndex(of: ")") else { return nil }
    let fields = stat[stat.index(after: end)...].split(whereSeparator: \.isWhitespace)
    func field(_ number: Int) -> Double? { number - 3 < fields.count ? Double(fields[number - 3]) : nil }
    guard let user = field(14), let system = field(15), let start = field(22), let virtual = field(23),
      let pages = field(24)
    else { return nil }
    cpuSeconds = (user + system) / ticksPerSecond
    startSeconds = start / ticksPerSecond
    virtualBytes = virtual
    residentBytes = pages * pageBytes
  }

  /// When the machine was started, in seconds since 1970. Looked up once: a clock that is set moves it, and the process
  /// would seem to have been started anew.
  private static let bootTime: Double? = ProcFile.text(of: "/proc/stat").flatMap { bootTime(in: $0) }

  static func bootTime(in stat: String) -> Double? {
    let line = stat.split(separator: "\n").first { $0.hasPrefix("btime ") }
    return line.flatMap { Double($0.dropFirst("btime ".count)) }
  }
}

private enum ProcFile {
  /// Bytes that are read of a file at most: `/proc/stat` has a number for each interrupt of the machine.
  private static let mostBytes = 1 << 20

  static func text(of path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var text: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while text.count < mostBytes {
      let count = unsafe read(descriptor, &piece, piece.count)
      guard count > 0 else { break }
      text += piece.prefix(count)
    }
    return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
  }

  /// Since Linux 6.2 the folder's size says how many descriptors are open. Before it they have to be counted, which
  /// with a hundred thousand connections takes tens of milliseconds.
  static func openDescriptors() -> Int? {
    let path = "/proc/self/fd"
    var status = stat()
    if unsafe stat(path, &status) == 0, status.st_size > 0 { return Int(status.st_size) }
    guard let folder = unsafe opendir(path) else { return nil }
    defer { unsafe closedir(folder) }
    var count = 0
    while unsafe readdir(folder) != nil { count += 1 }
    // Not the folder's two names for folders, and not the descriptor that reads it.
    return max(0, count - 3)
  }
}
