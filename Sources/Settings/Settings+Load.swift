import Foundation

extension Settings {
  /// Loads the configuration. Later sources win: file, environment, flags.
  ///
  /// - Parameters:
  ///   - file: path of the JSON file; nil: the built-in default, which is `config/fanfare.json`. Keys that the file
  ///     leaves out have the defaults of `docs/CONFIGURATION.md`.
  ///   - environment: variables; those that begin with `FANFARE_` are settings, such as `FANFARE_CLIENT_PING_INTERVAL`.
  ///   - overrides: texts by dotted key, such as `client.ping_interval`: `30s`.
  /// - Throws: all problems at once.
  public static func load(
    file: String? = nil, environment: [String: String] = [:], overrides: [String: String] = [:]
  ) throws(SettingsError) -> Settings {
    guard let file else {
      return try load(
        json: Array(EmbeddedDefault.json.utf8), name: "built-in default", environment: environment, overrides: overrides
      )
    }
    return try load(json: try read(file), name: file, environment: environment, overrides: overrides)
  }

  /// Loads a configuration from the bytes of a file.
  ///
  /// - Parameter name: stands for the file in messages.
  public static func load(
    json: [UInt8], name: String, environment: [String: String] = [:], overrides: [String: String] = [:]
  ) throws(SettingsError) -> Settings {
    let file = SettingsFile.layer(json, file: name)
    if file.isUnreadable { throw SettingsError(problems: file.problems) }
    let namespaces = file.namespaces.map(\.name)
    let webhooks = file.webhooks.map(\.name)
    let layers = [
      SettingsOverrides.flags(overrides, namespaces: namespaces, webhooks: webhooks),
      SettingsOverrides.environment(environment, namespaces: namespaces, webhooks: webhooks), file,
    ]
    var declare = SettingDeclarations(reading: layers)
    let settings = Settings(&declare, namespaces: namespaces, webhooks: webhooks)
    var problems = layers.flatMap(\.problems)
    // A combination is judged only once each part is right: a typo in history_ttl should not also be told as a
    // history without an age.
    if problems.isEmpty { problems = declare.problems + SettingsRules.problems(settings, channels: declare.channels) }
    guard problems.isEmpty else {
      throw SettingsError(problems: problems.sorted { $0.source.rank < $1.source.rank })
    }
    return settings
  }

  /// Checks a file by itself, without the environment and flags that it may later be used with.
  public static func check(_ file: String) throws(SettingsError) { _ = try load(file: file) }

  private static func read(_ path: String) throws(SettingsError) -> [UInt8] {
    func unreadable(_ why: String) -> SettingsError {
      SettingsError(problems: [.init(source: .file(path, line: 1), keyPath: "", message: why)])
    }
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw unreadable("the file does not exist or may not be read; check its path")
    }
    defer { try? handle.close() }
    guard let data = try? handle.read(upToCount: PositionedJSONParser.maximumBytes + 1) else {
      throw unreadable("reading the file failed; is it a folder?")
    }
    return Array(data)
  }
}
