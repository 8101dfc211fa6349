import Wire

/// Declares settings and reads them.
///
/// Each call names a key, its default, its range, its meaning and the rule for it alone, and gives the value for the field
/// that it is assigned to. There is no other place that knows the key: over no layers the same calls make the table, from
/// which files are parsed and the reference is written; over a file, the environment and flags they make ``Settings``. So
/// no key can be parsed and not read, nor read and not documented.
struct SettingDeclarations {
  /// The keys in the order in which they were declared, which is that of the reference.
  private(set) var keys: [SettingKey] = []
  /// What is wrong with values that the rule for their key alone refuses.
  private(set) var problems: [SettingsError.Problem] = []
  /// The options of channels without a namespace, then those of each namespace.
  private(set) var channels: [ChannelDeclaration] = []
  let layers: [SettingsLayer]
  private var path: [String]

  /// - Parameters:
  ///   - layers: what was given; the first layer that has a key decides.
  ///   - path: the section that the calls are made in.
  init(reading layers: [SettingsLayer] = [], in path: [String] = []) {
    self.layers = layers
    self.path = path
  }

  /// Reads a section: an object of the file that holds further keys.
  mutating func section<Section>(_ name: String, _ read: (inout SettingDeclarations) -> Section) -> Section {
    path.append(name)
    defer { path.removeLast() }
    return read(&self)
  }

  /// Reads the options of a namespace, or of channels without one.
  mutating func channel() -> ChannelOptions {
    let channel = ChannelDeclaration(&self, at: path.joined(separator: "."))
    channels.append(channel)
    return channel.options
  }

  mutating func flag(_ name: String, _ standard: Bool, _ meaning: String) -> Setting<Bool> {
    declare(name, .bool, .bool(standard), meaning) { if case .bool(let value) = $0 { value } else { nil } }
  }

  mutating func integer(
    _ name: String, _ standard: Int, in range: ClosedRange<Int>, _ meaning: String
  ) -> Setting<Int> {
    number(name, .integer(range), standard, meaning)
  }

  mutating func bytes(
    _ name: String, _ standard: Int, in range: ClosedRange<Int>, _ meaning: String
  ) -> Setting<Int> {
    number(name, .bytes(range), standard, meaning)
  }

  mutating func duration(
    _ name: String, _ standard: Duration, in range: ClosedRange<Duration>, _ meaning: String
  ) -> Setting<Duration> {
    milliseconds(name, standard.wholeMilliseconds, in: range, meaning).map { .milliseconds($0) }
  }

  /// A duration for a field that counts milliseconds.
  mutating func milliseconds(
    _ name: String, _ standard: Int64, in range: ClosedRange<Duration>, _ meaning: String
  ) -> Setting<Int64> {
    let range = Int(range.lowerBound.wholeMilliseconds)...Int(range.upperBound.wholeMilliseconds)
    return number(name, .duration(range), Int(standard), meaning).map(Int64.init)
  }

  /// Two keys: `name_per_second`, of which 0 is no limit, and `name_burst`.
  ///
  /// - Parameter inBytes: whether both are sizes.
  mutating func rate(
    _ name: String, _ standard: (perSecond: Int, burst: Int), upTo most: (perSecond: Int, burst: Int),
    inBytes: Bool = false, _ meaning: String
  ) -> RateSetting {
    func kind(_ range: ClosedRange<Int>) -> SettingKey.Kind { inBytes ? .bytes(range) : .integer(range) }
    return RateSetting(
      perSecond: number("\(name)_per_second", kind(0...most.perSecond), standard.perSecond, meaning),
      burst: number(
        "\(name)_burst", kind(1...most.burst), standard.burst, "How many of them at once, after a time of rest."))
  }

  /// - Parameters:
  ///   - isSecret: whether messages must not show the text.
  ///   - rule: what is wrong with a text, as it follows the key in a message; nil: nothing.
  mutating func text(
    _ name: String, _ standard: String, _ meaning: String, isSecret: Bool = false,
    rule: (String) -> String? = { _ in nil }
  ) -> Setting<String> {
    let setting = declare(name, .string, .string(standard), meaning, isSecret: isSecret) {
      if case .string(let value) = $0 { value } else { nil }
    }
    if let fault = rule(setting.wrappedValue) { report(setting.place, fault) }
    return setting
  }

  mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ name: String, _ standard: Choice, _ meaning: String
  ) -> Setting<Choice> {
    choice(name, standard, among: Array(Choice.allCases), named: \.rawValue, meaning)
  }

  mutating func choice<Choice>(
    _ name: String, _ standard: Choice, among choices: [Choice], named text: (Choice) -> String, _ meaning: String
  ) -> Setting<Choice> {
    declare(name, .choice(choices.map(text)), .string(text(standard)), meaning) { value in
      choices.first { .string(text($0)) == value }
    }
  }

  /// A list of texts.
  ///
  /// - Parameters:
  ///   - standard: the list where nobody gives one.
  ///   - isSecret: as for texts.
  ///   - rule: what is wrong with one of them, as for ``text(_:_:_:isSecret:rule:)``.
  mutating func list(
    _ name: String, _ meaning: String, standard: [String] = [], isSecret: Bool = false,
    rule: (String) -> String? = { _ in nil }
  ) -> Setting<[String]> {
    let setting = declare(name, .strings, .strings(standard), meaning, isSecret: isSecret) {
      if case .strings(let values) = $0 { values } else { nil }
    }
    for fault in setting.wrappedValue.compactMap(rule) { report(setting.place, fault) }
    return setting
  }

  /// A list whose texts each say one element, such as an address range.
  ///
  /// - Parameter fault: what is wrong with a text that says none.
  mutating func list<Element>(
    _ name: String, _ meaning: String, of element: (String) -> Element?, fault: (String) -> String
  ) -> Setting<[Element]> {
    list(name, meaning) { element($0) == nil ? fault($0) : nil }.map { $0.compactMap(element) }
  }

  /// A list of objects whose members are texts, empty where nobody gives one.
  ///
  /// - Parameters:
  ///   - names: of the members, each of which may be left out.
  ///   - fault: what is wrong with an object; nil: nothing.
  mutating func objects<Element>(
    _ name: String, with names: [String], _ meaning: String, of element: ([String: String]) -> Element,
    fault: (Element) -> String?
  ) -> Setting<[Element]> {
    let setting = declare(name, .objects(names), .objects([]), meaning) {
      if case .objects(let values) = $0 { values.map(element) } else { nil }
    }
    for fault in setting.wrappedValue.compactMap(fault) { report(setting.place, fault) }
    return setting
  }

  private mutating func number(
    _ name: String, _ kind: SettingKey.Kind, _ standard: Int, _ meaning: String
  ) -> Setting<Int> {
    declare(name, kind, .int(standard), meaning) { if case .int(let value) = $0 { value } else { nil } }
  }

  private mutating func declare<Value>(
    _ name: String, _ kind: SettingKey.Kind, _ standard: SettingValue, _ meaning: String, isSecret: Bool = false,
    _ read: (SettingValue) -> Value?
  ) -> Setting<Value> {
    let key = SettingKey(path + [name], kind, standard, meaning, isSecret: isSecret)
    keys.append(key)
    let given = layers.lazy.compactMap { $0.entries[key.name] }.first
    guard let value = read(given?.value ?? standard) else {
      preconditionFailure("\(key.name) was parsed by another declaration than the one that reads it")
    }
    return Setting(value, SettingPlace(key: key.name, source: given?.source ?? .standard))
  }

  private mutating func report(_ place: SettingPlace, _ message: String) {
    problems.append(.init(source: place.source, keyPath: place.key, message: message))
  }
}

extension Setting {
  /// The same setting as a value of another type.
  fileprivate func map<Other>(_ transform: (Value) -> Other) -> Setting<Other> {
    Setting<Other>(transform(wrappedValue), place)
  }
}
