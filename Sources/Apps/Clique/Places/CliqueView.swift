/// What a conversation of another partition shows in a person's list, or in the list of drafts: from this record the entry
/// is worked out.
struct CliqueView: AppRecord {
  var user: String
  var entry: CliqueRelay.Entry
  /// Everybody else whom it names: of two people the other, and whose message it shows where that one was forgotten.
  var names: [String]

  var due: Int64? { nil }

  static func key(_ place: CliqueRelay.Shows.Place, of user: String, in conversation: String) -> String {
    "view/\(place.rawValue)/\(Clique.Key.plain(user))/\(conversation)"
  }
}

/// The last crossing of two people as one of them is shown it: home has worked it out for the list of a person elsewhere.
struct CliqueCrossingView: AppRecord {
  var user: String
  var with: String
  /// JSON.
  var crossing: String

  var due: Int64? { nil }

  static func key(of user: String, in conversation: String) -> String {
    "crossed-view/\(Clique.Key.plain(user))/\(conversation)"
  }
}

/// What a person is to be told of a conversation of another partition: home keeps it, since it knows the person's devices.
struct CliqueHeldNews: AppRecord {
  var user: String
  var news: Clique.News

  var due: Int64? { nil }

  static func key(of user: String, in conversation: String) -> String {
    "news/\(Clique.Key.plain(user))/\(conversation)"
  }
}

/// What conversations add to the number on the icon of a person's app, by their ids. None adds 0.
struct CliqueBadge: AppRecord {
  var user: String
  var unread: [String: Int] = [:]

  var due: Int64? { nil }
  var count: Int { unread.values.reduce(0, +) }

  static func key(of user: String) -> String { "badge/" + Clique.Key.plain(user) }
}

/// What home was told last of a person and a conversation; there is none where that was nothing.
struct CliqueTold: AppRecord {
  var user: String
  var news: Clique.News?
  var unread: Int

  var due: Int64? { nil }

  static func key(of user: String, in conversation: String) -> String {
    "told/\(Clique.Key.plain(user))/\(conversation)"
  }
}
