/// Everything that is wrong with a configuration, so that one round of fixing is enough.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// One thing that is wrong.
  public struct Problem: Sendable, Equatable, CustomStringConvertible {
    /// Where the value comes from.
    public var source: SettingSource
    /// The key, such as `client.ping_interval`; empty where the file as a whole is meant.
    public var keyPath: String
    /// What is wrong and what to write instead.
    public var message: String

    public init(source: SettingSource, keyPath: String, message: String) {
      self.source = source
      self.keyPath = keyPath
      self.message = message
    }

    public var description: String { ["\(source)", keyPath, message].filter { !$0.isEmpty }.joined(separator: ": ") }
  }

  public var problems: [Problem]

  public init(problems: [Problem]) { self.problems = problems }

  public var description: String {
    let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
    return "the configuration has \(count):\n" + problems.map { "  \($0)" }.joined(separator: "\n")
  }
}

/// Where a value was given. Later ones win: file, environment, flags.
public enum SettingSource: Sendable, Equatable, CustomStringConvertible {
  /// Nobody gave the value: it is the default.
  case standard
  /// - Parameter line: the key's line, counted from 1.
  case file(String, line: Int)
  case environment(variable: String)
  case flag

  public var description: String {
    switch self {
    case .standard: "default"
    case .file(let name, let line): "\(name):\(line)"
    case .environment(let variable): "environment variable \(variable)"
    case .flag: "--set"
    }
  }

  /// The source's place in a report: the file from top to bottom, then environment, flags and defaults.
  var rank: (Int, Int) {
    switch self {
    case .file(_, let line): (0, line)
    case .environment: (1, 0)
    case .flag: (2, 0)
    case .standard: (3, 0)
    }
  }
}
