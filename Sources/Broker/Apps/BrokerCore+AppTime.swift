import Apps
import Log
import Wire

/// Records whose time has come.
extension BrokerCore {
  /// Does what apps have to do with time: entries of lists, marks, and records whose time has come. A turn wakes a
  /// limited number of records and leaves the rest to the next, so that ten thousand that end together hold up nobody's
  /// messages. Each lane is looked at for itself: records that end never wait behind records that are tidied up.
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
    // From here on only records that are written have times noted; the look notes the rest.
    host.timetable.set(.max, of: lane)
    // Suspended records are found too, and must not take the places of the others.
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
    // Of the lane of upkeep one record is woken at least, so that it does not wait for ever behind the other lane.
    var left = lane == .endings ? host.wakesLeft : max(1, host.wakesLeft)
    for expiring in found where left > 0 && host.mayWake(expiring.key) {
      guard host.isDue(expiring, in: lane, at: turn.time.wall) else {
        host.timetable.note(expiring.expires, in: lane)
        break
      }
      if host.timetable.isSuspended(expiring.key, at: turn.time.wall) { continue }
      left -= 1
      host.wakesLeft -= 1
      run(.due(host, key: expiring.key), in: &turn)
    }
    // There may be more records, and those that were woken are looked at again when their decisions are on disk.
    if found.contains(where: { host.isDue($0, in: lane, at: turn.time.wall) }) {
      host.timetable.note(turn.time.wall + Self.dueInterval, in: lane)
    }
  }

  /// Removes the marks of places that no decision has touched for a while and that have been worked out since.
  private func takeOffMarks(of host: AppHost, in turn: inout Turn) {
    let now = turn.time.monotonic
    guard host.isLoaded, let first = host.marksState.sequencer.peek() else { return }
    // Where the queue is behind, places that were touched long ago may not have been worked out yet.
    if let next = host.refreshes.nextTime, next < now - Self.refreshAgain { return host.marks.keepAll(at: now) }
    let ended = host.marks.takeEnded(at: now)
    if ended.isEmpty { return }
    let entries = ended.enumerated().map { index, place in
      let removal = Publication(
        offset: first + UInt64(index), time: turn.time.wall, data: Self.noData,
        change: KeyChange(key: place.mark, removed: true))
      return entry(removal, nil, edit: nil, of: host.marksState, for: .broker)
    }
    // Marks whose removal the log refuses stay on the disk, where they only cost the next broker a look.
    do throws(ClientError) {
      let states = Array(repeating: host.marksState, count: entries.count)
      try append(entries, on: states, for: .requester(.broker), in: &turn)
    } catch {}
  }

  /// Due records that one turn wakes. So few, because a decision takes some 0.2 ms, and as much again when it is on
  /// disk, and a turn should be over within a millisecond or two.
  static let dueRecordsPerTurn = 4
  /// Due records that one look asks the store for, so that no more decisions about them come back from the disk at
  /// once.
  static let dueRecordsUnderWay = 8
  /// Milliseconds between two looks at a lane where more records are due.
  static let dueInterval: Int64 = 5

  func wake(_ key: String, of host: AppHost, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    // A record that was written while its decision waited has another time now.
    if waiting != nil, !host.stillWaits(key) { return }
    do throws(ClientError) {
      if key.utf8.starts(with: DiscardedPictures.prefix.utf8) {
        try discardAgain(key, of: host, in: &turn)
      } else {
        let decision = try consult(host, in: &turn) { (lens) throws(ClientError) in try host.app.due(key, lens) }
        try carryOut(decision, of: host, for: .broker, in: &turn)
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
    // The decision failed or did not change the record, which is still due: without a pause it would be woken on and
    // on.
    host.timetable.suspend(key, at: turn.time.wall)
  }

  private func discardAgain(_ key: String, of host: AppHost, in turn: inout Turn) throws(ClientError) {
    let record = try consult(host, in: &turn) { (lens) throws(ClientError) in
      try lens.record(DiscardedPictures.self, key)
    }
    tellOnceMore(record?.fates ?? [], in: &turn)
    try carryOut(AppDecision([.erase(key: key)]), of: host, for: .broker, in: &turn)
  }

  private func tellOnceMore(_ fates: [PictureFate], in turn: inout Turn) {
    #if MUTATIONS
      if mutation == .tellsDiscardsOnce { return }
    #endif
    tellGateways(fates, in: &turn)
  }
}

/// A search of the store for the records of a lane that are due first.
struct AppLaneLook: Hashable {
  var lane: AppLane
  var limit: Int
}

/// A record of pictures that gateways were told to delete, and are told once more when it is due.
struct DiscardedPictures: AppRecord {
  /// No app's key begins with a space.
  static let prefix = " discard/"

  /// Ids of pictures of which nothing is kept.
  var pictures: [String]
  /// The others; nil: there are none.
  var others: [PictureFate]?
  var due: Int64?

  init(_ fates: [PictureFate], due: Int64?) {
    let others = fates.filter { $0 != PictureFate(gone: $0.id) }
    pictures = fates.filter { $0 == PictureFate(gone: $0.id) }.map(\.id)
    self.others = others.isEmpty ? nil : others
    self.due = due
  }

  var fates: [PictureFate] { pictures.map(PictureFate.init(gone:)) + (others ?? []) }

  /// The pictures' keys are destroyed already, so nobody sees it if their files are deleted later.
  var lane: AppLane { .upkeep }
}
