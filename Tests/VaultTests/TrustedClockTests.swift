import Testing

@testable import Vault

/// A machine's clocks in a test's hands.
struct TestMachine {
  var wall: Int64 = 1_700_000_000_000
  var boot: Int64 = 500_000_000
  var isSynchronized = false

  var reading: TrustedClock.Reading { .init(wall: wall, boot: boot, isSynchronized: isSynchronized) }

  mutating func pass(_ milliseconds: Int64) {
    wall += milliseconds
    boot += milliseconds
  }
}

@Suite("The trusted clock")
struct TrustedClockTests {
  static let minute: Int64 = 60_000
  static let hour: Int64 = 3_600_000
  static let day: Int64 = 24 * hour

  private func rules(trustsRestarts: Bool = false) -> TrustedClock.Rules {
    var rules = TrustedClock.Rules()
    rules.maximumStep = 10 * Self.minute
    rules.trustsRestarts = trustsRestarts
    return rules
  }

  private func clock(_ machine: TestMachine, after mark: TrustedClock.Mark? = nil) -> TrustedClock {
    TrustedClock(machine.reading, bootID: "one", after: mark, rules: rules())
  }

  @Test("while the machine's clock runs, and where it is corrected a little, it counts as it is")
  func agrees() {
    var machine = TestMachine()
    var clock = clock(machine)
    for correction in [0, 1, -1, 9 * Self.minute, -5 * Self.minute] {
      machine.pass(Self.hour)
      machine.wall += correction
      #expect(clock.now(machine.reading) == .init(wall: machine.wall, ahead: 0))
    }
    #expect(clock.doubt == nil)
  }

  @Test(
    "a clock that jumps is not followed, ahead or back, and counts again when it is set right",
    arguments: [day, -day, 11 * minute, -11 * minute, 30 * 366 * day])
  func jumps(by step: Int64) {
    var machine = TestMachine()
    var clock = clock(machine)
    machine.pass(5000)
    let before = clock.now(machine.reading).wall
    machine.wall += step
    for passed in 1...3 as ClosedRange<Int64> {
      machine.pass(1000)
      #expect(clock.now(machine.reading) == .init(wall: before + passed * 1000, ahead: step))
      #expect(clock.doubt == .stepped)
    }
    // A time server that says so may be what is wrong: only a person can confirm a jump.
    machine.isSynchronized = true
    #expect(clock.now(machine.reading).ahead == step)
    machine.wall -= step
    #expect(clock.now(machine.reading) == .init(wall: machine.wall, ahead: 0))
    #expect(clock.doubt == nil)
  }

  @Test("a clock that a person confirms counts, and the next jump is none the less a jump")
  func confirmed() {
    var machine = TestMachine()
    var clock = clock(machine)
    machine.wall += Self.day
    #expect(clock.now(machine.reading).ahead == Self.day)
    clock.confirm(machine.reading)
    machine.pass(1000)
    #expect(clock.now(machine.reading) == .init(wall: machine.wall, ahead: 0))
    machine.wall -= Self.day
    #expect(clock.now(machine.reading).ahead == -Self.day)
  }

  @Test("many small steps within a day add up to a jump; over many days they do not")
  func creeping() {
    var machine = TestMachine()
    var clock = clock(machine)
    for _ in 0..<3 {
      machine.pass(Self.hour)
      machine.wall += 4 * Self.minute
      _ = clock.now(machine.reading)
    }
    #expect(clock.doubt == .stepped)
    machine = TestMachine()
    clock = self.clock(machine)
    for _ in 0..<30 {
      machine.pass(Self.day)
      machine.wall += 4 * Self.minute
      #expect(clock.now(machine.reading).ahead == 0)
    }
  }

  @Test("sleep is time: a laptop that was shut for a week asks nobody")
  func sleep() {
    var machine = TestMachine()
    var clock = clock(machine)
    machine.pass(7 * Self.day)
    #expect(clock.now(machine.reading) == .init(wall: machine.wall, ahead: 0))
  }

  // MARK: Restarts

  @Test(
    "after a restart of the server alone, however long it was away, only a jump is one", arguments: [0, day, 90 * day])
  func sameStart(away: Int64) {
    var machine = TestMachine()
    let mark = clock(machine).mark(machine.reading, bootID: "one")
    machine.pass(away)
    var next = clock(machine, after: mark)
    #expect(next.now(machine.reading) == .init(wall: machine.wall, ahead: 0))
    machine.wall += Self.day
    next = clock(machine, after: mark)
    #expect(next.doubt == .stepped)
    #expect(next.now(machine.reading) == .init(wall: machine.wall - Self.day, ahead: Self.day))
  }

  @Test("a jump that nobody has confirmed outlives a restart")
  func unconfirmedRestart() {
    var machine = TestMachine()
    var clock = clock(machine)
    machine.wall += Self.day
    _ = clock.now(machine.reading)
    let mark = clock.mark(machine.reading, bootID: "one")
    #expect(mark.isWaiting && mark.wall == machine.wall - Self.day)
    machine.pass(5000)
    var next = self.clock(machine, after: mark)
    #expect(next.now(machine.reading) == .init(wall: machine.wall - Self.day, ahead: Self.day))
  }

  private func afterRestart(
    _ change: Int64, isSynchronized: Bool = false, trustsRestarts: Bool = false
  ) -> (TrustedClock, TestMachine) {
    var machine = TestMachine()
    let mark = clock(machine).mark(machine.reading, bootID: "one")
    machine = TestMachine(wall: machine.wall + change, boot: 20_000, isSynchronized: isSynchronized)
    let rules = rules(trustsRestarts: trustsRestarts)
    return (TrustedClock(machine.reading, bootID: "two", after: mark, rules: rules), machine)
  }

  @Test("after a short restart of the machine its clock counts; a time server's word counts after any")
  func machineRestarts() {
    for (change, isSynchronized, trusts) in [
      (5 * Self.minute, false, false), (-5 * Self.minute, false, false), (Self.day, true, false),
      (90 * Self.day, true, false), (-Self.day, true, false), (Self.day, false, true),
    ] {
      var (clock, machine) = afterRestart(change, isSynchronized: isSynchronized, trustsRestarts: trusts)
      #expect(clock.now(machine.reading) == .init(wall: machine.wall, ahead: 0), "\(change) \(isSynchronized)")
    }
  }

  @Test(
    "where nobody knows how long the machine was off, time goes on from where it was until a time server has a word")
  func away() {
    for change in [Self.day, -Self.day, -20 * 366 * Self.day] {
      var (clock, machine) = afterRestart(change)
      #expect(clock.doubt == .away)
      machine.pass(3000)
      #expect(clock.now(machine.reading) == .init(wall: TestMachine().wall + 3000, ahead: change))
      // Once the machine is synchronised, its time server has judged the clock, and the clock is believed.
      machine.isSynchronized = true
      #expect(clock.now(machine.reading) == .init(wall: machine.wall, ahead: 0))
    }
    var (clock, machine) = afterRestart(Self.day)
    clock.confirm(machine.reading)
    machine.pass(10)
    #expect(clock.now(machine.reading).ahead == 0)
  }

  @Test("a system that does not name its starts is as one that was started anew")
  func nameless() {
    var machine = TestMachine()
    let mark = TrustedClock(machine.reading, bootID: "", after: nil, rules: rules()).mark(machine.reading, bootID: "")
    machine.pass(Self.day)
    #expect(TrustedClock(machine.reading, bootID: "", after: mark, rules: rules()).doubt == .away)
  }

  @Test("no mark and no clock is out of the range of its arithmetic", arguments: [Int64.min, .max, 0, -1])
  func extremes(value: Int64) {
    for other in [Int64.min, .max, 0, 1] {
      let mark = TrustedClock.Mark(wall: value, boot: other, bootID: "one")
      var clock = TrustedClock(.init(wall: other, boot: value), bootID: "one", after: mark, rules: rules())
      for reading in [TrustedClock.Reading(wall: value, boot: other), .init(wall: other, boot: value)] {
        _ = clock.now(reading)
        _ = clock.mark(reading, bootID: "one")
      }
    }
  }
}
