import Foundation
import Glibc
import Testing

@testable import Bench

@Suite("What a server uses")
struct MachineSamplerTests {
  @Test("A process that computes is seen to use CPU, about as much as it says itself")
  func computes() {
    let sampler = ServerSampler(processes: [getpid()])
    let before = sampler.sample()
    var spent = 0.0
    var sum: UInt64 = 0
    let start = cpuOfThread()
    while spent < 0.2 {
      for value in 0..<200_000 as Range<UInt64> { sum = sum &* 31 &+ value }
      spent = cpuOfThread() - start
    }
    let used = ServerSampler.cpuSeconds(from: before, to: sampler.sample())
    // Other tests compute in the same process meanwhile, so that there is no upper bound.
    #expect(used > 0.15 && sum != 1)
    #expect(sampler.residentBytes() > 1 << 20)
  }

  private func cpuOfThread() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  @Test("Threads are counted by what they added, and a thread that ended by the process's ticks")
  func arithmetic() {
    var before = ServerSampler.Sample(time: 0)
    (before.threads, before.ticks) = (["1/1": 1_000_000_000, "1/2": 500_000_000], [1: 150])
    var after = ServerSampler.Sample(time: 0)
    (after.threads, after.ticks) = (["1/1": 1_250_000_000, "1/3": 50_000_000], [1: 180])
    #expect(ServerSampler.cpuSeconds(from: before, to: after, ticksPerSecond: 100) == 0.3)
    // Half a second more than the threads that are left.
    after.ticks = [1: 230]
    #expect(ServerSampler.cpuSeconds(from: before, to: after, ticksPerSecond: 100) == 0.8)
  }

  @Test("A process that is not there uses nothing")
  func absent() {
    let sampler = ServerSampler(processes: [2_000_000_000])
    #expect(ServerSampler.cpuSeconds(from: sampler.sample(), to: sampler.sample()) == 0)
    #expect(sampler.residentBytes() == 0)
  }

  @Test("Cores are divided between server and generator where there are two")
  func cores() {
    #expect(Machine.cores(inList: "\t0-2,5") == [0, 1, 2, 5])
    #expect(Machine.cores(inList: "x") == [0])
    let machine = Machine.current()
    #expect(machine.cores >= 1 && machine.memoryBytes > 1 << 20 && machine.kernel.hasPrefix("Linux "))
    #expect(machine.pinned(to: [3]).serverCores == [])
    #expect(machine.pinned(to: [0, 1]).serverCores == [0] && machine.pinned(to: [0, 1]).generatorCores == [1])
    #expect(machine.pinned(to: [0, 1, 2]).generatorCores == [1, 2])
  }

  @Test("What all cores did is told by core: busy, in interrupts, stolen; a disk that is waited for is idle time")
  func machine() throws {
    let before = MachineSampler.parse(
      "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 100 0 50 1000 10 5 5 0 0 0\ncpu1 0 0 0 500 0 0 0 0 0 0\nintr 1 2\n")
    let after = MachineSampler.parse(
      "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 130 10 60 1010 20 10 15 15 99 0\ncpu1 0 0 0 600 0 0 0 0 0 0\nctxt 9\n")
    let use = try #require(MachineSampler.use(from: before, to: after, serverCores: [0]))
    // Of 100 ticks: 30 user, 10 nice, 10 system, 15 interrupts, 15 stolen, 20 idle. Guests stand in user already.
    #expect(
      use.cores == [
        MachineUse.Core(number: 0, busy: 0.65, interrupts: 0.15, stolen: 0.15),
        MachineUse.Core(number: 1, busy: 0, interrupts: 0, stolen: 0),
      ])
    #expect(use.mean { $0.busy } == 0.325 && use.serverMean { $0.busy } == 0.65)
    #expect(MachineSampler.use(from: before, to: before, serverCores: []) == nil)
    #expect(MachineSampler.use(from: [:], to: after, serverCores: []) == nil)
  }

  @Test("Counters that go back count as standing still, and a core that came or went is left out")
  func machineOddities() throws {
    let before = MachineSampler.parse("cpu0 10 0 0 100 9 0 0 0\ncpu1 1 0 0 1 0 0 0 0\n")
    let after = MachineSampler.parse("cpu0 20 0 0 110 8 0 0 0\ncpu2 1 0 0 1 0 0 0 0\ncpu3 1 2\n")
    let use = try #require(MachineSampler.use(from: before, to: after, serverCores: []))
    #expect(use.cores.map(\.number) == [0] && use.serverMean { $0.busy } == nil)
    #expect((0.5...0.53).contains(use.cores[0].busy))
  }

  @Test("This machine's cores are known")
  func thisMachine() { #expect(MachineSampler.sample().count >= 1) }
}
