import Testing

@testable import Bench

@Suite("What results come to")
struct ReportMathTests {
  @Test("A figure is the median of its turns, with the range")
  func medians() throws {
    let odd = try #require(Summary.Figure([3, 1, 2]))
    #expect(odd.median == 2 && odd.least == 1 && odd.most == 3 && odd.turns == 3)
    #expect(Summary.Figure([4, 1, 2, 3])?.median == 2.5)
    #expect(Summary.Figure([]) == nil)
    #expect(Summary.Figure([.nan]) == nil)
  }

  @Test("A ratio is taken within each round, of valid turns alone")
  func ratios() throws {
    let summary = Summary(Sample.delivery)
    #expect(summary.yardstick == "floor")
    let row = try #require(summary.rows.first { $0.metric.label == "CPU per delivery" })
    // Rounds 1 and 2: 0.004 / 0.002 and 0.003 / 0.003. The third of fanfare is invalid.
    let ratio = try #require(row.ratios["fanfare"])
    #expect(abs(ratio.median - 1.5) < 1e-9 && abs(ratio.least - 1) < 1e-9 && abs(ratio.most - 2) < 1e-9)
    #expect(ratio.turns == 2)
    #expect(abs((row.figures["fanfare"]?.median ?? 0) - 0.0035 / 1000) < 1e-12)
    #expect(row.ratios["floor"] == nil)
    #expect(summary.doubtful.isEmpty)
  }

  @Test("Without a floor the first peer is the yardstick, and a peer without a valid turn is marked")
  func yardstick() {
    var result = Sample.delivery
    result.peers[1].name = "other"
    result.turns = result.turns.map { turn in
      var turn = turn
      if turn.peer == "floor" { (turn.peer, turn.faults) = ("other", ["it was late"]) }
      return turn
    }
    let summary = Summary(result)
    #expect(summary.yardstick == "fanfare")
    #expect(summary.doubtful == ["other"])
    #expect(summary.rows.first?.figures["other"]?.turns == 3)
  }

  @Test("Memory per connection is what was added, divided by the connections")
  func memory() throws {
    let row = try #require(Summary(Sample.delivery).rows.first { $0.metric.label == "memory per connection" })
    #expect(row.figures["floor"]?.median == Double(1 << 20) / 128)
  }

  @Test("The knee is the highest step within the limit in which nothing was lost")
  func knee() {
    let steps = [Sample.step(1, p99: 1_000_000), Sample.step(2, p99: 49_000_000), Sample.step(4, p99: 60_000_000)]
    #expect(Saturation.knee(steps, limitMilliseconds: 50)?.rate == 2)
    #expect(Saturation.knee(steps, limitMilliseconds: 0.5) == nil)
    #expect(Saturation.knee(steps + [Sample.step(8, p99: 1_000, lost: 1)], limitMilliseconds: 50)?.rate == 2)
    // A single step over the limit, as noise makes it, does not end the search.
    #expect(Saturation.knee(steps + [Sample.step(8, p99: 40_000_000)], limitMilliseconds: 50)?.rate == 8)
  }

  @Test("A ramp rises by its factor and ends after two steps beyond the limit")
  func ramp() throws {
    let ramp = Scenario.Ramp(factor: 2, seconds: 1, p99LimitMilliseconds: 50, maximumSteps: 4)
    var progress = RampProgress(ramp, first: 100)
    #expect(progress.nextRate == 100)
    progress.add(Sample.step(100, p99: 60_000_000))
    #expect(progress.nextRate == 200)
    progress.add(Sample.step(200, p99: 1_000_000))
    #expect(progress.nextRate == 400)
    progress.add(Sample.step(400, p99: 60_000_000))
    var second = progress
    second.add(Sample.step(800, p99: 60_000_000))
    #expect(second.nextRate == nil)
    // The last of the steps that a ramp may have.
    progress.add(Sample.step(800, p99: 1_000_000))
    #expect(progress.nextRate == nil)
    var broken = RampProgress(ramp, first: 100)
    var step = Sample.step(100, p99: 1_000_000)
    step.report.disconnected = 1
    broken.add(step)
    #expect(broken.nextRate == nil)
  }

  @Test("A quantile is the smallest value that so many do not exceed")
  func quantiles() {
    let histogram = Sample.histogram(Array(1...100))
    #expect(histogram.value(at: 0) == 1 && histogram.value(at: 0.5) == 50)
    #expect(histogram.value(at: 0.99) == 99 && histogram.value(at: 1) == 100)
    #expect(EncodedHistogram().value(at: 0.5) == 0)
  }

  @Test("Figures are written with three digits and their unit")
  func quantities() {
    #expect(Quantity.nanoseconds.format(950) == "950 ns")
    #expect(Quantity.nanoseconds.format(12_345) == "12.3 µs")
    #expect(Quantity.nanoseconds.format(999_600) == "1.00 ms")
    #expect(Quantity.seconds.format(1.5) == "1.50 s")
    #expect(Quantity.microseconds.format(0.00000042) == "0.420 µs")
    #expect(Quantity.rate.format(1_600_000) == "1.60 M")
    #expect(Quantity.bytes.format(6144) == "6.00 KiB")
    #expect(Quantity.part.format(0.905) == "90.5 %")
    #expect(Quantity.ratio.format(0.85) == "0.85×")
    #expect(Quantity.nanoseconds.format(.nan) == "–")
    #expect(Quantity.rate.tick(1_600_000) == "1.6 M" && Quantity.rate.tick(200) == "200")
  }
}
