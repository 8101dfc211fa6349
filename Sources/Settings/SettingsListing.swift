/// Every setting as it counts, for people who look at a server: its value, where that comes from, and what it means.
public struct SettingsListing: Sendable, Equatable {
  public struct Entry: Sendable, Equatable {
    /// As in messages: `client.ping_interval`.
    public var key: String
    /// As in a file, without quotes. Secrets are ``SettingsListing/mask``, or empty where there is none.
    public var value: String
    /// A file with the line, an environment variable, `--set` or `default`.
    public var source: String
    public var standard: String
    public var meaning: String
    public var isSecret: Bool
  }

  /// Stands for what nobody is shown. It does not tell how long that is.
  public static let mask = "••••••••"

  /// In the order of the reference; options of namespaces and webhooks stand under their names.
  public let entries: [Entry]

  /// - Parameters:
  ///   - layers: the first that has a key decides.
  ///   - effective: values by key where others count than what was given.
  init(_ keys: [SettingKey], _ layers: [SettingsLayer], effective: [String: String]) {
    entries = keys.map { key in
      let given = layers.lazy.compactMap { $0.entries[key.name] }.first
      let value = effective[key.name].map { SettingValue.string($0) } ?? given?.value ?? key.standard
      return Entry(
        key: key.name, value: Self.shown(value, of: key),
        source: "\(given?.source ?? SettingSource.standard)", standard: key.text(key.standard), meaning: key.meaning,
        isSecret: key.isSecret)
    }
  }

  private static func shown(_ value: SettingValue, of key: SettingKey) -> String {
    let text = key.text(value)
    if key.isSecret { return text.isEmpty ? "" : mask }
    return switch value {
    case .string(let text): withoutCredentials(text)
    case .strings(let texts): texts.map(withoutCredentials).joined(separator: ",")
    default: text
    }
  }

  /// An address without the name and password that may stand before its host, and without its query, where some services
  /// have their key. Other texts stay as they are.
  static func withoutCredentials(_ text: String) -> String {
    guard let scheme = text.firstRange(of: "://") else { return text }
    var rest = text[scheme.upperBound...]
    if let query = rest.firstIndex(of: "?") { rest = rest[...query] + mask }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    if let at = authority.lastIndex(of: "@") { rest = mask + rest[at...] }
    return String(text[..<scheme.upperBound] + rest)
  }

  /// Settings are the same where their values are, whoever gave them.
  public static func == (a: SettingsListing, b: SettingsListing) -> Bool { true }
}
