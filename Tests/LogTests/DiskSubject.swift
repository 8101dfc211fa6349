import SQLite
import TestSupport
import Testing
import Wire

@testable import Log

/// The stores that keep something when they are closed.
enum DiskKind: CaseIterable, CustomTestStringConvertible {
  case sqlite
  case postgres

  static var allCases: [DiskKind] { [.sqlite] + (PostgresSubject.runs ? [.postgres] : []) }

  var testDescription: String { self == .sqlite ? "SQLite" : "PostgreSQL" }
}

/// A store that can be closed and opened again, with its completions.
final class DiskSubject: StoreSubject {
  let kind: DiskKind
  let store: TailedStore
  let completions: Completions
  private let folder: TemporaryFolder?
  private let sqlite: SQLiteSubject?
  private let postgres: PostgresSubject?
  private let now: Int64?
  private let tailLimit: Int

  /// - Parameters:
  ///   - now: the clock's time; nil: the machine's.
  ///   - former: a store that was closed and is opened again.
  init(_ kind: DiskKind, now: Int64? = nil, tailLimit: Int = 64 << 20, after former: DiskSubject? = nil) throws {
    self.kind = kind
    self.now = now
    self.tailLimit = tailLimit
    switch kind {
    case .sqlite:
      var options = SQLiteStore.Options()
      if let now { options.now = { now } }
      options.tailLimit = tailLimit
      let folder = try former?.folder ?? TemporaryFolder()
      let subject = try SQLiteSubject(folder.path, options: options)
      (self.folder, sqlite, postgres) = (folder, subject, nil)
      (store, completions) = (subject.store, subject.completions)
    case .postgres:
      let subject = try PostgresSubject(schema: former?.postgres?.schema) {
        if let now { $0.now = { now } }
        $0.tailLimit = tailLimit
      }
      (folder, sqlite, postgres) = (nil, nil, subject)
      (store, completions) = (subject.store, subject.completions)
    }
  }

  /// Closes the store and opens it again.
  func again() throws -> DiskSubject {
    store.close()
    return try DiskSubject(kind, now: now, tailLimit: tailLimit, after: self)
  }

  func nextTicket() -> UInt64 { sqlite?.nextTicket() ?? postgres?.nextTicket() ?? 0 }

  /// Waits until the writer has done all that it was asked.
  func settle() throws { _ = try store.answer(to: .erasure(.settle)) }

  func rows(_ table: String) throws -> Int {
    if let postgres { return try postgres.rows(table) }
    return try #require(sqlite).reader().connection.inDatabase {
      Int(try $0.integer("SELECT count(*) FROM \(table)") ?? 0)
    }
  }

  /// Deletes all channels beside the store.
  func deleteChannels() throws {
    try postgres?.query("DELETE FROM publications")
    try postgres?.query("DELETE FROM channels")
    try sqlite?.perform("DELETE FROM publications; DELETE FROM channels")
  }
}
