public import CoreMetrics
import Metrics
import Synchronization

/// Sends spans to a collector, some at a time, and waits for nobody: what the collector does not take in time is
/// dropped and counted. Whoever adds a span, such as an event loop, only keeps it: requests are written elsewhere
/// (``Work``).
///
/// States:
/// - idle: fewer spans wait than a batch has. Can transition to: sending (a batch is full, or a tick finds spans).
/// - sending: one request is being written or is under way, others wait. Can transition to: idle, sending (its end
///   finds a batch full).
/// - closed: nothing is taken any more.
public final class SpanExporter: Sendable {
  public struct Limits: Sendable {
    /// Spans of one request.
    public var batch = 256
    /// Spans that may wait; one more is dropped.
    public var waiting = 4096
    /// Bytes of memory that those may take, roughly; one that would be too much is dropped.
    public var waitingBytes = 64 << 20

    public init() {}
  }

  /// Sends a body, and calls back once: whether the collector took it. Any thread.
  public typealias Send = @Sendable (_ body: [UInt8], _ done: @escaping @Sendable (_ isTaken: Bool) -> Void) -> Void

  /// Runs a job elsewhere, some time soon: it writes a request, which takes about a millisecond for a full batch.
  public typealias Work = @Sendable (_ job: @escaping @Sendable () -> Void) -> Void

  private struct State {
    var waiting: [Span] = []
    var bytes = 0
    var isSending = false
    var isClosed = false
  }

  private let state = Mutex(State())
  private let encoder: SpanEncoder
  private let limits: Limits
  private let work: Work
  private let send: Send
  private let exported: Counter
  private let dropped: Counter

  /// - Parameters:
  ///   - factory: where it is counted.
  ///   - work: where requests are written.
  public init(
    _ encoder: SpanEncoder, limits: Limits = Limits(), factory: any MetricsFactory = MetricsSystem.factory,
    work: @escaping Work = { job in Task.detached(priority: .utility) { job() } }, send: @escaping Send
  ) {
    exported = Counter(label: "fanfare_spans_exported_total", factory: factory)
    dropped = Counter(label: "fanfare_spans_dropped_total", factory: factory)
    self.encoder = encoder
    self.limits = limits
    self.work = work
    self.send = send
  }

  /// Takes a span, and has a batch sent where one is full. Any thread.
  public func add(_ span: Span) {
    let cost = span.cost
    let batch = state.withLock { state -> [Span]? in
      guard !state.isClosed, state.waiting.count < limits.waiting, state.bytes + cost <= limits.waitingBytes else {
        return []
      }
      state.waiting.append(span)
      state.bytes += cost
      return state.waiting.count >= limits.batch ? take(&state) : nil
    }
    guard let batch else { return }
    if batch.isEmpty { dropped.increment() } else { post(batch) }
  }

  /// Sends what waits, however little. To be called every few seconds.
  public func flush() {
    if let batch = state.withLock({ take(&$0) }) { post(batch) }
  }

  /// Sends all that waits, one batch after another, and returns when the collector has answered for it or the time is
  /// over, whichever comes first. For the end of a server, before ``close()``.
  public func finish(within time: Duration) async {
    let end = ContinuousClock.now + time
    while !isIdle, ContinuousClock.now < end {
      flush()
      // A cancelled task waits no longer, and must not spin.
      do { try await Task.sleep(for: .milliseconds(10)) } catch { return }
    }
  }

  private var isIdle: Bool { state.withLock { $0.waiting.isEmpty && !$0.isSending } }

  /// Takes no spans any more, and drops what waits.
  public func close() {
    let lost = state.withLock { state in
      state.isClosed = true
      defer { (state.waiting, state.bytes) = ([], 0) }
      return state.waiting.count
    }
    dropped.increment(by: lost)
  }

  /// Spans that wait to be sent.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// - Returns: nil where nothing is to be sent now.
  private func take(_ state: inout State) -> [Span]? {
    guard !state.isSending, !state.waiting.isEmpty, !state.isClosed else { return nil }
    state.isSending = true
    let batch = Array(state.waiting.prefix(limits.batch))
    state.waiting.removeFirst(batch.count)
    state.bytes -= batch.reduce(0) { $0 + $1.cost }
    return batch
  }

  private func post(_ batch: [Span]) {
    work { [self] in
      send(encoder.body(batch)) { [self] isTaken in
        if isTaken { exported.increment(by: batch.count) } else { dropped.increment(by: batch.count) }
        let next = state.withLock { state -> [Span]? in
          state.isSending = false
          return state.waiting.count >= limits.batch ? take(&state) : nil
        }
        if let next { post(next) }
      }
    }
  }
}
