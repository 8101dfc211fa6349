/// What one source says: values by dotted name, and where each stands.
struct SettingsLayer {
  struct Entry {
    let key: SettingKey
    let value: SettingValue
    let source: SettingSource
  }

  let name: String
  var entries: [String: Entry] = [:]
  var problems: [SettingsError.Problem] = []
  /// Namespaces in the order of the file, with the line of each.
  var namespaces: [(name: String, source: SettingSource)] = []

  /// Webhooks, likewise.
  var webhooks: [(name: String, source: SettingSource)] = []

  /// Whether the file is not JSON: then nothing else is said of it, nor of what refers to its namespaces.
  var isUnreadable = false

  init(name: String) { self.name = name }

  mutating func report(_ source: SettingSource, _ keyPath: String, _ message: String) {
    problems.append(.init(source: source, keyPath: keyPath, message: message))
  }

  mutating func add(
    _ key: SettingKey, _ source: SettingSource, _ parse: (SettingKey) throws(SettingFault) -> SettingValue
  ) {
    do throws(SettingFault) {
      entries[key.name] = Entry(key: key, value: try parse(key), source: source)
    } catch {
      report(source, key.name, error.message)
    }
  }

  /// What is said of a key that does not exist.
  static func unknown(_ name: String, in section: String) -> String {
    if let key = SettingTable.keys.first(where: { $0.name.hasPrefix(name + ".") }) {
      return "is not a key but a section; name one of its keys, for example \"\(key.name)\""
    }
    let last = name.split(separator: ".").last.map(String.init) ?? name
    if let near = Suggestion.nearest(to: last, among: SettingTable.children(of: section)) {
      return "is not a key; did you mean \"\(section.isEmpty ? near : section + "." + near)\"?"
    }
    if let elsewhere = SettingTable.keys.first(where: { $0.path.last == last }) {
      return "is not a key; did you mean \"\(elsewhere.name)\"?"
    }
    return "is not a key; remove it (docs/CONFIGURATION.md lists all keys)"
  }
}
