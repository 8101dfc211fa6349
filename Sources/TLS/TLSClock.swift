import NIOCore

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The time by which tickets and stapled responses end.
package struct TLSClock: Sendable {
  /// Seconds since 1970.
  package var wall: @Sendable () -> Int64
  /// Seconds since some moment; nobody sets this clock back.
  package var uptime: @Sendable () -> Int64

  package init(wall: @escaping @Sendable () -> Int64, uptime: @escaping @Sendable () -> Int64) {
    self.wall = wall
    self.uptime = uptime
  }

  package static let system = TLSClock(
    wall: { Int64(time(nil)) },
    uptime: { Int64(clamping: NIODeadline.now().uptimeNanoseconds / 1_000_000_000) })
}
