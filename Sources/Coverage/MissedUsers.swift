import Cryptography
import Wire

/// Says which intervals go with deletions that this gateway has missed. Pure.
///
/// An interval goes where its user was deleted, or a user whom its channel names, if it began before that deletion was
/// done, by the two clocks as they are, or in the same second. What began later is somebody's who has come back under
/// the id. Where the broker has forgotten deletions, everybody's intervals of that time and before go.
struct MissedUsers {
  private let digests: PepperedDigest
  /// When each user's newest deletion was done.
  private var times: [String: Int64] = [:]
  private let forgottenUntil: Int64?
  /// The user asked for last: rows come user by user.
  private var last: (user: String, until: Int64?)?

  init(_ deletions: LinkDeletions) {
    digests = PepperedDigest(pepper: deletions.pepper)
    forgottenUntil = deletions.forgottenUntil
    for record in deletions.records { times[record.digest] = max(record.at, times[record.digest] ?? .min) }
  }

  /// Whether there is nothing to look for.
  var isEmpty: Bool { times.isEmpty && forgottenUntil == nil }

  /// Intervals of a user on a channel go that began at this time or before; nil: none of them goes.
  mutating func end(of user: String, on channel: String) -> Int64? {
    var ends = [forgottenUntil, until(user)]
    if channel.utf8.contains(UInt8(ascii: "#")), let name = try? ChannelName(channel, limit: .max) {
      for named in name.limitedToUsers ?? [] { ends.append(times[digests.digest(of: named)]) }
    }
    return ends.compactMap(\.self).max()
  }

  private mutating func until(_ user: String) -> Int64? {
    if times.isEmpty { return nil }
    if let last, last.user.hasSameBytes(as: user) { return last.until }
    let until = times[digests.digest(of: user)]
    last = (user, until)
    return until
  }
}
