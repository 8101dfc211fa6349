/// Whether messages between two people disappear, and what one of them has proposed: always exactly one of these states,
/// changed by ``after(_:by:heard:now:)`` and ``advanced(to:)`` alone. What is in force changes only when both have said the
/// same.
///
/// The table, from one side. *I* say x, milliseconds after which messages go, or 0 for never. `=` leaves the state as it is.
///
///     what waits        x is in force        x is what waits            x is anything else   14 days
///     nothing           =                    –                          mine, x              =
///     mine              nothing, taken back  = (heard from now on)      mine, x              nothing
///     theirs            nothing, declined    nothing; x is in force     mine, x              nothing
///     theirs, unheard   =                    nothing; x is in force     mine, x              nothing
///
/// *Unheard*: they said it while I blocked them. Only they see it waiting, after the block too, until I happen to say the
/// same. All of it ends with the conversation: the next one begins without.
///
/// A block changes nothing of it, and nothing that the blocked one sees: what is in force stays so, what I say under a block
/// by them waits unheard, and what they had proposed before the block I may still agree to, as a request from before may
/// be accepted. That takes effect; that I have agreed is told to me alone.
struct CliqueVanishing: Codable, Sendable, Hashable {
  struct Proposal: Codable, Sendable, Hashable {
    var by: PairState.Side
    /// Milliseconds; 0: never.
    var after: Int64
    /// When it ends if the other says nothing, in milliseconds since 1970.
    var ends: Int64
    /// The other sees it.
    var isHeard: Bool

    /// What people see of it.
    var shown: Shown { Shown(by: by, after: after) }

    struct Shown: Equatable {
      var by: PairState.Side
      var after: Int64
    }
  }

  enum Outcome: String, Sendable, Hashable, CaseIterable {
    case unchanged, proposed, agreed, takenBack, declined
  }

  /// Milliseconds after which a message goes; 0: never.
  var after: Int64 = 0
  var proposal: Proposal?

  static let proposalLifetime = 14 * CliqueRules.day

  /// The state after one side has said something: one cell of the table.
  ///
  /// - Parameters:
  ///   - wanted: milliseconds after which messages are to go; 0: never.
  ///   - heard: false: the other has blocked the one who says it.
  ///   - now: milliseconds since 1970.
  func after(
    _ wanted: Int64, by me: PairState.Side, heard: Bool, now: Int64
  ) -> (state: CliqueVanishing, outcome: Outcome) {
    let mine = CliqueVanishing(
      after: after,
      proposal: Proposal(by: me, after: wanted, ends: now + Self.proposalLifetime, isHeard: heard))
    let nothing = CliqueVanishing(after: after)
    guard let waiting = proposal else { return wanted == after ? (self, .unchanged) : (mine, .proposed) }
    if waiting.by == me {
      if wanted == after { return (nothing, .takenBack) }
      guard wanted == waiting.after else { return (mine, .proposed) }
      // Its end stays: by a later one, its maker would learn that a block is over.
      var state = self
      if heard { state.proposal?.isHeard = true }
      return (state, .unchanged)
    }
    if wanted == waiting.after { return (CliqueVanishing(after: wanted), .agreed) }
    if wanted == after { return waiting.isHeard ? (nothing, .declined) : (self, .unchanged) }
    return (mine, .proposed)
  }

  /// The state at a time, in milliseconds since 1970.
  func advanced(to now: Int64) -> CliqueVanishing {
    guard let proposal, proposal.ends <= now else { return self }
    return CliqueVanishing(after: after)
  }

  /// What waits, as a side sees it; nil: nothing.
  func waiting(for side: PairState.Side) -> Proposal? {
    guard let proposal, proposal.by == side || proposal.isHeard else { return nil }
    return proposal
  }
}

/// The messages of one conversation that are on their way to disappear.
///
/// Not a list of them, which would be written with each message: messages that go after the same time go in the order in
/// which they came, so that for each such time the first that is left is enough.
///
/// The states of a run, which is the messages that go after one time:
///
///     (none)     a message that is to go is published   → waits for it
///     waits      the time of its first message comes    → removes it and those behind it, some at a time
///     removes    the next message is not due yet        → waits for that one
///     removes    the newest message was looked at       → (none)
///     removes    the newest is not on the disk yet      → looks once more, a minute later
struct CliqueVanishingRuns: AppRecord {
  struct Run: Codable, Sendable, Hashable {
    /// Milliseconds after which the messages go.
    var after: Int64
    /// The offset from which on messages of the run may stand.
    var next: UInt64
    /// Milliseconds since 1970.
    var due: Int64
    /// Where the run had come to the end of what is on the disk: the newest offset that was given out then. When the run is
    /// due again, all up to that one is on the disk, or never will be.
    var settled: UInt64?
  }

  var runs: [Run] = []

  var due: Int64? { runs.map(\.due).min() }

  /// Different times that messages of one conversation may be on their way with.
  static let most = 16
}

/// One look of a run at the messages before it (``CliqueVanishingRuns``).
struct CliqueVanishingLook: Equatable {
  /// Offsets of messages, and of what tells of changes of such, whose time is over.
  var gone: [UInt64] = []
  /// The run as it goes on; nil: it has come to its end.
  var run: CliqueVanishingRuns.Run?

  /// A message as a run looks at it.
  struct Message: Equatable {
    var offset: UInt64
    var time: Int64
    /// When it goes; nil: never, or it is gone already.
    var vanishes: Int64?
    /// It tells that another was changed. It goes with that one, whatever its own time.
    var isChange = false
  }

  /// Messages that one look removes at most, as each removal is a publication.
  static let most = 16
  /// Messages that one look reads.
  static let page = 64
  /// Milliseconds until the next look, where there is more to do.
  static let pause: Int64 = 10
  /// Milliseconds until a run looks again where the newest message is not on the disk yet. Nothing goes sooner.
  static let settling: Int64 = 60_000

  /// - Parameters:
  ///   - messages: what stands from ``CliqueVanishingRuns/Run/next`` on, ``page`` offsets at most, in their order.
  ///   - top: the newest offset that was given out.
  ///   - now: milliseconds since 1970.
  static func at(
    _ messages: [Message], of run: CliqueVanishingRuns.Run, top: UInt64, now: Int64
  ) -> CliqueVanishingLook {
    var look = CliqueVanishingLook()
    var next = run
    var first: Message?
    for message in messages {
      guard let end = message.vanishes else { continue }
      if end <= now {
        if look.gone.count == most {
          next.next = first?.offset ?? message.offset
          next.due = now + pause
          look.run = next
          return look
        }
        look.gone.append(message.offset)
      } else if first == nil, message.isChange || end - message.time == run.after {
        first = message
      }
    }
    if let first {
      (next.next, next.due) = (first.offset, first.vanishes ?? now)
      look.run = next
      return look
    }
    let last = run.next + UInt64(page) - 1
    let known = max(messages.last?.offset ?? 0, run.settled ?? 0)
    next.next = max(run.next, min(last, known) + 1)
    if next.next > top { return look }
    if known >= last {
      next.due = now + pause
    } else {
      (next.settled, next.due) = (top, now + settling)
    }
    look.run = next
    return look
  }
}
