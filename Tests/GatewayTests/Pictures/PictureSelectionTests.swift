import NIOHTTP1
import Testing

@testable import Gateway

/// RFC 9110, sections 13 and 14, as far as downloads of pictures go.
@Suite("Which part of a picture is asked for")
struct PictureSelectionTests {
  private static let tag = "\"0123\""

  private func answer(
    _ headers: [(String, String)], isHead: Bool = false, total: Int = 1000
  ) -> PictureSelection.Answer {
    PictureSelection(HTTPHeaders(headers), isHead: isHead).answer(total: total, tag: Self.tag)
  }

  @Test(
    "one range is a part, or lies outside; what is not understood is passed over",
    arguments: [
      ("bytes=0-0", .part(0..<1)), ("bytes=0-999", .part(0..<1000)), ("bytes=500-", .part(500..<1000)),
      ("bytes=999-999", .part(999..<1000)), ("bytes=10-5000", .part(10..<1000)), ("Bytes=1-2", .part(1..<3)),
      ("bytes=1-99999999999999999999999999", .part(1..<1000)), ("bytes= 1-2 ", .part(1..<3)),
      ("bytes=-1", .part(999..<1000)), ("bytes=-1000", .part(0..<1000)), ("bytes=-5000", .part(0..<1000)),
      ("bytes=-99999999999999999999999999", .part(0..<1000)), ("bytes=-0", .outside),
      ("bytes=1000-", .outside), ("bytes=1000-1001", .outside), ("bytes=99999999999999999999999999-", .outside),
      ("bytes=5-4", .whole), ("bytes=-", .whole), ("bytes=", .whole), ("bytes", .whole), ("", .whole),
      ("bytes=a-b", .whole), ("bytes=+1-2", .whole), ("bytes=1 - 2", .whole), ("bytes=1-2-3", .whole),
      ("bytes=0-1,2-3", .whole), ("bytes=2000-,3000-", .whole), ("lines=1-2", .whole), ("bytes=--1", .whole),
      ("bytes=٣-٤", .whole), ("bytes=0x1-2", .whole), ("\tbytes=\t1-2\t ", .part(1..<3)), (" \t ", .whole),
      ("bytes=1\u{301}-2", .whole), ("bytes=1-2-", .whole),
    ] as [(String, PictureSelection.Answer)])
  func ranges(range: String, expected: PictureSelection.Answer) {
    #expect(answer([("Range", range)]) == expected, "\(range)")
  }

  @Test("a range that is given twice, or with HEAD, is passed over")
  func ignored() {
    #expect(answer([("Range", "bytes=0-1"), ("Range", "bytes=2-3")]) == .whole)
    #expect(answer([("Range", "bytes=0-1")], isHead: true) == .whole)
    #expect(answer([("Range", "bytes=2000-")], isHead: true) == .whole)
  }

  @Test(
    "a part goes only with the tag that it is of, strongly",
    arguments: [
      ("\"0123\"", true), (" \"0123\" ", true), ("\"other\"", false), ("W/\"0123\"", false), ("0123", false),
      ("", false), ("*", false), ("Wed, 21 Oct 2015 07:28:00 GMT", false), ("\"0123\", \"other\"", false),
    ])
  func ifRange(condition: String, holds: Bool) {
    #expect(answer([("Range", "bytes=1-2"), ("If-Range", condition)]) == (holds ? .part(1..<3) : .whole))
    // Where the range cannot be had, it matters only for the picture that it is meant for.
    #expect(answer([("Range", "bytes=2000-"), ("If-Range", condition)]) == (holds ? .outside : .whole))
  }

  @Test("what the client has already is not sent again, nor what it does not expect")
  func conditions() {
    let knowing = [
      "\"0123\"", "W/\"0123\"", "\"a\", \"0123\"", "*", "W/\"a\",W/\"0123\"", ",,\t\"0123\" \t,", "\u{301}, W/\"0123\"",
    ]
    for known in knowing {
      for isHead in [false, true] { #expect(answer([("If-None-Match", known)], isHead: isHead) == .notModified) }
      #expect(answer([("If-None-Match", known), ("Range", "bytes=1-2")]) == .notModified, "\(known)")
    }
    for other in ["\"a\"", "", "0123", "\"012\"", "W/\"a\"", "\"0123\"\u{301}", " , \t"] {
      #expect(answer([("If-None-Match", other)]) == .whole, "\(other)")
      #expect(answer([("If-Match", other)]) == .changed, "\(other)")
    }
    #expect(answer([("If-None-Match", "\"a\""), ("If-None-Match", "\"0123\"")]) == .notModified)
    #expect(answer([("If-Match", "\"0123\"")]) == .whole && answer([("If-Match", "*")]) == .whole)
    #expect(answer([("If-Match", "W/\"0123\"")]) == .changed, "a weak tag says nothing of bytes")
    #expect(answer([("If-Match", "\"a\""), ("If-None-Match", "\"0123\"")]) == .changed)
    #expect(answer([("If-Match", "\"0123\""), ("Range", "bytes=-1")]) == .part(999..<1000))
  }

  @Test("a part always lies within the picture, whatever is asked for")
  func bounds() {
    var random = SplitMix(state: 7)
    let pieces = ["0", "1", "9", "-", "99", "999999999999999999", ",", " ", "bytes=", "="]
    var parts = 0
    for _ in 0..<20_000 {
      let total = Int.random(in: 1...100, using: &random)
      let text = "bytes=" + (0..<4).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      guard case .part(let range) = answer([("Range", text)], total: total) else { continue }
      parts += 1
      #expect(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= total, "\(text) of \(total)")
    }
    #expect(parts > 100)
  }
}
