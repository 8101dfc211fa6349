import Wire

/// What people have acknowledged or seen, gathered for a moment before the app of notifications looks at it: a phone
/// that opens a conversation tells of all it holds.
///
/// The app looks at what waits or is shown, and not at what everybody acknowledges all day. Which subjects those are is
/// known from the app's decisions; of those of the process before this one it is not, so for as long as it takes until
/// the app has looked at all of them by itself, everything that is acknowledged is looked at.
struct Acknowledgements {
  struct Place: Hashable {
    var user: IdentifierKey
    var subject: IdentifierKey

    init(_ user: String, _ subject: String) {
      self.user = IdentifierKey(user)
      self.subject = IdentifierKey(subject)
    }
  }

  /// Places that may wait; one more is dropped, and found when the app looks by itself.
  static let most = 100_000
  /// Subjects that are known to be open. Where there are more, everything that is acknowledged is looked at.
  static let mostOpen = 100_000
  /// Milliseconds for which acknowledgements are gathered.
  static let interval: Int64 = 200
  /// Places that one turn has the app look at.
  static let perTurn = 4
  /// Milliseconds until the app has looked by itself at whatever is shown (``NotificationRules/longestRecheck``).
  static let learning: Int64 = 3_600_000

  private var waiting = DueIndex<Place>()
  private var open: [IdentifierKey: Set<IdentifierKey>] = [:]
  private var openCount = 0
  /// Until then open subjects may be unknown, in monotonic milliseconds.
  private var unsureUntil: Int64

  /// - Parameter now: monotonic milliseconds.
  init(since now: Int64) { unsureUntil = now + Self.learning }

  var count: Int { waiting.count }
  var nextTime: Int64? { waiting.nextTime }

  /// Something about the subject was acknowledged.
  mutating func add(_ user: String, _ subject: String, at now: Int64) {
    let place = Place(user, subject)
    if now >= unsureUntil, open[place.user]?.contains(place.subject) != true { return }
    if waiting[place] == nil, waiting.count < Self.most { waiting.set(place, at: now + Self.interval) }
  }

  /// Takes out the next place that the app is to look at.
  mutating func next(upTo now: Int64) -> Place? { waiting.next(upTo: now) }

  /// A decision leaves these subjects of a person open, and no others.
  mutating func opened(_ subjects: [String], of user: String, at now: Int64) {
    let user = IdentifierKey(user)
    openCount -= open[user]?.count ?? 0
    guard openCount + subjects.count <= Self.mostOpen else {
      open[user] = nil
      return unsureUntil = max(unsureUntil, now + Self.learning)
    }
    open[user] = subjects.isEmpty ? nil : Set(subjects.map { IdentifierKey($0) })
    openCount += open[user]?.count ?? 0
  }

  mutating func erase(where isErased: (String) -> Bool) {
    for user in open.keys where isErased(user.string) { openCount -= open.removeValue(forKey: user)?.count ?? 0 }
    var others: [(Place, Int64)] = []
    while let place = waiting.next(upTo: .max) {
      if !isErased(place.user.string) { others.append((place, 0)) }
    }
    for (place, time) in others { waiting.set(place, at: time) }
  }
}
