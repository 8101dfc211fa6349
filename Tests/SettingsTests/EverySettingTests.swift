import Testing
import Wire

@testable import Settings

/// The settings that are declared, with a value of each that is not its default. They come from the table of
/// declarations, so that a setting is tested from the moment it is declared.
private enum Declared {
  /// The name under which a namespace and a webhook are tested, whose keys are there only once a file has them.
  private static let name = "n"
  private static let lists: [[String]] = [
    [ChannelSection.name, ChannelSection.namespaces, name], [Settings.Webhook.section, name],
  ]

  static let keys: [SettingKey] =
    SettingTable.keys + SettingTable.namespaceKeys(name) + SettingTable.webhookKeys(name)
  static let names: [String] = keys.map(\.name)
  static let byName: [String: SettingKey] = Dictionary(uniqueKeysWithValues: keys.map { ($0.name, $0) })

  /// Texts of which each key that takes text takes one: its own rule says which. A new rule may need another.
  private static let texts: [String] = [
    "other", "127.0.0.2", "10.0.0.0/8", "ipc://data/other.ipc", "https://example.com/keys.json", "https://example.com",
    "http://127.0.0.1:8080/path", "publication", String(repeating: "k", count: 40),
    String(repeating: "k", count: 43),
  ]

  /// Values of the right kind that are not the default.
  static func others(_ key: SettingKey) -> [SettingValue] {
    let candidates: [SettingValue] =
      switch key.kind {
      case .bool: [.bool(true), .bool(false)]
      case .integer(let range), .bytes(let range), .duration(let range):
        [.int(range.upperBound), .int(range.lowerBound)]
      case .choice(let choices): choices.map { .string($0) }
      case .string: texts.map { .string($0) }
      case .strings: texts.map { .strings([$0]) }
      case .objects(let names):
        // All members, or the first alone, where they do not take the same texts.
        texts.flatMap { text in
          [names, [names[0]]].map { .objects([Dictionary($0.map { ($0, text) }, uniquingKeysWith: { $1 })]) }
        }
      }
    return candidates.filter { $0 != key.standard }
  }

  /// The value as a file has it.
  static func json(_ key: SettingKey, _ value: SettingValue) -> String {
    switch value {
    case .bool(let value): "\(value)"
    case .strings(let values): "[" + values.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
    case .int where key.isPlainNumber: key.text(value)
    case .objects: key.text(value)
    case .int, .string: "\"\(key.text(value))\""
    }
  }

  /// A file that sets this key alone.
  static func file(_ key: SettingKey, _ json: String) -> String {
    guard let list = list(of: key) else { return nested(key.path[...], json) }
    return nested(list.dropLast(), "[{\"name\": \"\(name)\", \"\(key.path[list.count])\": \(json)}]")
  }

  /// A file that sets nothing, and has the namespace or the webhook where the key is an option of it.
  static func file(without key: SettingKey) -> String {
    guard let list = list(of: key) else { return "{}" }
    return nested(list.dropLast(), "[{\"name\": \"\(name)\"}]")
  }

  private static func list(of key: SettingKey) -> [String]? { lists.first { key.path.starts(with: $0) } }

  private static func nested(_ path: ArraySlice<String>, _ json: String) -> String {
    path.reversed().reduce(json) { inner, name in "{\"\(name)\": \(inner)}" }
  }

  /// Reads settings as ``Settings/load(json:name:environment:overrides:)`` does, but judges no combinations: most keys
  /// are nothing by themselves, and a combination is refused for reasons that tests of its own show.
  static func read(
    _ file: String, _ overrides: [String: String] = [:]
  ) -> (settings: Settings, problems: [SettingsError.Problem]) {
    let layer = SettingsFile.layer(Array(file.utf8), file: "f.json")
    let (namespaces, webhooks) = (layer.namespaces.map(\.name), layer.webhooks.map(\.name))
    let flags = SettingsOverrides.flags(overrides, namespaces: namespaces, webhooks: webhooks)
    let layers = [flags, layer]
    var declare = SettingDeclarations(reading: layers)
    let settings = Settings(&declare, namespaces: namespaces, webhooks: webhooks)
    return (settings, layers.flatMap(\.problems) + declare.problems)
  }

  /// A value that is not the default and that the key's own rule takes; nil: none of the texts above is one.
  static func sample(_ key: SettingKey) -> SettingValue? {
    others(key).first { read(file(key, json(key, $0))).problems.isEmpty }
  }
}

extension SettingKey {
  fileprivate var isPlainNumber: Bool { if case .integer = kind { true } else { false } }

  /// Whether the key is an option of channels, which no field of ``Settings`` has by itself.
  fileprivate var isOfChannels: Bool { path.first == ChannelSection.name }

  /// Texts in a file that are no value of the key.
  fileprivate var wrongInFile: [String] {
    switch kind {
    case .bool: ["\"true\"", "1", "null"]
    case .integer: ["\"12\"", "true", "1.5"] + beyond.map { "\($0)" }
    case .bytes: ["true", "\"many\""] + beyond.map { "\($0)" }
    case .duration: ["25", "\"25\"", "true"] + beyond.map { "\"\($0)ms\"" }
    case .string: ["7", "[\"text\"]", "null"]
    case .choice: ["7", "\"no such choice\""]
    case .strings: ["\"one\"", "[7]", "{}"]
    case .objects(let names): ["\"one\"", "[7]", "{}", "[{\"another\": \"x\"}]", "[{\"\(names[0])\": 7}]"]
    }
  }

  /// Texts after `--set` that are no value of the key. Every text is a text, and a list of texts.
  fileprivate var wrongAfterSet: [String] {
    switch kind {
    case .bool: ["maybe", "1"]
    case .integer: ["many", "1.5"] + beyond.map { "\($0)" }
    case .bytes: ["many", "1parsec"] + beyond.map { "\($0)" }
    case .duration: ["25", "soon"] + beyond.map { "\($0)ms" }
    case .choice: ["no such choice"]
    case .objects(let names):
      ["one", "{}", "[{\"another\":\"x\"}]", "[{\"\(names[0])\":\"x\",\"\(names[0])\":\"y\"}]"]
    case .string, .strings: []
    }
  }

  /// The numbers on both sides of the range.
  private var beyond: [Int] {
    switch kind {
    case .integer(let range), .bytes(let range), .duration(let range): [range.lowerBound - 1, range.upperBound + 1]
    case .bool, .string, .choice, .strings, .objects: []
    }
  }
}

/// A setting of any type, as the test sees it arrive.
private protocol ArrivedSetting {
  var key: String { get }
  /// The value as ``SettingValue`` has it; nil where the field has a type of its own, such as an address range.
  var value: SettingValue? { get }
}

extension Setting: ArrivedSetting {
  var key: String { place.key }

  var value: SettingValue? {
    switch wrappedValue {
    case let value as Bool: .bool(value)
    case let value as Int: .int(value)
    case let value as Int64: .int(Int(value))
    case let value as Duration: .int(Int(value.wholeMilliseconds))
    case let value as String: .string(value)
    case let value as [String]: .strings(value)
    case let value as any RawRepresentable<String>: .string(value.rawValue)
    default: nil
    }
  }
}

/// Every setting that a value holds, by its key.
private func arrived(in value: Any) -> [String: any ArrivedSetting] {
  if let setting = value as? any ArrivedSetting { return [setting.key: setting] }
  return Mirror(reflecting: value).children.reduce(into: [:]) { found, child in
    found.merge(arrived(in: child.value)) { first, _ in first }
  }
}

@Suite("Every setting that is declared")
struct EverySettingTests {
  @Test("Each has a field of its own, or is an option of channels")
  func fields() {
    let fields = Set(arrived(in: Declared.read("{}").settings).keys)
    #expect(fields == Set(SettingTable.keys.filter { !$0.isOfChannels }.map(\.name)))
    #expect(fields.count > 100)
  }

  @Test("A value that is not the default arrives from a file and from --set alike", arguments: Declared.names)
  func arrives(_ name: String) throws {
    let key = try #require(Declared.byName[name])
    let value = try #require(
      Declared.sample(key), "no text of Declared.texts is a value of \(name): add one that its rule takes")
    let fromFile = Declared.read(Declared.file(key, Declared.json(key, value)))
    let fromFlag = Declared.read(Declared.file(without: key), [name: key.text(value)])
    #expect(fromFile.problems == [] && fromFlag.problems == [])
    #expect(fromFile.settings == fromFlag.settings)
    if key.isOfChannels {
      #expect(changesChannels(key, value))
    } else {
      for settings in [fromFile.settings, fromFlag.settings] {
        let setting = try #require(arrived(in: settings)[name])
        #expect(setting.value == value || setting.value == nil)
      }
      #expect(fromFile.settings != Declared.read(Declared.file(without: key)).settings)
    }
  }

  /// Whether the channels' rules are others with this value: on a stream, or on a map or a shared poll, whose options say
  /// nothing of a stream.
  private func changesChannels(_ key: SettingKey, _ value: SettingValue) -> Bool {
    let kind = (key.path.dropLast() + ["kind"]).joined(separator: ".")
    return [[:], [kind: "map"], [kind: "shared_poll"]].contains { (base: [String: String]) in
      let file = Declared.file(without: key)
      let changed = base.merging([key.name: key.text(value)]) { $1 }
      return Declared.read(file, changed).settings.channels != Declared.read(file, base).settings.channels
    }
  }

  @Test("What is no value of a key is refused, with the key's name and what to write", arguments: Declared.names)
  func refuses(_ name: String) throws {
    let key = try #require(Declared.byName[name])
    for wrong in key.wrongInFile {
      try expectRefusal(of: key, "\(wrong) in the file") { () throws(SettingsError) in
        try load(Declared.file(key, wrong))
      }
    }
    for wrong in key.wrongAfterSet {
      try expectRefusal(of: key, "--set \(wrong)") { () throws(SettingsError) in
        try load(Declared.file(without: key), overrides: [name: wrong])
      }
    }
  }

  private func expectRefusal(
    of key: SettingKey, _ what: Comment, _ load: () throws(SettingsError) -> Settings
  ) throws {
    let error = try #require(throws: SettingsError.self, what) { try load() }
    #expect(error.problems.map(\.keyPath) == [key.name], what)
    #expect(error.problems.allSatisfy { $0.message.hasSuffix(key.expected) }, what)
  }
}
