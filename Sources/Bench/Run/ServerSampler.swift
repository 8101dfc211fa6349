import Glibc

/// Reads from `/proc` what a server's processes used so far (proc(5)).
struct ServerSampler: Sendable {
  let processes: [Int32]

  /// What the processes' threads have used so far.
  struct Sample: Sendable, Equatable {
    /// When the sample was taken, in nanoseconds of CLOCK_MONOTONIC.
    var time: UInt64
    /// Nanoseconds on a processor of each thread that there is, by `process/thread`.
    var threads: [String: UInt64] = [:]
    /// The same of all threads that there ever were, in clock ticks, by process: coarser, and never forgetting.
    var ticks: [Int32: UInt64] = [:]
  }

  func sample() -> Sample {
    var sample = Sample(time: MonotonicTime.now())
    for process in processes {
      for thread in Self.names(in: "/proc/\(process)/task") {
        let path = "/proc/\(process)/task/\(thread)/schedstat"
        guard let first = Self.text(of: path)?.split(separator: " ").first, let time = UInt64(first) else { continue }
        sample.threads["\(process)/\(thread)"] = time
      }
      // The fields are given from the third on; user and system time are the 14th and 15th.
      if let stat = ProcessTable.stat(of: process), stat.count > 12, let user = UInt64(stat[11]),
        let system = UInt64(stat[12])
      {
        sample.ticks[process] = user &+ system
      }
    }
    return sample
  }

  /// CPU seconds between two samples.
  ///
  /// A thread that ended takes its time with it, which only the processes' ticks remember: where these say clearly
  /// more than the threads, they are right.
  static func cpuSeconds(from begin: Sample, to end: Sample, ticksPerSecond: Double = Self.ticksPerSecond) -> Double {
    var nanoseconds: UInt64 = 0
    for (thread, time) in end.threads {
      let before = begin.threads[thread] ?? 0
      nanoseconds &+= time > before ? time - before : 0
    }
    var ticks: UInt64 = 0
    for (process, count) in end.ticks {
      let before = begin.ticks[process] ?? 0
      ticks &+= count > before ? count - before : 0
    }
    let (precise, coarse) = (Double(nanoseconds) / 1e9, Double(ticks) / ticksPerSecond)
    let tolerance = 2 * Double(max(end.ticks.count, 1)) / ticksPerSecond
    return end.threads.isEmpty || coarse > precise + tolerance ? coarse : precise
  }

  static var ticksPerSecond: Double { Double(max(sysconf(Int32(_SC_CLK_TCK)), 1)) }

  /// Resident bytes of all processes together. Pages that they share count once for each.
  func residentBytes() -> UInt64 {
    processes.reduce(0) { sum, process in
      sum
        &+ (Self.kilobytes("Rss:", in: "/proc/\(process)/smaps_rollup")
          ?? Self.kilobytes("VmRSS:", in: "/proc/\(process)/status") ?? 0) &* 1024
    }
  }

  private static func kilobytes(_ field: String, in path: String) -> UInt64? {
    for line in text(of: path)?.split(separator: "\n") ?? [] where line.hasPrefix(field) {
      return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { UInt64($0) }
    }
    return nil
  }

  /// A small file's text; nil where there is none, or where it may not be read.
  static func text(of path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 8192)
    while bytes.count < 1 << 20 {
      let count = unsafe read(descriptor, &chunk, chunk.count)
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  private static func names(in folder: String) -> [String] {
    guard let stream = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.first != "." { names.append(name) }
    }
    return names
  }
}
