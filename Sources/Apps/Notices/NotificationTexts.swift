import Wire

/// What notifications say, by topic and language.
///
/// A text may have `{sender}`, `{text}` and `{count}`. It is used only where all that it names is known: the sender and
/// the text where the person's preview and the topic's secrecy allow, the count where there is more than one. So the
/// texts of a topic stand from the one that says most to the one that names nothing. Of the languages that a device's
/// stands for (`de-AT`, then `de`, then `en`), the first counts that has a usable text for the topic, or for all
/// (`*`).
public struct NotificationTexts: Sendable, Equatable {
  public struct Text: Sendable, Equatable {
    /// `en`, `de-AT`.
    public var language: String
    /// `clique.message`; `clique.*` for all that begin so; `*` for all.
    public var topic: String
    public var title: String
    public var body: String

    public init(language: String, topic: String, title: String, body: String = "") {
      self.language = language
      self.topic = topic
      self.title = title
      self.body = body
    }
  }

  /// What may be said of what is waiting.
  public struct Values: Sendable, Equatable {
    public var sender: String?
    public var text: String?
    public var count: Int

    public init(sender: String? = nil, text: String? = nil, count: Int = 1) {
      self.sender = sender
      self.text = text
      self.count = count
    }
  }

  /// Before the built-in ones of the same language.
  public var own: [Text]

  public init(_ own: [Text] = []) { self.own = own }

  /// Bytes of a title and a body that are handed on. Services take less: what is too long for one is shortened there.
  static let titleBytes = 256
  static let bodyBytes = 1024

  /// The texts for a topic in a device's language.
  public func text(
    of topic: String, in language: String?, _ values: Values
  ) -> (title: String, body: String) {
    for language in Self.chain(language) {
      for texts in [own, Self.builtIn] {
        let usable = texts.filter { Self.areSame($0.language, language) }
        for isGeneral in [false, true] {
          for text in usable where (text.topic == "*") == isGeneral && PushTopics.areMet([text.topic], by: topic) {
            guard let title = Self.filled(text.title, values), let body = Self.filled(text.body, values) else {
              continue
            }
            return (Self.cut(title, Self.titleBytes), Self.cut(body, Self.bodyBytes))
          }
        }
      }
    }
    return ("New notification", "")
  }

  /// `de-AT` → `de-AT`, `de`, `en`.
  static func chain(_ language: String?) -> [String] {
    var chain: [String] = []
    var parts = (language ?? "en").split(separator: "-")
    while !parts.isEmpty {
      chain.append(parts.joined(separator: "-"))
      parts.removeLast()
    }
    if chain.last.map({ areSame($0, "en") }) != true { chain.append("en") }
    return chain
  }

  /// Tags of languages are ASCII, and the same in capitals.
  private static func areSame(_ a: String, _ b: String) -> Bool { a.lowercased().hasSameBytes(as: b.lowercased()) }

  /// A text with its values; nil: one is not known. In one pass, so that a sender called `{text}` stays that.
  static func filled(_ text: String, _ values: Values) -> String? {
    var filled = ""
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      filled += rest[..<open]
      rest = rest[open...]
      guard let close = rest.firstIndex(of: "}") else { break }
      switch rest[...close] {
      case "{sender}":
        guard let sender = values.sender, !sender.isEmpty else { return nil }
        filled += sender
      case "{text}":
        guard let text = values.text, !text.isEmpty else { return nil }
        filled += text
      case "{count}":
        guard values.count > 1 else { return nil }
        filled += String(values.count)
      default:
        filled += "{"
        rest = rest.dropFirst()
        continue
      }
      rest = rest[close...].dropFirst()
    }
    return filled + rest
  }

  /// The beginning of a text, whole characters of it.
  static func cut(_ text: String, _ most: Int) -> String {
    if text.utf8.count <= most { return text }
    var (cut, bytes) = ("", 3)
    for character in text {
      bytes += character.utf8.count
      if bytes > most { break }
      cut.append(character)
    }
    return cut + "…"
  }
}

extension NotificationTexts {
  private static func english(_ topic: String, _ texts: [(title: String, body: String)]) -> [Text] {
    texts.map { Text(language: "en", topic: topic, title: $0.title, body: $0.body) }
  }

  /// Of what is published on channels (``PushIntent/Content/title``).
  private static let channel = [("{count} new messages", ""), ("New message", "")]

  /// English texts for what the apps of the server tell, and for everything else.
  public static let builtIn: [Text] =
    english(
      "clique.message",
      [
        ("{sender} ({count})", "{text}"), ("{sender}", "{text}"), ("{sender}", "{count} new messages"),
        ("{sender}", "New message"), ("{count} new messages", ""), ("New message", ""),
      ])
    + english(
      "clique.mention",
      [("{sender} mentioned you", "{text}"), ("{sender} mentioned you", ""), ("You were mentioned", "")])
    + english(
      "clique.request",
      [("{sender} wants to write to you", ""), ("{count} new message requests", ""), ("New message request", "")])
    + english("clique.accepted", [("{sender} accepted your request", ""), ("Your request was accepted", "")])
    + english(
      "clique.group",
      [
        ("{sender} ({count})", "{text}"), ("{sender}", "{text}"), ("{sender}", "{count} new messages in a group"),
        ("{sender}", "New message in a group"), ("{count} new messages in a group", ""), ("New message in a group", ""),
      ])
    + english("state.sealed", [("{count} new States", ""), ("New State", "Answer it to see it.")])
    + english("state.ends", [("A State ends soon", "Answer it to see it.")])
    + english("state.revealed", [("{sender} answered your State", ""), ("Your State was answered", "")])
    + english("state.reaction", [("{sender} reacted to your State", ""), ("New reaction", "")])
    + english("state.*", [("News in State", "")])
    + english("channel", channel) + english("channel.*", channel)
    + english(
      "*",
      [
        ("{sender}", "{text}"), ("{sender}", "{count} new notifications"), ("{sender}", "New notification"),
        ("{count} new notifications", ""), ("New notification", ""),
      ])
}
