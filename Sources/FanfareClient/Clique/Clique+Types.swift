// What Clique's channels hold and its methods answer (docs/CLIQUE.md). Times are milliseconds since 1970 by the
// server's clock.

extension Clique {
  /// Whom a call is about. A person's id may be written as a string: `clique.accept("bob")`.
  public enum Who: Sendable, Equatable, ExpressibleByStringLiteral {
    /// By the user id.
    case person(String)
    /// A conversation of one's own list, or a group.
    case conversation(String)

    /// A person.
    public init(stringLiteral person: String) { self = .person(person) }
  }

  /// An entry of one's list of conversations and requests; its key is the conversation's id.
  public struct Conversation: Codable, Sendable, Equatable {
    /// What stands between two people, or with a group.
    public enum State: String, Codable, Sendable {
      /// My messages wait to be accepted.
      case requestOut = "request_out"
      /// Somebody's messages wait for my answer.
      case requestIn = "request_in"
      /// We talk.
      case active
      /// The other has left; I may read, and clear it away with ``Clique/disconnect(_:)``.
      case ended
      /// I have blocked the other.
      case blocked
    }

    /// A message of a request, which has no channel yet.
    public struct Waiting: Codable, Sendable, Equatable {
      public var text: String
      public var time: Int64
      /// Of one's own messages.
      public var key: String?
    }

    /// After which time messages are to disappear, as one of two has proposed.
    public struct Proposal: Codable, Sendable, Equatable {
      /// Milliseconds; 0 for messages that stay.
      public var after: Int64
      public var by: String
    }

    /// The last crossing with the other.
    public struct LastCrossing: Codable, Sendable, Equatable {
      public var place: String
      public var time: Int64
    }

    /// The id of the conversation.
    public var conversation: String
    /// The other of two.
    public var with: String?
    /// True for a group.
    public var group: Bool?
    public var name: String?
    public var members: [String]?
    public var admins: [String]?
    public var state: State
    /// The last message, cut after 100 characters.
    public var last: String?
    /// Who wrote the last message.
    public var from: String?
    /// The last message has a picture.
    public var picture: Bool?
    /// When the last message is gone, in place of ``last``.
    public var expires: Int64?
    /// After how many milliseconds messages disappear.
    public var disappear: Int64?
    public var disappearAsked: Proposal?
    /// Of the last message.
    public var time: Int64
    /// Stops at 100, which means 100 or more.
    public var unread: Int?
    /// The offset up to which nothing is unread.
    public var read: UInt64?
    /// Of requests.
    public var messages: [Waiting]?
    public var crossing: LastCrossing?
    public var muted: Bool?
    public var archived: Bool?
    /// The time since when it is pinned.
    public var pinned: Int64?

    enum CodingKeys: String, CodingKey {
      case conversation, with, group, name, members, admins, state, last, from, picture, expires, disappear
      case disappearAsked = "disappear_asked"
      case time, unread, read, messages, crossing, muted, archived, pinned
    }
  }

  /// A message of a conversation, or what tells of a change of it.
  public struct Message: Codable, Sendable, Equatable {
    /// A change of a conversation.
    public enum Event: String, Codable, Sendable {
      case added, removed, appointed, dismissed, joined, left, renamed, disappear
    }

    /// A picture, as the server has measured it.
    public struct Picture: Codable, Sendable, Equatable {
      public var id: String
      public var type: String
      public var bytes: Int
      public var width: Int
      public var height: Int
      /// What to draw until the picture is there, as its sender made it.
      public var hash: String?
    }

    public var text: String?
    /// With which it was sent.
    public var key: String?
    /// The offset of the message that it replies to.
    public var reply: UInt64?
    /// The author, of a message that waited in a request.
    public var from: String?
    /// When a message that waited in a request was written.
    public var sent: Int64?
    public var picture: Picture?
    /// When the message is gone.
    public var expires: Int64?
    /// Of a change of the conversation; there is no text then.
    public var event: Event?
    /// Whom the change is about.
    public var user: String?
    /// The new name of a group.
    public var name: String?
    /// Of `disappear`, milliseconds; 0 for messages that stay.
    public var after: Int64?

    /// Whether it has disappeared: hide it then, without a network too.
    ///
    /// - Parameter now: milliseconds since 1970.
    public func isOver(at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }
  }

  /// A picture that was uploaded, to be sent with a message.
  public struct NewPicture: Codable, Sendable, Equatable {
    public var id: String
    public var hash: String?

    /// - Parameters:
    ///   - id: as ``Pictures/upload(_:id:partBytes:progress:)`` was told or has answered.
    ///   - hash: what others draw until it is there: a ThumbHash or BlurHash, at most 100 characters of ASCII.
    public init(id: String, hash: String? = nil) {
      self.id = id
      self.hash = hash
    }
  }

  /// What became of a message.
  public struct Sent: Codable, Sendable, Equatable {
    public var conversation: String
    /// Where it stands in the conversation; nil where it waits in a request.
    public var offset: UInt64?
    /// How many of one's messages wait in the request.
    public var waiting: Int?
  }

  /// Somebody whom one crossed paths with.
  public struct Crossing: Codable, Sendable, Equatable {
    /// A time together at a place.
    public struct Meeting: Codable, Sendable, Equatable {
      public var place: String
      /// When it began.
      public var time: Int64
      public var minutes: Int
    }

    public var user: String
    public var seen: Int64
    /// Milliseconds together, of all meetings that ended within the window.
    public var total: Int64
    /// Both are there now: count up on the phone.
    public var together: Bool
    /// Three at most, newest first.
    public var latest: [Meeting]
  }

  /// In which order crossings are answered.
  public enum CrossingOrder: String, Codable, Sendable { case recent, time }

  /// What is unread, for the number on the app's icon.
  public struct Totals: Codable, Sendable, Equatable {
    public var conversations: Int
    public var messages: Int
    public var requests: Int
  }

  /// A person's profile, as one may see it.
  public struct Profile: Codable, Sendable, Equatable {
    public var user: String
    public var name: String?
    public var fields: [String: String]?
    public var picture: ProfilePicture?
    /// Of one's own: when it was changed.
    public var changed: Int64?
  }

  /// Pictures of a profile, by their ids.
  public struct ProfilePicture: Codable, Sendable, Equatable {
    public var id: String
    /// One for lists, of at most 64 KiB and 256 pixels a side.
    public var small: String?

    public init(id: String, small: String? = nil) {
      self.id = id
      self.small = small
    }
  }

  /// What of a profile is to change: what is nil stays, what is `.some(nil)` is removed.
  public struct ProfileChange: Encodable, Sendable {
    public var name: String??
    public var fields: [String: String?]
    public var picture: ProfilePicture??

    public init(name: String?? = nil, fields: [String: String?] = [:], picture: ProfilePicture?? = nil) {
      self.name = name
      self.fields = fields
      self.picture = picture
    }

    enum CodingKeys: String, CodingKey { case name, fields, picture }

    /// Writes null for what is to be removed.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      if let name { try container.encode(name, forKey: .name) }
      if !fields.isEmpty { try container.encode(fields, forKey: .fields) }
      if let picture { try container.encode(picture, forKey: .picture) }
    }
  }

  /// Somebody whom one blocks.
  public struct Blocked: Codable, Sendable, Equatable {
    public var user: String
    /// As it was, where one was seen.
    public var name: String?
    public var time: Int64
  }

  /// What one has begun to write.
  public struct Draft: Codable, Sendable, Equatable {
    public var text: String
    public var reply: UInt64?
    public var time: Int64
  }

  /// What one person says to a message. The key is the message's offset and the user, `12/bob`.
  public struct Reaction: Codable, Sendable, Equatable {
    public var reaction: String
    public var time: Int64
  }

  /// How far somebody has read. The key is the user.
  public struct Receipt: Codable, Sendable, Equatable {
    public var read: UInt64?
    public var delivered: UInt64?
  }

  /// Somebody types. The key is the user; the entry ends by itself.
  public struct Typing: Codable, Sendable, Equatable {}

  /// Why somebody is reported.
  public enum ReportReason: String, Codable, Sendable {
    case spam, harassment, threat, nudity, minor, impersonation, other
  }

  /// A report that one has made.
  public struct Report: Codable, Sendable, Equatable {
    /// Whether moderators have dealt with it.
    public enum State: String, Codable, Sendable { case open, settled }

    public var report: String
    public var user: String
    public var conversation: String?
    public var offset: UInt64?
    public var reason: ReportReason
    public var text: String?
    public var time: Int64
    public var state: State
  }

  /// A message that a search has found, as it stands in its conversation now.
  public struct FoundMessage: Codable, Sendable, Equatable {
    public var channel: String
    public var offset: UInt64
    public var time: Int64
    public var user: String
    public var data: Message
  }

  /// A link into a group. Keep it: it is answered once.
  public struct GroupLink: Codable, Sendable, Equatable {
    public var link: String
    public var id: String
    public var ends: Int64
  }

  /// A link into a group, without its secret.
  public struct KnownLink: Codable, Sendable, Equatable {
    public var id: String
    public var by: String
    public var ends: Int64
    /// How many it still lets in; nil: as many as the group takes.
    public var uses: Int?
  }
}
