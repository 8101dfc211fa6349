import Foundation
import TestSupport
import Testing

@Suite("Traces, end to end", .ownThread)
struct TraceTests {
  private static let key = "a-key-that-only-this-test-has"
  private static let entering = ["gateway_in", "link_in", "broker", "log"]
  private static let leaving = ["link_out", "gateway_out", "socket_first", "socket_last"]

  /// Runs the body with a collector, and a deployment that sends it traces.
  private func with(
    _ kind: Deployment.Kind, sampleEvery: Int, _ body: (Deployment, SpanReceiver) async throws -> Void
  ) async throws {
    let receiver = try SpanReceiver()
    defer { receiver.stop() }
    let settings = [
      "tracing.endpoint=http://127.0.0.1:\(receiver.port)/v1/traces", "tracing.sample_every=\(sampleEvery)",
      "tracing.headers=x-collector-key: 42", "metrics.sample_every=0", "admin.api.key=\(Self.key)",
    ]
    try await Deployment.with(kind, settings: settings) { try await body($0, receiver) }
  }

  @Test(
    "A client's publication is one trace: a span for the whole, and under it one for each hop, in their order",
    arguments: [Deployment.Kind.serve, .ipc])
  func client(_ kind: Deployment.Kind) async throws {
    try await with(kind, sampleEvery: 1) { deployment, receiver in
      let ann = try await deployment.client("ann")
      try await ann.subscribe("dur:room")
      try await ann.publish("1", to: "dur:room")
      let names = Set(Self.entering + Self.leaving + ["publish"])
      #expect(await eventually { Set(receiver.spans.map(\.name)) == names })
      let spans = receiver.spans
      #expect(spans.count == names.count && Set(spans.map(\.traceId)).count == 1)
      #expect(Set(spans.map(\.spanId)).count == spans.count)
      let whole = try #require(spans.first { $0.name == "publish" })
      #expect(whole.parentSpanId == nil && whole.kind == 2)
      #expect(spans.filter { $0.name != "publish" }.allSatisfy { $0.parentSpanId == whole.spanId && $0.kind == 1 })
      let hops = (Self.entering + Self.leaving).compactMap { name in spans.first { $0.name == name } }
      try #require(hops.count == 8)
      #expect(hops.allSatisfy { $0.start <= $0.end })
      // Each hop begins where the one before has ended; both sends begin on the tape. Processes work out by themselves
      // what their stamps are since 1970, so across them it is not the same to the nanosecond.
      for (hop, next) in zip(hops, hops.dropFirst()) where next.name != "socket_last" && kind == .serve {
        #expect(hop.end == next.start, "\(hop.name) and \(next.name)")
      }
      #expect(receiver.heads.allSatisfy { $0.hasPrefix("POST /v1/traces ") && $0.contains("x-collector-key: 42") })
    }
  }

  @Test("A backend's traceparent is continued, also where nothing is sampled, and without one there is no trace")
  func backend() async throws {
    try await with(.serve, sampleEvery: 0) { deployment, receiver in
      let port = try #require(deployment.broker.endpoints.admin.flatMap(URL.init(string:))?.port)
      let ann = try await deployment.client("ann")
      try await ann.subscribe("mem:room")
      func publish(_ text: String, _ more: String) throws {
        let body = #"{"channel":"mem:room","data":"\#(text)"}"#
        let headers =
          "X-API-Key: \(Self.key)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\(more)"
        let answer = try HTTPExchange(port: port).ask("POST", "/api/publish", headers, Array(body.utf8))
        #expect(answer.status == 200, "\(answer.text)")
      }
      try publish("1", "")
      try publish("2", "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n")
      try publish("3", "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-00\r\n")
      #expect(await eventually { ann.data("mem:room") == ["1", "2", "3"] })
      let names = Set(["publish", "broker", "log"] + Self.leaving)
      #expect(await eventually { Set(receiver.spans.map(\.name)) == names })
      #expect(Set(receiver.spans.map(\.traceId)) == ["4bf92f3577b34da6a3ce929d0e0e4736"])
      #expect(receiver.spans.first { $0.name == "publish" }?.parentSpanId == "00f067aa0ba902b7")
    }
  }

  @Test("A service's traceparent over ZeroMQ is continued, for publications and for questions")
  func service() async throws {
    try await with(.serve, sampleEvery: 0) { deployment, receiver in
      let service = try deployment.service()
      let context = #""traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01""#
      _ = await service.ask("publish", #"{"channel":"mem:room",\#(context)}"#, payload: "1")
      _ = await service.ask("presence_stats", #"{"channel":"mem:room",\#(context)}"#)
      // Neither value is a trace context, and neither call is refused for it.
      for none in [#""traceparent":"of mine""#, #""traceparent":7"#] {
        _ = await service.ask("publish", #"{"channel":"mem:room",\#(none)}"#, payload: "2")
      }
      #expect(await eventually { Set(receiver.spans.map(\.name)).isSuperset(of: ["publish", "call"]) })
      #expect(Set(receiver.spans.map(\.traceId)) == ["4bf92f3577b34da6a3ce929d0e0e4736"])
      for name in ["publish", "call"] {
        let spans = receiver.spans.filter { $0.name == name }
        #expect(spans.map(\.parentSpanId) == ["00f067aa0ba902b7"], "\(name)")
      }
    }
  }

  @Test("A server that stops sends the spans that wait, and says nothing against the collector")
  func stopped() async throws {
    try await with(.serve, sampleEvery: 0) { deployment, receiver in
      let port = try #require(deployment.broker.endpoints.admin.flatMap(URL.init(string:))?.port)
      let item = #"{"publish":{"channel":"mem:room","data":1}}"#
      let body = #"{"commands":[\#(Array(repeating: item, count: 20).joined(separator: ",")),{"channels":{}}]}"#
      let headers =
        "X-API-Key: \(Self.key)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n"
        + "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"
      let answer = try HTTPExchange(port: port).ask("POST", "/api/batch", headers, Array(body.utf8))
      #expect(answer.status == 200, "\(answer.text)")
      deployment.broker.signal(SIGTERM)
      #expect(await eventually(within: .seconds(60)) { !deployment.broker.isRunning })
      #expect(receiver.spans.count { $0.name == "publish" } == 20)
      let call = try #require(receiver.spans.first { $0.name == "call" })
      #expect(call.parentSpanId == "00f067aa0ba902b7" && call.kind == 2)
      #expect(!deployment.broker.errorOutput.contains("takes no spans"))
    }
  }

  @Test("A collector that is away costs a line in the log, and publications go on")
  func away() async throws {
    let receiver = try SpanReceiver()
    let port = receiver.port
    receiver.stop()
    let settings = ["tracing.endpoint=http://127.0.0.1:\(port)/v1/traces", "tracing.sample_every=1"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      let ann = try await deployment.client("ann")
      try await ann.subscribe("mem:room")
      for number in 0..<50 { try await ann.publish("\(number)", to: "mem:room") }
      #expect(await eventually { ann.data("mem:room").count == 50 })
      #expect(await eventually { deployment.broker.errorOutput.contains("takes no spans") })
      #expect(
        try await eventually { try MetricPage(of: deployment.broker)["fanfare_spans_dropped_total"] ?? 0 > 0 })
    }
  }
}
