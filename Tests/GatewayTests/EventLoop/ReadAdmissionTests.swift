import Testing
import Wire

@testable import Gateway

@Suite("ReadAdmission")
final class ReadAdmissionTests {
  private static let page = 1 << 20
  private var reads = ReadAdmission(limits: .init(connection: 2 << 20, loop: 4 << 20))

  private static func ask(_ tag: UInt64, cost: Int, whole: Int? = nil, at time: Int64 = 0) -> ReadAdmission.Ask {
    .init(
      request: .history(.init(channel: Fixed.channel, limit: 1)), tag: tag, cost: cost, wholeCost: whole, askedAt: time)
  }

  @discardableResult
  private func ask(
    _ connection: UInt64, _ tags: ClosedRange<UInt64>, cost: Int, whole: Int? = nil, at time: Int64 = 0,
    isBehind: Bool = false
  ) -> Bool {
    tags.allSatisfy {
      reads.ask(Self.ask($0, cost: cost, whole: whole, at: time), of: connection, isBehind: isBehind)
    }
  }

  /// What goes now: connection and tag.
  private func goes() -> [[UInt64]] {
    var gone: [[UInt64]] = []
    while let (connection, ask) = reads.next() { gone.append([connection, ask.tag]) }
    return gone
  }

  private func isTooLarge(_ tag: UInt64, of connection: UInt64) -> Bool { reads.isTooLarge(tag, of: connection) }

  private func ended(_ connection: UInt64) -> [UInt64] { reads.ended(connection).map(\.tag) }

  private func expired(before time: Int64) -> [[UInt64]] {
    reads.expired(before: time).map { [$0.connection, $0.ask.tag] }
  }

  @Test("to one connection few bytes are under way, and what waits goes in order")
  func byConnection() {
    ask(1, 1...5, cost: Self.page)
    #expect(goes() == [[1, 1], [1, 2]])
    #expect(reads.isWaiting(1) && !reads.isWaiting(2))
    reads.answered(2, of: 1, isBehind: false)
    #expect(goes() == [[1, 3]])
    for tag in [1, 3] as [UInt64] { reads.answered(tag, of: 1, isBehind: false) }
    #expect(goes() == [[1, 4], [1, 5]])
    for tag in [4, 5] as [UInt64] { reads.answered(tag, of: 1, isBehind: false) }
    #expect(reads.waitingCount == 0)
  }

  @Test("connections take turns, whoever asked for how much before")
  func turns() {
    ask(1, 1...50, cost: Self.page)
    ask(2, 1...50, cost: Self.page)
    ask(3, 1...1, cost: Self.page)
    var order = goes()
    #expect(order == [[1, 1], [2, 1], [3, 1], [1, 2]])
    reads.answered(1, of: 1, isBehind: false)
    order = goes()
    #expect(order == [[2, 2]])
    ask(4, 1...1, cost: Self.page)
    reads.answered(1, of: 3, isBehind: false)
    reads.answered(1, of: 2, isBehind: false)
    // Connections that waited for their turn go first, then the newcomer: nobody is served twice before it.
    order = goes()
    #expect(order.count == 2)
    reads.answered(2, of: 1, isBehind: false)
    reads.answered(2, of: 2, isBehind: false)
    order += goes()
    #expect(order.contains([4, 1]))
  }

  @Test("the many small reads never wait for large ones, nor the other way round")
  func lanes() {
    for connection in 1...9 as ClosedRange<UInt64> { ask(connection, 1...1, cost: Self.page) }
    #expect(goes().count == 4)
    for connection in 101...110 as ClosedRange<UInt64> { ask(connection, 1...1, cost: 1000) }
    #expect(goes().map { $0[0] } == Array(101...110))
    for connection in 201...300 as ClosedRange<UInt64> { ask(connection, 1...1, cost: ReadAdmission.Limits().small) }
    // 4 MiB of them.
    #expect(goes().count == 63)
    reads.answered(1, of: 1, isBehind: false)
    #expect(goes() == [[5, 1]])
  }

  @Test("few go between two looks of the event loop at its sockets, however many there is room for")
  func looks() {
    reads.mostBetweenLooks = 2
    ask(1, 1...3, cost: 1)
    ask(2, 1...2, cost: 1)
    #expect(goes() == [[1, 1], [2, 1]])
    #expect(reads.awaitsLook)
    // Room that an answer gives is none for this look.
    reads.answered(1, of: 1, isBehind: false)
    #expect(goes().isEmpty)
    reads.looked()
    #expect(goes() == [[1, 2], [2, 2]])
    reads.looked()
    #expect(goes() == [[1, 3]])
    #expect(!reads.awaitsLook)
    reads.looked()
    // What costs nothing counts for nothing, and waits all the same while something of its connection does.
    ask(3, 1...1, cost: 1)
    ask(3, 2...3, cost: 0)
    ask(3, 4...5, cost: 1)
    #expect(goes() == [[3, 1], [3, 2], [3, 3], [3, 4]])
    #expect(reads.awaitsLook)
    reads.mostBetweenLooks = .max
    #expect(!reads.awaitsLook)
    #expect(goes() == [[3, 5]])
  }

  @Test("one that is larger than all budgets goes alone")
  func alone() {
    ask(1, 1...1, cost: 16 << 20)
    ask(1, 2...2, cost: 10)
    ask(2, 1...1, cost: Self.page)
    #expect(goes() == [[1, 1]])
    reads.answered(1, of: 1, isBehind: false)
    #expect(goes() == [[1, 2], [2, 1]])
  }

  @Test("a connection that has not taken what it got gets no more until it has; what costs nothing goes on")
  func behind() {
    ask(1, 1...3, cost: Self.page, isBehind: true)
    ask(2, 1...1, cost: 0, isBehind: true)
    #expect(goes() == [[2, 1]])
    reads.drained(1)
    #expect(goes() == [[1, 1], [1, 2]])
    reads.answered(1, of: 1, isBehind: true)
    reads.answered(2, of: 1, isBehind: true)
    #expect(goes() == [])
    reads.drained(2)
    reads.drained(1)
    #expect(goes() == [[1, 3]])
  }

  @Test("what is too large for a try is asked again among the large, before all that waits behind it")
  func tooLarge() throws {
    ask(1, 1...1, cost: 1000, whole: 3 << 20)
    ask(1, 2...2, cost: 0)
    ask(1, 3...3, cost: 2 << 20)
    ask(1, 4...4, cost: 0)
    #expect(goes() == [[1, 1], [1, 2]])
    #expect(isTooLarge(1, of: 1))
    let next = reads.next()
    let again = try #require(next)
    #expect(again.ask.tag == 1 && again.ask.cost == 3 << 20 && again.ask.wholeCost == nil)
    #expect(again.ask.request.answerLimit == AnswerLimit(bytes: 3 << 20))
    #expect(goes() == [])
    #expect(!isTooLarge(1, of: 1), "it was no try the second time")
    #expect(goes() == [[1, 3], [1, 4]])
    #expect(!isTooLarge(9, of: 9))
  }

  @Test("a connection that ends asks for nothing more, and gives its charge back when the answers come")
  func ends() {
    ask(1, 1...9, cost: Self.page, whole: 2 << 20)
    ask(2, 1...2, cost: Self.page)
    ask(3, 1...1, cost: Self.page)
    #expect(goes().count == 4)
    #expect(ended(1) == Array(3...9))
    #expect(goes() == [])
    #expect(!isTooLarge(1, of: 1))
    #expect(goes() == [[2, 2]])
    reads.answered(2, of: 1, isBehind: true)
    for tag in [1, 2] as [UInt64] { reads.answered(tag, of: 2, isBehind: false) }
    reads.answered(1, of: 3, isBehind: false)
    #expect(ended(1).isEmpty && ended(7).isEmpty)
    ask(4, 1...4, cost: Self.page)
    #expect(goes().count == 2)
  }

  @Test("what waited too long is given up, the rest stays in order")
  func expires() {
    ask(1, 1...3, cost: Self.page, at: 5)
    ask(1, 4...5, cost: Self.page, at: 20)
    ask(2, 1...1, cost: Self.page, at: 5, isBehind: true)
    #expect(goes().count == 2)
    #expect(expired(before: 20) == [[1, 3], [2, 1]])
    for tag in [1, 2] as [UInt64] { reads.answered(tag, of: 1, isBehind: false) }
    #expect(goes() == [[1, 4], [1, 5]])
    #expect(expired(before: .max).isEmpty)
  }

  @Test("too much that waits is refused")
  func bounded() {
    #expect(ask(1, 1...UInt64(ReadAdmission.mostWaiting), cost: Self.page))
    #expect(!ask(2, 1...1, cost: 1))
  }
}
