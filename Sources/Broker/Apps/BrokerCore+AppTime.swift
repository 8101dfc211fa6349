import Apps
import Log
import Wire

/// Records whose time has come.
extension BrokerCore {
  /// Lets apps look at the records whose time has come. Bounded: the rest comes with the next turn, so that ten thousand
  /// that end together hold up nobody's messages. Lane by lane: what ends never waits behind what is tidied up.
  func wakeApps(at time: BrokerTime, into effects: inout [BrokerEffect]) {
    for host in hosts {
      host.refreshesLeft = Self.refreshesPerTurn
      refresh(host, at: time, into: &effects)
      scrub(host, at: time)
      let most = Self.dueRecordsPerTurn
      let ended = wake(.endings, atMost: most, of: host, at: time, into: &effects)
      // One at least: what is tidied up waits for its time, not for ever.
      _ = wake(.upkeep, atMost: max(1, most - ended), of: host, at: time, into: &effects)
    }
  }

  /// - Returns: how many records the app was asked about.
  private func wake(
    _ lane: AppLane, atMost most: Int, of host: AppHost, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) -> Int {
    guard host.timetable.isDue(lane, at: time.wall), host.recordsState.sequencer.peek() != nil else { return 0 }
    var woken = 0
    do throws(LogError) {
      // Those that are suspended must not stand in the way of the others.
      let limit = Self.dueRecordsUnderWay + host.timetable.suspendedCount
      let due = try disk.keys(
        of: host.recordsState.name, score: lane.rawValue, expiringBy: .max, limit: limit)
      host.timetable.set(.max, of: lane)
      for expiring in due where !host.records.isUnderWay(expiring.key) {
        guard expiring.expires <= time.wall else {
          host.timetable.note(expiring.expires, in: lane)
          break
        }
        if wake(expiring.key, of: host, at: time, into: &effects) { woken += 1 }
        if woken == most { break }
      }
      // Those under way are looked at again when they are on disk.
      if due.contains(where: { $0.expires <= time.wall }) {
        host.timetable.set(time.wall + Self.dueInterval, of: lane)
      }
    } catch {
      host.timetable.set(time.wall + 1000, of: lane)
    }
    return woken
  }

  /// A turn is over within a millisecond or two: a decision takes some 0.2 ms, and as much again when it is on disk.
  static let dueRecordsPerTurn = 4
  /// So many decisions of theirs may come back from the disk at once.
  static let dueRecordsUnderWay = 8
  /// Milliseconds until more records are looked at where there are more.
  static let dueInterval: Int64 = 5

  /// - Returns: whether the app was asked.
  private func wake(
    _ key: String, of host: AppHost, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) -> Bool {
    if host.timetable.isSuspended(key, at: time.wall) { return false }
    do throws(ClientError) {
      if key.utf8.starts(with: DiscardedPictures.prefix.utf8) {
        try discardAgain(key, of: host, at: time, into: &effects)
        return true
      }
      let decision = try host.app.due(key, AppLens(core: self, host: host, time: time))
      try perform(decision, of: host, for: .broker, at: time, into: &effects)
      if host.records.isUnderWay(key) { return true }
    } catch {
      counters.refused += 1
    }
    // It failed, or changed nothing: not again and again without a breath.
    host.timetable.suspend(key, at: time.wall)
    return true
  }

  private func discardAgain(
    _ key: String, of host: AppHost, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) throws(ClientError) {
    let record = try AppLens(core: self, host: host, time: time).record(DiscardedPictures.self, key)
    discard(record?.pictures ?? [], at: time, into: &effects)
    try perform(AppDecision([.erase(key: key)]), of: host, for: .broker, at: time, into: &effects)
  }
}

/// Pictures that gateways were told to delete.
struct DiscardedPictures: AppRecord {
  /// No app's key begins with a space.
  static let prefix = " discard/"

  var pictures: [String]
  var due: Int64?

  /// Their keys are gone already.
  var lane: AppLane { .upkeep }
}
