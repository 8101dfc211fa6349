import Glibc

/// Time that only goes forward, for deadlines on the loop.
public enum MonotonicClock {
  /// Nanoseconds since an arbitrary moment (CLOCK_MONOTONIC).
  public static func now() -> UInt64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
  }
}
