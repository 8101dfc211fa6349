import CLinuxIO
import Glibc
import Synchronization

/// Ctrl-C and SIGTERM as something that a poll can wait for, so that servers and workers are ended in order.
struct Interruption: Sendable {
  private static let signalled = Atomic<Int32>(-1)
  private let ends: [Int32]
  private let previous: [(@convention(c) (Int32) -> Void)?]

  /// Readable once a signal has come.
  var descriptor: Int32 { ends[0] }

  init() throws(BenchError) {
    var ends: [Int32] = [-1, -1]
    guard unsafe linuxio_wakeup_open(&ends) == 0 else {
      throw BenchError(
        "no descriptor to be woken by: \(systemReason(errno)); raise the limit on open files (ulimit -n).")
    }
    self.ends = ends
    Self.signalled.store(ends[1], ordering: .sequentiallyConsistent)
    // A signal's handler may neither lock nor allocate: it runs between two instructions of anything.
    let handler: @convention(c) (Int32) -> Void = { _ in
      var ends = (Int32(-1), Interruption.signalled.load(ordering: .relaxed))
      unsafe withUnsafePointer(to: &ends) { pointer in
        unsafe pointer.withMemoryRebound(to: Int32.self, capacity: 2) { unsafe linuxio_wakeup_signal($0) }
      }
    }
    previous = [SIGINT, SIGTERM, SIGHUP].map { signal($0, handler) }
  }

  /// Whether a signal came.
  var hasCome: Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe Glibc.poll(&poll, 1, 0) > 0
  }

  /// Gives the signals back to who handled them before.
  func close() {
    for (number, handler) in zip([SIGINT, SIGTERM, SIGHUP], previous) { signal(number, handler) }
    Self.signalled.store(-1, ordering: .sequentiallyConsistent)
    unsafe ends.withUnsafeBufferPointer { buffer in
      if let start = buffer.baseAddress { unsafe linuxio_wakeup_close(start) }
    }
  }
}
