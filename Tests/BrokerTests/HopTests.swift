import Log
import Metering
import Synchronization
import Testing
import Telemetry
import Wire

@testable import Broker

@Suite("What the broker measures")
struct HopTests {
  private let registry = PrometheusRegistry(version: "1")
  private let clock = HandClock()

  /// A clock that a test sets.
  final class HandClock: Sendable {
    private let time = Mutex<UInt64>(0)
    var now: UInt64 { time.withLock { $0 } }
    func pass(_ nanoseconds: UInt64) { time.withLock { $0 += nanoseconds } }
  }

  private func scene(measureEvery: Int = 0, traces: SpanExporter? = nil) -> BrokerScene {
    let scene = BrokerScene()
    let clock = clock
    let recorder = HopRecorder(host: 1, clock: { clock.now }, exporter: traces, factory: registry)
    scene.core.hops = BrokerHops(recorder, services: HopSampler(measureEvery: measureEvery, traceEvery: 0))
    return scene
  }

  private func sum(_ hop: Hop) -> String? {
    let line = "fanfare_hop_seconds_sum{hop=\"\(hop.rawValue)\"} "
    let page = String(decoding: registry.render(), as: UTF8.self)
    return page.split(separator: "\n").first { $0.hasPrefix(line) }.map { String($0.dropFirst(line.count)) }
  }

  private func trace(_ id: UInt64, at nanoseconds: UInt64 = 0) -> LinkBody {
    let stamp = HopStamp(host: 1, nanoseconds: nanoseconds)
    return .trace(LinkTrace(.request(id), HopTrace(began: stamp, last: stamp)))
  }

  @Test("The commit is a hop of its own, and gateways hear of the trace just before the publication")
  func durable() throws {
    let scene = scene()
    scene.hello(1)
    scene.hello(2)
    for gateway: UInt64 in [1, 2] { scene.request(1, .subscribe("d:1"), from: gateway) }
    _ = scene.hears(1)
    _ = scene.hears(2)
    clock.pass(1_000_000)
    scene.send(trace(2), from: 1)
    clock.pass(2_000_000)
    scene.publish(2, "d:1", "1")
    #expect(scene.hears(2) == [])
    clock.pass(4_000_000)
    scene.finish()
    let heard = scene.hears(2)
    try #require(heard.count == 2)
    guard case .trace(let told) = heard[0] else { throw HopTestsError.noTrace }
    #expect(told.subject == .publication("d:1", offset: 1) && told.trace.last.nanoseconds == 7_000_000)
    #expect(told.trace.began.nanoseconds == 0)
    #expect(heard[1] == .publication("d:1", 1, "1"))
    #expect(scene.hears(1).count == 3, "the trace, the publication, the answer")
    #expect(sum(.linkIn) == "0.001" && sum(.broker) == "0.002" && sum(.log) == "0.004")
    #expect(scene.core.hops?.isIdle == true)
  }

  enum HopTestsError: Error { case noTrace }

  @Test("A request that is refused, and one that never comes, are forgotten")
  func forgotten() {
    let scene = scene()
    scene.hello(1)
    scene.send(trace(1), from: 1)
    scene.publish(1, "unknown:1", "1")
    #expect(scene.core.hops?.isIdle == true)
    scene.send(trace(9), from: 1)
    #expect(scene.core.hops?.isIdle == false)
    clock.pass(HopRecorder.patience)
    scene.pass(1)
    #expect(scene.core.hops?.isIdle == true)
  }

  @Test("No more are under way than may be, whatever gateways announce")
  func bounded() {
    let scene = scene()
    scene.hello(1)
    for id in 1...UInt64(HopRecorder.mostUnderWay + 6) { scene.send(trace(id), from: 1) }
    let page = String(decoding: registry.render(), as: UTF8.self)
    #expect(page.contains("\nfanfare_hops_dropped_total 6\n"))
  }

  @Test("Every n-th publication of services is measured, and what nobody hears of is not announced")
  func services() {
    let scene = scene(measureEvery: 2)
    scene.hello(1)
    scene.request(1, .subscribe("room"))
    _ = scene.hears()
    for number: UInt64 in 1...4 {
      _ = scene.serve(number, .publish(.init(channel: "room", data: [0x31])))
      _ = scene.serve(10 + number, .publish(.init(channel: "empty", data: [0x31])))
    }
    let traces = scene.hears().count { if case .trace = $0 { true } else { false } }
    #expect(traces == 0, "every second is one of the other channel")
    _ = scene.serve(20, .publish(.init(channel: "room", data: [0x31])))
    _ = scene.serve(21, .publish(.init(channel: "room", data: [0x31])))
    let heard = scene.hears()
    #expect(heard.count == 3)
    if case .trace(let told) = heard[1] { #expect(told.subject == .publication("room", offset: 6)) }
    let page = String(decoding: registry.render(), as: UTF8.self)
    #expect(page.contains("\nfanfare_hop_seconds_count{hop=\"broker\"} 5\n"))
  }

  @Test("A service's tag traceparent has its publication traced, whatever is sampled")
  func tagged() throws {
    var limits = SpanExporter.Limits()
    limits.batch = 1
    let bodies = Bodies()
    let exporter = SpanExporter(
      SpanEncoder(service: "s", version: "1", instance: "i"), limits: limits, factory: registry,
      work: { $0() },
      send: { body, done in
        bodies.add(String(decoding: body, as: UTF8.self))
        done(true)
      })
    let scene = scene(traces: exporter)
    let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    _ = scene.serve(1, .publish(.init(channel: "room", data: [0x31], tags: ["traceparent": text])))
    _ = scene.serve(2, .publish(.init(channel: "room", data: [0x31], tags: ["traceparent": "none"])))
    let all = bodies.all
    #expect(all.count == 3)
    #expect(all.allSatisfy { $0.contains("\"traceId\":\"4bf92f3577b34da6a3ce929d0e0e4736\"") })
    let whole = try #require(all.last)
    #expect(whole.contains("\"parentSpanId\":\"00f067aa0ba902b7\",\"name\":\"publish\",\"kind\":2"))
  }

  private final class Bodies: Sendable {
    private let bodies = Mutex<[String]>([])
    var all: [String] { bodies.withLock { $0 } }
    func add(_ body: String) { bodies.withLock { $0.append(body) } }
  }
}
