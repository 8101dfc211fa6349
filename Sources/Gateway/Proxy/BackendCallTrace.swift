import Telemetry
import Wire

/// A call to the backend that is measured: the span for it, and the trace of the command that it is about.
///
/// A publication's trace goes on when the backend has agreed: its time in the gateway counts from there. Every other
/// command's ends with the backend's answer.
struct BackendCallTrace: Sendable {
  /// What is measured of the command, from the answer on once that has come.
  private(set) var trace: HopTrace
  /// The channel that the backend was asked to let a publication into; nil: it was asked something else.
  let publishedChannel: String?
  /// What the backend is told as the parent of what it does; nil: it is not traced.
  let context: TraceContext?
  private let name: String
  private let recorder: HopRecorder
  private let start: HopStamp

  init(_ question: ProxyQuestion, _ trace: HopTrace, _ recorder: HopRecorder) {
    self.trace = trace
    self.recorder = recorder
    publishedChannel = question.publishedChannel
    name = question.kind.rawValue
    context = trace.context?.continued(by: .random(in: 1 ... .max))
    start = recorder.now()
  }

  /// The backend has answered.
  mutating func answered() {
    let now = recorder.now()
    if let context, let parent = trace.context?.span {
      recorder.called("proxy", context, parent: parent, from: start, to: now)
    }
    if publishedChannel == nil { recorder.answered(name, trace, parent: nil, at: now) }
    trace.last = now
  }
}

extension ProxyQuestion {
  /// The channel into which something is published, if the backend agrees; nil: it is asked something else.
  var publishedChannel: String? {
    // What is changed is no new publication, and not measured.
    if case .publish(let publish) = self, publish.offset == nil { publish.channel } else { nil }
  }
}
