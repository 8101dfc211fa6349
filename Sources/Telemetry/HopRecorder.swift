public import CoreMetrics
import Metrics
public import Wire

/// Takes note of how long hops took: in histograms, and as spans where they belong to a trace. Any thread.
///
/// Hops are only measured between stamps of one clock. Where gateway and broker are on two machines, the two links and
/// the whole are not measured; every other hop lies within one process.
public final class HopRecorder: Sendable {
  /// Measured publications that one process has under way at a time in each of its tables; one more is not measured.
  public static let mostUnderWay = 64
  /// Nanoseconds after which a table forgets what did not come.
  public static let patience: UInt64 = 10_000_000_000

  private let timers: [Hop: Timer]
  private let dropped: Counter
  private let host: UInt64
  private let clock: @Sendable () -> UInt64
  /// Nil: nothing is traced.
  private let exporter: SpanExporter?

  /// - Parameters:
  ///   - host: see ``HostClock/identity``.
  ///   - clock: nanoseconds of `CLOCK_MONOTONIC`.
  ///   - factory: where it is counted.
  public init(
    host: UInt64 = HostClock.identity, clock: @escaping @Sendable () -> UInt64, exporter: SpanExporter? = nil,
    factory: any MetricsFactory = MetricsSystem.factory
  ) {
    self.host = host
    self.clock = clock
    self.exporter = exporter
    dropped = Counter(label: "fanfare_hops_dropped_total", factory: factory)
    timers = Dictionary(
      uniqueKeysWithValues: Hop.allCases.map { hop in
        (hop, Timer(label: "fanfare_hop_seconds", dimensions: [("hop", hop.rawValue)], factory: factory))
      })
  }

  /// Whether spans are exported.
  public var isTracing: Bool { exporter != nil }

  public func now() -> HopStamp { HopStamp(host: host, nanoseconds: clock()) }

  /// A trace that begins now, or began with an earlier stamp.
  ///
  /// - Parameters:
  ///   - parent: what the publisher said; nil: it begins a trace of its own.
  ///   - isTraced: spans are wanted, if they are exported at all.
  public func begin(at began: HopStamp? = nil, under parent: TraceContext? = nil, isTraced: Bool) -> HopTrace {
    let began = began ?? now()
    var trace = HopTrace(began: began, last: began)
    if isTraced, isTracing {
      var randomness = SystemRandomNumberGenerator()
      trace.context = parent?.continued(by: .random(in: 1 ... .max)) ?? .random(using: &randomness)
    }
    return trace
  }

  /// Takes note of a hop that ends at a stamp, and lets the next begin there.
  public func end(_ hop: Hop, of trace: inout HopTrace, at end: HopStamp, _ attributes: SpanAttributes = .none) {
    record(hop, of: trace, from: trace.last, to: end, attributes)
    trace.last = end
  }

  /// Takes note of a hop. One between clocks of two machines is not measured.
  public func record(
    _ hop: Hop, of trace: HopTrace, from start: HopStamp, to end: HopStamp, _ attributes: SpanAttributes = .none
  ) {
    guard let nanoseconds = end.since(start) else { return }
    timers[hop]?.recordNanoseconds(Int64(clamping: nanoseconds))
    guard let exporter, let context = trace.context, hop != .whole, end.host == host else { return }
    exporter.add(
      Span(
        context.continued(by: .random(in: 1 ... .max)), parent: context.span, name: hop.rawValue, kind: .inside,
        from: start.nanoseconds, to: end.nanoseconds, attributes))
  }

  /// Exports the span for the whole, whose children the hops are: from the beginning to the answer.
  ///
  /// - Parameters:
  ///   - name: what was asked for.
  ///   - parent: the publisher's span; nil: the trace began here.
  public func answered(
    _ name: String, _ trace: HopTrace, parent: UInt64?, at end: HopStamp, _ attributes: SpanAttributes = .none
  ) {
    guard let exporter, let context = trace.context, end.since(trace.began) != nil, end.host == host else { return }
    exporter.add(
      Span(
        context, parent: parent, name: name, kind: .server, from: trace.began.nanoseconds, to: end.nanoseconds,
        attributes))
  }

  /// Exports the span for a request to somebody else, who was told it as the parent of what they do.
  ///
  /// - Parameters:
  ///   - call: the trace, with the id of this span.
  ///   - parent: the span that the call is a part of.
  public func called(
    _ name: String, _ call: TraceContext, parent: UInt64, from start: HopStamp, to end: HopStamp
  ) {
    guard let exporter, end.since(start) != nil, end.host == host else { return }
    exporter.add(Span(call, parent: parent, name: name, kind: .client, from: start.nanoseconds, to: end.nanoseconds))
  }

  /// Counts a publication that was to be measured, and for which there was no room.
  public func drop() { dropped.increment() }
}
