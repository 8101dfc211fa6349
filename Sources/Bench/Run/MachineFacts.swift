import CLinuxIO
import Glibc

extension Machine {
  /// This machine, with nothing pinned.
  static func current() -> Machine {
    let cores = allowedCores()
    return Machine(
      processor: processorName(), cores: cores.count,
      kernel: kernelName(), memoryBytes: memory(), serverCores: [], generatorCores: [])
  }

  /// The machine with the first half of the cores for the server and the second half for the generator; where there is
  /// one core alone, with nothing pinned.
  func pinned(to cores: [Int] = Machine.allowedCores()) -> Machine {
    guard cores.count >= 2 else { return self }
    var machine = self
    machine.serverCores = Array(cores[..<(cores.count / 2)])
    machine.generatorCores = Array(cores[(cores.count / 2)...])
    return machine
  }

  /// Pins the calling thread, and with it what it starts from now on, to the generator's cores.
  func pinGenerator() throws(BenchError) {
    guard !generatorCores.isEmpty else { return }
    let cores = generatorCores.map { Int32($0) }
    let result = unsafe cores.withUnsafeBufferPointer { unsafe linuxio_pin(0, $0.baseAddress, Int32($0.count)) }
    guard result == 0 else {
      throw BenchError(
        "the generator cannot be pinned to cores \(generatorCores): \(systemReason(-result)); measure with --no-pin.")
    }
  }

  /// The cores that this process may run on.
  static func allowedCores() -> [Int] {
    for line in ServerSampler.text(of: "/proc/self/status")?.split(separator: "\n") ?? []
    where line.hasPrefix("Cpus_allowed_list:") {
      return cores(inList: line.dropFirst("Cpus_allowed_list:".count))
    }
    return [0]
  }

  /// The cores that a list such as `0-3,6` names.
  static func cores(inList list: Substring) -> [Int] {
    var cores: [Int] = []
    for part in list.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) {
      let ends = part.split(separator: "-").compactMap { Int($0) }
      guard let first = ends.first, let last = ends.last, first >= 0, last >= first, last < 1 << 16 else { continue }
      cores += first...last
    }
    return cores.isEmpty ? [0] : cores
  }

  private static func processorName() -> String {
    for line in ServerSampler.text(of: "/proc/cpuinfo")?.split(separator: "\n") ?? []
    where line.hasPrefix("model name") || line.hasPrefix("Model") {
      if let colon = line.firstIndex(of: ":") {
        return line[line.index(after: colon)...].split(separator: " ").joined(separator: " ")
      }
    }
    return "unknown"
  }

  private static func kernelName() -> String {
    let release = ServerSampler.text(of: "/proc/sys/kernel/osrelease")?.split(separator: "\n").first
    return "Linux \(release ?? "unknown")"
  }

  private static func memory() -> UInt64 {
    for line in ServerSampler.text(of: "/proc/meminfo")?.split(separator: "\n") ?? [] where line.hasPrefix("MemTotal:")
    {
      return (line.split(separator: " ").dropFirst().first.flatMap { UInt64($0) } ?? 0) &* 1024
    }
    return 0
  }
}
