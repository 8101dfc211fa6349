import Foundation

/// A page that stands alone.
public enum HTMLReport {
  public static func write(_ results: [RunResult], to path: String) throws(BenchError) {
    try RunResult.write(Data(render(results).utf8), to: path)
  }

  static func render(_ results: [RunResult]) -> String { "" }
}
