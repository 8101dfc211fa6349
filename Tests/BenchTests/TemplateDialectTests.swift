import Foundation
import TestSupport
import Testing

@testable import Bench

@Suite("Servers that are spoken to with templates", .ownThread)
struct TemplateDialectTests {
  private static let lines = MessageTemplates(sub: "S %C", pub: "P %C %P", subAck: "S %C", pubAck: "K")

  /// The dialect as the event loop uses it: whole messages.
  private struct Exchange {
    let dialect: TemplateDialect
    var state: DialectState
    var out = Outgoing()

    init(_ templates: MessageTemplates, _ role: Role, _ channels: [String] = ["a:b-1"]) throws {
      var target = Target.loopback(TemplateDialect.name, "ws://127.0.0.1:4000/live?v=2")
      target.templates = templates
      dialect = try TemplateDialect(target: target, scenario: .forPeers())
      state = DialectState(role: role, client: 0, channels: role == .subscriber ? channels : [])
      dialect.open(&state, into: &out)
    }

    mutating func take(_ text: String) throws -> Sink {
      var sink = Sink()
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
      defer { bytes.deallocate() }
      bytes.copyBytes(from: text.utf8)
      let used = try dialect.receive(UnsafeRawBufferPointer(bytes), &state, &sink, into: &out)
      #expect(used == text.utf8.count)
      return sink
    }

    /// The messages since the last time.
    mutating func said() -> [String] {
      defer { out.removeAll() }
      var place = 0
      return out.ends.map { end in
        defer { place = end }
        return String(decoding: out.bytes[place..<end], as: UTF8.self)
      }
    }
  }

  private func content(_ sequence: UInt64) -> String {
    var bytes = [UInt8](repeating: 0x78, count: 64)
    bytes.withUnsafeMutableBytes {
      if let place = $0.baseAddress { Marker.write(group: 3, sequence: sequence, due: 77, to: place) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("A subscriber says the template with its channel, and is ready when that is confirmed")
  func subscribes() throws {
    var exchange = try Exchange(Self.lines, .subscriber)
    #expect(exchange.said() == ["S a:b-1"])
    #expect(!exchange.state.isConfirmed)
    #expect(try exchange.take("S a:b-2").confirmed == 0)
    #expect(try exchange.take("ok: S a:b-1").confirmed == 1)
    #expect(try exchange.take("S a:b-1").confirmed == 0)
    guard case .webSocket(let path, nil, false) = exchange.dialect.framing(.subscriber) else {
      Issue.record("no text over WebSocket")
      return
    }
    #expect(path == "/live?v=2")
  }

  @Test("Where nothing confirms, a subscription counts as made once it was sent, and the report says so")
  func unconfirmed() throws {
    let templates = MessageTemplates(sub: "S %C", pub: "P %C %P")
    let exchange = try Exchange(templates, .subscriber)
    #expect(exchange.state.isConfirmed)
    #expect(!exchange.dialect.answersPublications)
    #expect(templates.about.contains("a subscription counts as made once it was sent"))
    #expect(templates.about.contains("a publication counts as made once the socket took it"))
  }

  @Test("An arrival is known by its marker wherever that stands, and one message may hold several")
  func arrivals() throws {
    var exchange = try Exchange(Self.lines, .subscriber)
    let (first, second) = (content(1), content(2))
    #expect(try exchange.take(first).captured.map { String(decoding: $0, as: UTF8.self) } == [first])
    let wrapped = "{\"c\":\"~a~ff\",\"d\":[\"\(first)\",\"~\",\"\(second)\"]}"
    let captured = try exchange.take(wrapped).captured.map { String(decoding: $0, as: UTF8.self) }
    #expect(captured.count == 2)
    #expect(captured.first?.hasPrefix(first) == true && captured.last?.hasPrefix(second) == true)
    // Cut off: no arrival, and not overlooked.
    let cut = try exchange.take("x " + first.prefix(33)).captured
    #expect(cut.count == 1 && cut[0].count == 35)
  }

  @Test("A publisher says the template with channel and payload; each acknowledgement counts, anything else refuses")
  func publishes() throws {
    var exchange = try Exchange(Self.lines, .publisher)
    #expect(exchange.state.isConfirmed && exchange.said() == [])
    #expect(try exchange.take("welcome").acknowledged == 0)
    let content = content(9)
    for channel in ["a-1", "a-2"] {
      Array(content.utf8).withUnsafeBytes {
        exchange.dialect.publish($0, to: channel, &exchange.state, into: &exchange.out)
      }
    }
    #expect(exchange.said() == ["P a-1 \(content)", "P a-2 \(content)"])
    let answers = try exchange.take("K K")
    #expect(answers.acknowledged == 2 && answers.refused == 0)
    let refusal = try exchange.take("too fast")
    #expect(refusal.acknowledged == 1 && refusal.refused == 1 && exchange.state.refusal == "too fast")
  }

  @Test("A percent sign is written twice, and a template without places is sent as it is")
  func literal() throws {
    let exchange = try Exchange(MessageTemplates(sub: "", pub: "100%% %P%%"), .publisher)
    var out = Outgoing()
    var state = exchange.state
    [UInt8]("x".utf8).withUnsafeBytes { exchange.dialect.publish($0, to: "c", &state, into: &out) }
    #expect(String(decoding: out.bytes, as: UTF8.self) == "100% x%")
    var subscriber = try Exchange(MessageTemplates(sub: "", pub: "%P"), .subscriber)
    #expect(subscriber.said() == [])
  }

  @Test(
    "A template that cannot work is refused with what to write",
    arguments: [
      (MessageTemplates(sub: "S %X", pub: "%C %P"), "\"sub\" (\"S %X\") has %X", "write %C for the channel"),
      (MessageTemplates(sub: "S %", pub: "%C %P"), "a percent sign at its end", "%% for a percent sign"),
      (MessageTemplates(sub: "S %C", pub: "P %C"), "the payload once, not 0 times", "write %P"),
      (MessageTemplates(sub: "S %C", pub: "P %C %P %P"), "not 2 times", "write %P"),
      (MessageTemplates(sub: "S", pub: "P %C %P"), "\"sub\" names no channel", "write %C"),
      (MessageTemplates(sub: "S %C", pub: "P %P"), "\"pub\" names no channel", "write %C"),
      (MessageTemplates(sub: "S %C %P", pub: "P %C %P"), "\"sub\" has %P", "leave it out"),
      (MessageTemplates(sub: "S %C", pub: "P %C %P", subAck: "%P"), "\"sub_ack\" has %P", "leave it out"),
      (MessageTemplates(sub: "S %C", pub: "P %C %P", subAck: ""), "\"sub_ack\" is empty", "leave it out"),
      (MessageTemplates(sub: "S %C", pub: "P %C %P", pubAck: ""), "\"pub_ack\" is empty", "leave it out"),
      (MessageTemplates(sub: "S %C", pub: "P %C %P", pubAck: "K %C"), "\"pub_ack\" has %C", "all of them have"),
      (MessageTemplates(sub: "S %C ~ff~", pub: "P %C %P"), "contains ~ff~", "leave it out"),
    ])
  func mistakes(templates: MessageTemplates, what: String, advice: String) {
    let error = #expect(throws: BenchError.self) { try templates.compiled(channels: 2) }
    #expect(error?.description.contains(what) == true, "\(error?.description ?? "")")
    #expect(error?.description.contains(advice) == true, "\(error?.description ?? "")")
  }

  @Test("A scenario file holds templates too, the command line sets them as text, and a mistake names the file")
  func files() throws {
    func decode(_ text: String, _ overrides: [ScenarioFile.Override] = []) throws(BenchError) -> Scenario {
      try ScenarioFile.decode(Data(text.utf8), file: "test.json", overrides: overrides)
    }
    let plain = #"{ "about": "x.", "groups": [ { "rate": 1, "channels": 2 } ] }"#
    let file = String(plain.dropLast(2)) + #", "template": { "sub": "S %C", "pub": "P %C %P", "pub_ack": "1" } }"#
    #expect(try decode(file).template == MessageTemplates(sub: "S %C", pub: "P %C %P", pubAck: "1"))
    let overrides = [("sub", "[%C]"), ("pub", "%C %P"), ("pub_ack", "7")].map {
      ScenarioFile.Override(path: "template.\($0)", text: $1)
    }
    #expect(try decode(plain, overrides).template == MessageTemplates(sub: "[%C]", pub: "%C %P", pubAck: "7"))
    let missing = #expect(throws: BenchError.self) { try decode(plain, Array(overrides.prefix(1))) }
    #expect(missing?.description.contains("\"template.pub\" is missing") == true, "\(missing?.description ?? "")")
    let wrong = #expect(throws: BenchError.self) { try decode(file.replacing("S %C", with: "S")) }
    #expect(wrong?.description.contains("test.json: the template \"sub\" names no channel") == true)
  }

  @Test("Templates make the dialect; without them it is refused, and another dialect wants none")
  func choice() throws {
    var scenario = Sample.scenario()
    var remote = MeasurementRun.Remote(url: "ws://127.0.0.1:1/")
    #expect(try MeasurementRun(scenario, command: "").dialect(of: remote) == "centrifuge")
    remote.dialect = "template"
    let untold = #expect(throws: BenchError.self) { try MeasurementRun(scenario, command: "").dialect(of: remote) }
    #expect(untold?.description.contains("give --sub and --pub") == true)
    scenario.template = Self.lines
    #expect(try MeasurementRun(scenario, command: "").dialect(of: remote) == "template")
    remote.dialect = nil
    #expect(try MeasurementRun(scenario, command: "").dialect(of: remote) == "template")
    remote.dialect = "nats"
    #expect(throws: BenchError.self) { try MeasurementRun(scenario, command: "").dialect(of: remote) }
  }

  @Test("A worker measures a server of such lines: one that answers and one that does not", arguments: [true, false])
  func worker(answers: Bool) async throws {
    let server = try LineServer(answers: answers)
    defer { server.stop() }
    var plan = WorkerPlan.sample(.sample(publishers: 2), to: server.url, dialect: TemplateDialect.name)
    plan.target.templates = answers ? Self.lines : MessageTemplates(sub: "S %C", pub: "P %C %P")
    let runner = try WorkerRunner(plan)
    _ = try await runner.ready
    // Where no answer confirms a subscription, only the server knows when it has read all of them.
    #expect(await eventually(within: .seconds(300)) { server.subscriptions == 10 })
    try runner.order(.begin(at: 0))
    let report = try await runner.finished
    try await runner.end()
    let group = try #require(report.groups.first)
    #expect(group.isWhole && group.expected == group.published * 5 && group.unanswered == 0)
    #expect(report.acknowledged.count == (answers ? group.published : 0))
    #expect(report.remarks == [])
  }

  @Test("Of a server that delivers nothing, as much is lost as was expected, and what the warm-up lost is told apart")
  func deaf() async throws {
    let server = try LineServer(answers: false)
    defer { server.stop() }
    var plan = WorkerPlan.sample(.sample(), to: server.url, dialect: TemplateDialect.name)
    // The server knows no such word: nobody is subscribed.
    plan.target.templates = MessageTemplates(sub: "X %C", pub: "P %C %P")
    plan.patience = 2
    let report = try await WorkerRunner.run(plan)
    let group = try #require(report.groups.first)
    #expect(group.expected == 400 && group.lost == 400 && group.lostBefore == 100)
    var turn = Sample.turn("url", 1, cpu: 0.1)
    turn.report = report
    #expect(
      TurnRules.faults(of: turn, plan.scenario).prefix(2) == [
        "400 of 400 deliveries were lost", "100 deliveries of what was published before it were lost",
      ])
  }

  @Test("A server that does not confirm what it was to confirm is told of in a sentence")
  func silent() async throws {
    let server = try LineServer(answers: false)
    defer { server.stop() }
    var plan = WorkerPlan.sample(.sample(), to: server.url, dialect: TemplateDialect.name)
    plan.target.templates = Self.lines
    plan.patience = 0.2
    let runner = try WorkerRunner(plan)
    let error = await #expect(throws: BenchError.self) { try await runner.ready }
    #expect(error?.description.contains("connections were confirmed") == true, "\(error?.description ?? "")")
  }
}
