import TestSupport
import Testing

@testable import Wire

@Suite("Patches in Fossil's delta format")
struct FossilPatchTests {
  private static let sentence = "The quick brown fox jumps over the lazy dog, and then it sleeps until the evening."

  /// Written by hand after the format's description, and applied by the decoders of two SDKs.
  static let vectors: [(base: String, patch: String, target: String)] = [
    ("", "0\n0;", ""),
    ("any", "3\n3:abc1XObC0;", "abc"),
    ("0123456789", "A\nA@0,2ScrXf;", "0123456789"),
    ("0123456789", "7\n3@7,4:-abc2Obeli;", "789-abc"),
  ]

  @Test("a number has the digits of the format, highest first")
  func numbers() throws {
    let base = Array("abcdefghijklmnopqrstuvwxyz".utf8) + Array(repeating: UInt8(ascii: "-"), count: 4096)
    let patch = try #require(FossilPatch.make(from: base, to: base, isText: true))
    // 4122 is 1·64² + 0·64 + 26.
    #expect(String(decoding: patch, as: UTF8.self).hasPrefix("10Q\n10Q@0,"))
  }

  @Test("the checksum is the sum of the words, the last one filled up with zeros")
  func checksums() {
    #expect(FossilPatch.checksum([]) == 0)
    #expect(FossilPatch.checksum([1, 2, 3, 4]) == 0x0102_0304)
    #expect(FossilPatch.checksum([1, 2, 3, 4, 5]) == 0x0602_0304)
    #expect(FossilPatch.checksum([1, 2, 3, 4, 5, 6, 7]) == 0x0608_0A04)
    #expect(FossilPatch.checksum(Array(repeating: 0xFF, count: 8)) == 0xFFFF_FFFE)
  }

  @Test("what is known of the format is decoded", arguments: vectors.indices)
  func known(index: Int) throws {
    let vector = Self.vectors[index]
    let result = try FossilDecoder.apply(Array(vector.patch.utf8), to: Array(vector.base.utf8))
    #expect(String(decoding: result, as: UTF8.self) == vector.target)
  }

  @Test("a payload in which one word differs costs a few dozen bytes")
  func oneWord() throws {
    let target = Self.sentence.replacing("lazy", with: "tired")
    let patch = try #require(make(Self.sentence, target))
    #expect(patch.count < 40)
    #expect(try apply(patch, Self.sentence) == target)
  }

  @Test("parts that moved are found")
  func moved() throws {
    let parts = (0..<20).map { "{\"id\":\($0),\"name\":\"part number \($0) of many\"}" }
    let base = "[" + parts.joined(separator: ",") + "]"
    let target = "[" + parts.reversed().joined(separator: ",") + "]"
    let patch = try #require(make(base, target))
    #expect(patch.count < target.utf8.count / 2)
    #expect(try apply(patch, base) == target)
  }

  @Test(
    "there is no patch where it would not be smaller",
    arguments: [("", "abc"), ("abc", ""), ("a", "b"), ("abcd", "abcd")])
  func worthless(base: String, target: String) {
    #expect(make(base, target) == nil)
    #expect(make(base, Self.sentence) == nil)
  }

  @Test("payloads above the limit are not compared")
  func large() {
    let most = Array(repeating: UInt8(ascii: "x"), count: FossilPatch.mostBytes)
    #expect(FossilPatch.make(from: most, to: most, isText: true) != nil)
    #expect(FossilPatch.make(from: most + [1], to: most, isText: true) == nil)
    #expect(FossilPatch.make(from: most, to: most + [1], isText: true) == nil)
  }

  @Test("a character is not cut in two, wherever texts differ", arguments: 1...200 as ClosedRange<UInt64>)
  func characters(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let alphabet = Array("aé漢😀éè漣😁 ")
    let base = String(
      (0..<Int.random(in: 1...300, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? " " })
    var characters = Array(base)
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      let place = Int.random(in: 0...characters.count, using: &random)
      characters.insert(alphabet.randomElement(using: &random) ?? " ", at: place)
      if characters.count > 1 { characters.remove(at: Int.random(in: 0..<characters.count, using: &random)) }
    }
    let target = String(characters)
    guard let patch = make(base, target) else { return }
    #expect(String(validating: patch, as: UTF8.self) != nil, "the patch is UTF-8")
    #expect(try apply(patch, base) == target)
  }

  @Test(
    "random payloads that share random parts come back, and a patch is smaller",
    arguments: 1...300 as ClosedRange<UInt64>)
  func roundTrips(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let sample = Sample(seed: seed)
    for _ in 0..<10 {
      let (base, target) = sample.pair(&random)
      var search = PatchSearch(base: base, target: target, isText: Bool.random(using: &random))
      let patch = search.run()
      #expect(search.steps <= search.mostSteps + 4 * (base.count + target.count))
      guard let patch else { continue }
      #expect(patch.count < target.count)
      #expect(try FossilDecoder.apply(patch, to: base) == target)
    }
  }

  @Test("what is chosen to be slow is not: steps grow with the size alone", arguments: Sample.hostile.indices)
  func hostile(index: Int) throws {
    for size in [1_000, 10_000, 100_000] {
      let (base, target) = Sample.hostile[index](size)
      var search = PatchSearch(base: base, target: target, isText: false)
      let patch = search.run()
      // The budget, and what one candidate more may cost.
      #expect(search.steps <= 12 * (base.count + target.count), "\(size)")
      if let patch { #expect(try FossilDecoder.apply(patch, to: base) == target) }
    }
  }

  private func make(_ base: String, _ target: String) -> [UInt8]? {
    FossilPatch.make(from: Array(base.utf8), to: Array(target.utf8), isText: true)
  }

  private func apply(_ patch: [UInt8], _ base: String) throws -> String {
    String(decoding: try FossilDecoder.apply(patch, to: Array(base.utf8)), as: UTF8.self)
  }
}

@Suite("The decoder of patches that tests use")
struct FossilDecoderTests {
  @Test(
    "what is no patch is refused",
    arguments: [
      "", "\n", "3", "3\n", "3\n3:abc", "3\n3:abc1XObC1;", "3\n4:abcd1;", "3\n9:abc1;", "3\n3@0", "3\n3@9,0;",
      "3\n3@1,0;",
      "3\n3?0,0;", "3\n~~~~~~~~@0,0;", "~~~~~~~~\n0;", "0\n0;x", "0\n0", "0\n;", "zzzzz\n0;",
    ])
  func refused(patch: String) {
    #expect(throws: FossilDecoder.Fault.self) { try FossilDecoder.apply(Array(patch.utf8), to: [1, 2, 3]) }
  }

  @Test("damaged patches are refused or give the result that they declare", arguments: 1...50 as ClosedRange<UInt64>)
  func damaged(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let (base, target) = Sample(seed: seed).pair(&random)
    guard var patch = FossilPatch.make(from: base, to: target, isText: false) else { return }
    for _ in 0..<200 {
      let place = Int.random(in: 0..<patch.count, using: &random)
      let before = patch[place]
      patch[place] = UInt8.random(in: 0...255, using: &random)
      // The checksum is a sum: bytes that change places in steps of four are not seen by it, but the size is.
      if let result = try? FossilDecoder.apply(patch, to: base, limit: 1 << 16) { #expect(result.count <= 1 << 16) }
      patch[place] = before
    }
  }
}

/// Payloads to compare.
private struct Sample {
  private let pool: [UInt8]

  init(seed: UInt64) {
    var random = SeededGenerator(seed: seed &* 31)
    // Few different bytes, so that much hashes alike and overlaps.
    let most = [1, 3, 255].randomElement(using: &random) ?? 3
    pool = (0..<2_000).map { _ in UInt8.random(in: 0...UInt8(most), using: &random) }
  }

  func pair(_ random: inout SeededGenerator) -> ([UInt8], [UInt8]) { (text(&random), text(&random)) }

  private func text(_ random: inout SeededGenerator) -> [UInt8] {
    var text: [UInt8] = []
    for _ in 0..<Int.random(in: 0...6, using: &random) {
      let start = Int.random(in: 0..<pool.count, using: &random)
      text += pool[start..<min(pool.count, start + Int.random(in: 0...500, using: &random))]
    }
    return text
  }

  static let hostile: [@Sendable (Int) -> ([UInt8], [UInt8])] = [
    { size in (Array(repeating: 0, count: size), Array(repeating: 0, count: size)) },
    // All blocks alike, and a target that never goes on as they do.
    { size in (Array(repeating: 0, count: size), (0..<size).map { $0 % 17 == 16 ? 1 : 0 }) },
    // Each block of the base fits for 16 bytes and no more.
    { size in
      (
        (0..<size).map { $0 % 32 < 16 ? 7 : UInt8(truncatingIfNeeded: $0 / 32) },
        (0..<size).map { $0 % 24 < 16 ? 7 : UInt8(truncatingIfNeeded: $0 &* 31) }
      )
    },
    { size in
      ((0..<size).map { UInt8(truncatingIfNeeded: $0) }, (0..<size).map { UInt8(truncatingIfNeeded: size - $0) })
    },
    { size in (Array(repeating: 0x80, count: size), Array(repeating: 0x80, count: size - 1) + [1]) },
  ]
}
