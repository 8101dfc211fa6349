/// A picture that a gateway has taken in, or is taking in; or one that its owner has discarded, whose id is barred for a
/// while.
///
/// | State | `key` | `thread` | `away` | Can become |
/// |---|---|---|---|---|
/// | coming, or whole | its own | nil | nil | sent; lent; barred, as its owner discards it; gone, when it is due |
/// | sent | nil | the thread's | nil | gone, with what the thread holds of it |
/// | barred | nil | nil | nil | gone, when it is due |
/// | lent | its own | nil | lent | whole; moved; gone, where its thread's partition says that it is in no thread |
/// | moved | nil | nil | moved | gone, when it is due |
///
/// Barred, because of an upload that is repeated or still under way when its picture is discarded: it must not come back,
/// nor be taken in just before gateways delete the file of the one before.
///
/// Lent and moved are pictures for threads of other partitions (docs/decisions/0073-state-in-all-partitions.md):
///
/// | State | `lend` to the same thread | to another | `giveBack` of an attempt | `used` | `unused` | due |
/// |---|---|---|---|---|---|---|
/// | whole | lent, attempt noted | lent | – | moved | – | gone |
/// | lent | attempt noted, of more than 8 the newest | error 435 | crossed out; the last one: whole | moved | gone | asks, each minute |
/// | moved | error 435 | error 435 | – | – | – | forgotten |
///
/// *whole* means a picture that is not coming any more. `used` and `unused` of another thread than it was lent to change
/// nothing: they are late. To its owner a lent or moved picture is one that was sent.
struct StatePicture: AppRecord {
  /// What became of it in another partition.
  enum Away: Sendable, Codable, Equatable {
    /// - thread: ``StatePair/digest``, so that the record names nobody but the owner.
    /// - attempts: to send it; of each it is not known that it was refused.
    case lent(place: Int, thread: String, attempts: [UInt64])
    /// - time: when it was heard that it was sent, in milliseconds since 1970.
    case moved(time: Int64)
  }

  var id: String
  var owner: String
  /// The picture's MIME type; empty while it is being taken in.
  var type: String
  var bytes: Int64
  /// The picture's key, until it is sent; then the thread's record has it.
  var key: SealedKey?
  /// The upload of this id that the key belongs to, as the picture's file says; nil where no other gateway can go on
  /// with it.
  var upload: Bytes64?
  /// The key of the record of the thread in which the picture was sent.
  var thread: String?
  /// When the picture is discarded if nobody sends it; nil once it is sent, as it then goes with the thread.
  var due: Int64?
  /// Nil: nothing. Records of earlier versions have none.
  var away: Away?

  /// The picture is on disk as a whole, so that it can be sent.
  var isWhole: Bool { !type.isEmpty }

  var isBarred: Bool { key == nil && thread == nil && away == nil }

  /// Milliseconds for which the id of a discarded picture is barred: until gateways have been told twice to delete it.
  static let barredLifetime: Int64 = 300_000

  static func barred(_ id: String, of owner: String, at now: Int64) -> StatePicture {
    StatePicture(id: id, owner: owner, type: "", bytes: 0, due: now.saturatingAdd(barredLifetime))
  }

  /// A moved picture's record is only tidied up, like that of a barred one.
  var lane: AppLane { key == nil && thread == nil ? .upkeep : .endings }
}

extension StatePicture {
  /// Most attempts to send a picture that are remembered, of those of which it is not known that they were refused.
  static let mostAttempts = 8
  /// Stands for older attempts, of which none is ever crossed out: that they have not sent the picture, only the thread's
  /// partition can say.
  static let uncounted: UInt64 = 0

  /// Notes an attempt to send a picture that is lent, of more than ``mostAttempts`` the newest. Somebody may try again and
  /// again while nobody answers for where it is lent, and must go on being lent the picture; only that the last attempt
  /// was refused is not known any more.
  static func noting(_ attempt: UInt64, among attempts: [UInt64]) -> [UInt64] {
    if attempts.count < mostAttempts { return attempts + [attempt] }
    return [uncounted] + attempts.suffix(mostAttempts - 2) + [attempt]
  }

  /// Milliseconds between two questions what became of a picture.
  static let claimInterval: Int64 = 60_000

  /// The picture as it is known here when a thread of another partition has it: by its id, which takes no upload for as
  /// long as that thread may have it, since the upload would replace the thread's file.
  func moved(at now: Int64, _ rules: StateRules) -> StatePicture {
    var picture = self
    (picture.key, picture.upload, picture.away) = (nil, nil, .moved(time: now))
    picture.due = now.saturatingAdd(rules.lifetime).saturatingAdd(rules.revealLifetime)
      .saturatingAdd(Self.barredLifetime)
    return picture
  }

  /// Whether nobody can see it any more, as far as is known here. Of a moved picture only its thread's partition knows; it
  /// counts as there for a while, so that who asks one partition after another does not pass it by.
  func isGone(at now: Int64) -> Bool {
    if case .moved(let time) = away { return time.saturatingAdd(Self.barredLifetime) <= now }
    return isBarred
  }

  /// Whether it can be sent in a thread.
  func isFree(for thread: String?) -> Bool {
    switch away {
    case nil: true
    case .lent(_, let other, _): other == thread
    case .moved: false
    }
  }

  func isLent(to thread: String) -> Bool { if case .lent(_, thread, _) = away { true } else { false } }

  /// The attempts to send it in a thread.
  func attempts(for thread: String) -> [UInt64] {
    if case .lent(_, thread, let attempts) = away { attempts } else { [] }
  }
}
