import Wire

extension Clique {
  /// A picture that a gateway has taken in for somebody, or is taking in: always exactly one of these states. It is not
  /// sealed: its key stands in the record, and goes with it.
  ///
  ///     state    taken in (began)  taken in (whole)  clique.send   for a profile  discard  its time comes
  ///     none     coming            whole             ✗ unknown     ✗ unknown      barred   -
  ///     coming   coming            whole             ✗ unknown     ✗ unknown      barred   barred
  ///     whole    ✗ taken           whole             message       profile        barred   barred
  ///     message  ✗ taken           ✗ taken           ✗ unknown     ✗ unknown      ✗ sent   = while the message is kept
  ///     profile  ✗ taken           ✗ taken           ✗ unknown     profile        ✗ sent   -
  ///     barred   ✗ taken           ✗ taken           ✗ unknown     ✗ unknown      =        none
  ///
  /// A picture of a message is barred when the message goes: its author removes it, it disappears, or it is too old to be
  /// kept. One of a profile is barred when no version of it shows it any more. With its owner's data each goes at once.
  ///
  /// Barred, because an upload that is repeated or still under way must not bring back what was discarded, nor come in
  /// just before gateways delete the file of the one before.
  ///
  /// Where Clique is shared among partitions (docs/decisions/0074-clique-in-all-partitions.md), all these records are at
  /// home. For a conversation of another partition a picture is *lent*, which to its owner is one that was sent:
  ///
  ///     state    lend to it  to another  give back                      used     unused  dropped  its time comes
  ///     coming   ✗ unknown   ✗ unknown   -                              -        -       -        barred
  ///     whole    lent        lent        -                              message  -       -        barred
  ///     lent     lent        ✗ unknown   lent; the last attempt: whole  message  barred  -        = asks, each minute
  ///     message  ✗ unknown   ✗ unknown   -                              -        -       barred   = asks, each week
  ///     profile  ✗ unknown   ✗ unknown   -                              -        -       -        -
  ///     barred   ✗ unknown   ✗ unknown   -                              -        -       -        none
  ///
  /// `used` of a picture that was given back makes it one of the message, since the attempt was the one after all. `used`
  /// and `unused` of another conversation than it was lent to change nothing, and nor does `dropped` of another message.
  /// Once its time has come, a lent picture is lent no more, not even to the same conversation.
  ///
  /// The conversation's partition has no record of it. There its id is only *barred* for as long as here: when it is sent,
  /// so that a second message which was lent the same picture does not get it; and when home asks what became of it, so
  /// that a message that is still on its way does not get it after the answer.
  struct Picture: AppRecord {
    enum Use: Codable, Sendable, Equatable {
      case unsent
      /// To a conversation of another partition.
      case lent(Lent)
      case message(conversation: String, offset: UInt64)
      /// Shown by a version of its owner's profile (``Profile/shownPictures``).
      case profile
    }

    struct Lent: Codable, Sendable, Equatable {
      var conversation: String
      /// To send it; of each it is not known that it was refused (``StatePicture/uncounted`` stands for older ones).
      var attempts: [UInt64]
      /// When it can be lent no more, in milliseconds since 1970.
      var ends: Int64
    }

    var id: String
    var owner: String
    /// The picture's media type; empty: it is coming, or barred.
    var type: String
    var bytes: Int64
    var width = 0
    var height = 0
    /// What the picture's file is encrypted under; nil: it is barred.
    var key: Bytes64?
    /// The upload that the key belongs to, as the picture's file says.
    var upload: Bytes64?
    var use = Use.unsent
    /// When it was sent, in milliseconds since 1970, as all times here.
    var sent: Int64?
    /// When its message disappears; nil: it stays.
    var ends: Int64?
    var due: Int64?

    var lane: AppLane {
      if isBarred { return .upkeep }
      switch use {
      case .unsent, .lent: return .endings
      case .message, .profile: return ends == nil ? .upkeep : .endings
      }
    }

    /// The picture is on disk as a whole.
    var isWhole: Bool { !type.isEmpty }
    var isBarred: Bool { key == nil }

    /// Milliseconds for which an id is barred: until gateways have been told twice to delete its file.
    static let barredLifetime: Int64 = 300_000

    static func barred(_ id: String, of owner: String, at now: Int64) -> Picture {
      Picture(id: id, owner: owner, type: "", bytes: 0, due: now + barredLifetime)
    }

    /// The formats that are taken: those whose every part that may tell of a place can be found and taken out.
    static let types = ["image/jpeg", "image/png", "image/webp"]
    /// Pixels a side, and bytes, of a picture for lists.
    static let smallPixels = 256
    static let smallBytes: Int64 = 65_536

    /// Makes it the picture of a message that was sent at a time.
    ///
    /// - Parameter ends: when the message disappears; nil: it stays.
    mutating func become(_ use: Use, sent: Int64, ends: Int64?, now: Int64) {
      self.use = use
      self.sent = sent
      self.ends = ends
      due = min(Self.nextLook(growth: 0, sent: sent, now: now), ends ?? .max)
    }

    /// When it is looked again whether the message of a picture is still kept: about when it will have gone from the
    /// chat if the chat goes on as it did since, between an hour and a week from now.
    ///
    /// - Parameters:
    ///   - growth: how many publications came to the chat since the message, fewer than ``Clique/chatSize``.
    ///   - sent: when the message was sent.
    static func nextLook(growth: UInt64, sent: Int64, now: Int64) -> Int64 {
      let (shortest, longest) = (CliqueRules.hour, 7 * CliqueRules.day)
      let ends = sent.saturatingAdd(Clique.chatLifetime)
      guard growth > 0 else { return max(now + 1, min(ends, now + longest)) }
      let left = Int64(Clique.chatSize) - Int64(clamping: min(growth, UInt64(Clique.chatSize)))
      let elapsed = min(max(now - sent, shortest), Clique.chatLifetime)
      let estimate = elapsed * left / Int64(clamping: growth)
      return max(now + 1, min(ends, now + min(max(estimate, shortest), longest)))
    }
  }

  /// How much of one person's pictures is kept.
  struct Pictures: AppRecord {
    var user: String
    /// Ids of those that are uploaded, or are coming, and not sent.
    var unsent: [String] = []
    /// Bytes of all that are kept.
    var bytes: Int64 = 0
    /// The mark for pictures that were discarded (``CliqueRate``); nil: none lately.
    var discardMark: Int64?

    /// When nothing but the mark is left, and that has passed.
    var due: Int64? { unsent.isEmpty && bytes == 0 ? discardMark : nil }
    var lane: AppLane { .upkeep }
    var isEmpty: Bool { unsent.isEmpty && bytes == 0 && discardMark == nil }
  }

  /// Pictures that one person may discard in a day, as each bars an id for a while.
  static let pictureDiscardsPerDay = 4000
}

extension Clique.Key {
  static func picture(_ id: String) -> String { "picture/" + id }
  static func pictures(of user: String) -> String { "pictures/" + plain(user) }
}

extension CliqueDraft {
  func pictures(of user: String) throws(ClientError) -> Clique.Pictures {
    try read(Clique.Pictures.self, Clique.Key.pictures(of: user)) ?? Clique.Pictures(user: user)
  }

  func write(_ pictures: Clique.Pictures) {
    var pictures = pictures
    if let mark = pictures.discardMark, mark <= now { pictures.discardMark = nil }
    let key = Clique.Key.pictures(of: pictures.user)
    if pictures.isEmpty { erase(key) } else { write(key, pictures) }
  }

  /// Takes a picture away: its key is destroyed, its file deleted, its place free, and its id barred for a while. Where
  /// reports keep it, its file is kept for moderators, with its key (``Clique/KeptPictures``).
  func remove(_ picture: Clique.Picture) throws(ClientError) {
    var pictures = try pictures(of: picture.owner)
    pictures.unsent.removeAll { $0 == picture.id }
    pictures.bytes = max(0, pictures.bytes - picture.bytes)
    write(pictures)
    write(Clique.Key.picture(picture.id), Clique.Picture.barred(picture.id, of: picture.owner, at: now))
    add(.pictureFates([try fate(ofGone: picture.id)]))
    add(.scrub)
  }
}
