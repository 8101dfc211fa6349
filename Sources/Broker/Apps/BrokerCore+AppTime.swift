import Apps
import Log
import Wire

/// Records whose time has come.
extension BrokerCore {
  /// Lets apps look at the records whose time has come. Bounded: the rest comes with the next turn, so that ten thousand
  /// that end together hold up nobody's messages. Lane by lane: what ends never waits behind what is tidied up.
  func wakeApps(in turn: inout Turn) {
    for host in hosts.all {
      host.refreshesLeft = Self.refreshesPerTurn
      refresh(host, in: &turn)
      scrub(host, at: turn.time)
      takeOffMarks(of: host, in: &turn)
      host.wakesLeft = Self.dueRecordsPerTurn
      for lane in AppLane.allCases { look(for: lane, of: host, in: &turn) }
    }
  }

  private func look(for lane: AppLane, of host: AppHost, in turn: inout Turn) {
    guard host.isLoaded, host.timetable.isDue(lane, at: turn.time.wall), host.recordsState.sequencer.peek() != nil,
      host.looksUnderWay.insert(lane).inserted
    else { return }
    // What is noted from here on counts.
    host.timetable.set(.max, of: lane)
    // Those that are suspended must not stand in the way of the others.
    let limit = Self.dueRecordsUnderWay + host.timetable.suspendedCount
    run(.look(host, AppLaneLook(lane: lane, limit: limit)), in: &turn)
  }

  func look(_ look: AppLaneLook, of host: AppHost, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    let question = LogQuestion.ending(host.recordsState.name, score: look.lane.rawValue, limit: look.limit)
    do throws(ClientError) {
      guard case .ending(let found) = try stores.ask(question, of: stores.disk, in: &turn) else {
        preconditionFailure("a store answers with keys where it is asked for them")
      }
      wake(found, in: look.lane, of: host, in: &turn)
    } catch {
      if !turn.missing.isEmpty { return stores.park(waiting, .look(host, look), in: &turn) }
      host.timetable.note(turn.time.wall + 1000, in: look.lane)
    }
    host.lookEnded(look.lane)
  }

  private func wake(_ found: [ExpiringKey], in lane: AppLane, of host: AppHost, in turn: inout Turn) {
    // One at least: what is tidied up waits for its time, not for ever.
    var left = lane == .endings ? host.wakesLeft : max(1, host.wakesLeft)
    for expiring in found where left > 0 && host.mayWake(expiring.key) {
      guard expiring.expires <= turn.time.wall else {
        host.timetable.note(expiring.expires, in: lane)
        break
      }
      if host.timetable.isSuspended(expiring.key, at: turn.time.wall) { continue }
      left -= 1
      host.wakesLeft -= 1
      run(.due(host, key: expiring.key), in: &turn)
    }
    // Those under way are looked at again when they are on disk.
    if found.contains(where: { $0.expires <= turn.time.wall }) {
      host.timetable.note(turn.time.wall + Self.dueInterval, in: lane)
    }
  }

  /// Marks whose places nobody has touched for a while, and which have been worked out since.
  private func takeOffMarks(of host: AppHost, in turn: inout Turn) {
    let now = turn.time.monotonic
    guard host.isLoaded, let first = host.marksState.sequencer.peek() else { return }
    // What was touched long ago is still to come where the queue is behind.
    if let next = host.refreshes.nextTime, next < now - Self.refreshAgain { return host.marks.keepAll(at: now) }
    let ended = host.marks.takeEnded(at: now)
    if ended.isEmpty { return }
    let entries = ended.enumerated().map { index, place in
      let removal = Publication(
        offset: first + UInt64(index), time: turn.time.wall, data: Self.noData,
        change: KeyChange(key: place.mark, removed: true))
      return entry(removal, nil, edit: nil, of: host.marksState, for: .broker)
    }
    // Those that the log does not take stay on the disk, and cost the next broker a look.
    do throws(ClientError) {
      let states = Array(repeating: host.marksState, count: entries.count)
      try append(entries, on: states, for: .requester(.broker), in: &turn)
    } catch {}
  }

  /// A turn is over within a millisecond or two: a decision takes some 0.2 ms, and as much again when it is on disk.
  static let dueRecordsPerTurn = 4
  /// So many decisions of theirs may come back from the disk at once.
  static let dueRecordsUnderWay = 8
  /// Milliseconds until more records are looked at where there are more.
  static let dueInterval: Int64 = 5

  func wake(_ key: String, of host: AppHost, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    // Written while it waited, it has another time.
    if waiting != nil, !host.stillWaits(key) { return }
    do throws(ClientError) {
      if key.utf8.starts(with: DiscardedPictures.prefix.utf8) {
        try discardAgain(key, of: host, in: &turn)
      } else {
        let decision = try consult(host, in: &turn) { (lens) throws(ClientError) in try host.app.due(key, lens) }
        try perform(decision, of: host, for: .broker, in: &turn)
      }
      if host.records.isUnderWay(key) { return host.hasWoken(key) }
    } catch {
      if !turn.missing.isEmpty {
        host.wakes(key)
        return stores.park(waiting, .due(host, key: key), in: &turn)
      }
      tally.counters.refused += 1
    }
    host.hasWoken(key)
    // It failed, or changed nothing: not again and again without a breath.
    host.timetable.suspend(key, at: turn.time.wall)
  }

  private func discardAgain(_ key: String, of host: AppHost, in turn: inout Turn) throws(ClientError) {
    let record = try consult(host, in: &turn) { (lens) throws(ClientError) in
      try lens.record(DiscardedPictures.self, key)
    }
    discard(record?.pictures ?? [], in: &turn)
    try perform(AppDecision([.erase(key: key)]), of: host, for: .broker, in: &turn)
  }
}

/// A look for the records of a lane whose time comes first.
struct AppLaneLook: Hashable {
  var lane: AppLane
  var limit: Int
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
