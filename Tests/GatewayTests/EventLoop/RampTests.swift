import TestSupport
import Testing

@testable import Gateway

/// When whose turn to leave comes.
@Suite("The ramp of a gateway that ends")
struct RampTests {
  private static func delays(_ count: Int, _ window: Int64, seed: UInt64 = 1) -> [Int64] {
    var random = SeededGenerator(seed: seed)
    return Ramp.delays(of: count, within: window, using: &random)
  }

  @Test("One client leaves in each of as many equal parts of the time", arguments: [1, 2, 7, 1000, 10_000])
  func even(count: Int) {
    let window: Int64 = 10_000
    let delays = Self.delays(count, window)
    #expect(delays.count == count)
    for (part, delay) in delays.enumerated() {
      let start = window * Int64(part) / Int64(count)
      let end = window * Int64(part + 1) / Int64(count)
      #expect(delay >= start && delay < max(end, start + 1))
    }
  }

  @Test("Where in its part each leaves, the random source says, and a seed repeats it")
  func seeded() {
    #expect(Self.delays(50, 10_000, seed: 3) == Self.delays(50, 10_000, seed: 3))
    #expect(Self.delays(50, 10_000, seed: 3) != Self.delays(50, 10_000, seed: 4))
    let within = Self.delays(50, 10_000, seed: 3).map { $0 % 200 }
    #expect(Set(within).count > 25, "the draws stand all at the same place of their parts")
  }

  @Test("More clients than milliseconds share them, and without time all leave now")
  func dense() {
    let delays = Self.delays(3000, 1000)
    let most = Dictionary(grouping: delays) { $0 }.values.map(\.count).max()
    #expect(most == 3)
    #expect(delays.allSatisfy { (0..<1000).contains($0) })
    #expect(Self.delays(3, 0) == [0, 0, 0])
    #expect(Self.delays(3, -5) == [0, 0, 0])
    #expect(Self.delays(0, 1000).isEmpty)
  }

  @Test("Slots come due in their order, each once, whatever the order in which they were given")
  func due() {
    var ramp = Ramp([
      .init(connection: 1, due: 300), .init(connection: 2, due: 100), .init(connection: 4, due: 200),
      .init(connection: 3, due: 200),
    ])
    #expect(ramp.takeDue(at: 99).isEmpty)
    #expect(ramp.takeDue(at: 200) == [2, 3, 4])
    #expect(ramp.takeDue(at: 200).isEmpty && !ramp.isOver)
    #expect(ramp.takeDue(at: .max) == [1])
    #expect(ramp.isOver)
  }

  @Test("Who was told its slot has some time to leave by itself, and the ramp is no longer for it")
  func grace() {
    for window: Int64 in [0, 9, 100, 5000, 10_000, 600_000] {
      let grace = Ramp.grace(within: window)
      #expect(grace >= 0 && grace <= 1000)
      let last = Self.delays(100, window - grace).max() ?? 0
      #expect(last + grace <= window)
    }
    #expect(Ramp.grace(within: 10_000) == 1000)
  }

  @Test("With few clients there is no ramp, and without a time neither")
  func floor() {
    let ending = GatewayEnding(ramp: .milliseconds(2500), rampFloor: 100, deadline: .seconds(1))
    #expect(ending.window(for: 99) == 0)
    #expect(ending.window(for: 100) == 2500)
    #expect(GatewayEnding(ramp: .seconds(1), rampFloor: 0, deadline: .seconds(1)).window(for: 0) == 0)
    #expect(GatewayEnding(deadline: .seconds(1)).window(for: 1000) == 0)
  }
}
