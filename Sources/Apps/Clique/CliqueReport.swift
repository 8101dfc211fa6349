import Wire

/// What people have told the moderators of others.
///
/// The states of a report, each of which is a row of ``Clique/Report``:
///
///     (none)    clique.report                    → open, with the messages as they are at that moment
///     open      the same report again            → open: it is the same one
///     open      a moderator settles it           → settled
///     open      90 days                          → (none)
///     settled   the same report again            → open, as another report
///     settled   a moderator settles it again     → settled, with what was found last
///     settled   30 days                          → (none)
///     any       the reported one's data deleted  → (none)
///     any       the reporter's data deleted      → as it was, without the reporter's name and words
extension Clique {
  struct Report: AppRecord {
    struct Message: Codable, Sendable, Equatable {
      /// In the chat; 0: the message waited in a request.
      var offset: UInt64
      var time: Int64
      var text: String
      /// The message had a picture; nil: it had none.
      var hasPicture: Bool?
    }

    /// A picture that is kept with the report (``KeptPictures``).
    struct Picture: Codable, Sendable, Equatable {
      var id: String
      /// Which upload of the id.
      var upload: Bytes64
      var type: String
      var bytes: Int64
      /// Of the message that it was in; nil: it was in the profile.
      var offset: UInt64?
    }

    struct Settled: Codable, Sendable, Equatable {
      var outcome: String
      var note: String
      var time: Int64
    }

    var number: UInt64
    /// What is reported, by whom, as a digest: the same report again has the same one. Empty: the reporter's data was
    /// deleted.
    var subject: String
    /// Empty: the reporter's data was deleted.
    var by: String
    var of: String
    /// Empty: nothing stood between the two, or the reporter's data was deleted.
    var conversation: String
    /// The message that is reported; nil: the person is.
    var offset: UInt64?
    var reason: String
    var text: String
    var time: Int64
    /// Messages of the one who is reported that the reporter could read, oldest first.
    var messages: [Message]
    /// The profile of the one who is reported, as the reporter saw it; nil: the reporter saw nothing of it.
    var profile: ProfileContent?
    /// Pictures of these messages and of the profile; nil: none is kept.
    var pictures: [Picture]?
    var settled: Settled?
    /// When the report is forgotten, in milliseconds since 1970, as all times here.
    var ends: Int64

    var due: Int64? { ends }
    var lane: AppLane { .upkeep }

    /// Messages that are kept with a report: the last ones, the one that is reported among them.
    static let mostMessages = 10
    /// Bytes of texts that are kept with it, besides the newest message.
    static let mostBytes = 16_384
    /// Code points of each text.
    static let mostCharacters = 4000
    static let openFor = 90 * CliqueRules.day
    static let settledFor = 30 * CliqueRules.day
    /// Messages that are looked through for those of the one who is reported.
    static let looks = 100

    static func key(_ number: UInt64) -> String { "report/\(number)" }
  }

  /// The number of the report about a subject, so that the same report again is no second one.
  struct Reported: AppRecord {
    var number: UInt64

    var due: Int64? { nil }

    static func key(_ subject: String) -> String { "reported/" + subject }
  }

  /// How many reports there are. They are numbered in the order in which they came.
  struct Reports: AppRecord {
    /// No report has a lower number.
    var first: UInt64 = 1
    var next: UInt64 = 1
    var open = 0
    var kept = 0
    /// Bytes of all pictures that are kept with them; nil: none.
    var keptBytes: Int64?

    var due: Int64? { nil }

    static let key = "reports/all"
    /// Reports that one look goes through for those that are asked for, since numbers have gaps.
    static let looks = 100
  }
}

extension Clique.Report {
  /// The last messages, so many that they do not grow beyond what a report holds.
  ///
  /// - Parameter newest: newest first.
  static func kept(_ newest: [Message]) -> [Message] {
    var kept: [Message] = []
    var bytes = 0
    for var message in newest.prefix(mostMessages) {
      message.text = String(String.UnicodeScalarView(message.text.unicodeScalars.prefix(mostCharacters)))
      if !kept.isEmpty {
        bytes += message.text.utf8.count
        if bytes > mostBytes { break }
      }
      kept.append(message)
    }
    return kept.reversed()
  }
}
