import TestSupport

/// The tables of a log in PostgreSQL, of all its partitions.
struct LogTables: Sendable {
  private let schemas: [String]
  private let database: OwnDatabase

  /// - Parameter settings: of the servers that have the log.
  /// - Returns: nil where it is in a file.
  init?(of settings: [String]) throws {
    func last(_ setting: String) -> String? {
      settings.last { $0.hasPrefix(setting + "=") }.map { String($0.dropFirst(setting.count + 1)) }
    }
    guard let schema = last("log.postgres.schema") else { return nil }
    let count = last("cluster.partitions").flatMap { Int($0) } ?? 1
    schemas = (0..<count).map { $0 == 0 ? schema : "\(schema)_p\($0)" }
    database = try OwnDatabase(.shared(), schema: schema)
  }

  /// The tables that hold a text, by the text. They are called as the log's file is: `fanfare.PARTITION.TABLE`.
  func holding(_ texts: [String]) throws -> [String: [String]] {
    var found: [String: [String]] = [:]
    for (partition, schema) in schemas.enumerated() {
      for text in texts {
        for table in try database.tables(in: schema, holding: text) {
          found[text, default: []].append("fanfare.\(partition).\(table)")
        }
      }
    }
    return found
  }
}
