import Wire

/// Whether all publications after a position can be given to a subscriber who missed them.
enum RecoveryDecision: Equatable {
  /// Nothing was missed.
  case upToDate
  /// The `count` publications after `offset` have to be read; the recovery is whole only if all of them are still kept.
  case read(after: UInt64, count: UInt64)
  /// The epoch is another, the position lies ahead of the stream, nothing is kept, or more was missed than may be sent.
  case impossible(RecoveryGap)
}

/// - Parameters:
///   - top: what was delivered last.
///   - limit: most publications that the answer may hold.
func decideRecovery(since: StreamPosition, top: StreamPosition, keepsHistory: Bool, limit: UInt32) -> RecoveryDecision {
  // A client that never learned an epoch sends an empty one, which cannot differ (protocol facts, "Recovery").
  if !since.epoch.isEmpty && !since.epoch.hasSameBytes(as: top.epoch) { return .impossible(RecoveryGap(.epoch)) }
  if since.offset == top.offset { return .upToDate }
  guard since.offset < top.offset else { return .impossible(RecoveryGap(.ahead)) }
  let missing = (since.offset + 1)...top.offset
  guard keepsHistory else { return .impossible(RecoveryGap(missing, .notKept)) }
  let missed = top.offset - since.offset
  return missed <= UInt64(limit)
    ? .read(after: since.offset, count: missed) : .impossible(RecoveryGap(missing, .limit))
}

/// The first and the last offset of `(after, through]` that are not among what was found; nil where all are.
///
/// - Parameters:
///   - publications: in the order of their offsets.
///   - isCut: what was found was cut off at its end, where nothing is known to be missing.
func missingOffsets(
  in publications: [Publication], after: UInt64, through: UInt64, isCut: Bool
) -> ClosedRange<UInt64>? {
  var first: UInt64?
  var last: UInt64 = 0
  var previous = after
  for publication in publications where publication.offset > previous {
    if publication.offset - previous > 1 {
      first = first ?? previous + 1
      last = publication.offset - 1
    }
    previous = publication.offset
  }
  if !isCut, previous < through {
    first = first ?? previous + 1
    last = through
  }
  return first.map { $0...last }
}

/// True where `publications` is all of `(after, through]`, each once and in order.
func isWhole(_ publications: [Publication], after: UInt64, through: UInt64) -> Bool {
  guard UInt64(publications.count) == through - after else { return false }
  var expected = after
  for publication in publications {
    expected += 1
    if publication.offset != expected { return false }
  }
  return true
}
