import Foundation

extension RunResult {
  /// As `--json` writes it.
  public func write(to path: String) throws(BenchError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard var data = try? encoder.encode(written) else { throw BenchError("the result cannot be written as JSON.") }
    data.append(10)
    try Self.write(data, to: path)
  }

  public static func read(from path: String) throws(BenchError) -> RunResult {
    guard let data = FileManager.default.contents(atPath: path) else { throw BenchError("\(path) cannot be read.") }
    do { return try JSONDecoder().decode(RunResult.self, from: data) } catch {
      throw BenchError("\(path) is no result that fanfare-bench run --json wrote, or one of another version.")
    }
  }

  static func write(_ data: Data, to path: String) throws(BenchError) {
    do { try data.write(to: URL(fileURLWithPath: path)) } catch {
      throw BenchError("\(path) cannot be written: \(error.localizedDescription)")
    }
  }
}
