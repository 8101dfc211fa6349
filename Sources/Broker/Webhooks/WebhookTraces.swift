import DequeModule
import Telemetry
import Wire

/// Which events in outboxes belong to traces, so that a receiver is told, and its time is a part of the trace.
///
/// In memory alone, and bounded: of what waits for long, or over a restart, the receiver is told no trace.
struct WebhookTraces {
  private struct Told {
    let webhook: String
    let offset: UInt64
    let context: TraceContext
  }

  private struct Post {
    let webhook: String
    let last: UInt64
    let call: TraceContext
    let parent: UInt64
    let start: HopStamp
  }

  private var told: Deque<Told> = []
  /// Requests to receivers that are under way, by their numbers: one of each webhook at a time.
  private var posts: [UInt64: Post] = [:]
  /// The trace of what is being told; nil: it has none.
  var telling: TraceContext?

  /// An event goes into an outbox.
  mutating func add(_ webhook: String, _ offset: UInt64) {
    guard let telling else { return }
    if told.count >= HopRecorder.mostUnderWay { told.removeFirst() }
    told.append(Told(webhook: webhook, offset: offset, context: telling))
  }

  /// Events are sent. One request can name one trace: that of the first event that has one.
  ///
  /// - Returns: what the receiver is told as the parent of what it does; nil: none of the events is traced.
  mutating func post(
    _ number: UInt64, to webhook: String, _ offsets: ClosedRange<UInt64>, at now: @autoclosure () -> HopStamp
  ) -> TraceContext? {
    if told.isEmpty { return nil }
    guard let first = told.first(where: { offsets.contains($0.offset) && $0.webhook == webhook }) else { return nil }
    let call = first.context.continued(by: .random(in: 1 ... .max))
    posts[number] = Post(
      webhook: webhook, last: offsets.upperBound, call: call, parent: first.context.span, start: now())
    return call
  }

  /// A receiver has answered, or could not be reached.
  ///
  /// - Parameter isTaken: the events are not sent again.
  mutating func answered(_ number: UInt64, isTaken: Bool, _ recorder: HopRecorder) {
    guard !posts.isEmpty, let post = posts.removeValue(forKey: number) else { return }
    recorder.called("webhook", post.call, parent: post.parent, from: post.start, to: recorder.now())
    if isTaken { told.removeAll { $0.webhook == post.webhook && $0.offset <= post.last } }
  }
}
