import GRDB
import Wire

/// Reads of a channel in use: what is recent from its tail, what is older from SQLite.
extension SQLiteStore {
  func read(_ channel: HotChannel, _ range: LogRange) throws -> [Publication] {
    guard let span = range.span(above: channel.floor, through: channel.top) else { return [] }
    if !covers(channel, span) { try warm(channel) }
    guard let span = range.span(above: channel.floor, through: channel.top) else { return [] }
    var found = FoundPublications(range)
    guard !covers(channel, span), let id = try rowID(of: channel) else {
      hot.use(channel) { channel.tail.read(span, into: &found) }
      return found.publications
    }
    // Older than the tail from SQLite, the rest from the tail; all from SQLite where the tail ends too early.
    let usesTail = channel.tail.lastOffset.map { $0 >= span.upperBound } ?? false
    let firstHot = usesTail ? (channel.tail.firstOffset ?? .max) : .max
    if range.reverse, usesTail { channel.tail.read(span, into: &found) }
    if found.isFull { return found.publications }
    let cold = span.lowerBound...max(span.lowerBound, min(span.upperBound, firstHot - 1))
    coldReadCount += 1
    try reader.publications(
      of: id, in: cold, limit: range.limit - found.publications.count, reverse: range.reverse,
      notBefore: range.notBefore
    ) { publication in
      let shown = channel.shown(publication)
      found.add(shown, cost: shown.cost)
      return !found.isFull
    }
    if !range.reverse, usesTail { channel.tail.read(span, into: &found) }
    return found.publications
  }

  private func covers(_ channel: HotChannel, _ span: ClosedRange<UInt64>) -> Bool {
    guard let first = channel.tail.firstOffset, let last = channel.tail.lastOffset else { return false }
    return first <= span.lowerBound && last >= span.upperBound
  }

  /// Fills the tail with what is on disk below it, once, so that the next reads need no SQLite.
  private func warm(_ channel: HotChannel) throws {
    guard !channel.isWarm else { return }
    channel.isWarm = true
    let top = channel.tail.firstOffset.map { $0 - 1 } ?? channel.committed
    let room = HotChannel.tailLimit - channel.tail.count
    guard top > channel.floor, room > 0, let id = try rowID(of: channel) else { return }
    var found = 0
    var isFull = false
    coldReadCount += 1
    let before = channel.tail.bytes
    var publications: [Publication] = []
    var bytes = before
    try reader.publications(of: id, in: channel.floor + 1...top, limit: room, reverse: true, notBefore: .min) {
      found += 1
      bytes += $0.cost
      isFull = bytes > HotChannel.tailBytesLimit || $0.offset != top - UInt64(publications.count)
      if !isFull { publications.append(channel.shown($0)) }
      return !isFull
    }
    hot.use(channel) {
      for publication in publications { channel.tail.prepend(publication) }
    }
    // Everything that is left on disk is in the tail now.
    if !isFull, found < room { channel.floor = max(channel.floor, (publications.last?.offset ?? top + 1) - 1) }
  }

  /// Nil where the channel has no row yet, and so nothing on disk.
  private func rowID(of channel: HotChannel) throws -> Int64? {
    if channel.rowID == nil { channel.rowID = try row(staying: channel.name)?.id }
    return channel.rowID
  }
}
