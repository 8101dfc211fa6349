import Apps
import Wire

/// When the next record of each lane is due, as far as is known, and which records are left alone for a while because
/// their decisions failed.
///
/// Each lane has a time of its own, so that a hundred thousand records that want tidying up are one number here, are
/// read from the log a page at a time, and hold up no record of the other lane, which is looked at first.
struct AppTimetable {
  /// When the earliest record of each lane is due, in milliseconds since 1970. A lane that has not been looked at is
  /// missing.
  private var times: [AppLane: Int64] = [:]
  /// Records whose decision failed, and when each is tried again, in milliseconds since 1970.
  private var suspended: [IdentifierKey: Int64] = [:]
  /// With more suspended records than this, those whose time has come are removed.
  private var limit = Self.leastLimit
  private static let leastLimit = 256

  /// Milliseconds until a record is tried again whose decision failed, or left it as it was.
  static let suspension: Int64 = 10_000

  /// When the next record of any lane is due, in milliseconds since 1970; nil: a lane has not been looked at yet.
  var next: Int64? { times.count == AppLane.allCases.count ? times.values.min() : nil }

  func isDue(_ lane: AppLane, at now: Int64) -> Bool { times[lane].map { $0 <= now } ?? true }

  /// Notes that a record of the lane is due at a time.
  mutating func note(_ due: Int64, in lane: AppLane) {
    if let time = times[lane] { times[lane] = min(time, due) }
  }

  /// Sets the time of a lane that is being looked at.
  mutating func set(_ time: Int64, of lane: AppLane) { times[lane] = time }

  /// Forgets all times, because they may be wrong: the lanes are looked at again.
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

  /// Whether a record is to be left alone. One whose suspension is over is removed from the suspended.
  mutating func isSuspended(_ key: String, at now: Int64) -> Bool {
    guard let until = suspended[IdentifierKey(key)] else { return false }
    // After the clock was set back, no record may stay suspended for longer than the suspension.
    if until > now, until - now <= Self.suspension { return true }
    suspended[IdentifierKey(key)] = nil
    return false
  }
}
