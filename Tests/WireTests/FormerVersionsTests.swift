import Testing

@testable import Wire

@Suite("Former versions of a publication")
struct FormerVersionsTests {
  private func publication(_ text: String, edited: String? = nil) -> Publication {
    Publication(data: Array(text.utf8), tags: edited.map { ["edited": $0] } ?? [:])
  }

  @Test("what was kept is read as it was written, by those it was kept for alone")
  func shown() {
    var former = FormerVersions()
    former.keep(publication("{\n}", edited: "7"), for: ["bob", "e:v|e"])
    former.keep(publication("2"), for: ["bob", "e:v|e", "e\u{301}"])
    #expect(FormerVersions(former.text).text == former.text)
    var now = publication("3", edited: "9")
    now.tags["former"] = former.text
    now.tags["hidden"] = "|bob|"
    #expect(now.shown(to: "bob").data == Array("{ }".utf8))
    #expect(now.shown(to: "bob").tags == ["edited": "7", "hidden": ""])
    #expect(now.shown(to: "e:v|e").data == Array("{ }".utf8))
    #expect(now.shown(to: "e\u{301}").tags == ["hidden": ""])
    #expect(now.shown(to: "\u{E9}").data == Array("3".utf8), "users are compared byte for byte")
    #expect(now.shown(to: "ann").tags == ["edited": "9", "hidden": "|bob|"])
    #expect(now.versions.map { String(decoding: $0.data, as: UTF8.self) } == ["3", "{ }", "2"])
  }

  @Test("a change that is seen again leaves no version, and there are no more of them than the limit")
  func bounds() {
    var former = FormerVersions()
    for number in 0..<20 { former.keep(publication("\(number)"), for: (0...number).map { "u\($0)" }) }
    #expect(FormerVersions(former.text).versions.count == FormerVersions.limit)
    var now = publication("now")
    now.tags["former"] = former.text
    #expect(now.shown(to: "u3").data == Array("3".utf8))
    #expect(now.shown(to: "u19").data == Array("7".utf8))
    former.keep(publication("x"), for: [])
    #expect(former.text == nil)
  }

  @Test("what is no such tag is nothing", arguments: ["", "a", "\n\n", "a\nb\nc", "\t\n\n\n", "a\t\n"])
  func foreign(text: String) {
    var now = publication("1")
    now.tags["former"] = text
    #expect(now.shown(to: "").data == Array("1".utf8))
    #expect(now.withoutAudienceTags.tags == [:])
  }
}
