import Wire

/// Which entries of an app's lists may show less on disk than the records say.
///
/// An entry is worked out a moment after the decision that it shows. A broker that is killed in between leaves it as it
/// was: so the decision's own transaction marks what is to be worked out, and the next broker works out what is marked, and
/// nothing else. A mark is an entry of a channel that nobody can name.
///
/// States of a place (an entry of a list, or a subject that shows in several):
/// - unmarked. Can transition to: marked (with a decision's transaction).
/// - marked: decisions that touch it again write nothing for it. Can transition to: unmarked (a minute after the last of
///   them, when all that was waiting has been worked out: so a busy conversation costs one mark, and not one a message).
struct StaleMarks {
  /// Milliseconds that a mark stays after its place was last touched.
  static let lifetime: Int64 = 60_000
  /// A mark's time is set anew when less than this is left of it: a busy place must not move in the index all the time.
  private static let renewal: Int64 = 30_000
  /// Marks that are taken off the disk together.
  static let portion = 64

  /// By the monotonic time at which it may go.
  private var ends = DueIndex<RefreshQueue.Place>()
  /// Something could not be worked out, or was long in coming: until then no mark goes.
  private var keptUntil = Int64.min

  var count: Int { ends.count }

  /// A decision touches the place.
  ///
  /// - Returns: false where the place has to be marked.
  mutating func touch(_ place: RefreshQueue.Place, at now: Int64) -> Bool {
    guard let end = ends[place] else { return false }
    if end - now < Self.renewal { ends.set(place, at: now + Self.lifetime) }
    return true
  }

  mutating func marked(_ place: RefreshQueue.Place, at now: Int64) { ends.set(place, at: now + Self.lifetime) }

  mutating func keepAll(at now: Int64) { keptUntil = now + Self.lifetime }

  /// Some that may go: from here on they are not marked any more.
  mutating func takeEnded(at now: Int64) -> [RefreshQueue.Place] {
    if keptUntil > now { return [] }
    var ended: [RefreshQueue.Place] = []
    while ended.count < Self.portion, let place = ends.next(upTo: now) { ended.append(place) }
    return ended
  }
}

extension RefreshQueue.Place {
  /// As a key of the marks' channel. No channel's name holds the character between the two.
  var mark: String { "\(channel)\n\(key.string)" }

  /// Nil where it is no mark.
  init?(mark: String) {
    guard let end = mark.utf8.firstIndex(of: UInt8(ascii: "\n")),
      let channel = try? ChannelName(String(mark[..<end]))
    else { return nil }
    self.init(channel: channel, key: String(mark[mark.utf8.index(after: end)...]))
  }
}
