import Wire

/// Marks for the entries of an app's lists that may be out of date on disk.
///
/// An entry is worked out a moment after the decision that it shows. A broker that is killed in between leaves the
/// entry as it was. So the decision's own transaction marks the entry, and the next broker works out the entries that
/// are marked, and no others. A mark is an entry of a channel that no client can name.
///
/// States of a place (an entry of a list, or a subject that shows in several):
/// - unmarked. Can transition to: marked (with a decision's transaction).
/// - marked: further decisions that touch the place write no mark. Can transition to: unmarked (a minute after the last
///   of them, if no place waits for longer than that to be worked out). So a busy conversation costs one mark, not one
///   for each message.
struct StaleMarks {
  /// Milliseconds for which a mark stays after a decision last touched its place.
  static let lifetime: Int64 = 60_000
  /// A mark's time is set anew when less than this is left of it: a busy place must not move in the index all the time.
  private static let renewal: Int64 = 30_000
  /// Marks that are taken off the disk in one transaction.
  static let portion = 64

  /// The marked places, by the monotonic time at which each mark may go.
  private var ends = DueIndex<RefreshQueue.Place>()
  /// Monotonic time until which no mark goes, because an entry could not be worked out or the queue was behind.
  private var keptUntil = Int64.min

  /// Notes that a decision touches the place.
  ///
  /// - Returns: false where the place is not marked, so that the decision has to mark it.
  mutating func touch(_ place: RefreshQueue.Place, at now: Int64) -> Bool {
    guard let end = ends[place] else { return false }
    if end - now < Self.renewal { ends.set(place, at: now + Self.lifetime) }
    return true
  }

  mutating func marked(_ place: RefreshQueue.Place, at now: Int64) { ends.set(place, at: now + Self.lifetime) }

  /// Whether a place is marked that no decision has touched since a time.
  func hasOlder(than time: Int64) -> Bool { ends.nextTime.map { $0 <= time + Self.lifetime } ?? false }

  /// Lets the marks of such places go as soon as the places are worked out: somebody whose data is deleted may be named
  /// by them.
  ///
  /// They stay for as long as a place waits at most to be worked out.
  mutating func endOlder(than time: Int64) {
    var older: [RefreshQueue.Place] = []
    while let place = ends.next(upTo: time + Self.lifetime) { older.append(place) }
    for place in older { ends.set(place, at: time + 2 * RefreshQueue.unwatchedInterval) }
  }

  mutating func keepAll(at now: Int64) { keptUntil = now + Self.lifetime }

  /// Removes and returns some places whose marks may go.
  mutating func takeEnded(at now: Int64) -> [RefreshQueue.Place] {
    if keptUntil > now { return [] }
    var ended: [RefreshQueue.Place] = []
    while ended.count < Self.portion, let place = ends.next(upTo: now) { ended.append(place) }
    return ended
  }
}

extension RefreshQueue.Place {
  /// The place as a key of the marks' channel: the channel, a line break, which no channel's name holds, and the key.
  var mark: String { "\(channel)\n\(key.string)" }

  /// Reads a key of the marks' channel; nil where ``mark`` did not write it.
  init?(mark: String) {
    guard let end = mark.utf8.firstIndex(of: UInt8(ascii: "\n")),
      let channel = try? ChannelName(String(mark[..<end]))
    else { return nil }
    self.init(channel: channel, key: String(mark[mark.utf8.index(after: end)...]))
  }
}
