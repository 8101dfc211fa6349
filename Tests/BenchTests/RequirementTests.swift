import Testing

@testable import Bench

@Suite("What a run is required to reach")
struct RequirementTests {
  private func goal(_ text: String, peers: [String] = ["floor", "fanfare", "fanfare-send"]) throws(BenchError) -> Goal {
    try Goal(required: text, of: Sample.scenario(), peers: peers)
  }

  @Test("A requirement is written nearly as reports write goals")
  func written() throws {
    #expect(try goal("p99<=5ms") == Goal(peer: "fanfare", figure: "p99", atMost: 5, unit: "ms"))
    #expect(try goal(" p50 ≤ 0.5 µs ") == Goal(peer: "fanfare", figure: "p50", atMost: 0.5, unit: "us"))
    #expect(
      try goal("deliveries/s of fanfare-send >= 40000 /s")
        == Goal(peer: "fanfare-send", figure: "deliveries/s", atLeast: 40_000, unit: "/s"))
    let ratio = Goal(peer: "fanfare", figure: "CPU per delivery", atMost: 1.1, of: "floor")
    #expect(try goal("CPU per delivery <= 1.1x floor") == ratio)
    #expect(try goal("CPU per delivery of fanfare ≤ 1.10× floor's") == ratio)
    #expect(
      try goal("p50<=200us more than floor's")
        == Goal(peer: "fanfare", figure: "p50", atMost: 200, of: "floor", unit: "us"))
    #expect(try goal("p99<=5ms", peers: ["url"]).peer == "url")
    #expect(try goal("p99<=5ms", peers: ["floor"]).peer == "floor")
  }

  @Test(
    "One that cannot be judged is refused before anything is measured",
    arguments: [
      ("p99", "write it like"), ("p99 <= fast", "does not begin with a number"), ("p98 <= 5ms", "no figure \"p98\""),
      ("p99 <= 5", "neither a unit nor"), ("p99 <= 5KiB", "it is measured in one of"),
      ("p99 of nats <= 5ms", "nats is not measured"), ("p99 <= 1.1x", "no peer is named"),
      ("p99 <= 1.1x nats", "nats is not measured"), ("p99 <= 1.1.1ms", "does not begin with a number"),
    ])
  func mistakes(text: String, sentence: String) {
    let error = #expect(throws: BenchError.self) { try goal(text) }
    #expect(error?.description.contains(sentence) == true, "\(error?.description ?? "")")
    #expect(error?.description.contains("the requirement \"\(text)\"") == true)
  }

  private func gate(_ turns: Int, _ goals: [String]) throws -> Gate {
    let result = Sample.result(
      Sample.scenario(), (1...turns).map { Sample.turn("fanfare", $0, cpu: 0.01) })
    return Gate(try goals.map { text in try goal(text) }, of: result)
  }

  @Test("All met passes, one missed fails, and fewer than five valid turns are undecided")
  func gates() throws {
    let (met, missed) = ("p99 <= 1ms", "CPU per delivery <= 5us")
    #expect(try gate(5, [met]) == gate(7, [met]))
    #expect(try gate(5, [met]).outcome == .passed)
    let failed = try gate(5, [met, missed])
    #expect(failed.outcome == .missed)
    #expect(failed.sentence.hasPrefix("1 of 2 goals missed: CPU per delivery of fanfare ≤ 5.00 µs: 10.0 µs"))
    for turns in [1, 2, 4] {
      let gate = try gate(turns, [met, missed])
      #expect(gate.outcome == .undecided && gate.sentence.contains("\(turns) valid turns, and 5 are needed"))
    }
  }

  @Test("Of a scenario's goals a run judges those that it can: not those held against another scenario")
  func own() {
    var scenario = Sample.scenario()
    let (own, other) = (
      Goal(peer: "fanfare", figure: "p99", atMost: 5, unit: "ms"),
      Goal(peer: "fanfare", figure: "p99", atMost: 5, scenario: "rest", unit: "ms")
    )
    scenario.goals = [own, other]
    #expect(Gate.goals(of: scenario) == [own])
    #expect(Gate.goals(of: scenario, beside: ["rest"]) == [own, other])
  }
}
