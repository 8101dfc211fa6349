import CLinuxIO

/// The kernel's times of arrival, so that a generator that read late is told from a server that sent late.
///
/// The kernel has stamps for TCP without encryption; of what a TLS connection gave, none is known. It stamps by
/// CLOCK_REALTIME, and the bench measures by CLOCK_MONOTONIC.
final class ArrivalStamps {
  /// From the stamp to the reading.
  let reading = FlatHistogram()
  /// What the one clock is ahead of the other, in nanoseconds.
  private var lead = linuxio_realtime_lead()

  /// Looks at the clocks anew: somebody may have set the time.
  func setClocks() { lead = linuxio_realtime_lead() }

  /// Has the kernel stamp what arrives there.
  ///
  /// - Throws: where it cannot.
  func begin(at descriptor: Int32) throws(BenchError) {
    let result = linuxio_stamp_arrivals(descriptor)
    guard result == 0 else {
      throw BenchError(
        "the kernel stamps no arrivals: \(systemReason(-result)); measure without --kernel-stamps.")
    }
  }

  /// The same time by CLOCK_MONOTONIC, never later than the reading; 0 where there is no stamp.
  func arrival(_ stamp: UInt64, readAt now: UInt64) -> UInt64 {
    stamp == 0 ? 0 : min(now, UInt64(max(1, Int64(bitPattern: stamp) &- lead)))
  }
}
