import SQLite
import TestSupport
import Testing
import Wire

@testable import Log

/// The stores that take transactions.
enum TransactionalKind: CaseIterable, CustomTestStringConvertible {
  case memory
  case sqlite
  case postgres

  static var allCases: [TransactionalKind] { [.memory, .sqlite] + (PostgresSubject.runs ? [.postgres] : []) }

  var testDescription: String {
    switch self {
    case .memory: "memory"
    case .sqlite: "SQLite"
    case .postgres: "PostgreSQL"
    }
  }
}

/// A store that takes transactions, in a folder where it needs one.
final class TransactionScene {
  let kind: TransactionalKind
  let store: any LogStore
  let sqlite: SQLiteSubject?
  let postgres: PostgresSubject?
  let folder: TemporaryFolder?
  private let completions: Completions?
  private var epochs: [ChannelName: String] = [:]
  private var ticket: UInt64 = 0
  private var pending = 0

  /// - Parameters:
  ///   - folder: the folder of an SQLite store that is opened again; nil: a new one.
  ///   - schema: the same of a store in PostgreSQL.
  init(_ kind: TransactionalKind, folder: TemporaryFolder? = nil, schema: String? = nil) throws {
    self.kind = kind
    guard kind == .sqlite else {
      let subject = kind == .postgres ? try PostgresSubject(schema: schema) { $0.now = { 1000 } } : nil
      store = subject?.store ?? MemoryStore()
      completions = subject?.completions
      postgres = subject
      sqlite = nil
      self.folder = nil
      return
    }
    let folder = try folder ?? TemporaryFolder()
    var options = SQLiteStore.Options()
    options.now = { 1000 }
    let subject = try SQLiteSubject(folder.path, options: options)
    self.folder = folder
    sqlite = subject
    completions = subject.completions
    postgres = nil
    store = subject.store
  }

  deinit { store.close() }

  /// The same store, closed and opened again; nil: it keeps nothing.
  func again() throws -> TransactionScene? {
    if kind == .memory { return nil }
    store.close()
    return try TransactionScene(kind, folder: folder, schema: postgres?.schema)
  }

  @discardableResult
  func open(_ name: String) throws -> StreamPosition {
    let name = try channel(name)
    let position = try store.open(name, durability: .durable).position
    epochs[name] = position.epoch
    return position
  }

  /// An entry of a stream, or with a key of a map that keeps no stream.
  func entry(
    _ name: String, _ offset: UInt64, _ text: String = "x", key: String? = nil, removed: Bool = false,
    score: Int64 = 0, expires: Int64 = .max, edit: LogEdit? = nil
  ) throws -> LogEntry {
    ticket += 1
    let name = try channel(name)
    let change = key.map { KeyChange(key: $0, removed: removed, score: score, expires: expires) }
    return LogEntry(
      ticket: ticket, channel: name, epoch: epochs[name] ?? "",
      publication: Publication(offset: offset, time: 1000, data: Array(text.utf8), change: change),
      durability: .durable, historySize: key == nil ? 100 : 0, historyTTLMilliseconds: 1_000_000,
      writesMap: key != nil, edit: edit)
  }

  /// Appends entries, and waits until it is known what became of each.
  @discardableResult
  func append(_ entries: [LogEntry]) throws -> [LogError?] {
    let outcome = entries.count == 1 ? store.append(entries[0]) : store.append(entries)
    switch outcome {
    case .refused(let error): return entries.map { _ in error }
    case .kept: return entries.map { _ in nil }
    case .pending:
      pending += entries.count
      try completions?.wait(for: pending)
      return (completions?.all.suffix(entries.count) ?? []).map(\.error)
    }
  }

  func texts(_ name: String) throws -> [String] {
    try store.read(channel(name), LogRange(since: nil, through: .max, limit: .max))
      .map { String(decoding: $0.data, as: UTF8.self) }
  }

  func map(_ name: String) throws -> [String: String] {
    var map: [String: String] = [:]
    for entry in try store.entries(of: channel(name)) {
      map[entry.change?.key ?? ""] = String(decoding: entry.data, as: UTF8.self)
    }
    return map
  }

  func due(_ name: String, by time: Int64, score: Int64 = 0, limit: Int = 100) throws -> [String] {
    try store.keys(of: channel(name), score: score, expiringBy: time, limit: limit).map(\.key)
  }
}
