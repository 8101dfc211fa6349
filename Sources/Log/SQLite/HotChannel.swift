import Wire

/// What the broker thread knows of a channel that is in use.
///
/// The tail holds the newest publications, and always those that are not on disk yet, so that a read asks SQLite only for
/// what is older.
final class HotChannel {
  /// Publications in a tail. Most reads are of a client that was away for a moment.
  static let tailLimit = 256
  /// Bytes in a tail.
  static let tailBytesLimit = 256 << 10

  let name: ChannelName
  let place: HotPlace
  /// As the broker sees it: the stored epoch and the store's era or run.
  let epoch: String
  let writer: WriterChannel
  /// The last offset taken for a relaxed channel; the last offset on disk for a durable one.
  var top: UInt64
  /// The last offset that is known to be on disk.
  var committed: UInt64
  /// Nothing at or below it is kept.
  var floor: UInt64 = 0
  var tail = KeptPublications()
  /// The tail was filled from disk: nothing older fits into it.
  var isWarm = false
  /// Row in `channels`, once it is known.
  var rowID: Int64?
  var ttl: Int64 = 0
  var historySize = HotChannel.tailLimit
  /// Keys and origins of relaxed entries that are not on disk yet.
  var traces = RequestTraces()
  /// On the clock of ``HotChannels/clock``.
  var lastUse: Int64
  /// Entries that went to the writer, and of which it has not told yet what became of them.
  private(set) var waiting = 0
  /// An entry did not follow what the writer knows of the channel: it is read from disk again.
  private(set) var isStale = false
  /// Changes of publications that are not on disk yet, of a durable channel: they show when they are.
  private var edits: [(offset: UInt64, edit: LogEdit)] = []
  /// Of a relaxed channel, by the offset of what they change: they show at once, also in what only the disk holds.
  private var shownEdits: [UInt64: (offset: UInt64, edit: LogEdit)] = [:]

  var isDurable: Bool { writer.durability == .durable }

  init(writer: WriterChannel, epoch: String, clock: Int64) {
    name = writer.name
    place = writer.place
    self.epoch = epoch
    self.writer = writer
    top = writer.committed.top
    committed = writer.committed.top
    lastUse = clock
  }

  var position: StreamPosition { StreamPosition(epoch: epoch, offset: top) }

  /// The writer has told of everything that it was given. Only then may the channel be let go: whoever opens it again
  /// reads from disk where it stands. The tail does not tell: a channel without history has none.
  var isSettled: Bool { waiting == 0 }

  /// Takes an entry that went to the writer.
  func add(_ entry: LogEntry) {
    let offset = entry.publication.offset
    waiting += 1
    ttl = entry.historyTTLMilliseconds
    historySize = entry.historySize
    // What stood at this offset failed, or is about to.
    tail.truncate(from: offset)
    if let edit = entry.edit {
      if isDurable {
        edits.append((offset, edit))
      } else {
        tail.replace(with: edit.replacement)
        shownEdits[edit.replacement.offset] = (offset, edit)
      }
    }
    if !isDurable {
      top = offset
      floor = max(floor, entry.floor)
      traces.add(entry)
    }
    if entry.isKept {
      if let last = tail.lastOffset, last + 1 != offset, last <= committed { clearTail() }
      if tail.lastOffset.map({ $0 + 1 == offset }) ?? true {
        tail.append(entry.publication, ticket: entry.ticket)
      }
    }
    trimTail()
  }

  /// - Parameter count: of the entries that are on disk now.
  func settle(top: UInt64, floor: UInt64, count: Int) {
    waiting -= count
    committed = max(committed, top)
    self.floor = max(self.floor, floor)
    if isDurable { self.top = max(self.top, top) } else { traces.drop(through: top) }
    while let first = edits.first, first.offset <= top {
      tail.replace(with: first.edit.replacement)
      edits.removeFirst()
    }
    if !shownEdits.isEmpty { shownEdits = shownEdits.filter { $0.value.offset > top } }
    trimTail()
  }

  /// What the disk holds, with the changes that are on their way there.
  func shown(_ stored: Publication) -> Publication {
    if shownEdits.isEmpty { return stored }
    return shownEdits[stored.offset]?.edit.replacement ?? stored
  }

  /// - Parameter isStale: the channel does not stand where it was thought to.
  func fail(offset: UInt64, ticket: UInt64, isStale: Bool) {
    waiting -= 1
    if isStale { self.isStale = true }
    if tail.ticket(at: offset) == ticket { tail.truncate(from: offset) }
    edits.removeAll { $0.offset == offset }
  }

  /// Drops what is not kept, and then, of what is on disk, what is too much.
  func trimTail() {
    tail.drop(through: floor)
    let limit = min(Self.tailLimit, max(historySize, 1))
    while tail.count > limit || tail.bytes > Self.tailBytesLimit, let first = tail.firstOffset, first <= committed {
      tail.dropFirst()
    }
  }

  /// Drops all that is on disk.
  func clearTail() {
    isWarm = false
    if tail.lastOffset.map({ $0 <= committed }) ?? true {
      tail.removeAll()
    } else {
      tail.drop(through: committed)
    }
  }
}
