import Testing
import Wire

@Suite("What a link says of deletions that a gateway has missed")
struct MissedDeletionsTests {
  private static let mark = DeletionMark(number: .max, at: -1)
  private static let bodies: [LinkBody] = [
    .forgotten(LinkForgotten(through: nil)), .forgotten(LinkForgotten(through: mark)),
    .deletions(LinkDeletions(pepper: [], records: [], through: mark)),
    .deletions(
      LinkDeletions(
        pepper: [1, 2, 3], forgottenUntil: 1_700_000_000_000,
        records: [.init(digest: "00ff", at: 5), .init(digest: "11ee", at: .min)],
        through: DeletionMark(number: 7, at: 1_700_000_000_001))),
  ]

  @Test("it is read as it was written, and cut at any byte it is refused", arguments: bodies)
  func roundTrip(body: LinkBody) throws {
    let message = LinkMessage(session: 3, sequence: 4, body: body)
    let bytes = body.bytes
    let header = try LinkHeader(bytes: message.header.bytes)
    #expect(LinkMessage(header: header, bytes: bytes) == message)
    for length in 0..<bytes.count {
      let cut = LinkMessage(header: header, bytes: Array(bytes[..<length]))
      #expect(cut.body == .unreadable(body.kind), "cut at \(length)")
    }
    #expect(LinkMessage(header: header, bytes: bytes + [0]).body == .unreadable(body.kind))
  }

  @Test("it costs a link what it holds")
  func cost() {
    let record = LinkDeletions.Record(digest: String(repeating: "0", count: 32), at: 1)
    let few = LinkDeletions(pepper: [], records: [record], through: Self.mark)
    let many = LinkDeletions(pepper: [], records: Array(repeating: record, count: 1001), through: Self.mark)
    #expect(LinkBody.deletions(many).cost - LinkBody.deletions(few).cost >= 1000 * 40)
  }
}
