import SQLite
import Log
import Wire

/// A channel as the index knows it, with what the log says of the channel now.
struct IndexedChannel {
  /// The channel's id in the index.
  let id: Int64
  let name: ChannelName
  /// The channel's id in the log (``ScannedChannel/id``).
  let logID: Int64
  /// The epoch that the log names for the channel: publications of the same offset in another epoch are other ones.
  let epoch: String
  /// Publications up to this offset are in the index, where anything of them can be found.
  var through: UInt64
  /// The offset of the newest publication in the log.
  var top: UInt64
  /// Publications with an earlier time are expired, swept or not. Milliseconds since 1970.
  var notBefore: Int64
}

/// Brings the index up to date: reads publications that the log got since, and removes those that it dropped.
extension IndexWorker {
  /// Brings a channel up to date as far as the budget goes; the rest follows later.
  ///
  /// - Parameter budget: publications that may still be read.
  /// - Returns: nil where the log holds nothing of the channel.
  func catchUp(_ name: ChannelName, budget: inout Int) throws -> IndexedChannel? {
    guard var channel = try meet(name) else { return nil }
    while channel.through < channel.top, budget > 0 {
      if queue.isClosed { throw LogError.closed }
      try step(&channel, &budget)
    }
    if channel.through < channel.top { noteBehind(name) }
    return channel
  }

  /// Looks at the channel in the index and in the log, and forgets messages of a former epoch and those that the log
  /// has dropped.
  ///
  /// - Returns: nil where the log holds nothing of the channel.
  func meet(_ name: ChannelName) throws -> IndexedChannel? {
    let known = try indexed(name)
    guard let now = try log.channel(name, at: options.now()) else {
      if let known { try forget(known) }
      return nil
    }
    if var known, known.epoch.hasSameBytes(as: now.epoch), known.logID == now.id, known.through <= now.top {
      known.top = now.top
      known.notBefore = now.notBefore
      try trim(known)
      return known
    }
    if let known { try forget(known) }
    guard let id = try add(name, now) else { return nil }
    return IndexedChannel(
      id: id, name: name, logID: now.id, epoch: now.epoch, through: 0, top: now.top, notBefore: now.notBefore)
  }

  private func indexed(_ name: ChannelName) throws -> IndexedChannel? {
    try index().inDatabase { db in
      let statement = try db.statement("SELECT id, log_id, epoch, through FROM channels WHERE name = ?1")
      statement.bind(name.string, at: 1)
      guard try statement.next() else { return nil }
      defer { statement.reset() }
      return IndexedChannel(
        id: statement.int(0), name: name, logID: statement.int(1), epoch: statement.text(2),
        through: statement.unsigned(3), top: 0, notBefore: .min)
    }
  }

  private func add(_ name: ChannelName, _ channel: ScannedChannel) throws -> Int64? {
    try write { db in
      let statement = try db.statement("INSERT INTO channels (name, log_id, epoch, through) VALUES (?1, ?2, ?3, 0)")
      statement.bind(name.string, at: 1)
      statement.bind(channel.id, at: 2)
      statement.bind(channel.epoch, at: 3)
      try statement.run()
      let id = db.lastInsertedRowID
      return id <= MessagePlace.largestID ? id : nil
    }
  }

  /// Takes the channel's name away; its messages are deleted with the next sweeps.
  private func forget(_ channel: IndexedChannel) throws {
    try write { db in
      let statement = try db.statement("UPDATE channels SET name = NULL WHERE id = ?1")
      statement.bind(channel.id, at: 1)
      try statement.run()
    }
  }

  // MARK: In

  private func step(_ channel: inout IndexedChannel, _ budget: inout Int) throws {
    let limit = min(Self.chunk, budget)
    var publications: [Publication] = []
    var bytes = 0
    try log.publications(of: channel.logID, in: channel.through + 1...channel.top, limit: limit, notBefore: .min) {
      publications.append($0)
      bytes += $0.data.count
      return bytes < Self.chunkBytes
    }
    let isWhole = publications.count < limit && bytes < Self.chunkBytes
    let through = isWhole ? channel.top : publications.last?.offset ?? channel.top
    let writes = try self.writes(for: publications, of: channel)
    let id = channel.id
    try write { db in
      for write in writes { try write.apply(to: db) }
      let statement = try db.statement("UPDATE channels SET through = ?2 WHERE id = ?1")
      statement.bind(id, at: 1)
      statement.bind(through, at: 2)
      try statement.run()
      if writes.contains(where: \.removes) { try soil(db) }
    }
    channel.through = through
    budget -= max(1, publications.count)
  }

  /// The changes of the index that publications bring that it did not know.
  private func writes(for publications: [Publication], of channel: IndexedChannel) throws -> [IndexWrite] {
    var writes: [IndexWrite] = []
    for publication in publications {
      if let target = MessageText.target(of: publication) {
        // A target after `through` is still to be read, and is read as it is now anyway.
        guard target <= channel.through, let place = MessagePlace(channel.id, target) else { continue }
        let text = try reread(target, of: channel).flatMap { MessageText.text(of: $0) }
        writes.append(IndexWrite(place: place, text: text, removes: true))
      } else if let text = MessageText.text(of: publication),
        let place = MessagePlace(channel.id, publication.offset)
      {
        writes.append(IndexWrite(place: place, text: text, removes: false))
      }
    }
    return writes
  }

  /// A publication as the log holds it now; nil where it is gone.
  func reread(_ offset: UInt64, of channel: IndexedChannel) throws -> Publication? {
    var found: Publication?
    try log.publications(of: channel.logID, in: offset...offset, limit: 1, notBefore: channel.notBefore) {
      found = $0
      return false
    }
    return found
  }

  // MARK: Out

  /// Removes messages that the log has dropped from the channel's beginning, a bounded number at a time.
  private func trim(_ channel: IndexedChannel) throws {
    let oldest = try log.oldest(of: channel.logID) ?? channel.through &+ 1
    guard oldest > 1, let last = MessagePlace(channel.id, oldest - 1) else { return }
    if try remove(MessagePlace.first(of: channel.id)...last.row) == Self.chunk { noteBehind(channel.name) }
  }

  /// Removes a bounded number of messages of a channel that was forgotten, and the channel's row after the last of
  /// them.
  ///
  /// - Returns: whether nothing is left of the channel.
  func removeFormer(_ id: Int64) throws -> Bool {
    if try remove(MessagePlace.first(of: id)...MessagePlace.last(of: id)) == Self.chunk { return false }
    try write { db in
      let statement = try db.statement("DELETE FROM channels WHERE id = ?1 AND name IS NULL")
      statement.bind(id, at: 1)
      try statement.run()
    }
    return true
  }

  private func remove(_ rows: ClosedRange<Int64>) throws -> Int {
    var places: [MessagePlace] = []
    try index().inDatabase { db in
      let statement = try db.statement("SELECT rowid FROM words WHERE rowid BETWEEN ?1 AND ?2 LIMIT ?3")
      statement.bind(rows.lowerBound, at: 1)
      statement.bind(rows.upperBound, at: 2)
      statement.bind(Int64(Self.chunk), at: 3)
      while try statement.next() { places.append(MessagePlace(row: statement.int(0))) }
    }
    try change(places.map { IndexWrite(place: $0, text: nil, removes: true) })
    return places.count
  }

  func change(_ writes: [IndexWrite]) throws {
    if writes.isEmpty { return }
    try write { db in
      for write in writes { try write.apply(to: db) }
      try soil(db)
    }
  }

  /// Notes that words were removed, in the same transaction: after a crash the next process knows that the file still
  /// holds some.
  private func soil(_ db: Database) throws {
    isSoiled = true
    if IndexFile.forgetsWords { return }
    try db.statement("UPDATE meta SET value = value + 1 WHERE key = 'removals'").run()
  }

  private func write<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try index().inTransaction(body)
  }
}

/// What becomes of one row of the index.
struct IndexWrite {
  let place: MessagePlace
  /// Nil: the row goes.
  let text: String?
  /// Whether words that were in the index go with it.
  let removes: Bool

  func apply(to db: Database) throws {
    guard let text else {
      let statement = try db.statement("DELETE FROM words WHERE rowid = ?1")
      statement.bind(place.row, at: 1)
      return try statement.run()
    }
    let statement = try db.statement("INSERT OR REPLACE INTO words (rowid, text) VALUES (?1, ?2)")
    statement.bind(place.row, at: 1)
    statement.bind(text, at: 2)
    try statement.run()
  }
}
