/// How one person keeps a conversation in their list: always exactly one of these, changed by ``after(_:top:now:)``
/// alone. Nobody else sees any of it.
///
/// The table. Each state is there muted and not. `=` leaves it as it is.
///
///     state      mute    unmute     archive   unarchive  pin     unpin  a message comes
///     open       muted   not muted  archived  =          pinned  =      =
///     pinned     muted   not muted  archived  =          =       open   =
///     archived   muted   not muted  =         open       pinned  =      open; = while muted
///
/// What came while a conversation was muted does not bring it back when it is muted no more: unmuting archives it anew.
/// Nothing is written when a message comes: an archived conversation remembers through which offset it was archived, and
/// shows as open once there is a newer message (``isArchived(newest:)``). Such a one can be archived again.
struct CliqueKeeping: Codable, Sendable, Hashable {
  enum Shelf: Codable, Sendable, Hashable {
    case open
    /// Since a moment, in milliseconds since 1970.
    case pinned(since: Int64)
    /// The newest offset at that moment.
    case archived(through: UInt64)
  }

  enum Event: Sendable, Hashable, CaseIterable {
    case mute, unmute, archive, unarchive, pin, unpin
  }

  var isMuted = false
  var shelf = Shelf.open

  /// The state after an event: one cell of the table.
  ///
  /// - Parameters:
  ///   - top: the newest offset of the conversation.
  ///   - now: milliseconds since 1970.
  func after(_ event: Event, top: UInt64, now: Int64) -> CliqueKeeping {
    var next = self
    switch (event, shelf) {
    case (.mute, _): next.isMuted = true
    case (.unmute, .archived):
      if isMuted { next = CliqueKeeping(isMuted: false, shelf: .archived(through: top)) }
    case (.unmute, _): next.isMuted = false
    case (.archive, _): next.shelf = .archived(through: top)
    case (.unarchive, .archived), (.unpin, .pinned): next.shelf = .open
    case (.pin, .open), (.pin, .archived): next.shelf = .pinned(since: now)
    case (.unarchive, _), (.pin, .pinned), (.unpin, _): break
    }
    return next
  }

  /// Whether the conversation shows as archived.
  ///
  /// - Parameter newest: the offset of the newest message that the person sees; 0: there is none.
  func isArchived(newest: UInt64) -> Bool {
    if case .archived(let through) = shelf { isMuted || newest <= through } else { false }
  }

  /// When the conversation was pinned; nil: it is not.
  var pinnedSince: Int64? {
    if case .pinned(let since) = shelf { since } else { nil }
  }
}
