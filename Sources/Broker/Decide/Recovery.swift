import Wire

/// Whether all publications after a position can be given to a subscriber who missed them.
enum RecoveryDecision: Equatable {
  /// Nothing was missed.
  case upToDate
  /// The `count` publications after `offset` have to be read; the recovery is whole only if all of them are still kept.
  case read(after: UInt64, count: UInt64)
  /// The epoch is another, the position lies ahead of the stream, or more was missed than may be sent.
  case impossible
}

/// - Parameters:
///   - top: what was delivered last.
///   - limit: most publications that the answer may hold.
func decideRecovery(since: StreamPosition, top: StreamPosition, keepsHistory: Bool, limit: UInt32) -> RecoveryDecision {
  // A client that never learned an epoch sends an empty one, which cannot differ (protocol facts, "Recovery").
  if !since.epoch.isEmpty && !since.epoch.hasSameBytes(as: top.epoch) { return .impossible }
  if since.offset == top.offset { return .upToDate }
  guard keepsHistory, since.offset < top.offset else { return .impossible }
  let missed = top.offset - since.offset
  return missed <= UInt64(limit) ? .read(after: since.offset, count: missed) : .impossible
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
