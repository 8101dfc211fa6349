import Foundation
import TestSupport
import Testing

@testable import Bench

@Suite("Results of earlier versions")
struct OldResultTests {
  /// The result as a file of an earlier version has it: without these keys, wherever they stand.
  private static func read(_ result: RunResult, without keys: Set<String>) throws -> RunResult {
    func stripped(_ value: Any) -> Any {
      switch value {
      case let object as [String: Any]: object.filter { !keys.contains($0.key) }.mapValues(stripped)
      case let list as [Any]: list.map(stripped)
      default: value
      }
    }
    let folder = try TemporaryFolder()
    let path = folder.path + "/result.json"
    try result.write(to: path)
    let tree = try JSONSerialization.jsonObject(with: try Data(contentsOf: URL(fileURLWithPath: path)))
    try JSONSerialization.data(withJSONObject: stripped(tree)).write(to: URL(fileURLWithPath: path))
    return try RunResult.read(from: path)
  }

  private static let limit = "does not say of 6 of 6 steps whether the generator was their limit"
  private static let warmup = "does not say whether deliveries of the warm-up were lost"

  @Test("One that does not say whether the generator was the limit is read, and its knees are lower bounds")
  func limits() throws {
    let old = try Self.read(Sample.saturation, without: ["generatorWasLimit"])
    #expect(old.turns.flatMap(\.steps).allSatisfy { $0.generatorWasLimit == nil })
    let text = TextReport.render(old)
    #expect(text.contains(Self.limit) && !text.contains(Self.warmup))
    #expect(text.contains("≥ 2.00 k (1/1)") && text.contains("knee, at least"))
    #expect(text.contains("the result does not say whether the generator was the limit in the step of 4.00 k/s"))
    #expect(HTMLReport.render([old]).contains(Self.limit))
    let json = String(decoding: try JSONEncoder().encode(ResultFigures(old)), as: UTF8.self)
    #expect(json.contains("the result does not say whether the generator was the limit"))
  }

  @Test("One that does not tell of the warm-up's losses is read, and says so")
  func losses() throws {
    let old = try Self.read(Sample.delivery, without: ["lostBefore"])
    #expect(old.turns.compactMap(\.report).flatMap(\.groups).allSatisfy { $0.lostBefore == nil && $0.lost == 0 })
    #expect(TextReport.render(old).contains(Self.warmup) && HTMLReport.render([old]).contains(Self.warmup))
    // What it knows is as it was.
    let (now, then) = (Summary(Sample.delivery), Summary(old))
    #expect(now.rows.map(\.figures) == then.rows.map(\.figures))
  }

  @Test("One of today says all of it, and is read as it was written")
  func present() throws {
    for result in [Sample.saturation, Sample.delivery] {
      let text = TextReport.render(try Self.read(result, without: []))
      #expect(text == TextReport.render(result) && !text.contains("earlier version"))
    }
  }

  @Test("A loss that is not known makes a sum that is not known")
  func sums() {
    var unknown = Sample.report()
    unknown.groups[0].lostBefore = nil
    var some = Sample.report()
    some.groups[0].lostBefore = 3
    #expect(WorkerReport.merged([some, some]).groups[0].lostBefore == 6)
    #expect(WorkerReport.merged([some, unknown]).groups[0].lostBefore == nil)
  }

  @Test("Every result that is kept in the repository is read", arguments: OldResultTests.kept)
  func repository(_ path: String) throws {
    let result = try RunResult.read(from: path)
    #expect(!result.turns.isEmpty && result.unknowns.isEmpty)
  }

  private static let kept: [String] = {
    let folder = ServerProcess.repository.appendingPathComponent("benchmarks/results").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasSuffix(".json.gz") }.sorted().map { folder + "/" + $0 }
  }()
}
