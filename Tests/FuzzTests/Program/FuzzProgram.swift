import CFuzzCounters
import Foundation

/// Runs one target under libFuzzer. `.ci/fuzz` builds and starts it; docs/FUZZING.md says how.
///
///     fanfare-fuzz list                        the targets, each with its longest input in bytes
///     fanfare-fuzz seeds FOLDER                 writes the seeds of all targets, a folder for each; says how
///                                               many of them are understood
///     FANFARE_FUZZ_TARGET=NAME fanfare-fuzz …   libFuzzer, with its own arguments
@main
enum FuzzProgram {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    case "list": for target in FuzzTarget.allCases { print(target.rawValue, target.maximumBytes) }
    case "seeds" where arguments.count == 2:
      do { try writeSeeds(into: CommandLine.arguments[2]) } catch { fail("writing the seeds failed: \(error)") }
    default:
      guard let name = ProcessInfo.processInfo.environment["FANFARE_FUZZ_TARGET"] else {
        fail("set FANFARE_FUZZ_TARGET to a target; \"fanfare-fuzz list\" names them")
      }
      guard let target = FuzzTarget(rawValue: name) else {
        fail("there is no target \(name); \"fanfare-fuzz list\" names them")
      }
      Self.target = target
      // What merges compares inputs by their features, which must not be numbered in the order in which they are reached.
      fuzzcounters_begin(arguments.contains { $0.contains("merge") } ? 1 : 0)
      var count = CommandLine.argc
      var values = CommandLine.unsafeArgv
      exit(runFuzzer(&count, &values, runOne))
    }
  }

  /// Set before the fuzzer begins, and never again.
  nonisolated(unsafe) fileprivate static var target = FuzzTarget.frames

  private static func fail(_ sentence: String) -> Never {
    FileHandle.standardError.write(Data("error: \(sentence)\n".utf8))
    exit(2)
  }

  private static func writeSeeds(into folder: String) throws {
    for target in FuzzTarget.allCases {
      let place = "\(folder)/\(target.rawValue)"
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      let seeds = Seeds.of(target)
      for (index, seed) in seeds.enumerated() {
        try Data(seed).write(to: URL(fileURLWithPath: "\(place)/seed-\(index)"))
      }
      let understood = seeds.count { (try? target.run($0)) == true }
      print("\(target.rawValue): \(seeds.count) seeds, of which \(understood) are understood")
    }
  }
}

/// libFuzzer's own entry, for programs that have a `main` of theirs (LLVM, "LibFuzzer as a library"). It has no header
/// that could be imported, and nothing but pointers and a number are handed over.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
  _ count: UnsafeMutablePointer<CInt>,
  _ values: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ one: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// A copy, so that the bytes end where the array does, and reading beyond them is found.
private func runOne(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: bytes, count: count))
  fuzzcounters_watch()
  defer { fuzzcounters_add_reached() }
  do {
    _ = try FuzzProgram.target.run(input)
  } catch {
    fatalError("\(FuzzProgram.target.rawValue): \(error.description)")
  }
  return 0
}
