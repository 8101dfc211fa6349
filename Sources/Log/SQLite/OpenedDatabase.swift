import SQLite
import Logging

/// Opens the database of a folder: checks it, brings its schema up to date and decides which epochs still hold.
struct OpenedDatabase {
  let folder: DataFolder
  let writer: DatabaseConnection
  let readers: [DatabaseConnection]
  let meta: StoreMeta
  let journal = UnfoldedJournal()

  init(
    folder: DataFolder, checkLimit: Int, quotaNamespaces: Set<String>, readers count: Int, logger: Logger,
    randomness: inout any RandomNumberGenerator
  ) throws(StartError) {
    let path = folder.databasePath
    do {
      writer = try Schema.writer(at: path)
      let isSuperseded = try writer.inDatabase { try Schema.migrations.areSuperseded($0) }
      if isSuperseded { throw StartError.newerSchema(path) }
      let isNew = try writer.inDatabase { try !$0.hasTable("meta") }
      if isNew, folder.markFound ?? 0 > 0 {
        logger.warning(
          "the data folder was in use, but its database is missing or empty: the log starts anew, with new epochs")
      }
      try writer.inDatabase { try Schema.migrations.run($0) }
      // A process that was killed may have left secret keys in the WAL that it had deleted.
      try writer.inDatabase { db in try db.checkpointAndTruncate() }
      let isClean = try writer.inDatabase { try StoreMeta($0).isClean }
      try Self.check(writer, folder, isClean: isClean, limit: checkLimit)
      let replayed = try JournalReplay.run(writer)
      if replayed > 0 {
        try writer.inDatabase { db in try db.checkpointAndTruncate() }
        logger.info("took over what the last process left in the journal", metadata: ["publications": "\(replayed)"])
      }
      var meta = try writer.inDatabase { try StoreMeta($0) }
      let counted = try QuotaCount.update(writer, to: quotaNamespaces)
      if !isNew, !counted.isEmpty {
        logger.notice("counted what users keep in namespaces with a new quota", metadata: ["namespaces": "\(counted)"])
      }
      if !isNew { Self.drawSuffixes(&meta, folder, logger, &randomness) }
      meta.isClean = false
      if meta.seed.isEmpty { meta.seed = Epoch.random(using: &randomness) + Epoch.random(using: &randomness) }
      let dirty = meta
      try writer.inTransaction { try dirty.write($0) }
      try folder.syncMark(meta.sequence)
      self.meta = meta
      readers = try (0..<max(1, count)).map { _ in try Schema.reader(at: path) }
      self.folder = folder
    } catch let error as StartError {
      throw error
    } catch is JournalDamage {
      throw StartError.damaged(path, reason: "a row of the journal is not whole")
    } catch {
      throw Self.startError(for: error, path: path, folder: folder.path)
    }
  }

  /// Draws the era and the run anew where their channels may have lost something (``StoreMeta``).
  private static func drawSuffixes(
    _ meta: inout StoreMeta, _ folder: DataFolder, _ logger: Logger, _ randomness: inout any RandomNumberGenerator
  ) {
    let isWhole = folder.markFound.map { $0 <= meta.sequence } ?? false
    if !isWhole {
      logger.warning("transactions are missing from the log (a restored backup, or a file that was cut): new epochs")
      LogMetrics().noteLoss()
      meta.era = Epoch.random(using: &randomness)
    }
    if !isWhole || !meta.isClean { meta.run = Epoch.random(using: &randomness) }
  }

  /// Refuses a file that is not whole. After a clean shutdown its length is enough.
  private static func check(_ writer: DatabaseConnection, _ folder: DataFolder, isClean: Bool, limit: Int) throws {
    if !isClean, folder.databaseSize <= limit {
      let report = try writer.inDatabase { try $0.text("PRAGMA quick_check(1)") }
      if report != "ok" { throw StartError.damaged(folder.databasePath, reason: report ?? "no report") }
    }
    guard isClean else { return }
    let (pages, size) = try writer.inDatabase { db in
      try db.checkpointAndTruncate()
      return (Int(try db.integer("PRAGMA page_count") ?? 0), Int(try db.integer("PRAGMA page_size") ?? 0))
    }
    if folder.databaseSize < pages.multipliedReportingOverflow(by: size).partialValue {
      throw StartError.damaged(folder.databasePath, reason: "it is shorter than it says")
    }
  }

  private static func startError(for error: any Error, path: String, folder: String) -> StartError {
    let reason = "\(StoreFault.logError(for: error))"
    guard let error = error as? DatabaseError else { return .unusableFolder(folder, reason: reason) }
    switch error.code.primary {
    case .corrupt, .notADatabase, .error, .format: return .damaged(path, reason: error.description)
    default: return .unusableFolder(folder, reason: error.description)
    }
  }
}
