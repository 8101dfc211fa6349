import Wire

/// A publication in memory.
struct KeptPublication {
  var publication: Publication
  /// The ticket of the entry that brought it. After a failed write the same offset comes again with another ticket.
  var ticket: UInt64
  var cost: Int
}

/// The newest publications of a channel in memory. Offsets are contiguous, so an offset is found by subtraction.
struct KeptPublications {
  private var ring = Ring<KeptPublication>()
  /// Sum of the publications' costs (``Publication/cost``).
  private(set) var bytes = 0
  /// Counts what comes and goes for the namespace's quota; nil where it has none.
  var tally: QuotaTally?

  var count: Int { ring.count }
  var isEmpty: Bool { ring.isEmpty }
  /// The offset of the first publication, in a property of its own so that looking at an offset copies no publication.
  private var low: UInt64 = 0
  var firstOffset: UInt64? { isEmpty ? nil : low }
  var lastOffset: UInt64? { isEmpty ? nil : low &+ UInt64(count) &- 1 }

  mutating func append(_ publication: consuming Publication, ticket: UInt64) {
    let (offset, cost) = (publication.offset, publication.cost)
    assert(lastOffset.map { $0 &+ 1 == offset } ?? true, "kept publications must be contiguous")
    bytes += cost
    if let tally { tally.added(publication) }
    if isEmpty { low = offset }
    ring.append(KeptPublication(publication: consume publication, ticket: ticket, cost: cost))
  }

  mutating func prepend(_ publication: Publication) {
    assert(firstOffset.map { $0 &- 1 == publication.offset } ?? true, "kept publications must be contiguous")
    let kept = KeptPublication(publication: publication, ticket: 0, cost: publication.cost)
    bytes += kept.cost
    if let tally { tally.added(publication) }
    low = publication.offset
    ring.prepend(kept)
  }

  mutating func dropFirst() {
    guard let kept = ring.popFirst() else { return }
    bytes -= kept.cost
    if let tally { tally.removed(kept.publication) }
    low &+= 1
  }

  /// Drops everything up to and including the offset.
  mutating func drop(through offset: UInt64) {
    while let first = firstOffset, first <= offset { dropFirst() }
  }

  /// Drops the offset and everything after it.
  mutating func truncate(from offset: UInt64) {
    while let last = lastOffset, last >= offset {
      guard let kept = ring.popLast() else { return }
      bytes -= kept.cost
      if let tally { tally.removed(kept.publication) }
    }
  }

  /// Drops the oldest publications up to the first that is not too old. Only a prefix goes: after a clock that stepped
  /// back, an old time in the middle must not leave a hole.
  ///
  /// - Parameter cutoff: publications with an earlier time are too old. Milliseconds since 1970.
  /// - Returns: the offset of the last one that was dropped.
  mutating func drop(before cutoff: Int64) -> UInt64? {
    var dropped: UInt64?
    while let first = ring.first, first.publication.time < cutoff {
      dropped = first.publication.offset
      dropFirst()
    }
    return dropped
  }

  /// Puts a publication in the place of the one that has its offset, if that one is kept.
  mutating func replace(with publication: Publication) {
    guard let first = firstOffset, let last = lastOffset, publication.offset >= first, publication.offset <= last else {
      return
    }
    let index = Int(publication.offset - first)
    bytes += publication.cost - ring[index].cost
    if let tally {
      tally.removed(ring[index].publication)
      tally.added(publication)
    }
    ring[index].publication = publication
    ring[index].cost = publication.cost
  }

  mutating func removeAll() {
    if tally != nil { while !isEmpty { dropFirst() } }
    let tally = tally
    self = KeptPublications()
    self.tally = tally
  }

  func ticket(at offset: UInt64) -> UInt64? {
    guard let first = firstOffset, let last = lastOffset, offset >= first, offset <= last else { return nil }
    return ring[Int(offset - first)].ticket
  }

  /// Adds what lies within `span` to `found`, in the order of reading, until that is full.
  func read(_ span: ClosedRange<UInt64>, into found: inout FoundPublications) {
    guard let first = firstOffset, let last = lastOffset else { return }
    guard span.lowerBound <= last, span.upperBound >= first else { return }
    let low = Int(max(span.lowerBound, first) - first)
    let high = Int(min(span.upperBound, last) - first)
    var index = found.range.reverse ? high : low
    while index >= low, index <= high, !found.isFull {
      let kept = ring[index]
      if kept.publication.time >= found.range.notBefore { found.add(kept.publication, cost: kept.cost) }
      index += found.range.reverse ? -1 : 1
    }
  }
}

/// The publications that a read has found so far.
struct FoundPublications {
  let range: LogRange
  private(set) var publications: [Publication] = []
  private var bytes = 0

  init(_ range: LogRange) { self.range = range }

  var isFull: Bool { publications.count >= range.limit || bytes > range.bytes }

  mutating func add(_ publication: Publication, cost: Int) {
    publications.append(publication)
    bytes += cost
  }
}

extension LogRange {
  /// The offsets asked for, or nil where there can be none.
  ///
  /// - Parameters:
  ///   - floor: nothing at or below it is kept.
  ///   - top: nothing above it exists.
  func span(above floor: UInt64, through top: UInt64) -> ClosedRange<UInt64>? {
    guard limit > 0, floor < UInt64.max else { return nil }
    var low = floor + 1
    var high = min(through, top)
    if let since {
      if reverse {
        guard since > 0 else { return nil }
        high = min(high, since - 1)
      } else {
        guard since < UInt64.max else { return nil }
        low = max(low, since + 1)
      }
    }
    return low <= high ? low...high : nil
  }
}

extension LogEntry {
  /// Whether the history keeps the publication: both limits must be set (as for ``ChannelOptions/keepsHistory``).
  var isKept: Bool { historySize > 0 && historyTTLMilliseconds > 0 }

  /// The highest offset that this entry pushes out of the history.
  var floor: UInt64 {
    guard isKept else { return publication.offset }
    let size = UInt64(historySize)
    return publication.offset > size ? publication.offset - size : 0
  }

  /// Bytes of memory that the entry takes while it waits for the disk.
  var cost: Int { publication.cost + 64 + (idempotency?.key.utf8.count ?? 0) + (edit?.replacement.cost ?? 0) }
}

extension Int64 {
  /// `self - ttl`, or the earliest time there is.
  func minus(ttl: Int64) -> Int64 {
    let (cutoff, overflow) = subtractingReportingOverflow(ttl)
    return overflow ? .min : cutoff
  }

  /// `self + ttl`, or the latest time there is.
  func plus(ttl: Int64) -> Int64 {
    let (expiry, overflow) = addingReportingOverflow(ttl)
    return overflow ? .max : expiry
  }
}
