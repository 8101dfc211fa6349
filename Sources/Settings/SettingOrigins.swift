/// Where the options of namespaces were given, for whoever asks why somebody may do something.
public struct SettingOrigins: Sendable, Equatable {
  /// By key: `channel.namespaces.chat.presence`.
  private let byKey: [String: SettingSource]

  init(_ channels: [ChannelDeclaration]) {
    var byKey: [String: SettingSource] = [:]
    for channel in channels { for place in channel.allPlaces { byKey[place.key] = place.source } }
    self.byKey = byKey
  }

  /// A file with the line, an environment variable, `--set` or `default`; empty: there is no such option.
  public func origin(of key: String) -> String { byKey[key].map { "\($0)" } ?? "" }

  /// Settings are the same where their values are, whoever gave them.
  public static func == (a: SettingOrigins, b: SettingOrigins) -> Bool { true }
}
