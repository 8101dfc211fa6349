import CPostgreSQL

/// How a server is reached.
public struct ConnectionParameters: Sendable {
  /// As libpq takes it: `postgresql://…`, or `host=… dbname=…`. May hold a password, so it is never printed.
  let string: String
  /// What the server's list of connections calls us.
  public var applicationName: String
  /// Seconds to wait for a connection: at least 2, which is libpq's own limit.
  public var connectTimeoutSeconds = 3
  /// Milliseconds in which the server's machine must confirm what was sent to it. Without it, a connection whose other
  /// end has gone without a word is noticed after a quarter of an hour.
  public var silenceMilliseconds = 3000

  public init(_ string: String, applicationName: String) {
    self.string = string
    self.applicationName = applicationName
  }

  /// What stands in the string, for a sentence: host, port and database; nil where it cannot be read.
  public var target: String? {
    guard let options = try? options() else { return nil }
    let host = options["host"] ?? options["hostaddr"] ?? "the local server"
    let port = options["port"].map { ":" + $0 } ?? ""
    return "\(options["dbname"].map { "database \($0) of " } ?? "")\(host)\(port)"
  }

  /// What libpq reads in the string, for those options that are set.
  private func options() throws(PostgresError) -> [String: String] {
    // libpq's own message about a string that it cannot read quotes the string, with the password.
    guard let parsed = unsafe PQconninfoParse(string, nil) else {
      throw PostgresError(
        .malformed, "the connection string cannot be read; write it as postgresql://user@host:5432/database")
    }
    defer { unsafe PQconninfoFree(parsed) }
    var options: [String: String] = [:]
    var next = unsafe parsed
    while let keyword = unsafe next.pointee.keyword {
      if let value = unsafe next.pointee.val {
        unsafe options[String(cString: keyword)] = unsafe String(cString: value)
      }
      unsafe next += 1
    }
    return options
  }

  /// All options, with ours beside what the string says.
  func keywords() throws(PostgresError) -> [String: String] {
    var all = [
      "application_name": applicationName, "connect_timeout": "\(connectTimeoutSeconds)", "keepalives": "1",
      "keepalives_idle": "1", "keepalives_interval": "1", "keepalives_count": "3",
      "tcp_user_timeout": "\(silenceMilliseconds)",
    ]
    for (keyword, value) in try options() { all[keyword] = value }
    all["client_encoding"] = "UTF8"
    return all
  }
}
