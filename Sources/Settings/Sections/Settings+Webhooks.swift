public import Wire

extension Settings {
  /// One webhook: where events go, which, and how.
  public struct Webhook: Sendable, Equatable {
    /// The list of webhooks, which is no key: what stands in it has keys by the name of each.
    static let section = "webhooks"
    /// Most webhooks: each has an outbox of its own on the disk.
    static let most = 32
    /// Stands for channels whose name has no namespace.
    public static let withoutNamespace = ChannelSection.withoutNamespace

    public let name: String
    @Setting public var url: String
    @Setting public var secret: String
    @Setting public var previousSecret: String
    @Setting public var events: [String]
    @Setting public var namespaces: [String]
    @Setting public var timeout: Duration
    @Setting public var batchEvents: Int
    @Setting public var batchBytes: Int
    @Setting public var maxWaitingEvents: Int
    @Setting public var maxWaitingBytes: Int
    @Setting public var maxGivenUpEvents: Int
    @Setting public var minimumBackoff: Duration
    @Setting public var maximumBackoff: Duration
    @Setting public var giveUpAfter: Duration
    @Setting public var allowPrivateAddresses: Bool
    @Setting public var certificateAuthorities: String

    static func list(_ declare: inout SettingDeclarations, named names: [String]) -> [Webhook] {
      declare.section(section) { declare in
        names.map { name in declare.section(name) { Webhook(&$0, name) } }
      }
    }

    init(_ declare: inout SettingDeclarations, _ name: String) {
      self.name = name
      _url = declare.text("url", "", "Where events are posted to: https://, or http:// with allow_private_addresses.")
      _secret = declare.text(
        "secret", "", "Key of the signatures, at least 32 random bytes.", isSecret: true, rule: SettingFaults.ofSecret)
      _previousSecret = declare.text(
        "previous_secret", "",
        "While a new secret is brought in: the one before, with which requests are signed as well.",
        isSecret: true, rule: SettingFaults.ofSecret)
      _events = declare.list(
        "events", "What is told: \(WebhookEvents.names.map(\.name).joined(separator: ", ")).", rule: Self.faultOfEvent)
      _namespaces = declare.list(
        "namespaces",
        "Of which namespaces' channels is told; without_namespace stands for channels without one. Empty or * means all; events of apps, connect and disconnect are told in any case."
      )
      _timeout = declare.duration(
        "timeout", .seconds(10), in: .milliseconds(100) ... .minutes(5), "Time for a whole request.")
      _batchEvents = declare.integer("batch_events", 100, in: 1...1000, "Most events in one request.")
      _batchBytes = declare.bytes(
        "batch_bytes", kibibytes(256), in: kibibytes(1)...mebibytes(4),
        "Most bytes of the events in one request; a larger event goes alone.")
      _maxWaitingEvents = declare.integer(
        "max_waiting_events", 1_000_000, in: 100...1_000_000_000,
        "Events that may wait; beyond, the oldest go to the list of those given up.")
      _maxWaitingBytes = declare.bytes(
        "max_waiting_bytes", mebibytes(1024), in: kibibytes(64)...mebibytes(1024 * 1024),
        "Bytes of events that may wait, likewise.")
      _maxGivenUpEvents = declare.integer(
        "max_given_up_events", 10_000, in: 1...10_000_000,
        "Events that were given up and are kept; beyond, the oldest are lost.")
      _minimumBackoff = declare.duration(
        "backoff_min", .seconds(1), in: .milliseconds(10) ... .hours(1),
        "Time until a request that failed is repeated; doubled each time.")
      _maximumBackoff = declare.duration(
        "backoff_max", .minutes(5), in: .milliseconds(10) ... .hours(24),
        "Longest time until a request is repeated, also where the receiver asks for more with Retry-After.")
      _giveUpAfter = declare.duration(
        "give_up_after", .hours(24), in: .seconds(1) ... .hours(24 * 30),
        "Age at which events that the receiver does not take go to the list of those given up.")
      _allowPrivateAddresses = declare.flag(
        "allow_private_addresses", false, "The url may lead to a private address, such as that of a host beside.")
      _certificateAuthorities = declare.text(
        "certificate_authorities", "", "PEM file of the authorities that are trusted; empty means the system's.")
    }

    private static func faultOfEvent(_ name: String) -> String? {
      if WebhookEvents(named: name) != nil { return nil }
      let near = Suggestion.nearest(to: name, among: WebhookEvents.names.map(\.name))
      let advice = near.map { "did you mean \"\($0)\"?" } ?? "write for example \"publication\""
      return "holds \(SettingKey.quote(name)), which is no event; \(advice)"
    }

    /// What is told.
    public var wanted: WebhookEvents { WebhookEvents(events.compactMap { WebhookEvents(named: $0) }) }

    /// The namespaces of which is told, the empty name for channels without one; nil: all.
    public var wantedNamespaces: Set<String>? {
      if namespaces.isEmpty || namespaces.contains("*") { return nil }
      return Set(namespaces.map { $0 == Self.withoutNamespace ? "" : $0 })
    }
  }
}

extension SettingTable {
  static func webhookKeys(_ name: String) -> [SettingKey] {
    var declare = SettingDeclarations()
    _ = Settings.Webhook.list(&declare, named: [name])
    return declare.keys
  }

  /// The options of a webhook, by their own names.
  static let webhookOptions: [SettingKey] = {
    var declare = SettingDeclarations()
    _ = Settings.Webhook(&declare, "")
    return declare.keys
  }()
}

extension SettingsFile {
  mutating func webhooks(_ json: PositionedJSON) {
    let example = "{ \"name\": \"orders\", \"url\": \"https://…\" }"
    guard case .array(let elements) = json.value else {
      let message = "is not a list; write [ \(example) ]"
      return layer.report(.file(file, line: json.line), Settings.Webhook.section, message)
    }
    for (index, element) in elements.enumerated() {
      let place = "\(Settings.Webhook.section)[\(index)]"
      guard case .object(let members) = element.value else {
        layer.report(.file(file, line: element.line), place, "is not an object; write \(example)")
        continue
      }
      if let name = webhookName(members, line: element.line, place) { options(members, webhook: name) }
    }
  }

  /// Nil, and a problem, where the webhook has no usable name.
  private mutating func webhookName(_ members: [PositionedJSON.Member], line: Int, _ place: String) -> String? {
    guard let member = members.first(where: { $0.key == "name" }) else {
      layer.report(.file(file, line: line), place, "has no name; add \"name\": \"orders\"")
      return nil
    }
    let source = SettingSource.file(file, line: member.line)
    guard case .string(let name) = member.value.value, (1...64).contains(name.utf8.count),
      name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
    else {
      layer.report(
        source, place + ".name", "is not a name; write at most 64 letters, digits, '-' or '_' in double quotes")
      return nil
    }
    if let first = layer.webhooks.first(where: { $0.name == name }) {
      layer.report(source, place + ".name", "is \"\(name)\" again, like at \(first.source); rename one")
      return nil
    }
    layer.webhooks.append((name, source))
    return name
  }

  private mutating func options(_ members: [PositionedJSON.Member], webhook: String) {
    let keys = SettingTable.webhookKeys(webhook)
    for member in members where member.key != "name" {
      let source = SettingSource.file(file, line: member.line)
      if let key = keys.first(where: { $0.path.last == member.key }) {
        layer.add(key, source) { key throws(SettingFault) in try key.parse(member.value) }
      } else {
        let near = Suggestion.nearest(to: member.key, among: SettingTable.webhookOptions.map(\.name))
        let advice = near.map { "did you mean \"\($0)\"?" } ?? "remove it (docs/CONFIGURATION.md lists all options)"
        let name = "\(Settings.Webhook.section).\(webhook).\(member.key)"
        layer.report(source, name, "is not an option of a webhook; \(advice)")
      }
    }
  }
}

/// Finds what some options of a webhook together do not allow.
enum WebhookRules {
  static func problems(_ settings: Settings) -> [SettingsError.Problem] {
    var problems: [SettingsError.Problem] = []
    func report<Value>(_ setting: Setting<Value>, _ message: String) {
      problems.append(.init(source: setting.place.source, keyPath: setting.place.key, message: message))
    }
    for (index, webhook) in settings.webhooks.enumerated() {
      if index == Settings.Webhook.most {
        report(webhook.$url, "is the address of one webhook too many; at most \(Settings.Webhook.most) are allowed")
      }
      if let fault = faultOfAddress(webhook) { report(webhook.$url, fault) }
      if webhook.secret.isEmpty {
        report(webhook.$secret, "is not set; write at least 32 random bytes, for example from `openssl rand -hex 32`")
      }
      if webhook.events.isEmpty {
        report(webhook.$events, "is empty, so nothing would be told; write for example [\"publication\"]")
      }
      for name in webhook.namespaces where !isKnown(name, settings) {
        report(
          webhook.$namespaces,
          "holds \(SettingKey.quote(name)), which is not configured; write the name of a namespace, \(Settings.Webhook.withoutNamespace) or *"
        )
      }
      if webhook.minimumBackoff > webhook.maximumBackoff {
        report(webhook.$minimumBackoff, "is longer than \(webhook.$maximumBackoff); make it shorter")
      }
      if webhook.batchBytes > webhook.maxWaitingBytes {
        report(webhook.$batchBytes, "is more than \(webhook.$maxWaitingBytes); make it smaller")
      }
    }
    return problems
  }

  private static func isKnown(_ namespace: String, _ settings: Settings) -> Bool {
    ["*", Settings.Webhook.withoutNamespace].contains(namespace) || settings.channels.namespaces[namespace] != nil
  }

  private static func faultOfAddress(_ webhook: Settings.Webhook) -> String? {
    let url = webhook.url
    if url.isEmpty { return "is not set; write the address that events are posted to" }
    let isSecure = url.hasPrefix("https://")
    guard isSecure || url.hasPrefix("http://"),
      url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), url.utf8.count > (isSecure ? 8 : 7)
    else { return "is \(SettingKey.quote(url)); write an address such as https://example.com/fanfare" }
    if url.dropFirst(isSecure ? 8 : 7).prefix(while: { !"/?#".contains($0) }).contains("@") {
      return "holds a user or password, which would stand in logs; requests are signed instead, so leave it out"
    }
    if isSecure || webhook.allowPrivateAddresses { return nil }
    return
      "does not begin with https://, so whoever is on the way could read events; write https://, or set \(webhook.$allowPrivateAddresses) where the receiver is beside"
  }
}
