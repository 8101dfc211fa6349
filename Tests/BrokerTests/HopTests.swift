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

  private func scene(
    measureEvery: Int = 0, traceEvery: Int = 0, traces: SpanExporter? = nil, of scene: BrokerScene = BrokerScene()
  ) -> BrokerScene {
    let clock = clock
    let recorder = HopRecorder(host: 1, clock: { clock.now }, exporter: traces, factory: registry)
    scene.core.hops = BrokerHops(recorder, services: HopSampler(measureEvery: measureEvery, traceEvery: traceEvery))
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
    let bodies = Bodies()
    let scene = scene(traces: exporter(to: bodies))
    let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    _ = scene.serve(1, .publish(.init(channel: "room", data: [0x31], tags: ["traceparent": text])))
    _ = scene.serve(2, .publish(.init(channel: "room", data: [0x31], tags: ["traceparent": "none"])))
    let all = bodies.all
    #expect(all.count == 3)
    #expect(all.allSatisfy { $0.contains("\"traceId\":\"4bf92f3577b34da6a3ce929d0e0e4736\"") })
    let whole = try #require(all.last)
    #expect(whole.contains("\"parentSpanId\":\"00f067aa0ba902b7\",\"name\":\"publish\",\"kind\":2"))
  }

  private func exporter(to bodies: Bodies) -> SpanExporter {
    var limits = SpanExporter.Limits()
    limits.batch = 1
    return SpanExporter(
      SpanEncoder(service: "s", version: "1", instance: "i"), limits: limits, factory: registry, work: { $0() },
      send: { body, done in
        bodies.add(String(decoding: body, as: UTF8.self))
        done(true)
      })
  }

  private static let parent = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")

  private func serve(_ number: UInt64, _ request: BrokerRequest, under context: TraceContext?, _ scene: BrokerScene) {
    scene.perform { scene.core.serve(request, for: ServiceTag(number: number), under: context, in: &$0) }
  }

  @Test("A service's call has a span of its own in its trace, with its method and how it ended, and is no hop")
  func calls() throws {
    let bodies = Bodies()
    let scene = scene(traces: exporter(to: bodies))
    var unsampled = try #require(Self.parent)
    unsampled.isSampled = false
    serve(1, .channels(prefix: ""), under: Self.parent, scene)
    serve(2, .once(OnceKey(owner: "a", key: "k"), .historyRemove("unknown:1")), under: Self.parent, scene)
    serve(3, .channels(prefix: ""), under: unsampled, scene)
    serve(4, .channels(prefix: ""), under: nil, scene)
    #expect(scene.answers.count == 4)
    let all = bodies.all
    try #require(all.count == 2)
    #expect(
      all.allSatisfy {
        $0.contains("\"traceId\":\"4bf92f3577b34da6a3ce929d0e0e4736\"")
          && $0.contains("\"parentSpanId\":\"00f067aa0ba902b7\",\"name\":\"call\",\"kind\":2")
      })
    #expect(all[0].contains("{\"key\":\"fanfare.method\",\"value\":{\"stringValue\":\"channels\"}}"))
    #expect(!all[0].contains("\"status\"") && !all[0].contains("fanfare.error"))
    #expect(all[1].contains("{\"key\":\"fanfare.method\",\"value\":{\"stringValue\":\"history_remove\"}}"))
    #expect(all[1].contains("{\"key\":\"fanfare.error\",\"value\":{\"intValue\":\"102\"}}"))
    #expect(all[1].contains("\"status\":{\"code\":2}"))
    #expect(scene.core.hops?.isIdle == true)
    let page = String(decoding: registry.render(), as: UTF8.self)
    #expect(page.contains("\nfanfare_hop_seconds_count{hop=\"broker\"} 0\n"))
  }

  @Test("Every n-th call of services is traced, apart from their publications; none is where nothing is traced")
  func sampledCalls() {
    let bodies = Bodies()
    let traced = scene(measureEvery: 1, traceEvery: 3, traces: exporter(to: bodies))
    for number in 1...6 as ClosedRange<UInt64> { _ = traced.serve(number, .channels(prefix: "")) }
    #expect(bodies.all.count { $0.contains("\"name\":\"call\"") } == 2 && bodies.all.count == 2)
    let silent = scene(measureEvery: 1, traceEvery: 3)
    for number in 1...6 as ClosedRange<UInt64> { serve(number, .channels(prefix: ""), under: Self.parent, silent) }
    #expect(bodies.all.count == 2 && silent.core.hops?.isIdle == true)
  }

  @Test("What an app publishes upon a service's call goes on in the call's trace")
  func callThatPublishes() throws {
    let bodies = Bodies()
    let scene = scene(traces: exporter(to: bodies), of: BrokerScene(TinyApp()))
    scene.hello(1)
    let command = AppCommand.other(.init(method: "tiny.say", data: Array("\(TinyApp.chat) hello".utf8)))
    let caller = ClientInfo(user: "ann", client: "service")
    serve(1, .call(.init(command, caller: caller)), under: Self.parent, scene)
    scene.finish(10)
    #expect(scene.answers.count == 1)
    let all = bodies.all
    #expect(all.allSatisfy { $0.contains("\"traceId\":\"4bf92f3577b34da6a3ce929d0e0e4736\"") })
    let whole = try #require(all.first { $0.contains("\"name\":\"call\"") })
    let id = try #require(whole.firstMatch(of: /"spanId":"([0-9a-f]+)"/)?.1)
    #expect(whole.contains("\"parentSpanId\":\"00f067aa0ba902b7\"") && whole.contains("tiny.say"))
    for hop in ["broker", "log"] {
      #expect(all.contains { $0.contains("\"parentSpanId\":\"\(id)\",\"name\":\"\(hop)\"") })
    }
  }

  private final class Bodies: Sendable {
    private let bodies = Mutex<[String]>([])
    var all: [String] { bodies.withLock { $0 } }
    func add(_ body: String) { bodies.withLock { $0.append(body) } }
  }
}
