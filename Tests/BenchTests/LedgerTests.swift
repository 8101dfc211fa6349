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
    #expect(book.counts == Book.Counts(arrived: 12, lost: 0, duplicated: 0, misordered: 0))
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
    #expect(book.counts == Book.Counts(arrived: 3, lost: 2, duplicated: 0, misordered: 0))
  }

  @Test("What comes late is out of order and not lost; what comes again is doubled")
  func lateAndAgain() {
    let book = Book(subscribers: 1)
    for sequence: UInt64 in [0, 5, 3, 3, 1, 0, 4, 5] { book.deliver(sequence) }
    #expect(book.counts == Book.Counts(arrived: 5, lost: 1, duplicated: 3, misordered: 3))
    book.deliver(2)
    #expect(book.counts == Book.Counts(arrived: 6, lost: 0, duplicated: 3, misordered: 4))
  }

  @Test("What never came is missing from what was published")
  func missing() {
    let book = Book(subscribers: 2, published: 3)
    for sequence: UInt64 in [0, 1, 2] { book.deliver(sequence, to: 0) }
    book.deliver(0, to: 1)
    #expect(book.counts.lost == 2)
  }

  @Test("What is missing of the warm-up, or of an earlier step, is not missing of the measured time")
  func windows() {
    let book = Book(subscribers: 1, published: 500)
    // Nothing came at all, as of a server that delivers to nobody: 200 of the warm-up, 300 measured.
    #expect(book.lost(200..<500) == 300 && book.lost(0..<200) == 200)
    // A subscriber that joined late got a publication of the measured time, and none of the warm-up.
    book.deliver(450)
    #expect(book.lost(200..<500) == 299 && book.lost(0..<200) == 200)
    // Late deliveries of the warm-up do not make up for those that are missing of the measured time.
    for sequence: UInt64 in 0..<100 { book.deliver(sequence) }
    #expect(book.lost(200..<500) == 299 && book.lost(0..<200) == 100)
  }

  @Test("A number far beyond what was published makes nothing more lost than was expected")
  func farBeyond() {
    let book = Book(subscribers: 1, published: 10)
    book.deliver(0xFF_FFFF_FFFF)
    #expect(book.lost(0..<10) == 10)
  }

  @Test(
    "Never is more lost than was expected, whatever comes in whatever order", arguments: 1...20 as ClosedRange<UInt64>)
  func anything(seed: UInt64) {
    var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    func next(_ bound: UInt64) -> UInt64 {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      return random % bound
    }
    let book = Book(subscribers: 3, published: 40)
    var seen: [Set<UInt64>] = [[], [], []]
    for _ in 0..<next(120) {
      let (subscriber, sequence) = (Int(next(3)), next(60))
      book.deliver(sequence, to: subscriber)
      seen[subscriber].insert(sequence)
    }
    for start: UInt64 in [0, 13, 39, 40] {
      let window = start..<40
      let missing = seen.reduce(0) { sum, seen in sum + window.count { !seen.contains($0) } }
      #expect(book.lost(window) == missing)
      #expect(book.lost(window) <= 3 * window.count)
    }
  }

  @Test("What a publisher gets, because it had to subscribe, is neither a delivery nor a stray one")
  func publisher() {
    let book = Book(subscribers: 1)
    book.deliver(0, to: nil)
    #expect(book.counts == Book.Counts(arrived: 0, lost: 0, duplicated: 0, misordered: 0))
    #expect(book.ledger.strays == 0)
  }

  @Test("With a stamp of the kernel, the time up to it is recorded beside the time up to the reading")
  func stamps() {
    let book = Book(subscribers: 1)
    book.deliver(0, at: 100, stamp: 60)
    // The kernel's stamp is earlier than the publication was due, as after a clock was set back.
    book.deliver(1, at: 100, stamp: 5)
    book.deliver(2, at: 100)
    _ = book.ledger.endSecond()
    #expect(book.ledger.histograms[0].latency.encoded.pairs == [90, 3])
    #expect(book.ledger.histograms[0].kernel.encoded.pairs == [0, 1, 50, 1])
    book.ledger.resetCounts()
    #expect(book.ledger.histograms[0].kernel.encoded.pairs == [])
  }

  @Test("Another group's publication, and what bears no marker, is not counted")
  func stray() {
    let book = Book(subscribers: 1)
    book.deliver(0, group: 1)
    book.deliver(bytes: Array("something else altogether, but of some length".utf8))
    book.deliver(bytes: Array("~ff~".utf8))
    #expect(book.counts == Book.Counts(arrived: 0, lost: 0, duplicated: 0, misordered: 0))
    #expect(book.ledger.strays == 3)
  }

  @Test("The warm-up is checked and not measured")
  func warmUp() {
    let book = Book(subscribers: 1, measureFrom: 50)
    book.deliver(0)
    book.deliver(2)
    #expect(book.counts == Book.Counts(arrived: 2, lost: 1, duplicated: 0, misordered: 0))
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
  }

  let ledger: Ledger
  let lines: [UnsafeMutablePointer<LedgerLine>]
  /// What was published, or what came, where that is more.
  private var published: UInt64
  let measureFrom: UInt64

  init(subscribers: Int, published: UInt64 = 0, measureFrom: UInt64 = 0) {
    let ledger = Ledger([Ledger.Shape(channels: 1, window: 16)], lines: subscribers)
    self.ledger = ledger
    lines = (0..<subscribers).map { _ in ledger.addLine(group: 0, channel: 0) }
    self.published = published
    self.measureFrom = measureFrom
  }

  /// A publication that was due at 10.
  ///
  /// - Parameter subscriber: nil: a connection whose deliveries do not count.
  func deliver(
    _ sequence: UInt64, to subscriber: Int? = 0, group: UInt16 = 0, at now: UInt64 = 100, stamp: UInt64 = 0
  ) {
    var bytes = [UInt8](repeating: 0x78, count: 64)
    bytes.withUnsafeMutableBytes {
      if let place = $0.baseAddress { Marker.write(group: group, sequence: sequence, due: 10, to: place) }
    }
    if group == 0 && subscriber != nil { published = max(published, sequence + 1) }
    deliver(bytes: bytes, to: subscriber, at: now, stamp: stamp)
  }

  func deliver(bytes: [UInt8], to subscriber: Int? = 0, at now: UInt64 = 100, stamp: UInt64 = 0) {
    var sink = Sink(
      Unmanaged.passUnretained(ledger), ledger.tables, subscriber.map { lines[$0] }, now: now, stamp: stamp,
      measureFrom: measureFrom, origin: 0)
    bytes.withUnsafeBytes { sink.deliver($0) }
    sink.finish()
  }

  func lost(_ window: Range<UInt64>) -> Int { ledger.missing(group: 0) { _ in window } }

  var counts: Counts {
    let table = ledger.tables[0]
    return Counts(
      arrived: table.arrived, lost: lost(0..<published), duplicated: table.duplicated, misordered: table.misordered)
  }
}
