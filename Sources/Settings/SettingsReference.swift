/// The reference of all keys, made from the table that parsing uses: it cannot be out of date.
public enum SettingsReference {
  /// The whole of `docs/CONFIGURATION.md`.
  public static func markdown() -> String {
    var text = introduction
    for (section, keys) in sections {
      text += "\n## \(section)\n\n| Key | Kind | Default | Meaning |\n|---|---|---|---|\n"
      text += keys.map(row).joined()
    }
    text += """

      ## channel

      `channel.without_namespace` holds the options of channels whose name has no namespace, such as `news`.
      `channel.namespaces` is a list of objects with a `name` and the same options: `chat` rules `chat:42`.
      A namespace that is not in the list does not exist, and an option that is left out is off.

      | Option | Kind | Default | Meaning |
      |---|---|---|---|

      """
    text += SettingTable.channelOptions.map(row).joined()
    text += """

      ## webhooks

      `webhooks` is a list of objects with a `name` and the options below: see [WEBHOOKS.md](WEBHOOKS.md). In the
      environment, `url` of the webhook `orders` is `FANFARE_WEBHOOKS_ORDERS_URL`. Gateways that run as processes of
      their own need the same list: they tell the broker of what it wants.

      | Option | Kind | Default | Meaning |
      |---|---|---|---|

      """
    text += SettingTable.webhookOptions.map(row).joined()
    return text
  }

  private static let introduction = """
    # Configuration

    <!-- Made from Sources/Settings/Sections; a test compares. -->

    One JSON file, then environment variables, then flags; the later wins. Without a file, `config/fanfare.json` is
    used as it was built in. Everything is checked before anything starts, and all problems are told at once, with file,
    line and what to write instead.

    - Environment: `client.ping_interval` is `FANFARE_CLIENT_PING_INTERVAL`; an option of the namespace `chat` is
      `FANFARE_CHANNEL_NAMESPACES_CHAT_HISTORY_SIZE`. Lists are separated by commas. A variable that begins with
      `FANFARE_` and is no setting is an error.
    - Flags: `--set client.ping_interval=30s`, `--set channel.namespaces.chat.history_size=50`.
    - Durations are text with a unit: `"250ms"`, `"25s"`, `"10m"`, `"24h"`. Sizes are bytes as a number, or text with a
      unit: `"64KiB"`, `"1MiB"`, `"1GiB"`.

    """

  private static var sections: [(String, [SettingKey])] {
    var sections: [(String, [SettingKey])] = []
    for key in SettingTable.keys where key.path[0] != ChannelSection.name {
      if sections.last?.0 == key.path[0] {
        sections[sections.count - 1].1.append(key)
      } else {
        sections.append((key.path[0], [key]))
      }
    }
    return sections
  }

  private static func row(_ key: SettingKey) -> String {
    let standard = key.text(key.standard)
    let shown =
      switch (key.kind, standard.isEmpty) {
      case (.strings, true): "`[]`"
      case (_, true): "empty"
      default: "`\(standard)`"
      }
    return "| `\(key.name)` | \(kind(key)) | \(shown) | \(key.meaning) |\n"
  }

  private static func kind(_ key: SettingKey) -> String {
    switch key.kind {
    case .bool: "true or false"
    case .integer(let range): "\(range.lowerBound)–\(range.upperBound)"
    case .bytes(let range):
      "\(SettingUnits.text(bytes: range.lowerBound))–\(SettingUnits.text(bytes: range.upperBound))"
    case .duration(let range):
      "\(SettingUnits.text(milliseconds: range.lowerBound))–\(SettingUnits.text(milliseconds: range.upperBound))"
    case .string: "text"
    case .choice(let choices): choices.map { "`\($0)`" }.joined(separator: ", ")
    case .strings: "list of texts"
    case .objects(let names): "list of objects with " + names.map { "`\($0)`" }.joined(separator: ", ")
    }
  }
}

extension Settings {
  /// A file that says every default: loading it is loading `{}`.
  public static func defaultsJSON() -> String {
    object(SettingTable.keys.map { ($0.path[...], $0) }, indent: "") + "\n"
  }

  private static func object(_ keys: [(path: ArraySlice<String>, key: SettingKey)], indent: String) -> String {
    let inner = indent + "  "
    var lines: [String] = []
    var rest = keys[...]
    while let first = rest.first, let name = first.path.first {
      if first.path.count == 1 {
        lines.append("\(inner)\"\(name)\": \(json(first.key))")
        rest = rest.dropFirst()
      } else {
        let group = rest.prefix { $0.path.first == name }
        lines.append("\(inner)\"\(name)\": " + object(group.map { ($0.path.dropFirst(), $0.key) }, indent: inner))
        rest = rest.dropFirst(group.count)
      }
    }
    if keys.first?.path.first == ChannelSection.withoutNamespace {
      lines.append("\(inner)\"\(ChannelSection.namespaces)\": []")
    }
    if indent.isEmpty { lines.append("\(inner)\"\(Settings.Webhook.section)\": []") }
    return "{\n" + lines.joined(separator: ",\n") + "\n\(indent)}"
  }

  private static func json(_ key: SettingKey) -> String {
    switch (key.kind, key.standard) {
    case (.strings, .strings(let values)): "[" + values.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
    case (.bool, _), (.integer, _), (.objects, _): key.text(key.standard)
    default: "\"\(key.text(key.standard))\""
    }
  }
}
