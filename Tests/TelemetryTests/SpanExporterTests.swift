import Metering
import Synchronization
import Testing
import Wire

@testable import Telemetry

@Suite("Spans on their way to a collector")
struct SpanExporterTests {
  private let registry = PrometheusRegistry(version: "1")
  private let collector = FakeCollector()

  private func exporter(
    batch: Int, waiting: Int, bytes: Int = .max, work: @escaping SpanExporter.Work = { $0() }
  ) -> SpanExporter {
    var limits = SpanExporter.Limits()
    limits.batch = batch
    limits.waiting = waiting
    limits.waitingBytes = bytes
    let collector = collector
    return SpanExporter(
      SpanEncoder(service: "s", version: "1", instance: "i"), limits: limits, factory: registry,
      work: work, send: { collector.send($0, $1) })
  }

  private func span(_ name: String) -> Span {
    Span(TraceContext(traceHigh: 1, traceLow: 2, span: 3), parent: nil, name: name, kind: .inside, from: 0, to: 1)
  }

  /// The names of the spans of each request.
  private var sent: [[String]] {
    collector.bodies.map { $0.matches(of: /"spanId":"[0-9a-f]+","name":"(\w+)"/).map { String($0.1) } }
  }

  private var exported: Double? { registry.number("fanfare_spans_exported_total") }
  private var dropped: Double? { registry.number("fanfare_spans_dropped_total") }

  @Test("A full batch goes at once, a smaller one with the next tick, and one request is under way at a time")
  func batches() {
    let exporter = exporter(batch: 2, waiting: 100)
    exporter.add(span("a"))
    #expect(sent == [])
    exporter.add(span("b"))
    #expect(sent == [["a", "b"]])
    for name in ["c", "d", "e"] { exporter.add(span(name)) }
    exporter.flush()
    #expect(sent == [["a", "b"]])
    collector.answer(true)
    #expect(sent == [["a", "b"], ["c", "d"]])
    collector.answer(true)
    #expect(sent.count == 2)
    exporter.flush()
    #expect(sent == [["a", "b"], ["c", "d"], ["e"]])
    collector.answer(true)
    exporter.flush()
    #expect(sent.count == 3 && exported == 5 && dropped == 0)
  }

  @Test("A collector that is behind, or refuses, loses spans, which are counted, and nobody waits for it")
  func behind() {
    let exporter = exporter(batch: 2, waiting: 3)
    for name in ["a", "b", "c", "d", "e", "f", "g"] { exporter.add(span(name)) }
    #expect(sent == [["a", "b"]] && exporter.waitingCount == 3 && dropped == 2)
    collector.answer(false)
    #expect(sent == [["a", "b"], ["c", "d"]] && dropped == 4)
    collector.answer(true)
    #expect(exported == 2 && exporter.waitingCount == 1)
    exporter.close()
    exporter.add(span("h"))
    exporter.flush()
    #expect(sent.count == 2 && exporter.waitingCount == 0 && dropped == 6)
  }

  @Test("Whoever adds a span writes no request: that is done elsewhere, and meanwhile no other is begun")
  func elsewhere() {
    let jobs = Jobs()
    let exporter = exporter(batch: 2, waiting: 100, work: { jobs.add($0) })
    for name in ["a", "b", "c", "d"] { exporter.add(span(name)) }
    #expect(sent == [] && jobs.count == 1 && exporter.waitingCount == 2)
    jobs.run()
    #expect(sent == [["a", "b"]] && jobs.count == 0)
    collector.answer(true)
    #expect(sent.count == 1 && jobs.count == 1, "nor does whoever hears the collector's answer")
    jobs.run()
    #expect(sent == [["a", "b"], ["c", "d"]])
  }

  @Test("What waits is bounded in bytes as well, and room that is free again is used")
  func bytes() {
    let cost = span("a").cost
    let exporter = exporter(batch: 2, waiting: 100, bytes: 3 * cost)
    for name in ["a", "b", "c", "d", "e", "f", "g"] { exporter.add(span(name)) }
    #expect(sent == [["a", "b"]] && exporter.waitingCount == 3 && dropped == 2)
    collector.answer(true)
    exporter.add(span("h"))
    exporter.add(span(String(repeating: "i", count: 3 * cost)))
    #expect(exporter.waitingCount == 2 && dropped == 3)
    #expect(SpanExporter.Limits().waitingBytes >= SpanExporter.Limits().waiting * (cost + 255))
  }

  @Test("At the end all that waits is sent, batch after batch", .timeLimit(.minutes(1)))
  func finishes() async {
    let exporter = exporter(batch: 2, waiting: 100)
    for name in ["a", "b", "c", "d", "e"] { exporter.add(span(name)) }
    async let ended: Void = exporter.finish(within: .seconds(60))
    while exported != 5 {
      collector.answer(true)
      await Task.yield()
    }
    await ended
    #expect(sent == [["a", "b"], ["c", "d"], ["e"]] && exported == 5 && dropped == 0)
  }

  @Test("A collector that does not answer at the end is waited for as long as was said, and no longer")
  func gone() async {
    let exporter = exporter(batch: 2, waiting: 100)
    for name in ["a", "b", "c"] { exporter.add(span(name)) }
    await exporter.finish(within: .milliseconds(30))
    #expect(sent == [["a", "b"]] && exporter.waitingCount == 1)
    exporter.close()
    #expect(dropped == 1)
  }

  /// Jobs that wait until a test runs them.
  private final class Jobs: Sendable {
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    var count: Int { waiting.withLock { $0.count } }
    func add(_ job: @escaping @Sendable () -> Void) { waiting.withLock { $0.append(job) } }
    func run() {
      let jobs = waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
      for job in jobs { job() }
    }
  }

  @Test("A request is what OTLP/HTTP takes in JSON")
  func encoding() throws {
    let encoder = SpanEncoder(service: "fan\"fare", version: "1.2", instance: "7", epoch: 1_700_000_000_000_000_000)
    let context = try #require(TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
    let first = Span(context, parent: nil, name: "publish", kind: .server, from: 1, to: 20)
    let second = Span(
      context.continued(by: 10), parent: context.span, name: "log\n", kind: .inside, from: 5, to: 9,
      SpanAttributes(try ChannelName("chat:1"), offset: .max))
    let body = String(decoding: encoder.body([first, second]), as: UTF8.self)
    #expect(
      body == """
        {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"fan\\"fare"}},\
        {"key":"service.version","value":{"stringValue":"1.2"}},\
        {"key":"service.instance.id","value":{"stringValue":"7"}}]},\
        "scopeSpans":[{"scope":{"name":"fanfare"},"spans":[\
        {"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","name":"publish","kind":2,\
        "startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000020"},\
        {"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"000000000000000a","parentSpanId":"00f067aa0ba902b7",\
        "name":"log\\u000a","kind":1,"startTimeUnixNano":"1700000000000000005","endTimeUnixNano":"1700000000000000009",\
        "attributes":[{"key":"fanfare.namespace","value":{"stringValue":"chat"}},\
        {"key":"fanfare.offset","value":{"intValue":"18446744073709551615"}}]}]}]}]}
        """)
  }
}
