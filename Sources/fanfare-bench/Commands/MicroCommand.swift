import ArgumentParser
import Foundation
import MicroBench

/// `fanfare-bench micro`: instructions and allocations of the hot path's operations.
struct MicroCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "micro", abstract: "Counts what the hot path's operations take, and compares with thresholds.",
    discussion: """
      Counts come from valgrind's callgrind, not from a clock: the same program gives the same counts on a busy machine \
      and on an idle one. Built for release only.
      """)

  @Argument(help: "The benchmarks to count; none: all of them.")
  var names: [String] = []

  @Option(help: ArgumentHelp("Fail where a count is above this file's threshold.", valueName: "file"))
  var check: String?

  @Option(help: ArgumentHelp("Write the counts into this file as thresholds.", valueName: "file"))
  var update: String?

  @Option(help: "Which counts --check compares: instructions, allocations or both.")
  var count = Thresholds.Kind.both

  @Flag(help: "Fail where the thresholds were counted with another compiler or processor, instead of comparing less.")
  var sameToolchain = false

  @Flag(help: "Print the counts as JSON.")
  var json = false

  @Option(name: .customLong("run"), help: .hidden)
  var uncounted: String?

  @Option(help: .hidden)
  var iterations = 1

  func run() throws {
    guard MicroBenchmark.isOptimised else {
      throw Refusal("counts of a debug build say nothing; build with: swift build --configuration release")
    }
    if let name = uncounted { try runInValgrind(try benchmark(name)) }
    let chosen = try names.isEmpty ? MicroBenchmark.all : names.map(benchmark)
    let thresholds = try (check ?? update).flatMap(readThresholds)
    if sameToolchain, let with = thresholds?.countedWith, with != MicroBenchmark.toolchain {
      throw Refusal(
        "the thresholds were counted with \(with), and this is \(MicroBenchmark.toolchain): instructions cannot be "
          + "compared; count them anew with --update, or leave out --same-toolchain")
    }
    if check != nil && thresholds == nil { throw Refusal("\(check ?? "") was not found; make it with --update") }
    let counts = try countAll(chosen)
    try show(chosen, counts, thresholds)
    if let update { try write(counts, thresholds, to: update) }
    if check != nil, let thresholds { try compare(chosen, counts, thresholds) }
  }

  private func benchmark(_ name: String) throws -> MicroBenchmark {
    guard let found = MicroBenchmark.all.first(where: { $0.name == name }) else {
      let known = MicroBenchmark.all.map(\.name).joined(separator: ", ")
      throw Refusal("there is no benchmark \"\(name)\"; there are \(known)")
    }
    return found
  }

  /// The part that valgrind sees. It ends the process without taking down what the set-up made, because that would be
  /// counted.
  private func runInValgrind(_ benchmark: MicroBenchmark) throws -> Never {
    precondition(Thread.isMainThread, "only the main thread is counted")
    let body = try benchmark.prepare()
    body(iterations)
    withExtendedLifetime(body) { Foundation._exit(0) }
  }

  private func countAll(_ chosen: [MicroBenchmark]) throws -> [String: Counts] {
    guard let program = Bundle.main.executablePath else { throw Refusal("this program's own path cannot be found") }
    let counter = try Counter(program: program, words: ["micro"])
    var counts: [String: Counts] = [:]
    for benchmark in chosen { counts[benchmark.name] = try counter.count(benchmark) }
    return counts
  }

  // MARK: Output

  private func show(_ chosen: [MicroBenchmark], _ counts: [String: Counts], _ thresholds: Thresholds?) throws {
    if json { return say(String(decoding: try encoder.encode(counts), as: UTF8.self), to: .standardOutput) }
    var table = CountTable()
    for benchmark in chosen {
      guard let count = counts[benchmark.name] else { continue }
      table.add(benchmark.name, count, thresholds?.benchmarks[benchmark.name])
    }
    say(table.description, to: .standardOutput)
  }

  private func compare(_ chosen: [MicroBenchmark], _ counts: [String: Counts], _ thresholds: Thresholds) throws {
    var findings = chosen.flatMap { benchmark in
      counts[benchmark.name].map { thresholds.findings(benchmark.name, $0, count, toolchain: MicroBenchmark.toolchain) }
        ?? []
    }
    findings += thresholds.orphans(among: MicroBenchmark.all.map(\.name)).map {
      .exceeded("\($0) has a threshold and is no benchmark any more; take it out of the file.")
    }
    for finding in findings { say("\(finding.fails ? "error" : "note"): \(finding.sentence)", to: .standardError) }
    if findings.contains(where: \.fails) { throw ExitCode.failure }
  }

  /// Writes a line without a buffer, so that the table and the findings about it come in their order.
  private func say(_ text: String, to handle: FileHandle) { handle.write(Data("\(text)\n".utf8)) }

  // MARK: Thresholds

  private func readThresholds(_ path: String) throws -> Thresholds? {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    do {
      return try JSONDecoder().decode(Thresholds.self, from: data)
    } catch {
      throw Refusal("\(path) cannot be read as thresholds (\(error)); take it from the repository or make it anew")
    }
  }

  private func write(_ counts: [String: Counts], _ old: Thresholds?, to path: String) throws {
    var thresholds =
      old
      ?? Thresholds(
        about: "What one iteration may take; see `fanfare-bench micro --help`.", countedWith: "", tolerancePercent: 5,
        benchmarks: [:])
    thresholds.take(counts)
    thresholds.countedWith = MicroBenchmark.toolchain
    try (encoder.encode(thresholds) + Data("\n".utf8)).write(to: URL(fileURLWithPath: path))
  }

  private var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  private struct Refusal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }
}

extension Thresholds.Kind: ExpressibleByArgument {}
