import Foundation
import Testing

/// What fuzzers found, one test for each: its name says what was wrong. The input is a file of `Corpus/crashes`
/// (docs/FUZZING.md).
@Suite("What fuzzers found")
struct CrashTests {
  @Test("each crash has a test that names its file")
  func named() throws {
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    #expect(Self.unnamed(try Corpus.crashNames(), in: source) == [])
  }

  @Test("a crash without a test is found")
  func checker() {
    let source = #"try replay(.keySets, "empty-modulus")"#
    #expect(Self.unnamed(["key-sets/empty-modulus"], in: source) == [])
    #expect(
      Self.unnamed(["key-sets/other", "tokens/empty-modulus"], in: source) == [
        "key-sets/other", "tokens/empty-modulus",
      ])
  }

  @Test("a refresh of a type that nobody knows, without an id, counts as no answer to a ping")
  func unknownRefresh() throws { try replay(.protobufCommands, "refresh-of-unknown-type") }

  /// Crashes, as `target/name`, that no call of ``replay(_:_:)`` names.
  private static func unnamed(_ crashes: [String], in source: String) -> [String] {
    crashes.filter { crash in
      let parts = crash.split(separator: "/", maxSplits: 1).map(String.init)
      guard parts.count == 2, let target = FuzzTarget(rawValue: parts[0]) else { return true }
      return !source.contains("replay(.\(target), \"\(parts[1])\")")
    }
  }

  private func replay(_ target: FuzzTarget, _ name: String) throws {
    _ = try target.run(try Corpus.crash(target, name))
  }
}
