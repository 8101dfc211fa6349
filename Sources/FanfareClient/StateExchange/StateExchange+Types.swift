// What State's channels hold and its methods answer (docs/STATE.md). Times are milliseconds since 1970 by the server's
// clock, durations milliseconds.

extension StateExchange {
  /// A thread is for each of its two people always in exactly one.
  public enum Phase: String, Codable, Sendable {
    /// Nothing is open.
    case idle
    /// Mine is sealed, theirs is awaited.
    case sent
    /// Theirs is sealed, mine is awaited.
    case received
    /// Both were exchanged and can be seen.
    case revealed
    /// Nobody answered; nobody ever sees it.
    case expired
  }

  /// What one of the two has sent, once it is revealed.
  public struct Side: Codable, Sendable, Equatable {
    /// The id of the picture of the front camera.
    public var front: String
    /// The id of the picture of the rear camera.
    public var rear: String
    public var caption: String?
    public var reaction: String?
  }

  /// An entry of one's threads; its key is the other's id.
  public struct Thread: Codable, Sendable, Equatable {
    public var with: String
    public var phase: Phase
    /// Such as `#2F80ED`.
    public var colour: String
    public var since: Int64
    public var until: Int64?
    /// Of `received`: how long one will have to record the answer.
    public var limit: Int64?
    /// Of `revealed`: one has not looked yet.
    public var unread: Bool?
    /// Of `revealed`: what I have sent.
    public var mine: Side?
    /// Of `revealed`: what the other has sent.
    public var theirs: Side?
    /// Of `idle`: one blocks this person.
    public var blocked: Bool?
  }

  /// A phase that a thread has come into, or what happened in one.
  public struct Event: Codable, Sendable, Equatable {
    /// What happened.
    public enum Kind: String, Codable, Sendable {
      case sent, received, revealed, expired
      /// What was revealed is over: delete its pictures.
      case ended
      /// The other has reacted; the list says how.
      case reacted
    }

    public var event: Kind
    public var with: String
    public var since: Int64
    public var until: Int64?
    public var limit: Int64?
  }

  /// A recorder that is open.
  public struct Recording: Codable, Sendable, Equatable {
    public var at: Int64
    /// How long one has to record.
    public var limit: Int64
    /// When ``StateExchange/send(to:front:rear:caption:replyLimit:key:)`` must have come.
    public var deadline: Int64
    /// The server's clock: show `deadline - now`, counted from the moment the answer came.
    public var now: Int64
  }

  /// What became of a send; the phase is `revealed` where it was the answer.
  public struct Sent: Codable, Sendable, Equatable {
    public var phase: Phase
    public var since: Int64
    public var until: Int64
  }

  /// One's own settings.
  public struct Settings: Codable, Sendable, Equatable {
    /// How long one takes to record.
    public var limit: Int64
  }
}
