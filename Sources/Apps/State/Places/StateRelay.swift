/// What State says to itself in another partition. It holds what the log may hold: texts under the key that lasts, and no
/// key of a picture.
struct StateRelay: Sendable, Codable, Equatable {
  enum Says: Sendable, Codable, Equatable {
    /// From the pair to the person: what is shown; nil: nothing, where the other of the two is shown something.
    case shows(Shows?)
    /// From the pair to home.
    case news(News)
    /// From the person to all others: the user's own time to record in milliseconds; nil: as long as the rules say.
    case limit(user: String, limit: Int64?)
    /// From the pair to the person: these are in the thread now, or were.
    case used(Pictures)
    /// From the person to the pair: what became of these?
    case claim(Pictures)
    /// From the pair to the person: these are not in the thread, and never will be under these ids.
    case unused(Pictures)
  }

  struct Shows: Sendable, Codable, Equatable {
    var user: String
    var with: String
    /// As the log keeps it; nil: the list has none.
    var entry: StateListEntry?
    /// Events as JSON, oldest first.
    var events: [String]
  }

  /// What a person is to be told of a thread now.
  struct News: Sendable, Codable, Equatable {
    var user: String
    var with: String
    var news: StateNews?
    /// How many threads of the partition ``from`` await the user's answer.
    var received: Int
    var from: Int
  }

  /// Pictures that were lent.
  struct Pictures: Sendable, Codable, Equatable {
    var owner: String
    var ids: [String]
    /// The thread that they were lent to (``StatePair/digest``).
    var thread: String
  }

  /// When it was decided, in milliseconds since 1970.
  var sent: Int64
  var says: Says
}
