import Foundation
import Testing
import Wire

@testable import Admin

@Suite("What a live tail shows")
struct TailSampleTests {
  private func publication(_ offset: UInt64, by user: String = "ada", bytes: Int = 2) -> Publication {
    Publication(
      offset: offset, time: 7, data: Array("\"\(String(repeating: "x", count: bytes - 2))\"".utf8),
      info: ClientInfo(user: user, client: "c"))
  }

  @Test("Twenty a second at most, all others are counted")
  func rate() {
    var sample = TailSample(filter: nil)
    var (shown, skipped) = (0, 0)
    // A thousand a second for ten seconds, looked at four times a second.
    for number in 0..<10_000 {
      sample.offer(publication(UInt64(number + 1)), at: Int64(number))
      guard number % 250 == 249 else { continue }
      let taken = sample.take()
      #expect(taken.shown.count <= 20)
      shown += taken.shown.count
      skipped += taken.skipped
    }
    #expect((200...220).contains(shown))
    #expect(shown + skipped == 10_000)
  }

  @Test("A filter sees every publication: who is followed is shown, however much others write")
  func filtered() {
    var sample = TailSample(filter: .equal(key: TagFilter.userTag, "ada"))
    for number in 0..<1000 { sample.offer(publication(UInt64(number + 1), by: number == 700 ? "ada" : "ben"), at: 0) }
    let taken = sample.take()
    #expect(taken.shown.map(\.publication.offset) == [701])
    #expect(taken.skipped == 0 && taken.filtered == 999)
    let rest = sample.take()
    #expect(rest.isEmpty)
  }

  @Test("What waits is few bytes: of a large payload the length alone, and no more than fit")
  func bytes() {
    var sample = TailSample(filter: nil)
    sample.offer(publication(1, bytes: TailSample.longestData + 1), at: 0)
    for offset in 2...12 { sample.offer(publication(UInt64(offset), bytes: TailSample.longestData), at: 0) }
    let taken = sample.take()
    #expect(taken.shown.first?.publication.data == [] && taken.shown.first?.leftOut == TailSample.longestData + 1)
    let bytes = taken.shown.map(\.publication.data.count).reduce(0, +)
    #expect(bytes == TailSample.mostBytes && taken.shown.count == 9 && taken.skipped == 3)
  }

  @Test("Events are JSON of one line each, with what clients get of a publication")
  func events() {
    var sample = TailSample(filter: nil)
    sample.offer(Publication(offset: 3, time: 9, data: Array("{\n\"a\":1}".utf8), tags: ["t": "</script>\n"]), at: 0)
    sample.offer(publication(4, bytes: 20_000), at: 0)
    var taken = sample.take()
    taken.skipped = 5
    let lines = String(decoding: taken.events(binary: false), as: UTF8.self).components(separatedBy: "\n\n")
    #expect(
      lines == [
        #"data: {"data":{ "a":1},"offset":3,"tags":{"t":"</script>\n"},"time":9}"#,
        #"data: {"info":{"user":"ada","client":"c"},"offset":4,"time":7,"data_bytes":20000}"#,
        #"data: {"skipped":5,"filtered":0}"#, "",
      ])
  }
}
