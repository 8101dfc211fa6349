/// What Clique says to itself in another partition. It holds what the log may hold: no text of a message that disappears,
/// and no key of a picture.
struct CliqueRelay: Sendable, Codable, Equatable {
  enum Says: Sendable, Codable, Equatable {
    /// From the conversation to a person: what the person's channels show of it.
    case shows(Shows)
    /// From home to a person: the last crossing of the two of a conversation elsewhere; nil: there is none.
    case crossing(Crossing)
    /// From the conversation to home: what stands between two people now.
    case bond(Bond)
    /// From the conversation to home: what a person is to be told of it now.
    case news(News)
    /// To all others: somebody is known, by the key of the record that says so.
    case known(String)
    /// From the conversation to home: the picture is in a message now, or the message is gone.
    case used(PictureUse)
    case dropped(PictureUse)
    /// From home to the conversation: what became of a picture that was lent; is a message with a picture still kept?
    case claim(PictureUse)
    case looks(PictureUse)
    /// From the conversation to home: the picture is in no message, and never will be under this id.
    case unused(PictureUse)
  }

  struct Shows: Sendable, Codable, Equatable {
    enum Place: String, Sendable, Codable { case list, drafts }

    var place: Place
    var user: String
    var conversation: String
    /// Nil: the channel shows nothing of it.
    var entry: Entry?
    /// Everybody else whom the entry names.
    var names: [String]
  }

  struct Entry: Sendable, Codable, Equatable {
    /// JSON.
    var data: String
    var score: Int64
  }

  struct Crossing: Sendable, Codable, Equatable {
    var user: String
    var with: String
    var conversation: String
    /// JSON, as lists show it.
    var crossing: String?
  }

  struct Bond: Sendable, Codable, Equatable {
    var conversation: String
    /// Empty: one whose data was deleted.
    var a: String
    var b: String
    var state: PairState
    var crossedFrom: Int64?
    var openedAt: Int64
    var blockedAtA: Int64
    var blockedAtB: Int64
    /// Messages that wait in a request.
    var waiting: Int
  }

  struct News: Sendable, Codable, Equatable {
    var user: String
    var conversation: String
    /// Nil: nothing.
    var news: Clique.News?
    /// What the conversation adds to the number on an app's icon.
    var unread: Int
  }

  struct PictureUse: Sendable, Codable, Equatable {
    var owner: String
    var picture: String
    var conversation: String
    /// Of the message; 0: there is none, or it is not known.
    var offset: UInt64
    /// When the message disappears, in milliseconds since 1970; nil: it stays.
    var ends: Int64?
  }

  /// When it was decided, in milliseconds since 1970.
  var sent: Int64
  var says: Says
}
