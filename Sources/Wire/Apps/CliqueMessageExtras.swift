/// What a message refers to. A class, so that a message that refers to nothing carries an empty pointer.
public final class CliqueMessageExtras: Sendable, Equatable {
  /// The offset of the message that is replied to, from 1; nil: none.
  public let reply: UInt64?
  /// Members who are mentioned, each once.
  public let mentions: [String]

  /// Most people that one message mentions: as many as a group can have.
  static let mostMentions = 50

  /// - Parameter reply: 0: none.
  init(reply: UInt64, mentions: [String]) {
    self.reply = reply == 0 ? nil : reply
    self.mentions = mentions
  }

  public static func == (a: CliqueMessageExtras, b: CliqueMessageExtras) -> Bool {
    a.reply == b.reply && a.mentions.elementsEqual(b.mentions) { $0.hasSameBytes(as: $1) }
  }
}

extension CliqueMessageExtras {
  /// Reads `"reply": offset, "mentions": [user, …]`; nil where the command has neither.
  convenience init?(_ fields: CommandFields) throws(ClientError) {
    let reply = try fields.number("reply")
    let named = try fields.strings("mentions")
    if reply == nil, named?.isEmpty ?? true { return nil }
    if reply == 0 { throw .badRequest.saying("`reply` is the offset of a message, from 1") }
    var mentions: [String] = []
    var seen: Set<IdentifierKey> = []
    for user in named ?? [] {
      try UserIdentifier.check(user, most: CliqueCommand.maximumUserBytes)
      if seen.insert(IdentifierKey(user)).inserted { mentions.append(user) }
    }
    if mentions.count > Self.mostMentions {
      throw .badRequest.saying("a message mentions at most \(Self.mostMentions) people; name fewer")
    }
    self.init(reply: UInt64(reply ?? 0), mentions: mentions)
  }
}
