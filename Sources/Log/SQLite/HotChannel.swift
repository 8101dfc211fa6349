import Wire

/// A channel in use, as the store knows it in the broker's turn; what the writer thread knows of it is
/// ``WriterChannel``.
///
/// The tail holds the newest publications, and always those that are not on disk yet, so that a read asks SQLite only
/// for what is older.
final class HotChannel {
  /// Publications in a tail. Most reads are of a client that was away for a moment.
  static let tailLimit = 256
  /// Bytes in a tail.
  static let tailBytesLimit = 256 << 10

  let name: ChannelName
  let place: HotPlace
  /// The epoch as the broker sees it: the stored one, and the store's era or run.
  let epoch: String
  let writer: WriterChannel
  /// The last offset taken for a relaxed channel; the last offset on disk for a durable one.
  var top: UInt64
  /// The last offset that is known to be on disk.
  var committed: UInt64
  /// Publications at or below this offset are not kept.
  var floor: UInt64 = 0
  var tail = KeptPublications()
  /// The tail was filled from disk, or is about to be: nothing older fits into it.
  private var isWarm = false
  /// The broker has it open.
  var isHeld = false
  var ttl: Int64 = 0
  var historySize = HotChannel.tailLimit
  /// When the channel was used last, on the clock of ``HotChannels/clock``.
  var lastUse: Int64
  /// How many entries went to the writer of which it has not told yet what became.
  private(set) var waiting = 0
  /// An entry did not follow what the writer knows of the channel: the channel is to be read from disk again.
  private(set) var isStale = false
  private(set) var changes: HotChanges
  private var pages = PagesUnderWay.none

  var isDurable: Bool { writer.durability == .durable }

  init(writer: WriterChannel, epoch: String, clock: Int64) {
    name = writer.name
    place = writer.place
    self.epoch = epoch
    self.writer = writer
    top = writer.committed.top
    committed = writer.committed.top
    lastUse = clock
    changes = HotChanges(of: writer.durability)
  }

  var position: StreamPosition { StreamPosition(epoch: epoch, offset: top) }

  /// The writer has told what became of each entry that it was given. Only then may the channel be let go, because
  /// whoever opens it again reads from disk where it stands. An empty tail does not prove it: a channel without history
  /// has none.
  var isSettled: Bool { waiting == 0 }

  /// Takes an entry that went to the writer.
  func add(_ entry: LogEntry) {
    let offset = entry.publication.offset
    waiting += 1
    ttl = entry.historyTTLMilliseconds
    historySize = entry.historySize
    // A publication that stands in the tail at this offset has failed, or is about to.
    tail.truncate(from: offset)
    if let replacement = changes.add(entry) { tail.replace(with: replacement) }
    if !isDurable {
      top = offset
      floor = max(floor, entry.floor)
    }
    if entry.isKept {
      if let last = tail.lastOffset, last + 1 != offset, last <= committed { clearTail() }
      if tail.lastOffset.map({ $0 + 1 == offset }) ?? true {
        tail.append(entry.publication, ticket: entry.ticket)
      }
    }
    trimTail()
  }

  /// Notes what is on disk now.
  ///
  /// - Parameters:
  ///   - top: everything up to this offset is on disk.
  ///   - count: entries that got to the disk with it.
  func advance(top: UInt64, floor: UInt64, count: Int) {
    waiting -= count
    committed = max(committed, top)
    self.floor = max(self.floor, floor)
    if isDurable { self.top = max(self.top, top) }
    let (changed, shown) = changes.takeWritten(through: top)
    for replacement in shown { tail.replace(with: replacement) }
    if !changed.isEmpty { pages.note(changed) }
    trimTail()
  }

  /// Notes that an entry did not get to the disk.
  ///
  /// - Parameter isStale: the writer knows the channel to stand elsewhere.
  func fail(offset: UInt64, ticket: UInt64, isStale: Bool) {
    waiting -= 1
    if isStale { self.isStale = true }
    if tail.ticket(at: offset) == ticket { tail.truncate(from: offset) }
    changes.fail(offset: offset)
  }

  /// Drops publications that are not kept, and then the oldest beyond the tail's limits, if they are on disk.
  func trimTail() {
    tail.drop(through: floor)
    let limit = min(Self.tailLimit, max(historySize, 1))
    while tail.count > limit || tail.bytes > Self.tailBytesLimit, let first = tail.firstOffset, first <= committed {
      tail.dropFirst()
    }
  }

  /// Drops all publications of the tail that are on disk.
  func clearTail() {
    isWarm = false
    if tail.lastOffset.map({ $0 <= committed }) ?? true {
      tail.removeAll()
    } else {
      tail.drop(through: committed)
    }
  }

  /// Notes that a publication on disk has been emptied.
  func emptied(_ publication: Publication) {
    clearTail()
    pages.note([
      Publication(offset: publication.offset, time: publication.time, data: ErasureQuestion.emptied)
    ])
  }

  // MARK: Reading

  /// Whether the tail has all of the span that is kept.
  func covers(_ span: ClosedRange<UInt64>) -> Bool {
    guard let first = tail.firstOffset, let last = tail.lastOffset else { return false }
    return first <= span.lowerBound && last >= span.upperBound
  }

  func readBegan() { pages.began() }
  func readEnded() { pages.ended() }

  /// Takes over the account of pages that are being read from the object that stood for this channel before.
  func takeReads(of other: HotChannel) { pages = other.pages }

  /// What is to be read for the tail along with a page, so that the next reads need no disk; nil where it was asked for
  /// before, or nothing older fits.
  func takeWarmth() -> ReadJob.Warmth? {
    guard !isWarm else { return nil }
    isWarm = true
    let top = tail.firstOffset.map { $0 - 1 } ?? committed
    let room = Self.tailLimit - tail.count
    guard top > floor, room > 0, tail.bytes < Self.tailBytesLimit else { return nil }
    return ReadJob.Warmth(span: floor + 1...top, count: room, bytes: Self.tailBytesLimit - tail.bytes)
  }

  /// Fills the tail with what a reader found on disk below it, unless that ends elsewhere by now.
  func warm(_ warm: ReadJob.WarmPublications) {
    let top = tail.firstOffset.map { $0 - 1 } ?? committed
    // More publications have got to the disk since, and are not in the tail any more.
    guard warm.through == top else { return }
    if let newest = warm.publications.first, newest.offset != top { return }
    for publication in warm.publications where publication.offset > floor { tail.prepend(asNow(publication)) }
    // Everything that is left on disk is in the tail now.
    if warm.isAll { floor = max(floor, (warm.publications.last?.offset ?? top + 1) - 1) }
    trimTail()
  }

  /// Puts a page together: what was read from disk, with changes since, and what the tail holds beyond.
  ///
  /// - Parameters:
  ///   - stored: publications read from disk, in the order of reading.
  ///   - rest: offsets that were not on disk yet when the page was asked for.
  /// - Returns: false where some of the rest got to the disk meanwhile and is not in the tail any more.
  func add(_ stored: [Publication], and rest: ClosedRange<UInt64>?, to found: inout FoundPublications) -> Bool {
    if found.range.reverse {
      if let rest, !covers(rest) { return false }
      if let rest { tail.read(rest, into: &found) }
      addKept(stored, to: &found)
    } else {
      addKept(stored, to: &found)
      guard let rest, !found.isFull else { return true }
      if !covers(rest) { return false }
      tail.read(rest, into: &found)
    }
    return true
  }

  private func addKept(_ stored: [Publication], to found: inout FoundPublications) {
    for publication in stored where publication.offset > floor && !found.isFull {
      let now = asNow(publication)
      found.add(now, cost: now.cost)
    }
  }

  /// A publication that was read from disk, with a change that is on its way there or came there since.
  private func asNow(_ stored: Publication) -> Publication {
    changes.shown(stored.offset) ?? pages[stored.offset] ?? stored
  }
}
