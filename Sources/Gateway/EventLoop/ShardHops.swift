import Telemetry
import Wire

/// Which of an event loop's publications are measured, and when their frames were read. Bound to its event loop.
struct ShardHops {
  /// Nil: nothing is measured.
  private let recorder: HopRecorder?
  private var sampler: HopSampler
  /// When the frame at hand was read; nil where nobody wants to know.
  private var readAt: HopStamp?

  init(recorder: HopRecorder? = nil, sampler: HopSampler = .off) {
    self.recorder = recorder
    self.sampler = sampler
  }

  /// A whole message of a client has come. The clock is looked at only where the next publication is measured.
  mutating func frameRead() {
    if sampler.isArmed { readAt = recorder?.now() }
  }

  /// Counts a publication.
  ///
  /// - Returns: whether it is measured; call ``begin()`` then.
  @inline(__always)
  mutating func isDue() -> Bool { sampler.isDue() }

  /// - Returns: what is measured of the publication at hand; nil where nobody measures.
  mutating func begin() -> HopTrace? {
    defer { readAt = nil }
    let isTraced = sampler.choose()
    return recorder?.begin(at: readAt, isTraced: isTraced)
  }
}
