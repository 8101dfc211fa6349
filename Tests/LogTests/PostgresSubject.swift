import Foundation
import Logging
import PostgreSQL
import TestSupport
import Testing
import Wire

@testable import Log

extension PostgresServer {
  /// A connection for tests, beside those of stores.
  func connect() throws -> Connection {
    var parameters = ConnectionParameters(connection, applicationName: "test")
    parameters.connectTimeoutSeconds = 60
    return try Connection(parameters)
  }
}

/// A store in PostgreSQL in a schema of its own, with its completions.
final class PostgresSubject: StoreSubject {
  /// Whether tests of it run here.
  static let runs = runsUnlessLacking(.postgresql, isThere: PostgresServer.isThere)

  let store: PostgresStore
  let completions = Completions()
  let schema: String
  let options: PostgresStore.Options
  private var ticket: UInt64 = 0

  /// - Parameter schema: that of a store that is opened again; nil: a new one.
  init(
    schema: String? = nil, connection: String? = nil, folder: DataFolderLock? = nil, logger: Logger = quiet,
    _ change: (inout PostgresStore.Options) -> Void = { _ in }
  ) throws {
    let schema = schema ?? "t" + UUID().uuidString.lowercased().filter { $0 != "-" }
    var options = PostgresStore.Options(connection: try connection ?? Self.server.connection, schema: schema)
    options.leaseWaitMilliseconds = 60_000
    change(&options)
    self.options = options
    self.schema = schema
    let completions = completions
    store = try PostgresStore(options: options, folder: folder, logger: logger) { completions.add($0) }
  }

  deinit { store.close() }

  /// How the store's own connections are made.
  func server() throws -> PostgresDatabase { try options.server() }

  private static var server: PostgresServer { get throws { try PostgresServer.shared() } }

  func nextTicket() -> UInt64 {
    ticket += 1
    return ticket
  }

  /// Runs a statement beside the store, on a connection of its own.
  @discardableResult
  func query(_ sql: String, _ parameters: [Parameter] = []) throws -> Rows {
    // The test's own way to the server, whatever the store has to go through.
    let connection = try Self.server.connect()
    try connection.run(script: "SET search_path TO \(schema), pg_catalog")
    return try connection.query(sql, parameters, within: 60)
  }

  /// What the store tells until the condition holds of it.
  func news(until isDone: ([LogNews]) throws -> Bool) throws -> [LogNews] {
    var news: [LogNews] = []
    try eventually {
      news += store.takeNews()
      return try isDone(news)
    }
    return news
  }

  func rows(_ table: String) throws -> Int { Int(try query("SELECT count(*) FROM \(table)").int(0, 0)) }

  func accounts(_ sql: String) throws -> [QuotaAccount: KeptAmount] {
    let rows = try query(sql)
    var sums: [QuotaAccount: KeptAmount] = [:]
    for row in 0..<rows.count {
      let amount = KeptAmount(bytes: Int(rows.int(row, 2)), entries: Int(rows.int(row, 3)))
      let account = QuotaAccount(namespace: rows.text(row, 0), user: rows.text(row, 1))
      #expect(sums.updateValue(amount, forKey: account) == nil)
    }
    return sums
  }

  /// The accounts as the rows make them, by SQL of this test's own. Names of tests have one letter in each user's id.
  static let accountsOfRows = """
    WITH rows AS (
      SELECT convert_from(name, 'UTF8') AS name, info,
        CASE WHEN substring(change FROM length(change) - 16 FOR 1) = '\\x01' THEN 64 ELSE 128 + length(data)
          + coalesce(length(info), 0) + coalesce(length(tags), 0) + coalesce(length(change), 0) END AS bytes,
        (change IS NULL)::int AS entries
      FROM publications JOIN channels ON id = channel
      UNION ALL
      SELECT convert_from(name, 'UTF8'), info,
        149 + length(data) + coalesce(length(info), 0) + coalesce(length(tags), 0) + length(key), 1
      FROM entries JOIN channels ON id = channel)
    SELECT convert_to(split_part(name, ':', 1), 'UTF8'),
      CASE WHEN name ~ '#.$' THEN convert_to(right(name, 1), 'UTF8') ELSE substring(info FROM 5 FOR 1) END,
      sum(bytes)::bigint, sum(entries)::bigint
    FROM rows WHERE (name LIKE 'diary:%' OR name LIKE 'club:%') AND (name ~ '#.$' OR info IS NOT NULL)
    GROUP BY 1, 2
    """
}
