import Foundation
import TestSupport
import Testing

/// What a fuzzer does for hours, in a minute: seeds, what fuzzers found, and seeded changes of both.
@Suite("Targets of the fuzzer, replayed", .ownThread)
struct ReplayTests {
  /// Changed inputs of each target: few enough that all targets take a minute. FUZZ_ROUNDS sets more for a long run.
  private static let rounds = ProcessInfo.processInfo.environment["FUZZ_ROUNDS"].flatMap { Int($0) } ?? usualRounds
  #if DEBUG
    private static let usualRounds = 2_000
  #else
    private static let usualRounds = 20_000
  #endif

  @Test(
    "a target understands some of its seeds, and what must hold of it holds for all", arguments: FuzzTarget.allCases)
  func seeds(target: FuzzTarget) {
    let seeds = Seeds.of(target)
    let understood = seeds.count { replay($0, of: target, "a seed") }
    #expect(understood > 0, "none of the \(seeds.count) seeds of \(target.rawValue) is understood")
  }

  @Test("what must hold of a target holds for what fuzzers found", arguments: FuzzTarget.allCases)
  func corpus(target: FuzzTarget) throws {
    for file in try Corpus.files(of: target) { replay(file.bytes, of: target, file.name) }
  }

  @Test("what must hold of a target holds however its inputs are changed", arguments: FuzzTarget.allCases)
  func changed(target: FuzzTarget) throws {
    let inputs = try Seeds.of(target) + Corpus.files(of: target).map(\.bytes)
    var mutator = Mutator(inputs, seed: 7, maximumBytes: target.maximumBytes)
    var understood = 0
    for round in 0..<Self.rounds where replay(mutator.next(), of: target, "round \(round)") { understood += 1 }
    #expect(understood > 0, "no changed input is understood, so this shows little")
    #expect(understood < Self.rounds, "no changed input is refused, so this shows little")
  }

  @Test("an input that breaks what must hold is told")
  func checker() {
    #expect(throws: BrokenProperty.self) { try require(false, "it does not hold") }
    #expect(throws: Never.self) { try require(true, "it holds") }
  }

  @Test("the committed corpus stays small enough to be cloned and replayed")
  func size() throws {
    let files = try FuzzTarget.allCases.flatMap { try Corpus.files(of: $0) }
    #expect(files.count <= 300)
    #expect(files.reduce(0) { $0 + $1.bytes.count } <= 500_000)
  }

  @Test("each folder of the corpus is a target's")
  func folders() throws {
    let known = Set(FuzzTarget.allCases.map(\.rawValue))
    for folder in try Corpus.folders() { #expect(known.contains(folder), "\(folder) is no target") }
  }

  @Test("docs/FUZZING.md says of each target what has to hold of it")
  func document() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("docs/FUZZING.md"), encoding: .utf8)
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }
    for target in FuzzTarget.allCases {
      #expect(rows.contains { $0.contains("`\(target.rawValue)`") }, "\(target.rawValue) is in no row")
    }
  }

  /// - Returns: whether the target understood the input.
  @discardableResult
  private func replay(_ input: [UInt8], of target: FuzzTarget, _ name: String) -> Bool {
    do throws(BrokenProperty) { return try target.run(input) } catch {
      Issue.record("\(target.rawValue), \(name): \(error)\n\(Data(input).base64EncodedString())")
      return false
    }
  }
}
