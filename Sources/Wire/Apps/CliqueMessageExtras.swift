/// What a message refers to. A class, so that a message that refers to nothing carries an empty pointer.
public final class CliqueMessageExtras: Sendable, Equatable {
  /// A picture that was uploaded before.
  public struct Picture: Sendable, Equatable {
    public let id: String
    /// What the client draws until the picture is there; "": nothing. The server does not look into it.
    public let hash: String

    /// Longest hash, in bytes: those that are in use have 25 to 60.
    static let longestHash = 100

    var payloadBytes: Int { id.utf8.count + hash.utf8.count }
  }

  /// The offset of the message that is replied to, from 1; nil: none.
  public let reply: UInt64?
  /// Members who are mentioned, each once.
  public let mentions: [String]
  public let picture: Picture?

  /// Most people that one message mentions: as many as a group can have.
  static let mostMentions = 50

  /// - Parameter reply: 0: none.
  init(reply: UInt64, mentions: [String], picture: Picture? = nil) {
    self.reply = reply == 0 ? nil : reply
    self.mentions = mentions
    self.picture = picture
  }

  public static func == (a: CliqueMessageExtras, b: CliqueMessageExtras) -> Bool {
    a.reply == b.reply && a.mentions.elementsEqual(b.mentions) { $0.hasSameBytes(as: $1) } && a.picture == b.picture
  }
}

extension CliqueMessageExtras {
  /// Reads `"reply": offset, "mentions": [user, …], "picture": {…}`; nil where the command has none of them.
  convenience init?(_ fields: CommandFields) throws(ClientError) {
    let reply = try fields.number("reply")
    let named = try fields.strings("mentions")
    let picture = try fields.object("picture").map(Picture.init)
    if reply == nil, named?.isEmpty ?? true, picture == nil { return nil }
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
    self.init(reply: UInt64(reply ?? 0), mentions: mentions, picture: picture)
  }
}

extension CliqueMessageExtras.Picture {
  /// Reads `{"id": …, "hash": …}`.
  init(_ fields: CommandFields) throws(ClientError) {
    guard let id = try fields.string("id") else {
      throw .badRequest.saying("`picture` has no `id`; send that under which you have uploaded it")
    }
    guard StatePictureID.isValid(id) else { throw StatePictureID.unknown }
    let hash = try fields.string("hash") ?? ""
    guard hash.utf8.count <= Self.longestHash, hash.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .badRequest.saying(
        "`hash` of a picture has at most \(Self.longestHash) printable characters of ASCII; write its bytes in base64")
    }
    self.init(id: id, hash: hash)
  }
}

extension CliqueMessage {
  /// The payload of a message with its picture.
  ///
  /// - Parameter picture: the JSON object that tells of it.
  public func payload(with picture: [UInt8]) -> [UInt8] {
    // The payload is an object with at least its text, so something stands before the comma.
    payload.dropLast() + Array(#","picture":"#.utf8) + picture + [UInt8(ascii: "}")]
  }
}
