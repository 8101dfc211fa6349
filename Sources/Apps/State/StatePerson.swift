import Wire

/// What is kept of one user: all that they can make grow stands here, and is counted here.
struct StatePerson: AppRecord {
  /// Somebody's recorder is open, or was a while ago.
  struct Recording: Sendable, Codable, Equatable {
    /// For whom.
    var with: String
    var at: Int64
    var limit: Int64
    /// With the grace.
    var deadline: Int64

    func isOpen(at now: Int64) -> Bool { now <= deadline }
  }

  /// How long they want to record, in milliseconds; nil: as long as the rules say.
  var limit: Int64?
  /// Pictures that are uploaded, or are being, and not sent.
  var unsent: [String] = []
  /// Of their pictures that are kept, as far as they are counted.
  var bytes: Int64 = 0
  /// Oldest first. Those that are over are remembered for a while, to say why a send comes too late.
  var recordings: [Recording] = []
  /// People whom they block.
  var blocks = 0
  /// Threads in which they wait for an answer.
  var waiting = 0
  /// Until when their changes are paid for, where each costs its part of a minute; nil: they have made none lately.
  var paidUntil: Int64?
  /// When something of this is to be forgotten.
  var due: Int64?

  var lane: AppLane { .upkeep }

  var isEmpty: Bool {
    limit == nil && unsent.isEmpty && bytes == 0 && recordings.isEmpty && blocks == 0 && waiting == 0
      && paidUntil == nil
  }
}

extension StatePerson {
  private enum CodingKeys: String, CodingKey {
    case limit, unsent, bytes, recordings, blocks, waiting, paidUntil, due
  }

  /// What earlier versions did not count begins at nothing.
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    limit = try values.decodeIfPresent(Int64.self, forKey: .limit)
    unsent = try values.decodeIfPresent([String].self, forKey: .unsent) ?? []
    bytes = try values.decodeIfPresent(Int64.self, forKey: .bytes) ?? 0
    recordings = try values.decodeIfPresent([Recording].self, forKey: .recordings) ?? []
    blocks = try values.decodeIfPresent(Int.self, forKey: .blocks) ?? 0
    waiting = try values.decodeIfPresent(Int.self, forKey: .waiting) ?? 0
    paidUntil = try values.decodeIfPresent(Int64.self, forKey: .paidUntil)
    due = try values.decodeIfPresent(Int64.self, forKey: .due)
  }

  /// Counts bytes that come or go. What an earlier version took in was not counted.
  mutating func add(_ change: Int64) { bytes = max(0, bytes.saturatingAdd(change)) }

  /// Forgets what is over.
  mutating func settle(at now: Int64, _ rules: StateRules) {
    recordings.removeAll { Self.end(of: $0, rules) <= now }
    if let paid = paidUntil, paid <= now { paidUntil = nil }
    due = ([paidUntil] + recordings.map { Self.end(of: $0, rules) }).compactMap(\.self).min()
  }

  private static func end(of recording: Recording, _ rules: StateRules) -> Int64 {
    recording.deadline.saturatingAdd(rules.pictureLifetime)
  }

  func recording(with user: String) -> Recording? { recordings.first { $0.with.hasSameBytes(as: user) } }

  /// Opens a recorder.
  ///
  /// - Returns: false where too many are open.
  mutating func begin(_ recording: Recording, at now: Int64, _ rules: StateRules) -> Bool {
    close(with: recording.with)
    guard recordings.count(where: { $0.isOpen(at: now) }) < rules.openRecorders else { return false }
    // What is over makes room, the oldest first: a record does not grow because somebody opens recorders all day.
    while recordings.count >= rules.openRecorders, let index = recordings.firstIndex(where: { !$0.isOpen(at: now) }) {
      recordings.remove(at: index)
    }
    recordings.append(recording)
    return true
  }

  mutating func close(with user: String) { recordings.removeAll { $0.with.hasSameBytes(as: user) } }

  /// Takes one change from what a minute allows, all of which can be used at once.
  ///
  /// - Returns: false where nothing is left of it.
  mutating func pay(at now: Int64, _ rules: StateRules) -> Bool {
    let minute: Int64 = 60_000
    let cost = max(1, minute / Int64(max(1, rules.changesPerMinute)))
    // A clock that was set back must not refuse for as long.
    let paid = min(max(paidUntil ?? now, now), now.saturatingAdd(minute))
    guard paid.saturatingAdd(cost) <= now.saturatingAdd(minute) else { return false }
    paidUntil = paid.saturatingAdd(cost)
    return true
  }
}
