import Wire

/// The record of one user: everything that a user can make grow stands here or is counted here.
struct StatePerson: AppRecord {
  /// A recorder that the user has opened, now or a while ago. Times in milliseconds since 1970.
  struct Recording: Sendable, Codable, Equatable {
    /// The other user, for whom the recording is.
    var with: String
    var at: Int64
    var limit: Int64
    /// When what was recorded must have been sent: after the limit and the grace.
    var deadline: Int64

    /// True: the user has given it up, and is remembered so that to begin again gives no more time. Nil in records of
    /// earlier versions.
    var isGivenUp: Bool?

    func isOpen(at now: Int64) -> Bool { now <= deadline && isGivenUp != true }
  }

  /// How long the user wants to record, in milliseconds; nil: as long as the rules say.
  var limit: Int64?
  /// Ids of pictures that are uploaded, or are being uploaded, and not sent.
  var unsent: [String] = []
  /// Bytes of the user's pictures that are kept, without those that an earlier version took in.
  var bytes: Int64 = 0
  /// Recorders, oldest first. Those that are over are remembered for a while, to say why a send comes too late, and those
  /// that were given up until their deadline.
  var recordings: [Recording] = []
  /// How many people the user blocks.
  var blocks = 0
  /// How many threads wait for an answer to the user.
  var waiting = 0
  /// How many threads that the user is shown wait for the user's answer.
  var received = 0
  /// The mark of what strangers send the user (``CliqueRate``); nil: nothing lately.
  var receivedMark: Int64?
  /// The time up to which the user's changes are paid for, where each costs its part of a minute; nil: no changes
  /// lately.
  var paidUntil: Int64?
  /// When something in the record is to be forgotten, in milliseconds since 1970.
  var due: Int64?

  var lane: AppLane { .upkeep }

  var isEmpty: Bool {
    limit == nil && unsent.isEmpty && bytes == 0 && recordings.isEmpty && blocks == 0 && waiting == 0
      && received == 0 && receivedMark == nil && paidUntil == nil
  }
}

extension StatePerson {
  private enum CodingKeys: String, CodingKey {
    case limit, unsent, bytes, recordings, blocks, waiting, received, receivedMark, paidUntil, due
  }

  /// Reads records of earlier versions, too: what these did not count begins at 0.
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    limit = try values.decodeIfPresent(Int64.self, forKey: .limit)
    unsent = try values.decodeIfPresent([String].self, forKey: .unsent) ?? []
    bytes = try values.decodeIfPresent(Int64.self, forKey: .bytes) ?? 0
    recordings = try values.decodeIfPresent([Recording].self, forKey: .recordings) ?? []
    blocks = try values.decodeIfPresent(Int.self, forKey: .blocks) ?? 0
    waiting = try values.decodeIfPresent(Int.self, forKey: .waiting) ?? 0
    received = try values.decodeIfPresent(Int.self, forKey: .received) ?? 0
    receivedMark = try values.decodeIfPresent(Int64.self, forKey: .receivedMark)
    paidUntil = try values.decodeIfPresent(Int64.self, forKey: .paidUntil)
    due = try values.decodeIfPresent(Int64.self, forKey: .due)
  }

  /// Counts bytes that come or go. Not below 0, since pictures that an earlier version took in were not counted.
  mutating func add(_ change: Int64) { bytes = max(0, bytes.saturatingAdd(change)) }

  /// Forgets recorders, changes and what was received, where they are over.
  mutating func advance(to now: Int64, _ rules: StateRules) {
    recordings.removeAll { Self.end(of: $0, rules) <= now }
    if let paid = paidUntil, paid <= now { paidUntil = nil }
    if let mark = receivedMark, mark <= now { receivedMark = nil }
    due = ([paidUntil, receivedMark] + recordings.map { Self.end(of: $0, rules) }).compactMap(\.self).min()
  }

  private static func end(of recording: Recording, _ rules: StateRules) -> Int64 {
    recording.isGivenUp == true ? recording.deadline : recording.deadline.saturatingAdd(rules.pictureLifetime)
  }

  func recording(with user: String) -> Recording? { recordings.first { $0.with.hasSameBytes(as: user) } }

  /// Opens a recorder.
  ///
  /// - Returns: false where too many are open.
  mutating func begin(_ recording: Recording, at now: Int64, _ rules: StateRules) -> Bool {
    close(with: recording.with)
    guard recordings.count(where: { $0.isOpen(at: now) }) < rules.openRecorders else { return false }
    // Recorders that are over make room, the oldest first, so that the record does not grow when somebody opens
    // recorders all day.
    while recordings.count >= rules.openRecorders, let index = recordings.firstIndex(where: { !$0.isOpen(at: now) }) {
      recordings.remove(at: index)
    }
    recordings.append(recording)
    return true
  }

  /// Gives a recorder up, if it is open.
  mutating func giveUp(with user: String, at now: Int64) {
    guard let index = recordings.firstIndex(where: { $0.with.hasSameBytes(as: user) }),
      recordings[index].isOpen(at: now)
    else { return }
    recordings[index].isGivenUp = true
  }

  mutating func close(with user: String) { recordings.removeAll { $0.with.hasSameBytes(as: user) } }

  /// Takes one change from what a minute allows, all of which can be used at once.
  ///
  /// - Returns: false where the minute's changes are used up.
  mutating func pay(at now: Int64, _ rules: StateRules) -> Bool {
    let minute: Int64 = 60_000
    let cost = max(1, minute / Int64(max(1, rules.changesPerMinute)))
    // After the clock was set back, changes must not be refused for longer than a minute.
    let paid = min(max(paidUntil ?? now, now), now.saturatingAdd(minute))
    guard paid.saturatingAdd(cost) <= now.saturatingAdd(minute) else { return false }
    paidUntil = paid.saturatingAdd(cost)
    return true
  }
}
