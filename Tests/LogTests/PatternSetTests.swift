import TestSupport
import Testing

@testable import Log

@Suite("Looking for many texts at once")
struct PatternSetTests {
  /// What a search for one text after the other finds.
  private func occursPlainly(_ pattern: [UInt8], in bytes: [UInt8]) -> Bool {
    guard !pattern.isEmpty, pattern.count <= bytes.count else { return false }
    return (0...bytes.count - pattern.count).contains { Array(bytes[$0..<$0 + pattern.count]) == pattern }
  }

  @Test("It finds what a search for each by itself finds, at the beginning, within and at the end", arguments: 1...20)
  func agrees(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    // Few letters, so that a text begins in many places and is whole in few.
    func bytes(_ lengths: ClosedRange<Int>) -> [UInt8] {
      (0..<Int.random(in: lengths, using: &random)).map { _ in UInt8.random(in: 97...99, using: &random) }
    }
    var found = 0
    for _ in 0..<300 {
      let patterns = Set((0..<Int.random(in: 0...6, using: &random)).map { _ in bytes(0...7) })
      let text = bytes(0...24)
      let isThere = patterns.contains { occursPlainly($0, in: text) }
      #expect(PatternSet(patterns).occur(in: text) == isThere, "\(patterns) in \(text)")
      if isThere { found += 1 }
    }
    #expect(found > 20 && found < 300)
  }

  @Test("A text of one byte is found at the end, too")
  func oneByte() {
    #expect(PatternSet([[7]]).occur(in: [1, 2, 7]))
    #expect(!PatternSet([[7]]).occur(in: [1, 2]) && !PatternSet([]).occur(in: [7]))
  }
}
