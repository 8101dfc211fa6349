import Synchronization
import Telemetry
import Wire

/// A measured publication on its way to this gateway's event loops, each of which says when it stands on a tape, and
/// when it went out. Ends with the last tape that has it, or with the event loops that dropped it. Any thread.
final class HopMark: Sendable {
  private struct State {
    /// Event loops that have not put it on tapes yet, and tapes on which it waits.
    var left: Int
    /// When the last of those that are over were.
    var last: HopStamp?
  }

  private let trace: HopTrace
  private let attributes: SpanAttributes
  private let recorder: HopRecorder
  private let state: Mutex<State>

  /// - Parameters:
  ///   - trace: its last stamp is when the gateway got the publication.
  ///   - loops: how many event loops get the publication.
  init(_ trace: HopTrace, _ attributes: SpanAttributes, loops: Int, recorder: HopRecorder) {
    self.trace = trace
    self.attributes = attributes
    self.recorder = recorder
    state = Mutex(State(left: loops))
  }

  /// An event loop has put the publication on so many tapes.
  ///
  /// - Returns: when that was.
  func taped(_ tapes: Int) -> HopStamp {
    let now = recorder.now()
    if tapes > 0 { recorder.record(.gatewayOut, of: trace, from: trace.last, to: now, attributes) }
    over(adding: tapes, last: nil)
    return now
  }

  /// The kernel took it for the first subscriber of a tape.
  func sentFirst(since taped: HopStamp) {
    recorder.record(.socketFirst, of: trace, from: taped, to: recorder.now(), attributes)
  }

  /// The kernel took it for all of a tape's subscribers that can take it.
  func sentLast(since taped: HopStamp) {
    let now = recorder.now()
    recorder.record(.socketLast, of: trace, from: taped, to: now, attributes)
    over(adding: 0, last: now)
  }

  /// A tape will not say when it sent the publication.
  func drop() {
    recorder.drop()
    over(adding: 0, last: nil)
  }

  /// One of those that are left is over, and so many more begin.
  private func over(adding more: Int, last: HopStamp?) {
    let end = state.withLock { state -> HopStamp? in
      state.left += more - 1
      if let last { state.last = last }
      return state.left == 0 ? state.last : nil
    }
    if let end { recorder.record(.whole, of: trace, from: trace.began, to: end, attributes) }
  }
}
