import Log
import Wire

/// Entries that the log has taken and not answered for, and the answers that wait for them, each under the entry's
/// ticket.
final class AppendLedger {
  private var pending: [UInt64: PendingAppend] = [:]
  /// Answers that wait for an entry, by the entry's ticket. No list is empty.
  private var followers: [UInt64: [Follower]] = [:]
  private var nextTicket: UInt64 = 0

  /// A ticket for a new entry. No two entries of one broker have the same.
  func ticket() -> UInt64 {
    defer { nextTicket += 1 }
    return nextTicket
  }

  /// The log has the entry and answers later.
  func add(_ append: PendingAppend, _ ticket: UInt64) { pending[ticket] = append }

  /// Nothing waits for the log.
  var isEmpty: Bool { pending.isEmpty && followers.isEmpty }

  subscript(ticket: UInt64) -> PendingAppend? { pending[ticket] }

  /// Removes the entry with the ticket, because the log has answered for it.
  func take(_ ticket: UInt64) -> PendingAppend {
    guard let append = pending.removeValue(forKey: ticket) else {
      preconditionFailure("the log completed ticket \(ticket), which is not pending")
    }
    return append
  }

  /// Lets an answer wait for the entry with the ticket.
  ///
  /// - Returns: false where the log has answered for the entry already; the answer was not added then.
  func follow(_ ticket: UInt64, _ follower: Follower) -> Bool {
    if pending[ticket] == nil { return false }
    followers[ticket, default: []].append(follower)
    return true
  }

  func takeFollowers(of ticket: UInt64) -> [Follower] {
    followers.isEmpty ? [] : followers.removeValue(forKey: ticket) ?? []
  }

  func giveBackMemory() {
    pending.giveBackMemory()
    followers.giveBackMemory()
  }
}

/// An entry that the log has not answered for yet.
struct PendingAppend {
  /// Who is told what became of the entry.
  enum Owner {
    /// Whoever asked for the publication: answered with its position, or with the log's error.
    case requester(Requester)
    /// The decision of an app that the entry is a part of.
    case decision(PendingDecision)
    case revocation(PendingRevocation)
    /// An event of a webhook's outbox.
    case outbox(OutboxAppend)
    /// How far a webhook is sent.
    case delivery(OutboxCommit)
    /// Whether somebody is on a channel, for webhooks.
    case occupancy(OccupancyAppend)
    /// A notice that no decision of an app has made.
    case notice
    case deletion(PendingDeletion)
  }

  var state: BrokerChannel
  var publication: Publication
  var idempotencyKey: IdentifierKey?
  var owner: Owner

  /// The decision of an app that the entry is a part of; nil: it is part of none.
  var decision: PendingDecision? { if case .decision(let decision) = owner { decision } else { nil } }
}

/// An answer that is true only if an entry that is still under way gets to the disk.
struct Follower {
  var requester: Requester
  var response: BrokerResponse
}
