import Testing
import Tracing

@testable import Gateway

@Suite("What an event loop measures")
struct ShardHopsTests {
  private let measuring = MeasuringScene()

  @Test("A measured publication began when its frame was read, and where no frame was, it begins now")
  func reading() throws {
    var hops = ShardHops(recorder: measuring.recorder, sampler: HopSampler(measureEvery: 2, traceEvery: 0))
    hops.frameRead()
    measuring.pass(milliseconds: 1)
    #expect(!hops.isDue())
    hops.frameRead()
    measuring.pass(milliseconds: 3)
    #expect(hops.isDue())
    #expect(try #require(hops.begin()).began.nanoseconds == 1_000_000)
    #expect(!hops.isDue() && hops.isDue())
    #expect(try #require(hops.begin()).began.nanoseconds == 4_000_000, "the stamp of an earlier frame is forgotten")
  }

  @Test("Without a recorder nothing is measured")
  func off() {
    var hops = ShardHops(sampler: HopSampler(measureEvery: 1, traceEvery: 0))
    hops.frameRead()
    #expect(hops.isDue() && hops.begin() == nil)
    var none = ShardHops()
    #expect(!none.isDue())
  }
}
