// How commands of Clique are read from JSON. Only commands that no record could make right are refused here.

extension CliqueCommand {
  init(_ name: String, _ data: [UInt8], by user: String) throws(ClientError) {
    try UserIdentifier.check(user, most: Self.maximumUserBytes)
    let fields = try CommandFields(data)
    guard let method = Method.named[name] else {
      throw .methodNotFound.saying("there is no such method; docs/CLIQUE.md lists those of clique")
    }
    switch method {
    case .send: self = .send(try Send(fields, user))
    case .accept: self = .accept(try Target(fields, "person", user))
    case .decline: self = .decline(try Target(fields, "person", user))
    case .disconnect: self = .disconnect(try Target(fields, "person", user))
    case .block: self = .block(try Target(fields, "person", user))
    case .unblock: self = .unblock(try Target(fields, "person", user))
    case .read: self = .read(try Mark(fields))
    case .delivered: self = .delivered(try Mark(fields))
    case .typing: self = .typing(try fields.namedConversation())
    case .createGroup: self = .createGroup(try NewGroup(fields, user))
    case .leaveGroup:
      guard let id = try fields.conversation() else { throw Self.noConversation }
      self = .leaveGroup(id)
    case .addToGroup, .removeFromGroup, .renameGroup, .appoint, .dismiss, .makeGroupLink, .groupLinks,
      .revokeGroupLinks:
      self = .changeGroup(try fields.group(), try GroupChange(method, fields, user))
    case .joinGroup: self = .joinGroup(try GroupLink(fields))
    case .keep: self = .keep(try Keep(fields, try Target(fields, "person", user)))
    case .draft: self = .draft(try DraftText(fields, try Target(fields, "person", user)))
    case .react: self = .react(try React(fields, in: try fields.namedConversation()))
    case .disappear: self = .disappear(try Disappear(fields, try Target(fields, "person", user)))
    case .totals: self = .totals
    case .report: self = .report(try Report(fields, by: user))
    case .search: self = .search(try Search(fields))
    case .enter: self = .enter(place: try fields.place(), hasToken: fields.has("token"))
    case .leave: self = .leave(place: try fields.place())
    case .invisible:
      guard let on = try fields.boolean("on") else {
        throw .badRequest.saying("`on` is missing; send true to be invisible, false to be seen")
      }
      self = .invisible(on)
    case .crossings: self = .crossings(try Crossings(fields))
    case .setProfile: self = .setProfile(try ProfileChange(data))
    case .profiles: self = .profiles(try fields.people())
    case .people: self = .people(try PeopleSearch(fields))
    case .pictureAdded, .pictureUpload, .pictureKey, .pictureGone, .pictureDiscard, .lend, .giveBack, .reads, .evidence:
      throw .methodNotFound
    }
  }

  /// Refuses a conversation: the same for one that does not exist and for one that is somebody else's, so that nobody
  /// learns which it is.
  public static let noConversation = ClientError.permissionDenied.saying(
    "you have no such conversation; take its id from your list, or name the person")

  public static func isGroup(_ id: String) -> Bool { id.utf8.first == UInt8(ascii: "g") }

  /// Whether a text has the form of a conversation's id: only then is it looked up, so that nobody can make the server
  /// remember ids that they make up.
  public static func isConversation(_ id: some StringProtocol) -> Bool {
    let bytes = id.utf8
    guard bytes.count == 33, bytes.first == UInt8(ascii: "p") || bytes.first == UInt8(ascii: "g") else { return false }
    return bytes.dropFirst().allSatisfy {
      UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
    }
  }
}

extension CliqueCommand.Target {
  /// `{"person": user | "conversation": id}`, where `name` may be another word for the person.
  fileprivate init(_ fields: CommandFields, _ name: StaticString, _ user: String) throws(ClientError) {
    if let person = try fields.string(name) {
      if person.hasSameBytes(as: user) { throw .badRequest.saying("`\(name)` is yourself; name another person") }
      try UserIdentifier.check(person, most: CliqueCommand.maximumUserBytes)
      self = .person(person)
    } else if let id = try fields.conversation() {
      self = .conversation(CliqueConversation(id))
    } else {
      throw .badRequest.saying("name the other person in `\(name)`, or the conversation in `conversation`")
    }
  }
}

extension CliqueCommand.Send {
  /// `{"to": user | "conversation": id, "text": …, "key": …, "reply": offset, "mentions": [user, …],
  /// "picture": {"id": …, "hash": …}}`, where the text may be left out or empty beside a picture.
  fileprivate init(_ fields: CommandFields, _ user: String) throws(ClientError) {
    let said = try fields.text("text")
    let hasText = said.map { !$0.raw.isEmpty } ?? false
    if !hasText, !fields.has("picture") {
      throw .badRequest.saying("`text` is missing or empty; send what you want to say, or a picture")
    }
    let text = said ?? CommandFields.Text(raw: [], hasEscapes: false)
    let key = CliqueMessageKey(own: try fields.key(), user: user)
    // A command that names a group needs nothing more, whatever else it names.
    if let id = try fields.conversation(), CliqueCommand.isGroup(id) {
      target = .conversation(CliqueConversation(id))
    } else {
      target = try CliqueCommand.Target(fields, "to", user)
    }
    // Nearly all messages have nothing but a target, a text and a key, and are not looked through for more.
    let isPlain = hasText && fields.count <= (key.own.isEmpty ? 2 : 3)
    message = CliqueMessage(text, key, isPlain ? nil : try CliqueMessageExtras(fields))
  }
}

extension CliqueCommand.Mark {
  /// `{"conversation": id, "offset": n}`
  fileprivate init(_ fields: CommandFields) throws(ClientError) {
    conversation = try fields.namedConversation()
    guard let offset = try fields.number("offset") else {
      throw .badRequest.saying("`offset` is missing; send that of the last message")
    }
    self.offset = UInt64(offset)
  }
}

extension CliqueCommand.NewGroup {
  /// `{"members": [user, …], "name": …, "key": …}`
  fileprivate init(_ fields: CommandFields, _ user: String) throws(ClientError) {
    members = try fields.members(besides: user)
    name = try fields.string("name") ?? ""
    key = try fields.key()
  }
}

extension CliqueCommand.Search {
  /// `{"text": …, "person": user, "conversation": id, "limit": n}`
  fileprivate init(_ fields: CommandFields) throws(ClientError) {
    guard let text = try fields.string("text"), text.utf8.contains(where: { $0 > 0x20 }) else {
      throw .badRequest.saying("`text` is missing or empty; send the words to look for")
    }
    self.text = text
    person = try fields.string("person")
    if let person { try UserIdentifier.check(person, most: CliqueCommand.maximumUserBytes) }
    limit = Int(min(try fields.number("limit") ?? 50, 100))
    conversation = try fields.conversation()
  }
}

extension CliqueCommand.Crossings {
  /// `{"order": "recent" | "time", "limit": n}`
  fileprivate init(_ fields: CommandFields) throws(ClientError) {
    switch try fields.string("order") ?? "recent" {
    case "recent": isByTime = false
    case "time": isByTime = true
    default:
      throw .badRequest.saying("`order` is \"recent\", for seen last first, or \"time\", for most time together")
    }
    limit = Int(min(try fields.number("limit") ?? 100, 500))
  }
}

extension CommandFields {
  /// The people that a command names as members, each once, without the caller.
  func members(besides user: String) throws(ClientError) -> [String] {
    var members: [String] = []
    var seen: Set<IdentifierKey> = [IdentifierKey(user)]
    for member in try strings("members") ?? [] {
      try UserIdentifier.check(member, most: CliqueCommand.maximumUserBytes)
      if seen.insert(IdentifierKey(member)).inserted { members.append(member) }
    }
    if members.isEmpty { throw .badRequest.saying("`members` is missing or empty; name who is to be in it") }
    return members
  }

  /// The conversation that a command names; nil where it names none.
  func conversation() throws(ClientError) -> String? {
    guard let id = try string("conversation") else { return nil }
    guard CliqueCommand.isConversation(id) else { throw CliqueCommand.noConversation }
    return id
  }

  /// The group that a command names. An id of a conversation of two is none that the caller has.
  fileprivate func group() throws(ClientError) -> String {
    let id = try namedConversation()
    guard CliqueCommand.isGroup(id) else { throw CliqueCommand.noConversation }
    return id
  }

  fileprivate func namedConversation() throws(ClientError) -> String {
    guard let id = try conversation() else {
      throw .badRequest.saying("`conversation` is missing; take its id from your list")
    }
    return id
  }

  fileprivate func key() throws(ClientError) -> String {
    let own = try string("key") ?? ""
    if own.utf8.count > CliqueMessageKey.maximumBytes {
      throw .badRequest.saying("`key` has at most \(CliqueMessageKey.maximumBytes) bytes; draw a shorter one")
    }
    return own
  }

  fileprivate func place() throws(ClientError) -> String {
    guard let name = try string("place"), !name.isEmpty else {
      throw .badRequest.saying("`place` is missing or empty; name the geofence")
    }
    if name.utf8.count > 100 || name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      throw .badRequest.saying("`place` has at most 100 bytes and no control characters; choose another name")
    }
    return name
  }
}
