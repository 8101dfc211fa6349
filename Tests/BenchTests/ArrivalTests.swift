import Foundation
import Glibc
import TestSupport
import Testing

@testable import Bench

@Suite("What arrives while it is measured", .serialized, .ownThread)
struct ArrivalTests {
  /// A floor in a process of its own, which can be stopped and told to go on.
  private struct Floor {
    let process: ChildProcess
    let url: String

    init() async throws {
      let port = try LoopbackPort.free()
      process = try ChildProcess(
        URL(fileURLWithPath: try benchExecutable()), ["floor", "--port", String(port)],
        environment: ProcessInfo.processInfo.environment, errors: URL(fileURLWithPath: "/dev/null"))
      url = "ws://127.0.0.1:\(port)"
      let (process, server) = (process, try ServerAddress(url))
      try #require(
        await eventually(within: .seconds(300)) { Self.accepts(server) || !process.isRunning })
    }

    private static func accepts(_ address: ServerAddress) -> Bool {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      return address.socketAddress.withUnsafeBytes { bytes in
        guard let place = bytes.baseAddress else { return false }
        return connect(descriptor, place.assumingMemoryBound(to: sockaddr.self), 16) == 0
      }
    }
  }

  private func figure(_ label: String, _ report: WorkerReport, _ scenario: Scenario) -> Double? {
    var turn = Sample.turn("floor", 1, cpu: 0.1)
    turn.report = report
    return Metric.all(of: scenario).first { $0.label == label }?.value(turn)
  }

  @Test("What a server delivers after the measured time is no throughput of it")
  func late() async throws {
    let floor = try await Floor()
    defer { floor.process.signal(SIGKILL) }
    let plan = WorkerPlan.sample(
      .sample(channels: 1, subscribers: 2), to: floor.url, dialect: "floor", warmup: 0, duration: 0.3)
    let runner = try WorkerRunner(plan)
    _ = try await runner.ready
    floor.process.signal(SIGSTOP)
    let begin = linuxNow() + 100_000_000
    try runner.order(.begin(at: begin))
    try #require(await eventually(within: .seconds(300)) { linuxNow() > begin + 1_000_000_000 })
    floor.process.signal(SIGCONT)
    let report = try await runner.finished
    try await runner.end()
    #expect(report.groups.first?.isWhole == true && report.groups.first?.expected == 120)
    #expect(figure("deliveries/s", report, plan.scenario) == 0)
  }

  @Test("Arrivals count by when they came, deliveries by when they were due")
  func window() throws {
    let ledger = Ledger([Ledger.Shape(channels: 1, window: 16)], lines: 1)
    let line = ledger.addLine(group: 0, channel: 0)
    // Due before the measured time and come within it; due and come within it; due within it and come after it.
    for (sequence, due, now) in [(0, 90, 110), (1, 120, 199), (2, 190, 200)] as [(UInt64, UInt64, UInt64)] {
      var bytes = [UInt8](repeating: 0x78, count: 64)
      bytes.withUnsafeMutableBytes { content in
        guard let place = content.baseAddress else { return }
        Marker.write(group: 0, sequence: sequence, due: due, to: place)
        var sink = Sink(
          Unmanaged.passUnretained(ledger), ledger.tables, line, now: now, measureFrom: 100, measureTo: 200, origin: 0)
        sink.deliver(UnsafeRawBufferPointer(content))
        sink.finish()
      }
    }
    #expect(ledger.tables[0].arrivedInTime == 2 && ledger.tables[0].delivered == 2 && ledger.tables[0].arrived == 3)
    ledger.resetCounts()
    #expect(ledger.tables[0].arrivedInTime == 0)
  }

  @Test("The table has what was offered beside what arrived, costs are of arrivals, and a server behind is named")
  func figures() {
    let scenario = Sample.scenario()
    var report = Sample.report()
    (report.groups[0].arrived, report.answered) = (600, 5)
    report.acknowledged = Sample.histogram([1000])
    #expect(figure("offered deliveries/s", report, scenario) == 500)
    #expect(figure("deliveries/s", report, scenario) == 300)
    #expect(figure("acknowledged/s", report, scenario) == 2.5)
    #expect(figure("CPU per delivery", report, scenario) == 0.1 / 600)
    #expect(figure("CPU per publication", report, scenario) == 0.1 / 5)
    #expect(
      TurnRules.remarks(of: report, scenario) == [
        "the server fell behind: of 500 deliveries/s that were offered, 300 arrived in the measured time"
      ])
    // Two publications may be under way.
    report.groups[0].arrived = 800
    #expect(TurnRules.remarks(of: report, scenario) == [])
  }

  @Test("What was never acknowledged is a fault")
  func unanswered() {
    var turn = Sample.turn("fanfare", 1, cpu: 0.1)
    turn.report?.groups[0].unanswered = 3
    #expect(TurnRules.faults(of: turn, Sample.scenario()) == ["the server never acknowledged 3 publications"])
  }
}
