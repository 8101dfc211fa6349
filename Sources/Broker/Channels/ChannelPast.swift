import Wire

/// What the broker knows of publications of a channel that are not kept any more: why they are not.
///
/// A store drops publications and remembers only that they are gone. So the reason is worked out from what is certain: what
/// the history's size leaves no room for, what was removed while the channel was in use here, and what is too old. For the
/// rest ``RecoveryGap/Reason/notKept`` is the answer.
struct ChannelPast {
  /// The channel's top when the broker opened it.
  var openedTop: UInt64 = .max
  /// When that was, in milliseconds since 1970.
  var openedAt: Int64 = .max
  /// The history was removed through here since.
  private(set) var removedThrough: UInt64 = 0
  /// A removal through here was asked for since, and may have failed.
  private(set) var removalAskedThrough: UInt64 = 0

  mutating func removalIsAsked(through offset: UInt64) { removalAskedThrough = max(removalAskedThrough, offset) }

  mutating func removed(through offset: UInt64) { removedThrough = max(removedThrough, offset) }

  /// Why a publication is not kept that once was.
  ///
  /// - Parameters:
  ///   - offset: of the publication.
  ///   - newest: offset of the newest publication that the log took.
  ///   - oldest: what is older than this is not kept, in milliseconds since 1970.
  func reason(
    forMissing offset: UInt64, newest: UInt64, _ options: ChannelOptions, oldest: Int64
  ) -> RecoveryGap.Reason {
    let (end, isOverflow) = offset.addingReportingOverflow(UInt64(clamping: options.historySize))
    if !isOverflow, end <= newest { return .size }
    if offset <= removedThrough { return .removed }
    // It was there when the channel was opened, and that is longer ago than anything is kept.
    if offset <= openedTop { return openedAt < oldest ? .expired : .notKept }
    // It came since, and so nothing is left but its age. A relaxed one may have been refused by the disk after it was
    // delivered, which nobody tells.
    return offset > removalAskedThrough && options.durability != .relaxed ? .expired : .notKept
  }
}
