import CLinuxIO
import CoreMetrics
import Foundation
import Logging

/// Gives the system back memory that was used once and is free now.
///
/// The allocator keeps what a flood made it ask for: after an attack a gigabyte stayed with the process. Asking it to let
/// go takes some milliseconds, in which other threads may wait for memory, so it is asked when there is much to give.
enum MemoryReturn {
  /// The allocator is asked where more memory than this is free, and a quarter of what is in use on top.
  private static let worthwhileBytes = 64 << 20
  private static let interval = Duration.seconds(10)

  /// Looks every few seconds how much memory is free, until the task is cancelled. Where the allocator keeps accounts, two
  /// metrics say what was seen: to add them up takes its locks, so no scrape asks for it.
  static func run(logger: Logger) async {
    let (heap, used) = (Gauge(label: "fanfare_heap_bytes"), Gauge(label: "fanfare_heap_used_bytes"))
    repeat {
      let (resident, account) = (Int(linuxio_resident_bytes()), linuxio_heap())
      let allocated = Int(account.used)
      if allocated > 0 {
        heap.record(account.held)
        used.record(account.used)
      }
      guard resident > 0, allocated > 0, resident - allocated > worthwhileBytes + allocated / 4 else { continue }
      linuxio_give_back_memory()
      logger.debug(
        "memory was given back",
        metadata: ["before": "\(resident)", "after": "\(linuxio_resident_bytes())", "in_use": "\(allocated)"])
    } while (try? await Task.sleep(for: interval)) != nil
  }

  /// The machine's memory in bytes, or what its container may use of it.
  static let machineBytes: Int = {
    let machine = Int(clamping: ProcessInfo.processInfo.physicalMemory)
    let limit = (try? String(contentsOfFile: "/sys/fs/cgroup/memory.max", encoding: .utf8))
      .flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    return min(machine, limit ?? machine)
  }()
}
