import Log
import Wire

/// Entries that the log has not answered for, and the answers that rest on them, by ticket.
final class AppendLedger {
  private var pending: [UInt64: PendingAppend] = [:]
  /// No list is empty.
  private var followers: [UInt64: [Follower]] = [:]
  private var nextTicket: UInt64 = 0

  /// Of the next entry.
  func ticket() -> UInt64 {
    defer { nextTicket += 1 }
    return nextTicket
  }

  /// The log has the entry and answers later.
  func add(_ append: PendingAppend, _ ticket: UInt64) { pending[ticket] = append }

  /// Nothing waits for the log.
  var isEmpty: Bool { pending.isEmpty && followers.isEmpty }

  subscript(ticket: UInt64) -> PendingAppend? { pending[ticket] }

  /// The log has answered.
  func take(_ ticket: UInt64) -> PendingAppend {
    guard let append = pending.removeValue(forKey: ticket) else {
      preconditionFailure("the log completed ticket \(ticket), which is not pending")
    }
    return append
  }

  /// An answer waits for the entry with the ticket.
  ///
  /// - Returns: false where the log has answered for it.
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
  /// Who hears what became of it.
  enum Owner {
    /// Answered with its position.
    case requester(Requester)
    /// It is a part of what an app decided.
    case decision(PendingDecision)
    case revocation(PendingRevocation)
  }

  var state: ChannelState
  var publication: Publication
  var idempotencyKey: IdentifierKey?
  var owner: Owner

  /// Of which it is a part.
  var decision: PendingDecision? { if case .decision(let decision) = owner { decision } else { nil } }
}

/// An answer that holds only if an entry gets to the disk which is under way.
struct Follower {
  var requester: Requester
  var response: BrokerResponse
}
