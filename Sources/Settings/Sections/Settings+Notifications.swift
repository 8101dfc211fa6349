import Wire

extension Settings {
  /// What a notification says, in one language, of one topic.
  public struct NotificationText: Sendable, Equatable {
    /// Most of them: each notification looks through all.
    static let most = 1000
    static let names = ["language", "topic", "title", "body"]

    public let language: String
    public let topic: String
    public let title: String
    /// May be empty.
    public let body: String

    init(_ members: [String: String]) {
      language = members["language"] ?? ""
      topic = members["topic"] ?? "*"
      title = members["title"] ?? ""
      body = members["body"] ?? ""
    }
  }
}

/// Finds what settings of notifications to people do not allow, alone and together.
enum NotificationFaults {
  private static let titleBytes = 256
  private static let bodyBytes = 1024

  /// What is wrong with a text, as it follows the key of the list; nil: nothing.
  static func ofText(_ text: Settings.NotificationText) -> String? {
    if !PushLanguage.isValid(text.language) {
      return
        "holds a text whose language is \(SettingKey.quote(text.language)); write a tag such as \"de\" or \"de-AT\""
    }
    if !PushTopics.isValid(text.topic) {
      return
        "holds a text whose topic is \(SettingKey.quote(text.topic)); write one such as \"clique.message\", \"clique.*\" or \"*\""
    }
    let place = "holds a text for \(SettingKey.quote(text.topic)) in \(SettingKey.quote(text.language))"
    if text.title.isEmpty { return "\(place) without a title; a notification has to show one" }
    if text.title.utf8.count > titleBytes || text.body.utf8.count > bodyBytes {
      return "\(place) that is too long; titles have at most \(titleBytes) bytes and bodies \(bodyBytes)"
    }
    guard let name = unknownName(in: text.title) ?? unknownName(in: text.body) else { return nil }
    return "\(place) with \(SettingKey.quote(name)), which stands for nothing; write {sender}, {text} or {count}"
  }

  /// What stands in braces and is no name of a value.
  private static func unknownName(in text: String) -> String? {
    text.matches(of: /\{[A-Za-z_]+\}/).map { String($0.output) }
      .first { !["{sender}", "{text}", "{count}"].contains($0) }
  }

  static func problems(_ push: Settings.Push) -> [SettingsError.Problem] {
    var problems: [SettingsError.Problem] = []
    func report<Value>(_ setting: Setting<Value>, _ message: String) {
      problems.append(.init(source: setting.place.source, keyPath: setting.place.key, message: message))
    }
    if push.texts.count > Settings.NotificationText.most {
      report(
        push.$texts,
        "holds \(push.texts.count) texts; write at most \(Settings.NotificationText.most), and leave out what is built in"
      )
    }
    guard push.notifications else { return problems }
    if !push.isOn {
      report(
        push.$notifications,
        "is true, but no service has a key, so no device could be registered; set \(push.web.$vapidPrivateKeyFile), \(push.apns.$keyFile) or \(push.fcm.$serviceAccountFile)"
      )
    }
    for time in [push.$delay, push.$repeatInterval] where time.wrappedValue >= push.timeToLive {
      report(time, "is not shorter than \(push.$timeToLive), so nobody would be notified; make it shorter")
    }
    return problems
  }

  /// What keeps people from being notified of what is published on a channel, as it follows the option's key; nil:
  /// nothing.
  static func ofChannel(_ options: ChannelOptions, _ push: Settings.Push) -> String? {
    guard options.push else { return nil }
    if !push.notifications {
      return "is true, but \(push.$notifications) is not, so nobody is notified; set it, or leave this out"
    }
    if options.kind == .map {
      return "is true on maps, whose entries nobody is notified of; write \"kind\": \"stream\", or leave it out"
    }
    if !options.allowUserLimitedChannels {
      return
        "is true, but allow_user_limited_channels is not, and who is notified stands in names such as inbox:#ann,bob; add \"allow_user_limited_channels\": true"
    }
    if !options.keepsHistory {
      return
        "is true, but nothing is kept, so whoever opens the notification would find nothing; set history_size and history_ttl"
    }
    return nil
  }
}
