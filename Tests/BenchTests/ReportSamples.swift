@testable import Bench

/// Made-up results.
enum Sample {
  static func histogram(_ values: [UInt64]) -> EncodedHistogram {
    let histogram = FlatHistogram()
    for value in values { histogram.record(value) }
    return histogram.encoded
  }

  static let group = Scenario.Group(
    name: "news", channels: 1, subscribers: 100, rate: 50, payload: 128, burst: 1, publishers: 1, slow: 0,
    namespace: "")

  static func scenario(_ measure: Scenario.Measure = .delivery, subscribers: Int = 100) -> Scenario {
    var group = group
    group.subscribers = subscribers
    return Scenario(
      name: "sample", about: "A <made-up> run.", measure: measure, groups: [group], warmup: 1, duration: 2,
      ramp: measure == .saturation
        ? Scenario.Ramp(factor: 2, seconds: 1, p99LimitMilliseconds: 50, maximumSteps: 10) : nil,
      missed: nil, format: "json", turns: 3, workers: 1, peers: ["fanfare", "floor"], settings: ["a.b=1"])
  }

  static func report(
    delivered: Int = 1000, latency: [UInt64] = [100_000, 200_000, 300_000], lost: Int = 0
  ) -> WorkerReport {
    let group = WorkerReport.Group(
      name: "news", intended: 10, published: 10, refused: 0, unanswered: 0, expected: delivered + lost,
      delivered: delivered,
      arrived: delivered, lost: lost, lostBefore: 0, duplicated: 0, misordered: 0, latency: histogram(latency),
      first: histogram(latency),
      median: histogram(latency), last: histogram(latency))
    let second = WorkerReport.Second(delivered: delivered / 2, p50: 200_000, p99: 300_000, max: 310_000)
    return WorkerReport(
      groups: [group], seconds: [second, second], lateness: histogram([10_000]), acknowledged: .init(), answered: 0,
      cpuSeconds: 0.5, wallSeconds: 2, disconnected: 0, resumed: nil, resumeSeconds: nil, remarks: [])
  }

  static func use(_ cpu: Double) -> ServerUse {
    ServerUse(
      cpuSeconds: cpu, wallSeconds: 2, memoryBefore: 10 << 20, memoryConnected: 11 << 20, memoryAfter: 12 << 20)
  }

  static func turn(_ peer: String, _ number: Int, cpu: Double, faults: [String] = []) -> Turn {
    Turn(
      peer: peer, number: number,
      connect: ConnectReport(connections: 128, seconds: 0.5, latency: histogram([1_000_000])), report: report(),
      steps: [], server: use(cpu), generatorUse: 0.25, faults: faults)
  }

  static func step(_ rate: Double, p99: UInt64, lost: Int = 0) -> Step {
    Step(
      rate: rate, report: report(delivered: Int(rate * 100), latency: [p99], lost: lost), server: use(rate / 1000),
      generatorUse: 0.5, faults: [], generatorWasLimit: false)
  }

  static func result(_ scenario: Scenario, _ turns: [Turn]) -> RunResult {
    RunResult(
      scenario: scenario, command: "fanfare-bench run sample",
      machine: Machine(
        processor: "Processor <&>", cores: 2, kernel: "Linux 6", memoryBytes: 8 << 30, serverCores: [0],
        generatorCores: [1]),
      startedAt: "2025-01-02T03:04:05Z",
      peers: ["fanfare", "floor"].map { PeerDescription(name: $0, version: "1", settings: "as it is & \"so\"") },
      turns: turns, skipped: ["nats": "it is not installed."])
  }

  static var delivery: RunResult {
    result(
      scenario(),
      [
        turn("fanfare", 1, cpu: 0.004), turn("floor", 1, cpu: 0.002), turn("fanfare", 2, cpu: 0.003),
        turn("floor", 2, cpu: 0.003), turn("fanfare", 3, cpu: 0.1, faults: ["the generator was <late>"]),
        turn("floor", 3, cpu: 0.004),
      ])
  }

  static var saturation: RunResult {
    var turn = turn("fanfare", 1, cpu: 1)
    turn.report = nil
    turn.steps = [step(1000, p99: 2_000_000), step(2000, p99: 20_000_000), step(4000, p99: 90_000_000)]
    var floor = turn
    floor.peer = "floor"
    return result(scenario(.saturation), [turn, floor])
  }
}
