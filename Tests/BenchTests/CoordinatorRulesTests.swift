import Testing

@testable import Bench

@Suite("When a turn cannot be trusted")
struct CoordinatorRulesTests {
  private func faults(_ change: (inout Turn) -> Void) -> [String] {
    var turn = Sample.turn("fanfare", 1, cpu: 0.1)
    change(&turn)
    return TurnRules.faults(of: turn, Sample.scenario())
  }

  @Test("A turn in which all is well has no fault")
  func well() { #expect(faults { _ in } == []) }

  @Test("A generator beyond nine tenths of a core may have been the bottleneck")
  func busy() {
    #expect(faults { $0.generatorUse = 0.9 } == [])
    #expect(faults { $0.generatorUse = 0.91 }.first?.contains("bottleneck") == true)
  }

  @Test("The generator's lateness may be a millisecond, or a tenth of the latency")
  func late() {
    #expect(faults { $0.report?.lateness = Sample.histogram([900_000]) } == [])
    #expect(faults { $0.report?.lateness = Sample.histogram([1_100_000]) }.first?.contains("late") == true)
    let relative = faults { turn in
      turn.report?.lateness = Sample.histogram([1_100_000])
      turn.report?.groups[0].latency = Sample.histogram([20_000_000])
    }
    #expect(relative == [])
  }

  @Test("What is lost, doubled, out of order, refused, unsent or disconnected is a fault each")
  func counts() {
    #expect(faults { $0.report?.groups[0].lost = 1 } == ["1 of 1000 deliveries were lost"])
    #expect(
      faults { $0.report?.groups[0].lostBefore = 2 } == ["2 deliveries of what was published before it were lost"])
    let refused = faults {
      $0.report?.groups[0].lost = 1
      $0.report?.groups[0].refused = 1
    }
    #expect(refused.first == "1 of 1000 deliveries were lost, those of refused publications among them")
    #expect(faults { $0.report?.groups[0].duplicated = 2 } == ["2 deliveries came twice"])
    #expect(faults { $0.report?.groups[0].misordered = 3 } == ["3 deliveries came out of order"])
    #expect(faults { $0.report?.groups[0].refused = 4 } == ["the server refused 4 publications"])
    #expect(faults { $0.report?.groups[0].published = 9 } == ["1 publications never went out"])
    #expect(faults { $0.report?.disconnected = 5 } == ["the server disconnected 5 clients"])
  }

  @Test("A generator that read late is told from a server that sent late, where the kernel stamped")
  func readLate() {
    func remarks(kernel: UInt64?, read: UInt64) -> [String] {
      var report = Sample.report(latency: [read])
      report.groups[0].kernel = kernel.map { Sample.histogram([$0]) }
      return TurnRules.remarks(of: report, Sample.scenario())
    }
    #expect(remarks(kernel: nil, read: 40_000_000) == [])
    #expect(remarks(kernel: 39_000_000, read: 40_000_000) == [])
    #expect(remarks(kernel: 1_000, read: 900_000) == [])
    #expect(
      remarks(kernel: 2_000_000, read: 40_000_000).first?.hasPrefix("the generator read late: p99 is 2.00 ms") == true)
  }

  @Test("What neither server nor generator used of the machine is said where it is much")
  func others() {
    func note(busy: Double) -> String? {
      // Half a second of the server's and half a second of the generator's in two seconds on two cores: a quarter.
      var turn = Sample.turn("fanfare", 1, cpu: 0.5)
      let core = MachineUse.Core(number: 0, busy: busy, interrupts: 0, stolen: 0)
      turn.machine = MachineUse(cores: [core, core], serverCores: [])
      return TurnRules.others(in: turn)
    }
    #expect(note(busy: 0.45) == nil)
    #expect(note(busy: 0.75)?.hasPrefix("50.0 % of all cores were used by neither server nor generator") == true)
    #expect(TurnRules.others(in: Sample.turn("fanfare", 1, cpu: 0.5)) == nil)
  }

  @Test("A turn fails by loss and by having no report, and not by a busy generator")
  func failures() {
    var turn = Sample.turn("fanfare", 1, cpu: 0.1, faults: ["the generator was busy"])
    #expect(!turn.isFailure && !turn.isValid)
    turn.report?.groups[0].lost = 1
    #expect(turn.isFailure)
    turn.report = nil
    #expect(turn.isFailure)
    turn.steps = [Sample.step(1, p99: 1, lost: 5)]
    #expect(!turn.isFailure)
    turn.steps[0].report.groups[0].duplicated = 1
    #expect(turn.isFailure)
  }

  @Test("A step is generator-bound where the generator was full and the server was not")
  func steps() {
    var step = Sample.step(100, p99: 1)
    (step.generatorUse, step.server) = (0.98, Sample.use(1.0))
    #expect(
      TurnRules.faults(of: step, Sample.scenario(.saturation), serverCores: 1).first?.hasPrefix("generator-bound")
        == true)
    step.server = Sample.use(1.9)
    #expect(TurnRules.faults(of: step, Sample.scenario(.saturation), serverCores: 1) == [])
    #expect(TurnRules.faults(of: step, Sample.scenario(.saturation), serverCores: 2).count == 1)
    (step.generatorUse, step.server) = (0.96, Sample.use(1.0))
    #expect(TurnRules.faults(of: step, Sample.scenario(.saturation), serverCores: 1) == [])
  }

  @Test("A ramp whose first step is beyond the limit has a fault")
  func ramp() {
    var turn = Sample.saturation.turns[0]
    #expect(TurnRules.faults(of: turn, Sample.scenario(.saturation)) == [])
    turn.steps.removeFirst(2)
    #expect(TurnRules.faults(of: turn, Sample.scenario(.saturation)).first?.contains("begin lower") == true)
  }

  @Test("Workers' reports add up, and the busiest worker or the shared core counts")
  func merging() {
    var other = Sample.report(delivered: 500, latency: [400_000])
    (other.cpuSeconds, other.disconnected, other.remarks) = (1.5, 2, ["so"])
    let merged = WorkerReport.merged([Sample.report(), other])
    #expect(merged.delivered == 1500 && merged.disconnected == 2 && merged.remarks == ["so"])
    #expect(merged.groups[0].latency.count == 4)
    #expect(merged.seconds.count == 2 && merged.seconds[0].delivered == 750)
    #expect(WorkerReport.generatorUse([Sample.report(), other], cores: 0) == 0.75)
    #expect(WorkerReport.generatorUse([Sample.report(), other], cores: 1) == 1)
    #expect(WorkerReport.generatorUse([Sample.report(), other], cores: 2) == 0.75)
  }

  @Test("The measured time begins after the warm-up, and of a resume run with the return")
  func window() {
    var scenario = Sample.scenario()
    #expect(TurnRun.measuredTime(scenario, begin: 5) == (1_000_000_005, 3_000_000_005))
    scenario.measure = .idle
    #expect(TurnRun.measuredTime(scenario, begin: 5) == (5, 2_000_000_005))
    (scenario.measure, scenario.missed) = (.resume, 100)
    // One second of warm-up, four of pauses, and 100 publications at 50 a second.
    #expect(TurnRun.measuredTime(scenario, begin: 0).from == 7_000_000_000)
  }
}
