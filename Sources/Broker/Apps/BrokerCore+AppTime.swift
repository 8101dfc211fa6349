import Apps
import Log
import Wire

/// Records whose time has come.
extension BrokerCore {
  /// Lets apps look at the records whose time has come. Bounded: the rest comes with the next turn, so that ten thousand
  /// that end together hold up nobody's messages.
  func wakeApps(at time: BrokerTime, into effects: inout [BrokerEffect]) {
    for host in hosts {
      host.refreshesLeft = Self.refreshesPerTurn
      // Of records that were erased otherwise meanwhile.
      if host.suspended.count > 1024 { host.suspended = host.suspended.filter { $0.value > time.wall } }
      refresh(host, at: time, into: &effects)
      scrub(host, at: time)
      guard host.nextDue.map({ $0 <= time.wall }) ?? true, host.recordsState.sequencer.peek() != nil else { continue }
      do throws(LogError) {
        // Those that are suspended must not stand in the way of the others.
        let limit = Self.dueRecordsUnderWay + host.suspended.count
        let due = try disk.keys(of: host.recordsState.name, expiringBy: .max, limit: limit)
        host.nextDue = .max
        var woken = 0
        for expiring in due where !host.records.isUnderWay(expiring.key) {
          guard expiring.expires <= time.wall else {
            host.nextDue = expiring.expires
            break
          }
          if wake(expiring.key, of: host, at: time, into: &effects) { woken += 1 }
          if woken == Self.dueRecordsPerTurn { break }
        }
        // Those under way are looked at again when they are on disk.
        if due.contains(where: { $0.expires <= time.wall }) { host.nextDue = time.wall + Self.dueInterval }
      } catch {
        host.nextDue = time.wall + 1000
      }
    }
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
    if let until = host.suspended[IdentifierKey(key)], until > time.wall { return false }
    host.suspended[IdentifierKey(key)] = nil
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
    host.suspended[IdentifierKey(key)] = time.wall + 10_000
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
}
