import Telemetry
import Testing
import Wire

@testable import Gateway

@Suite("What an event loop measures")
struct ShardHopsTests {
  private let measuring = MeasuringScene()

  @Test("A measured publication began when its frame was read, and where no frame was, it begins now")
  func reading() {
    var hops = ShardHops(recorder: measuring.recorder, sampler: HopSampler(measureEvery: 2, traceEvery: 0))
    hops.frameRead()
    measuring.pass(milliseconds: 1)
    #expect(began(&hops) == nil)
    hops.frameRead()
    measuring.pass(milliseconds: 3)
    #expect(began(&hops) == 1_000_000)
    #expect(began(&hops) == nil)
    #expect(began(&hops) == 4_000_000, "the stamp of an earlier frame is forgotten")
  }

  /// When the next publication began; nil: it is not measured.
  private func began(_ hops: inout ShardHops) -> UInt64? {
    hops.isDue() ? hops.begin()?.began.nanoseconds : nil
  }

  @Test("Without a recorder nothing is measured")
  func off() {
    var hops = ShardHops(sampler: HopSampler(measureEvery: 1, traceEvery: 0))
    hops.frameRead()
    #expect(began(&hops) == nil)
    var none = ShardHops()
    let isDue = none.isDue()
    #expect(!isDue)
  }
}
