import Glibc

/// One turn of one peer whose server runs: starts the workers, orders them, and measures the server meanwhile.
///
/// Bound to the thread that made it.
final class TurnRun {
  /// Nanoseconds in which an order reaches all workers before its time.
  private static let lead: UInt64 = 200_000_000
  /// Seconds that a worker may take after its time is over, on top of what it waits for by itself.
  private static let patience = 120.0

  private let coordinator: Coordinator
  private let server: RunningPeer
  private let run: String
  private let sampler: ServerSampler
  private var scenario: Scenario { coordinator.scenario }
  private var serverCores: [Int] { coordinator.machine.serverCores }
  private var workers: [WorkerProcess] = []
  private var connects: [Int: ConnectReport] = [:]
  private var progress: [Int: Progress] = [:]
  private var stepped: [Int: WorkerReport] = [:]
  private var finished: [Int: WorkerReport] = [:]

  init(_ coordinator: Coordinator, _ server: RunningPeer, run: String) {
    (self.coordinator, self.server, self.run) = (coordinator, server, run)
    sampler = ServerSampler(processes: server.processes)
  }

  /// Measures the turn, and fills in what was found out.
  func perform(_ turn: inout Turn) throws(BenchError) {
    let memoryBefore = sampler.residentBytes()
    let begin = look()
    coordinator.observe(.phase("connecting"))
    for number in 0..<scenario.workers {
      workers.append(try WorkerProcess(number: number, command: coordinator.worker))
    }
    for worker in workers {
      try worker.send(
        WorkerPlan(
          worker: worker.number, workers: workers.count, target: server.target, scenario: scenario, run: run,
          stampsArrivals: coordinator.stampsArrivals))
    }
    let connections = scenario.groups.reduce(0) { $0 + $1.channels * $1.subscribers }
    try wait(seconds: Self.patience + Double(connections) / 100, for: "everybody to be connected") { [self] in
      connects.count == workers.count
    }
    let connected = look()
    turn.connect = ConnectReport.merged(Array(connects.values))
    // What the handshakes needed is given back before the connections' memory is looked at.
    try wait(until: MonotonicTime.now() + (scenario.measure == .idle ? 1_000_000_000 : 300_000_000))
    var use = ServerUse(
      cpuSeconds: 0, wallSeconds: 0, memoryBefore: memoryBefore, memoryConnected: sampler.residentBytes(),
      memoryAfter: 0)
    var window = (begin, connected)
    if scenario.measure == .saturation {
      window = try performRamp(&turn, use)
    } else {
      try performWindow(&window)
      let reports = Array(finished.values)
      var report = WorkerReport.merged(reports)
      report.remarks += TurnRules.remarks(of: report, scenario)
      turn.report = report
      turn.generatorUse = WorkerReport.generatorUse(reports, cores: coordinator.machine.generatorCores.count)
    }
    use.memoryAfter = sampler.residentBytes()
    use.take(window.0.server, window.1.server)
    turn.server = server.processes.isEmpty ? nil : use
    turn.machine = MachineSampler.use(from: window.0.machine, to: window.1.machine, serverCores: serverCores)
    if let sentence = TurnRules.others(in: turn) { turn.report?.remarks.append(sentence) }
    if let conclude = server.conclude {
      turn.report?.remarks += try conclude(window.0.server.time...max(window.0.server.time, window.1.server.time))
    }
    turn.faults += TurnRules.faults(of: turn, scenario)
  }

  // MARK: One window

  /// What the server's processes and the machine's cores did so far.
  private typealias Look = (server: ServerSampler.Sample, machine: MachineSampler.Sample)

  private func look() -> Look { (sampler.sample(), MachineSampler.sample()) }

  private func performWindow(_ window: inout (Look, Look)) throws(BenchError) {
    let begin = MonotonicTime.now() + Self.lead
    try order(.begin(at: begin))
    let measured = Self.measuredTime(scenario, begin: begin)
    if measured.from > begin { coordinator.observe(.phase("warming up")) }
    switch scenario.measure {
    case .connect:
      // Of a connect run the connecting was measured, which is over.
      try waitForReports(seconds: Self.patience)
    case .resume:
      try wait(until: measured.from)
      coordinator.observe(.phase("recovering"))
      window.0 = look()
      try waitForReports(seconds: Self.patience)
      window.1 = look()
    case .delivery, .idle, .saturation:
      try wait(until: measured.from)
      coordinator.observe(.phase("measuring"))
      server.accompany?()
      window.0 = look()
      try wait(until: measured.to)
      window.1 = look()
      coordinator.observe(.phase("waiting for what is under way"))
      try waitForReports(seconds: Self.patience)
    }
  }

  /// The time in which the workers measure, and with them the server is measured. A resume run's ends with its reports.
  static func measuredTime(_ scenario: Scenario, begin: UInt64) -> (from: UInt64, to: UInt64) {
    let nanoseconds = { (seconds: Double) in UInt64(max(0, min(seconds, 1e9)) * 1e9) }
    switch scenario.measure {
    case .connect: return (begin, begin)
    case .idle: return (begin, begin + nanoseconds(scenario.duration))
    case .delivery, .saturation:
      let start = begin + nanoseconds(scenario.warmup)
      return (start, start + nanoseconds(scenario.duration))
    case .resume:
      // Two seconds for the warm-up to arrive, then everybody drops; a second later the publications that they miss
      // begin, and a second after the last of them everybody returns.
      let absence = scenario.groups.filter { $0.rate > 0 }
        .map { Double((scenario.missed ?? Scenario.Defaults.missed) * $0.channels) / $0.rate }.max()
      let start = begin + nanoseconds(scenario.warmup + 4 + (absence ?? 0))
      return (start, start)
    }
  }

  private func waitForReports(seconds: Double) throws(BenchError) {
    try wait(seconds: seconds, for: "the workers' reports") { [self] in finished.count == workers.count }
  }

  // MARK: A ramp

  /// - Returns: the samples before the first step and after the last.
  private func performRamp(
    _ turn: inout Turn, _ use: ServerUse
  ) throws(BenchError) -> (Look, Look) {
    let ramp = scenario.ramp ?? Scenario.Defaults.ramp
    var begin = MonotonicTime.now() + Self.lead
    try order(.begin(at: begin))
    coordinator.observe(.phase("warming up"))
    begin += UInt64(scenario.warmup * 1e9) + 1_000_000_000
    try wait(until: begin - Self.lead)
    let first = look()
    var progress = RampProgress(ramp, first: scenario.groups[0].rate)
    while let rate = progress.nextRate {
      coordinator.observe(.phase("measuring \(Quantity.rate.format(rate))/s"))
      let step = try performStep(rate, at: begin, ramp, use)
      turn.steps.append(step)
      turn.generatorUse = max(turn.generatorUse, step.generatorUse)
      coordinator.observe(.stepEnded(step))
      progress.add(step)
      begin = MonotonicTime.now() + Self.lead
    }
    let last = look()
    try order(.step(at: 0, rate: nil))
    try waitForReports(seconds: Self.patience)
    return (first, last)
  }

  private func performStep(
    _ rate: Double, at begin: UInt64, _ ramp: Scenario.Ramp, _ use: ServerUse
  ) throws(BenchError) -> Step {
    stepped.removeAll()
    try order(.step(at: begin, rate: rate))
    try wait(until: begin)
    let before = look()
    try wait(until: begin + UInt64(ramp.seconds * 1e9))
    let after = look()
    try wait(seconds: Self.patience, for: "a step's reports") { [self] in stepped.count == workers.count }
    let reports = Array(stepped.values)
    var itsUse = use
    itsUse.memoryAfter = sampler.residentBytes()
    itsUse.take(before.server, after.server)
    var step = Step(
      rate: rate, report: .merged(reports), server: server.processes.isEmpty ? nil : itsUse,
      machine: MachineSampler.use(from: before.machine, to: after.machine, serverCores: serverCores),
      generatorUse: WorkerReport.generatorUse(reports, cores: coordinator.machine.generatorCores.count), faults: [])
    step.faults = TurnRules.faults(of: step, scenario, serverCores: serverCores.count)
    step.generatorWasLimit = !TurnRules.generatorLimits(of: step, serverCores: serverCores.count).isEmpty
    return step
  }

  // MARK: Workers

  private func order(_ order: WorkerOrder) throws(BenchError) {
    for worker in workers { try worker.send(order) }
  }

  /// Takes what the workers say until then.
  private func wait(until time: UInt64) throws(BenchError) {
    while MonotonicTime.now() < time { try poll(until: time) }
  }

  private func wait(seconds: Double, for what: String, _ isDone: () -> Bool) throws(BenchError) {
    let deadline = MonotonicTime.now() + UInt64(seconds * 1e9)
    while !isDone() {
      try poll(until: deadline)
      guard isDone() || MonotonicTime.now() < deadline else {
        throw BenchError("waited \(Int(seconds)) s for \(what) in vain; lower the rate or the number of subscribers.")
      }
    }
  }

  private func poll(until deadline: UInt64) throws(BenchError) {
    var polled: [pollfd] = []
    if let interruption = coordinator.interruption {
      polled.append(pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0))
    }
    for worker in workers where !worker.hasEnded {
      polled.append(pollfd(fd: worker.output, events: Int16(POLLIN), revents: 0))
    }
    let now = MonotonicTime.now()
    let rest = deadline > now ? (deadline - now) / 1_000_000 + 1 : 0
    _ = unsafe Glibc.poll(&polled, nfds_t(polled.count), Int32(min(rest, 1_000)))
    if let interruption = coordinator.interruption, interruption.hasCome { throw Coordinator.interrupted }
    for worker in workers {
      for message in try worker.readMessages() { try take(message, from: worker.number) }
      if worker.hasEnded && finished[worker.number] == nil {
        throw BenchError("worker \(worker.number) ended without a report.")
      }
    }
  }

  private func take(_ message: WorkerMessage, from number: Int) throws(BenchError) {
    switch message {
    case .ready(let report): connects[number] = report
    case .stepped(let report): stepped[number] = report
    case .finished(let report): finished[number] = report
    case .failed(let sentence): throw BenchError(workers.count > 1 ? "worker \(number): \(sentence)" : sentence)
    case .progress(let part):
      progress[number] = part
      coordinator.observe(.progress(Progress.merged(Array(progress.values))))
    }
  }

  /// Ends all workers.
  func end() {
    for worker in workers { try? worker.send(.stop) }
    for worker in workers { worker.stop(patience: 5) }
    workers = []
  }
}

extension ServerUse {
  mutating func take(_ begin: ServerSampler.Sample, _ end: ServerSampler.Sample) {
    cpuSeconds = ServerSampler.cpuSeconds(from: begin, to: end)
    wallSeconds = Double(end.time &- begin.time) / 1e9
  }
}
