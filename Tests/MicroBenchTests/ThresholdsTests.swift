import Foundation
import Testing

@testable import MicroBench

@Suite("Thresholds of counts")
struct ThresholdsTests {
  private let thresholds = Thresholds(
    about: "", countedWith: "Swift 6.3 on x86_64", tolerancePercent: 5,
    benchmarks: ["decode": .init(instructions: 1_000, allocations: 2)])

  private func findings(
    _ instructions: Double, _ allocations: Double, _ kind: Thresholds.Kind = .both
  ) -> [Finding] {
    thresholds.findings(
      "decode", Counts(instructions: instructions, allocations: allocations, references: 0), kind)
  }

  @Test("let instructions vary by the tolerance, and no further")
  func instructions() {
    #expect(findings(1_000, 2).isEmpty)
    #expect(findings(1_050, 2).isEmpty)
    #expect(findings(1_051, 2).map(\.fails) == [true])
  }

  @Test("let no allocation come on top, not even one in many iterations")
  func allocations() {
    #expect(findings(1_000, 2.01).map(\.fails) == [true])
    #expect(findings(1_000, 3).map(\.fails) == [true])
  }

  @Test("name the benchmark, both counts, and what to do")
  func sentence() throws {
    let finding = try #require(findings(1_200, 2).first?.sentence)
    for part in ["decode", "1200", "1000", "5 %", "--update", "Swift 6.3 on x86_64"] {
      #expect(finding.contains(part), "\(finding)")
    }
    let allocation = try #require(findings(1_000, 4).first?.sentence)
    for part in ["decode", "4", "2", "--update"] { #expect(allocation.contains(part), "\(allocation)") }
  }

  @Test("tell of counts far below them, and do not fail")
  func loose() {
    #expect(findings(950, 2).isEmpty)
    #expect(findings(890, 2).map(\.fails) == [false])
    #expect(findings(1_000, 1).map(\.fails) == [false])
    #expect(findings(800, 0).map(\.fails) == [false, false])
  }

  @Test("fail nothing by instructions that another toolchain made, and tell of them; allocations fail all the same")
  func otherToolchain() throws {
    func findings(_ toolchain: String) -> [Finding] {
      thresholds.findings(
        "decode", Counts(instructions: 2_000, allocations: 3, references: 0), toolchain: toolchain)
    }
    #expect(findings("Swift 6.3 on x86_64").map(\.fails) == [true, true])
    #expect(findings("Swift 6.2 on x86_64").map(\.fails) == [false, true])
    #expect(findings("Swift 6.2 on x86_64").first?.sentence.contains("Swift 6.2 on x86_64") == true)
  }

  @Test("compare the counts that were asked for")
  func kinds() {
    #expect(findings(2_000, 9).count == 2)
    #expect(findings(2_000, 9, .instructions).count == 1)
    #expect(findings(1_000, 9, .instructions).isEmpty)
    #expect(findings(2_000, 2, .allocations).isEmpty)
  }

  @Test("refuse a benchmark that has none, and find those whose benchmark is gone")
  func strangers() {
    let counts = Counts(instructions: 1, allocations: 0, references: 0)
    #expect(thresholds.findings("encode", counts).map(\.fails) == [true])
    #expect(thresholds.orphans(among: ["encode"]) == ["decode"])
    #expect(thresholds.orphans(among: ["encode", "decode"]) == [])
  }

  @Test("take new counts and keep the others")
  func update() {
    var thresholds = thresholds
    thresholds.take(["encode": Counts(instructions: 10, allocations: 1, references: 5)])
    #expect(
      thresholds.benchmarks == [
        "decode": .init(instructions: 1_000, allocations: 2), "encode": .init(instructions: 10, allocations: 1),
      ])
  }

  @Test("of the committed file are those of the benchmarks there are")
  func committed() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let data = try Data(contentsOf: root.appendingPathComponent("benchmarks/thresholds/counts.json"))
    let thresholds = try JSONDecoder().decode(Thresholds.self, from: data)
    #expect(thresholds.benchmarks.keys.sorted() == MicroBenchmark.all.map(\.name).sorted())
    #expect(thresholds.tolerancePercent > 0 && thresholds.tolerancePercent <= 10)
  }
}
