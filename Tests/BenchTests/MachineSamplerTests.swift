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
}
