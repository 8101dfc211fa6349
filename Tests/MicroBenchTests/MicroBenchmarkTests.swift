import Foundation
import TestSupport
import Testing
import Wire

@testable import MicroBench

@Suite("The micro-benchmarks", .ownThread)
struct MicroBenchmarkTests {
  @Test("run", arguments: MicroBenchmark.all.map(\.name))
  func run(_ name: String) throws {
    let benchmark = try #require(MicroBenchmark.all.first { $0.name == name })
    let body = try benchmark.prepare()
    body(3)
  }

  @Test("have names of their own, and say what they count")
  func names() {
    #expect(Set(MicroBenchmark.all.map(\.name)).count == MicroBenchmark.all.count)
    for benchmark in MicroBenchmark.all {
      #expect(!benchmark.about.isEmpty && benchmark.iterations > 0)
      #expect(benchmark.name.allSatisfy { $0.isLowercase || $0 == "-" }, "a name is typed on a command line")
    }
  }

  @Test("work on payloads of the size that they claim")
  func samples() {
    #expect(Samples.payload.count == Samples.payloadBytes)
    #expect(Samples.publication.data == Samples.payload)
  }
}

@Suite("What counts are compared with")
struct ToolchainTests {
  @Test("A processor without AVX2 is another: the C library's instructions differ")
  func processor() {
    let new = Data("model name : AMD EPYC\nflags\t\t: fpu avx avx2 bmi2\nbugs :\n".utf8)
    let old = Data("model name : AMD EPYC\nflags\t\t: fpu avx bmi1\nbugs :\n".utf8)
    #expect(MicroBenchmark.processor(described: new) == "x86_64")
    #expect(MicroBenchmark.processor(described: old) == "x86_64 without AVX2")
    #expect(MicroBenchmark.processor(described: Data()) == "x86_64 without AVX2")
  }
}

@Suite("A table of counts", .ownThread)
struct CountTableTests {
  @Test("puts counts beside their thresholds, and a dash where there is none")
  func rows() {
    var table = CountTable()
    table.add(
      "decode", Counts(instructions: 1_200, allocations: 2.5, references: 31),
      .init(instructions: 1_000, allocations: 2))
    table.add("encode", Counts(instructions: 7, allocations: 0, references: 0), nil)
    let lines = table.description.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(lines.dropFirst() == [["decode", "1200", "1000", "2.5", "2", "31"], ["encode", "7", "-", "0", "-", "0"]])
  }
}
