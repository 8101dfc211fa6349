import Testing

@testable import Bench

@Suite("The ledger of deliveries")
struct LedgerTests {
  @Test("In order, nothing is noted, and each publication has its first, median and last subscriber")
  func inOrder() {
    let book = Book(subscribers: 4)
    for sequence in 0..<3 {
      for subscriber in 0..<4 { book.deliver(UInt64(sequence), to: subscriber, at: UInt64(100 + subscriber)) }
    }
    #expect(book.counts == Book.Counts(arrived: 12, lost: 0, duplicated: 0, misordered: 0, missing: 0))
    _ = book.ledger.endSecond()
    let histograms = book.ledger.histograms[0]
    #expect(histograms.latency.encoded.pairs == [90, 3, 91, 3, 92, 3, 93, 3])
    #expect(histograms.first.encoded.pairs == [90, 3])
    #expect(histograms.median.encoded.pairs == [91, 3])
    #expect(histograms.last.encoded.pairs == [93, 3])
  }

  @Test("What is passed over is lost")
  func lost() {
    let book = Book(subscribers: 1)
    for sequence: UInt64 in [0, 3, 4] { book.deliver(sequence) }
    #expect(book.counts == Book.Counts(arrived: 3, lost: 2, duplicated: 0, misordered: 0, missing: 0))
  }

  @Test("What comes late is out of order and not lost; what comes again is doubled")
  func lateAndAgain() {
    let book = Book(subscribers: 1)
    for sequence: UInt64 in [0, 5, 3, 3, 1, 0, 4, 5] { book.deliver(sequence) }
    #expect(book.counts == Book.Counts(arrived: 5, lost: 1, duplicated: 3, misordered: 3, missing: 0))
    book.deliver(2)
    #expect(book.counts == Book.Counts(arrived: 6, lost: 0, duplicated: 3, misordered: 4, missing: 0))
  }

  @Test("What never came is missing from what was published")
  func missing() {
    let book = Book(subscribers: 2, published: 3)
    for sequence: UInt64 in [0, 1, 2] { book.deliver(sequence, to: 0) }
    book.deliver(0, to: 1)
    #expect(book.counts.missing == 2)
  }

  @Test("Another group's publication, and what bears no marker, is not counted")
  func stray() {
    let book = Book(subscribers: 1)
    book.deliver(0, group: 1)
    book.deliver(bytes: Array("something else altogether, but of some length".utf8))
    book.deliver(bytes: Array("~ff~".utf8))
    #expect(book.counts == Book.Counts(arrived: 0, lost: 0, duplicated: 0, misordered: 0, missing: 0))
    #expect(book.ledger.strays == 3)
  }

  @Test("The warm-up is checked and not measured")
  func warmUp() {
    let book = Book(subscribers: 1, measureFrom: 50)
    book.deliver(0)
    book.deliver(2)
    #expect(book.counts == Book.Counts(arrived: 2, lost: 1, duplicated: 0, misordered: 0, missing: 0))
    #expect(book.ledger.tables[0].delivered == 0)
    #expect(book.ledger.endSecond().delivered == 0)
  }
}

/// A ledger with one channel's subscribers.
private final class Book {
  struct Counts: Equatable {
    var arrived: Int
    var lost: Int
    var duplicated: Int
    var misordered: Int
    var missing: Int
  }

  let ledger: Ledger
  let lines: [UnsafeMutablePointer<LedgerLine>]
  let published: UInt64
  let measureFrom: UInt64

  init(subscribers: Int, published: UInt64 = 0, measureFrom: UInt64 = 0) {
    let ledger = Ledger([Ledger.Shape(channels: 1, window: 16)], lines: subscribers)
    self.ledger = ledger
    lines = (0..<subscribers).map { _ in ledger.addLine(group: 0, channel: 0) }
    self.published = published
    self.measureFrom = measureFrom
  }

  /// A publication that was due at 10.
  func deliver(_ sequence: UInt64, to subscriber: Int = 0, group: UInt16 = 0, at now: UInt64 = 100) {
    var bytes = [UInt8](repeating: 0x78, count: 64)
    bytes.withUnsafeMutableBytes {
      if let place = $0.baseAddress { Marker.write(group: group, sequence: sequence, due: 10, to: place) }
    }
    deliver(bytes: bytes, to: subscriber, at: now)
  }

  func deliver(bytes: [UInt8], to subscriber: Int = 0, at now: UInt64 = 100) {
    var sink = Sink(
      Unmanaged.passUnretained(ledger), ledger.tables, lines[subscriber], now: now, measureFrom: measureFrom, origin: 0)
    bytes.withUnsafeBytes { sink.deliver($0) }
    sink.finish()
  }

  var counts: Counts {
    let table = ledger.tables[0]
    return Counts(
      arrived: table.arrived, lost: table.lost, duplicated: table.duplicated, misordered: table.misordered,
      missing: ledger.outstanding(group: 0) { _ in published })
  }
}
