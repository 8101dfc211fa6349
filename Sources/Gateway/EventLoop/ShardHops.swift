import Telemetry
import Wire

/// Which of an event loop's publications are measured, and when their frames were read. Bound to its event loop.
struct ShardHops {
  /// Nil: nothing is measured.
  private let recorder: HopRecorder?
  private var sampler: HopSampler
  /// When the frame at hand was read; nil where nobody wants to know.
  private var readAt: HopStamp?
  /// A publication that was chosen before the backend was asked about it, and comes now if the backend agreed.
  private var resumed: (channel: String, trace: HopTrace, left: Int)?

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

  /// - Returns: what is measured of the request at hand; nil where nobody measures.
  mutating func begin(_ request: BrokerRequest) -> HopTrace? {
    if let resumed {
      endResumed()
      // What else a client has sent behind it is not the one that was chosen.
      guard case .publish(let publish) = request, publish.channel.string == resumed.channel else { return nil }
      return resumed.trace
    }
    return begin()
  }

  mutating func begin() -> HopTrace? {
    defer { readAt = nil }
    let isTraced = sampler.choose()
    return recorder?.begin(at: readAt, isTraced: isTraced)
  }

  // MARK: The backend

  /// A client's command is put to the backend.
  ///
  /// - Returns: nil where the command is not measured.
  mutating func askBackend(_ question: ProxyQuestion) -> BackendCallTrace? {
    guard let recorder, recorder.isTracing || question.publishedChannel != nil, isDue(), let trace = begin() else {
      return nil
    }
    return BackendCallTrace(question, trace, recorder)
  }

  /// The backend has answered, and the session goes on with what it was asked about. To be followed by
  /// ``endResumed()``.
  mutating func resume(_ call: BackendCallTrace) {
    guard let channel = call.publishedChannel else { return }
    endResumed()
    resumed = (channel, call.trace, sampler.makeDue())
  }

  /// The session has gone on.
  mutating func endResumed() {
    guard let resumed else { return }
    sampler.restore(resumed.left)
    self.resumed = nil
  }
}
