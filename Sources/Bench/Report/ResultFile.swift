import Foundation

extension RunResult {
  /// As `--json` writes it.
  ///
  /// - Parameter path: a name that ends with `.json.gz` has it packed, by the program gzip.
  public func write(to path: String) throws(BenchError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard var data = try? encoder.encode(written) else { throw BenchError("the result cannot be written as JSON.") }
    data.append(10)
    guard path.hasSuffix(".gz") else { return try Self.write(data, to: path) }
    // Beside it, so that it can take its place at once, and under a name that nobody else's file has.
    let plain = path + ".\(getpid()).part"
    defer { _ = unsafe unlink(plain) }
    try Self.write(data, to: plain)
    try Spawn.run(["gzip", "-9", "--no-name", "--force", "--", plain])
    guard unsafe rename(plain + ".gz", path) == 0 else {
      throw BenchError("\(path) cannot be written: \(systemReason(errno)).")
    }
  }

  /// - Parameter path: of a file that ``write(to:)`` wrote, packed where its name ends with `.gz`.
  public static func read(from path: String) throws(BenchError) -> RunResult {
    guard let packed = FileManager.default.contents(atPath: path) else { throw BenchError("\(path) cannot be read.") }
    let data = path.hasSuffix(".gz") ? try unpacked(path) : packed
    do { return try JSONDecoder().decode(RunResult.self, from: data) } catch {
      throw BenchError("\(path) is no result that fanfare-bench run --json wrote, or one of another version.")
    }
  }

  private static func unpacked(_ path: String) throws(BenchError) -> Data {
    let folder = try PeerFolder(for: "gzip")
    defer { folder.remove() }
    let result = folder.file("result.json")
    do throws(BenchError) {
      try Spawn.run(["sh", "-c", #"exec gzip -dc -- "$1" > "$2""#, "sh", path, result])
    } catch { throw BenchError("\(path) cannot be unpacked: \(error.description)") }
    guard let data = FileManager.default.contents(atPath: result) else {
      throw BenchError("\(path) cannot be unpacked.")
    }
    return data
  }

  static func write(_ data: Data, to path: String) throws(BenchError) {
    do { try data.write(to: URL(fileURLWithPath: path)) } catch {
      throw BenchError("\(path) cannot be written: \(error.localizedDescription)")
    }
  }
}
