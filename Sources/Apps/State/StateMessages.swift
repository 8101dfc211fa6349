import Wire

// Answers to clients and gateways, and the entries of lists. Times are in milliseconds since 1970, durations in
// milliseconds, and names are those in the JSON.

struct StateBeginReply: Encodable, Equatable {
  var at: Int64
  var limit: Int64
  /// When `state.send` must have come: after the limit and the grace.
  var deadline: Int64
  /// The server's time, which is the one that counts.
  var now: Int64
}

public struct StateSendReply: Codable, Sendable, Equatable {
  public var phase: StatePhase
  public var since: Int64
  public var until: Int64
}

struct StateSettingsReply: Encodable {
  var limit: Int64
}

struct StatePictureUploadReply: Encodable {
  var key: Bytes64
}

struct StatePicturesReply: Encodable {
  var gone: [String]
}

struct StatePictureKeyReply: Encodable {
  var type: String
  var key: Bytes64
}

/// An entry of a thread list: as its user sees it, with captions and reactions, or as the log keeps it, with these
/// encrypted.
struct StateListEntry: Sendable, Codable, Equatable {
  struct Contents: Sendable, Codable, Equatable {
    var front: String
    var rear: String
    var caption: String?
    var sealed: ReleasedContents.Caption?
    /// What their sender says to the other's contents.
    var reaction: String?
    var sealedReaction: ReleasedContents.Caption?
  }

  var with: String
  var phase: StatePhase
  var colour: String
  var since: Int64?
  var until: Int64?
  /// Milliseconds to record the answer, where one is awaited from the user.
  var limit: Int64?
  /// The user has not looked at what was revealed.
  var unread: Bool?
  /// The user of the list blocks the other.
  var blocked: Bool?
  var mine: Contents?
  var theirs: Contents?
}

/// A publication on somebody's own channel: what has happened in the thread with somebody.
struct StateNotice: Encodable {
  enum Event: Encodable {
    /// The thread has come into this phase.
    case phase(StatePhase)
    /// What was revealed is over for its person. The notice has the times of the reveal.
    case ended
    /// The other has said something to what was revealed. The list has it, and the events do not, because they are kept
    /// for longer than what was revealed.
    case reacted

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .phase(let phase): try container.encode(phase)
      case .ended: try container.encode("ended")
      case .reacted: try container.encode("reacted")
      }
    }
  }

  var event: Event
  var with: String
  var since: Int64
  var until: Int64
  var limit: Int64?
}
