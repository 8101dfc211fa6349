extension CliqueCommand {
  /// What an administrator does with a group.
  public enum GroupChange: Sendable, Equatable {
    /// The people, each once, at least one, and not the caller.
    case add([String])
    case remove(String)
    /// The new name; "": none.
    case rename(String)
    case appoint(String)
    case dismiss(String)
    case makeLink(NewGroupLink)
    case listLinks
    /// The link with the id; nil: all of them.
    case revokeLinks(String?)

    var method: Method {
      switch self {
      case .add: .addToGroup
      case .remove: .removeFromGroup
      case .rename: .renameGroup
      case .appoint: .appoint
      case .dismiss: .dismiss
      case .makeLink: .makeGroupLink
      case .listLinks: .groupLinks
      case .revokeLinks: .revokeGroupLinks
      }
    }
  }

  public struct NewGroupLink: Sendable, Equatable {
    /// Milliseconds for which the link holds.
    public var lifetime: Int64
    /// How many people may join by it; nil: as many as the group takes.
    public var uses: Int?
    /// Drawn where the command is read, so that a command that a gateway repeats makes the same link.
    public var secret: String

    static let longestLifetime: Int64 = 30 * 86_400_000
    static let shortestLifetime: Int64 = 1000
    static let usualLifetime: Int64 = 7 * 86_400_000
    static let mostUses: Int64 = 1000
  }

  /// What stands in a link by which somebody joins: `<conversation>.<secret>`.
  public struct GroupLink: Sendable, Equatable {
    public var conversation: String
    /// 32 hexadecimal digits: 128 bits, which nobody guesses.
    public var secret: String

    public init(conversation: String, secret: String) {
      self.conversation = conversation
      self.secret = secret
    }

    public var text: String { "\(conversation).\(secret)" }

    /// One error for each link by which the caller cannot join, so that nobody learns which groups there are, nor from
    /// which one was removed.
    public static let ended = ClientError.permissionDenied.saying(
      "this link does not hold, or no more; ask somebody in the group for another")
  }
}

// MARK: From JSON

extension CliqueCommand.GroupChange {
  init(_ method: CliqueCommand.Method, _ fields: CommandFields, _ user: String) throws(ClientError) {
    switch method {
    case .addToGroup: self = .add(try fields.members(besides: user))
    case .removeFromGroup:
      let person = try fields.person()
      if person.hasSameBytes(as: user) {
        throw .badRequest.saying("`person` is yourself; leave the group with clique.group.leave")
      }
      self = .remove(person)
    case .renameGroup:
      guard let name = try fields.string("name") else {
        throw .badRequest.saying("`name` is missing; send the new name, or \"\" for none")
      }
      self = .rename(name)
    case .appoint: self = .appoint(try fields.person())
    case .dismiss: self = .dismiss(try fields.person())
    case .makeGroupLink: self = .makeLink(try CliqueCommand.NewGroupLink(fields))
    case .groupLinks: self = .listLinks
    default: self = .revokeLinks(try fields.string("id"))
    }
  }
}

extension CliqueCommand.NewGroupLink {
  /// `{"lifetime": milliseconds, "uses": n}`, each optional
  fileprivate init(_ fields: CommandFields) throws(ClientError) {
    lifetime = try fields.number("lifetime") ?? Self.usualLifetime
    guard (Self.shortestLifetime...Self.longestLifetime).contains(lifetime) else {
      throw .badRequest.saying(
        "`lifetime` is in milliseconds, from \(Self.shortestLifetime) to \(Self.longestLifetime) (30 days)")
    }
    let count = try fields.number("uses")
    if let count, !(1...Self.mostUses).contains(count) {
      throw .badRequest.saying("`uses` is from 1 to \(Self.mostUses); leave it out for as many as the group takes")
    }
    uses = count.map { Int($0) }
    // The system's generator, which nobody can foretell.
    secret = TraceContext.hexadecimal(.random(in: .min ... .max)) + TraceContext.hexadecimal(.random(in: .min ... .max))
  }
}

extension CliqueCommand.GroupLink {
  /// `{"link": …}`
  init(_ fields: CommandFields) throws(ClientError) {
    guard let link = try fields.string("link"), !link.isEmpty else {
      throw .badRequest.saying("`link` is missing or empty; send the link that you were given")
    }
    let parts = link.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, CliqueCommand.isConversation(parts[0]), CliqueCommand.isGroup(String(parts[0])),
      parts[1].utf8.count == 32
    else { throw Self.ended }
    self.init(conversation: String(parts[0]), secret: String(parts[1]))
  }
}

extension CommandFields {
  fileprivate func person() throws(ClientError) -> String {
    guard let person = try string("person") else { throw .badRequest.saying("`person` is missing; name the member") }
    try UserIdentifier.check(person, most: CliqueCommand.maximumUserBytes)
    return person
  }
}

// MARK: On the link

extension CliqueCommand.GroupChange {
  func write(to sink: inout some ByteSink) {
    switch self {
    case .add(let members): sink.write(members)
    case .remove(let user), .appoint(let user), .dismiss(let user): sink.write(user)
    case .rename(let name): sink.write(name)
    case .makeLink(let link):
      sink.write(UInt64(bitPattern: link.lifetime))
      sink.write(UInt64(link.uses ?? 0))
      sink.write(link.secret)
    case .listLinks: break
    case .revokeLinks(let id): sink.write(optionalText: id)
    }
  }

  init(_ method: CliqueCommand.Method, from reader: inout ByteReader) throws(MalformedMessage) {
    switch method {
    case .addToGroup: self = .add(try reader.readStrings())
    case .removeFromGroup: self = .remove(try reader.readString())
    case .renameGroup: self = .rename(try reader.readString())
    case .appoint: self = .appoint(try reader.readString())
    case .dismiss: self = .dismiss(try reader.readString())
    case .makeGroupLink:
      let lifetime = Int64(bitPattern: try reader.readNumber())
      let uses = Int(try reader.readLimit())
      self = .makeLink(.init(lifetime: lifetime, uses: uses == 0 ? nil : uses, secret: try reader.readString()))
    case .groupLinks: self = .listLinks
    case .revokeGroupLinks: self = .revokeLinks(try reader.readOptionalString())
    default: throw MalformedMessage()
    }
  }
}
