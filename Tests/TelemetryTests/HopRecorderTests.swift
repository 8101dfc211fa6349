import Metering
import Testing
import Wire

@testable import Telemetry

@Suite("Hop times")
struct HopRecorderTests {
  private let registry = PrometheusRegistry(version: "1")
  private let clock = HandClock()
  private let collector = FakeCollector()

  private func recorder(host: UInt64 = 1, tracing: Bool = false) -> HopRecorder {
    var limits = SpanExporter.Limits()
    limits.batch = 1
    let collector = collector
    let exporter = SpanExporter(
      SpanEncoder(service: "s", version: "1", instance: "i"), limits: limits, factory: registry,
      work: { $0() }, send: { collector.send($0, $1) })
    let clock = clock
    return HopRecorder(host: host, clock: { clock.now }, exporter: tracing ? exporter : nil, factory: registry)
  }

  private func count(_ hop: Hop) -> Double? { registry.number("fanfare_hop_seconds_count{hop=\"\(hop.rawValue)\"}") }
  private func sum(_ hop: Hop) -> Double? { registry.number("fanfare_hop_seconds_sum{hop=\"\(hop.rawValue)\"}") }

  @Test("A hop is counted from the end of the one before, and the whole from the beginning")
  func hops() {
    let recorder = recorder()
    var trace = recorder.begin(isTraced: true)
    #expect(trace.context == nil, "nothing is exported")
    clock.pass(1_000_000)
    recorder.end(.gatewayIn, of: &trace, at: recorder.now())
    clock.pass(2_000_000)
    recorder.end(.linkIn, of: &trace, at: recorder.now())
    recorder.record(.whole, of: trace, from: trace.began, to: recorder.now())
    #expect(sum(.gatewayIn) == 0.001 && sum(.linkIn) == 0.002 && sum(.whole) == 0.003)
    #expect(count(.whole) == 1 && count(.broker) == 0)
    #expect(registry.number("fanfare_hop_seconds_bucket{hop=\"link_in\",le=\"0.001\"}") == 0)
    #expect(registry.number("fanfare_hop_seconds_bucket{hop=\"link_in\",le=\"0.0025\"}") == 1)
  }

  @Test("Between the clocks of two machines nothing is measured, and the hops after it are")
  func machines() {
    let (here, there) = (recorder(host: 1), recorder(host: 2))
    var trace = here.begin(isTraced: false)
    clock.pass(1000)
    there.end(.linkIn, of: &trace, at: there.now())
    clock.pass(1000)
    there.end(.broker, of: &trace, at: there.now())
    there.record(.whole, of: trace, from: trace.began, to: there.now())
    #expect(count(.linkIn) == 0 && count(.broker) == 1 && count(.whole) == 0)
  }

  @Test("Each hop of a traced publication is a span under the span of the whole, which continues the publisher's")
  func spans() throws {
    let recorder = recorder(tracing: true)
    let parent = try #require(TraceContext(traceparent: "00-0000000000000001000000000000000a-00000000000000ff-01"))
    var trace = recorder.begin(under: parent, isTraced: true)
    clock.pass(5)
    recorder.end(.broker, of: &trace, at: recorder.now(), SpanAttributes(try ChannelName("chat:secret"), offset: 7))
    let whole = try #require(trace.context)
    collector.answer(true)
    recorder.answered("publish", trace, parent: parent.span, at: recorder.now())
    collector.answer(true)
    #expect(collector.bodies.count == 2)
    let id = TraceContext.hexadecimal(whole.span)
    #expect(collector.bodies.allSatisfy { $0.contains("\"traceId\":\"0000000000000001000000000000000a\"") })
    #expect(collector.bodies[0].contains("\"parentSpanId\":\"\(id)\",\"name\":\"broker\",\"kind\":1"))
    #expect(collector.bodies[0].contains("\"fanfare.namespace\",\"value\":{\"stringValue\":\"chat\"}"))
    #expect(!collector.bodies[0].contains("secret"))
    #expect(
      collector.bodies[1].contains("\"spanId\":\"\(id)\",\"parentSpanId\":\"00000000000000ff\",\"name\":\"publish\""))
    #expect(registry.number("fanfare_spans_exported_total") == 2)
  }

  @Test("The machine's number is the same each time it is asked for, and the digest is FNV-1a's")
  func host() {
    #expect(HostClock.identity == HostClock.identity && HostClock.identity != 0)
    #expect(HostClock.digest(of: []) == 0xcbf2_9ce4_8422_2325)
    #expect(HostClock.digest(of: Array("foobar".utf8)) == 0x8594_4171_f739_67e8)
  }
}

@Suite("Which publications are measured")
struct HopSamplerTests {
  /// What a sampler chooses for each of so many publications: nothing, measured, or traced too.
  private func choices(_ count: Int, _ sampler: inout HopSampler) -> String {
    var choices = ""
    for _ in 0..<count {
      if sampler.isDue() { choices += sampler.choose() ? "t" : "m" } else { choices += "." }
    }
    return choices
  }

  @Test("Every n-th is measured, and every m-th is traced")
  func everyNth() {
    var both = HopSampler(measureEvery: 3, traceEvery: 4)
    #expect(choices(12, &both) == "..mt.m.tm..t")
    var all = HopSampler(measureEvery: 1, traceEvery: 0)
    #expect(choices(4, &all) == "mmmm")
    var traced = HopSampler(measureEvery: 0, traceEvery: 3)
    #expect(choices(7, &traced) == "..t..t.")
    var off = HopSampler.off
    #expect(choices(100, &off) == String(repeating: ".", count: 100))
  }

  @Test("It is known before a publication comes whether the clock has to be looked at")
  func armed() {
    var sampler = HopSampler(measureEvery: 2, traceEvery: 0)
    #expect(!sampler.isArmed && !sampler.isDue())
    #expect(sampler.isArmed && sampler.isDue())
    _ = sampler.choose()
    #expect(!sampler.isArmed && !HopSampler.off.isArmed && HopSampler(measureEvery: 1, traceEvery: 0).isArmed)
  }
}
