/// Reads environment variables and `--set` flags into layers.
enum SettingsOverrides {
  /// Variables that begin like ours and are not settings: the build's, and the path of the file itself.
  static let otherVariables: Set<String> = [
    "FANFARE_STRICT", "FANFARE_TESTING", "FANFARE_LACKS", "FANFARE_CONFIG",
  ]

  static func environment(
    _ variables: [String: String], namespaces: [String], webhooks: [String] = []
  ) -> SettingsLayer {
    var layer = SettingsLayer(name: "environment")
    let keys =
      SettingTable.keys + namespaces.flatMap(SettingTable.namespaceKeys) + webhooks.flatMap(SettingTable.webhookKeys)
    let byVariable = Dictionary(grouping: keys, by: \.environmentName)
    for (variable, text) in variables.sorted(by: { $0.key < $1.key })
    where variable.hasPrefix("FANFARE_") && !otherVariables.contains(variable) && !isOfKubernetes(variable, text) {
      let source = SettingSource.environment(variable: variable)
      guard let keys = byVariable[variable], let key = keys.first else {
        let near = Suggestion.nearest(to: variable, among: byVariable.keys.sorted())
        layer.report(source, "", near.map { "is not a setting; did you mean \($0)?" } ?? "is not a setting; unset it")
        continue
      }
      guard keys.count == 1 else {
        layer.report(source, "", "stands for \(keys.map(\.name).joined(separator: " and for ")); use --set instead")
        continue
      }
      layer.add(key, source) { key throws(SettingFault) in try key.parse(text) }
    }
    return layer
  }

  /// Kubernetes tells each container of the services beside it, and those called `fanfare`, `fanfare-broker` and the like
  /// get names like ours: `FANFARE_SERVICE_HOST`, `FANFARE_SERVICE_PORT_WEBSOCKET`, `FANFARE_PORT_8000_TCP_ADDR`, and
  /// `FANFARE_PORT`, which Kubernetes alone sets to `tcp://10.0.0.1:8000`.
  ///
  /// Only variables of these forms are passed over: one that is none of them and no setting is still a mistake.
  static func isOfKubernetes(_ variable: String, _ value: String) -> Bool {
    let others =
      /FANFARE_(?:[A-Z0-9]+_)*(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)/
    if variable.wholeMatch(of: others) != nil { return true }
    let portOfService = /FANFARE_(?:[A-Z0-9]+_)*PORT/
    return variable.wholeMatch(of: portOfService) != nil
      && ["tcp://", "udp://", "sctp://"].contains { value.hasPrefix($0) }
  }

  static func flags(_ values: [String: String], namespaces: [String], webhooks: [String] = []) -> SettingsLayer {
    var layer = SettingsLayer(name: "flags")
    let namedKeys = namespaces.flatMap(SettingTable.namespaceKeys) + webhooks.flatMap(SettingTable.webhookKeys)
    for (name, text) in values.sorted(by: { $0.key < $1.key }) {
      if let key = SettingTable.byName[name] ?? namedKeys.first(where: { $0.name == name }) {
        layer.add(key, .flag) { key throws(SettingFault) in try key.parse(text) }
      } else {
        layer.report(.flag, name, unknown(name, namespaces: namespaces))
      }
    }
    return layer
  }

  /// What is said of an option that no namespace has.
  static func unknownOption(_ name: String) -> String {
    let options = SettingTable.channelOptions.map(\.name)
    guard let near = Suggestion.nearest(to: name, among: options) else {
      return "is not an option of a namespace; remove it (docs/CONFIGURATION.md lists all options)"
    }
    return "is not an option of a namespace; did you mean \"\(near)\"?"
  }

  private static func unknown(_ name: String, namespaces: [String]) -> String {
    let prefix = SettingTable.namespaces + "."
    if name == SettingTable.namespaces { return "is a list of objects; write it in the file" }
    if name.hasPrefix(prefix), let dot = name.lastIndex(of: "."),
      dot > name.index(name.startIndex, offsetBy: prefix.count - 1)
    {
      let namespace = String(name[name.index(name.startIndex, offsetBy: prefix.count)..<dot])
      if namespaces.contains(namespace) { return unknownOption(String(name[name.index(after: dot)...])) }
      return "names a namespace that the file does not have; add { \"name\": \(SettingKey.quote(namespace)) } there"
    }
    if name == Settings.Webhook.section || name.hasPrefix(Settings.Webhook.section + ".") {
      return "names no option of a webhook that the file has; add the webhook to the list \"webhooks\" there"
    }
    let section = name.split(separator: ".").dropLast().joined(separator: ".")
    return SettingsLayer.unknown(name, in: SettingTable.sections.contains(section) ? section : "")
  }
}
