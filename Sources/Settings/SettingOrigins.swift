/// Where settings were given, for whoever asks why the server does what it does.
public struct SettingOrigins: Sendable, Equatable {
  /// Of the options of namespaces, by key: `channel.namespaces.chat.presence`.
  private let byKey: [String: SettingSource]
  /// How many settings each source gave: `fanfare.json: 12, --set: 1`.
  public let summary: String

  init(_ channels: [ChannelDeclaration], _ layers: [SettingsLayer]) {
    var byKey: [String: SettingSource] = [:]
    for channel in channels { for place in channel.allPlaces { byKey[place.key] = place.source } }
    self.byKey = byKey
    summary = layers.filter { !$0.entries.isEmpty }.map { "\($0.name): \($0.entries.count)" }.joined(separator: ", ")
  }

  /// A file with the line, an environment variable, `--set` or `default`; empty: there is no such option.
  public func origin(of key: String) -> String { byKey[key].map { "\($0)" } ?? "" }

  /// Settings are the same where their values are, whoever gave them.
  public static func == (a: SettingOrigins, b: SettingOrigins) -> Bool { true }
}
