import Apps
import Wire

/// When an app's records are due, as far as is known, and which of them wait because they failed.
///
/// Each lane has a time of its own: a hundred thousand records that want tidying up, all due by now, are one number here
/// and a page of the log at a time, and what ends in the other lane is looked for first.
struct AppTimetable {
  /// Nil: nobody has looked yet.
  private var times: [AppLane: Int64] = [:]
  /// Records whose decision failed, and when to try again.
  private var suspended: [IdentifierKey: Int64] = [:]
  /// How many are kept before those whose time has come are looked for.
  private var limit = Self.leastLimit
  private static let leastLimit = 256

  /// Milliseconds until a record is tried again that failed, or that its app left as it was.
  static let suspension: Int64 = 10_000

  /// When the next record is due; nil: nobody has looked yet.
  var next: Int64? { times.count == AppLane.allCases.count ? times.values.min() : nil }

  func isDue(_ lane: AppLane, at now: Int64) -> Bool { times[lane].map { $0 <= now } ?? true }

  /// A record of the lane has a time.
  mutating func note(_ due: Int64, in lane: AppLane) {
    if let time = times[lane] { times[lane] = min(time, due) }
  }

  /// Somebody has looked.
  mutating func set(_ time: Int64, of lane: AppLane) { times[lane] = time }

  /// What is known may be wrong.
  mutating func forget() { times = [:] }

  // MARK: What failed

  var suspendedCount: Int { suspended.count }

  mutating func suspend(_ key: String, at now: Int64) {
    suspended[IdentifierKey(key)] = now + Self.suspension
    if suspended.count > limit {
      suspended = suspended.filter { $0.value > now }
      limit = max(Self.leastLimit, 2 * suspended.count)
    }
  }

  /// Whether a record is to be left alone; one whose time has come again is not any more.
  mutating func isSuspended(_ key: String, at now: Int64) -> Bool {
    guard let until = suspended[IdentifierKey(key)] else { return false }
    // A clock that was set back must not suspend for longer.
    if until > now, until - now <= Self.suspension { return true }
    suspended[IdentifierKey(key)] = nil
    return false
  }
}
