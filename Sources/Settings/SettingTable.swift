/// Every key there is, as ``Settings`` declares them. Parsing, the check for unknown keys, the defaults and the reference
/// all come from here.
enum SettingTable {
  /// All keys outside namespaces, in the order of the reference.
  static let keys: [SettingKey] = {
    var declare = SettingDeclarations()
    _ = Settings(&declare, namespaces: [])
    return declare.keys
  }()

  /// Keys by their dotted name. No two declarations have the same.
  static let byName: [String: SettingKey] = Dictionary(uniqueKeysWithValues: keys.map { ($0.name, $0) })

  /// The names of objects that hold keys: `client`, `server.tls`.
  static let sections: Set<String> = {
    var sections: Set<String> = [""]
    for key in keys {
      for length in 1..<max(key.path.count, 1) { sections.insert(key.path.prefix(length).joined(separator: ".")) }
    }
    return sections
  }()

  /// The options of a namespace, by their own names.
  static let channelOptions = channelOptions(in: [])

  /// The list of namespaces, which is no key: what stands in it has keys by the name of each namespace.
  static let namespaces = "\(ChannelSection.name).\(ChannelSection.namespaces)"

  static func namespaceKeys(_ name: String) -> [SettingKey] {
    channelOptions(in: [ChannelSection.name, ChannelSection.namespaces, name])
  }

  /// The names of keys and sections that may stand directly in a section, in alphabetical order.
  static func children(of section: String) -> [String] {
    let prefix = section.isEmpty ? "" : section + "."
    var names: Set<String> = []
    for key in keys where key.name.hasPrefix(prefix) {
      let rest: Substring = key.name.dropFirst(prefix.count)
      if let child = rest.split(separator: ".").first { names.insert(String(child)) }
    }
    if section == ChannelSection.name { names.insert(ChannelSection.namespaces) }
    if section.isEmpty { names.insert(Settings.Webhook.section) }
    return names.sorted()
  }

  private static func channelOptions(in path: [String]) -> [SettingKey] {
    var declare = SettingDeclarations(in: path)
    _ = declare.channel()
    return declare.keys
  }
}
