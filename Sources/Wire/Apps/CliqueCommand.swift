/// A command of the app Clique (`docs/CLIQUE.md`), read and checked.
///
/// Indirect, so that handing a command from the event loop to the broker, which looks into it once, copies one pointer.
public indirect enum CliqueCommand: Sendable, Equatable {
  case send(Send)
  case accept(Target)
  case decline(Target)
  case disconnect(Target)
  case block(Target)
  case unblock(Target)
  case read(Mark)
  case delivered(Mark)
  /// Somebody types in the conversation with the id.
  case typing(String)
  case createGroup(NewGroup)
  /// Somebody leaves the group with the conversation id.
  case leaveGroup(String)
  /// An administrator changes the group with the conversation id.
  case changeGroup(String, GroupChange)
  case joinGroup(GroupLink)
  case keep(Keep)
  case draft(DraftText)
  case react(React)
  case disappear(Disappear)
  /// How much is unread.
  case totals
  case report(Report)
  case search(Search)
  /// - hasToken: the command holds something that was to be checked as a place token.
  case enter(place: String, hasToken: Bool)
  case leave(place: String)
  case invisible(Bool)
  case crossings(Crossings)
  case setProfile(ProfileChange)
  /// The profiles of people, as far as the caller may see them.
  case profiles([String])
  case people(PeopleSearch)
  // Commands of gateways.
  case picture(PictureCommand)
  /// Asks home for what a conversation elsewhere needs so that a picture can be sent in it (``Send/lent``).
  case lend(Lending)
  /// Says that a send for which a picture was lent was refused, so that the picture can be used for another.
  case giveBack(Lending)
  /// Asks a conversation whether the caller reads the message with a picture.
  case reads(PictureReading)
  /// Asks a conversation for what the caller could read there of who is reported (``Report/evidence``).
  case evidence(Report)

  /// The commands without their contents; the raw value stands for a command on the link.
  public enum Method: UInt8, Sendable, CaseIterable {
    case send = 1
    case accept, decline, disconnect, block, unblock, read, delivered, typing, createGroup, leaveGroup, search, enter
    case leave, invisible, crossings
    case addToGroup, removeFromGroup, renameGroup, appoint, dismiss, makeGroupLink, groupLinks, revokeGroupLinks
    case joinGroup, keep
    case draft, totals, react, report
    case setProfile, profiles, people
    case disappear
    case pictureAdded, pictureUpload, pictureKey, pictureGone, pictureDiscard
    case lend, giveBack, reads, evidence

    public var name: String {
      switch self {
      case .send: "clique.send"
      case .accept: "clique.accept"
      case .decline: "clique.decline"
      case .disconnect: "clique.disconnect"
      case .block: "clique.block"
      case .unblock: "clique.unblock"
      case .read: "clique.read"
      case .delivered: "clique.delivered"
      case .typing: "clique.typing"
      case .createGroup: "clique.group.create"
      case .leaveGroup: "clique.group.leave"
      case .search: "clique.search"
      case .enter: "clique.enter"
      case .leave: "clique.leave"
      case .invisible: "clique.invisible"
      case .crossings: "clique.crossings"
      case .addToGroup: "clique.group.add"
      case .removeFromGroup: "clique.group.remove"
      case .renameGroup: "clique.group.rename"
      case .appoint: "clique.group.appoint"
      case .dismiss: "clique.group.dismiss"
      case .makeGroupLink: "clique.group.link"
      case .groupLinks: "clique.group.links"
      case .revokeGroupLinks: "clique.group.revoke"
      case .joinGroup: "clique.group.join"
      case .keep: "clique.keep"
      case .draft: "clique.draft"
      case .react: "clique.react"
      case .totals: "clique.totals"
      case .report: "clique.report"
      case .setProfile: "clique.profile.set"
      case .profiles: "clique.profiles"
      case .people: "clique.people"
      case .disappear: "clique.disappear"
      case .pictureAdded: "clique.picture.added"
      case .pictureUpload: "clique.picture.upload"
      case .pictureKey: "clique.picture.key"
      case .pictureGone: "clique.picture.gone"
      case .pictureDiscard: "clique.picture.discard"
      case .lend: "clique.picture.lend"
      case .giveBack: "clique.picture.back"
      case .reads: "clique.picture.reads"
      case .evidence: "clique.report.evidence"
      }
    }

    static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })
  }

  /// Whom a command is about. A person or conversation has the form of an id, and is not the caller.
  public enum Target: Sendable, Equatable {
    case person(String)
    case conversation(CliqueConversation)
  }

  public struct Send: Sendable, Equatable {
    public var target: Target
    public var message: CliqueMessage
    /// What home has answered to ``CliqueCommand/lend(_:)``; empty: the picture lies in the conversation's partition,
    /// there is none, or it was not lent. Gateways alone set it.
    public var lent: [UInt8] = []
  }

  public struct Mark: Sendable, Equatable {
    public var conversation: String
    public var offset: UInt64
  }

  public struct NewGroup: Sendable, Equatable {
    /// The members besides the caller, each once, in the order in which they were named. At least one.
    public var members: [String]
    /// The group's name; "": none.
    public var name: String
    /// The client's key for the command; "": none.
    public var key: String
  }

  public struct Search: Sendable, Equatable {
    public var text: String
    /// Searches only what this user said; nil: what anybody said.
    public var person: String?
    /// Searches this conversation; nil: all of them.
    public var conversation: String?
    public var limit: Int
  }

  public struct Crossings: Sendable, Equatable {
    /// Sorts by the time together, longest first; otherwise by who was seen last.
    public var isByTime: Bool
    public var limit: Int
  }

  /// Longest user id in bytes, so that its channels' names fit.
  public static let maximumUserBytes = 180

  public var method: Method {
    switch self {
    case .send: .send
    case .accept: .accept
    case .decline: .decline
    case .disconnect: .disconnect
    case .block: .block
    case .unblock: .unblock
    case .read: .read
    case .delivered: .delivered
    case .typing: .typing
    case .createGroup: .createGroup
    case .leaveGroup: .leaveGroup
    case .changeGroup(_, let change): change.method
    case .joinGroup: .joinGroup
    case .keep: .keep
    case .draft: .draft
    case .react: .react
    case .totals: .totals
    case .report: .report
    case .disappear: .disappear
    case .search: .search
    case .enter: .enter
    case .leave: .leave
    case .invisible: .invisible
    case .crossings: .crossings
    case .setProfile: .setProfile
    case .profiles: .profiles
    case .people: .people
    case .picture(let command): command.method
    case .lend: .lend
    case .giveBack: .giveBack
    case .reads: .reads
    case .evidence: .evidence
    }
  }

  /// Whether only a gateway itself gives the command.
  public var isGateways: Bool {
    switch self {
    case .picture, .lend, .giveBack, .reads, .evidence: true
    default: false
    }
  }

  var payloadBytes: Int {
    switch self {
    case .send(let send):
      send.message.payload.count + (send.message.extras?.picture?.payloadBytes ?? 0) + send.lent.count
    case .createGroup(let group): group.members.reduce(group.name.utf8.count) { $0 + 16 + $1.utf8.count }
    case .changeGroup(_, .add(let members)): members.reduce(0) { $0 + 16 + $1.utf8.count }
    case .search(let search): search.text.utf8.count
    case .draft(let draft): draft.text.utf8.count
    case .report(let report), .evidence(let report): report.text.utf8.count + report.evidence.count
    case .setProfile(let change): change.fields.reduce(change.name?.utf8.count ?? 0) { $0 + 16 + $1.value.utf8.count }
    case .profiles(let people): people.reduce(0) { $0 + 16 + $1.utf8.count }
    case .people(let search): search.text.utf8.count
    case .picture(let command): command.payloadBytes
    default: 0
    }
  }
}

/// A conversation by its id, with the channel of its messages.
public struct CliqueConversation: Sendable, Equatable {
  public let id: String
  /// `clique.chat:` and the id.
  public let chat: ChannelName

  /// - Parameter id: has the form of a conversation's id (``CliqueCommand/isConversation(_:)``).
  public init(_ id: String) {
    self.id = id
    chat = ChannelName(checked: "clique.chat:" + id)
  }

  public static func == (a: CliqueConversation, b: CliqueConversation) -> Bool { a.id.hasSameBytes(as: b.id) }

  /// The answer to a message that was published at the offset, as JSON.
  public func answer(offset: UInt64) -> [UInt8] {
    // Nothing in a conversation's id needs an escape, so the id is not searched for what does.
    var writer = JSONWriter(capacity: id.utf8.count + 48)
    writer.open()
    writer.write("conversation", quoting: id.utf8)
    writer.write("offset", offset)
    writer.close()
    return writer.bytes
  }
}

/// A message as it is published, put together when its command was read; and what a conversation that is not open needs
/// of it.
public struct CliqueMessage: Sendable, Equatable {
  /// `{"text":"…","key":"…","reply":…}`, the last two where they are given.
  public let payload: [UInt8]
  /// Bytes of the text as it stands in the payload, between its quotes.
  let textBytes: Int
  let hasEscapes: Bool
  /// Unicode code points of the text.
  public let characters: Int
  public let key: CliqueMessageKey
  /// What few messages have; nil: nothing of it.
  public let extras: CliqueMessageExtras?

  static let opening = Array(#"{"text":""#.utf8)

  /// Makes the payload. A text without escapes goes into it as it came.
  init(_ text: CommandFields.Text, _ key: CliqueMessageKey, _ extras: CliqueMessageExtras? = nil) {
    self.key = key
    self.extras = extras
    hasEscapes = text.hasEscapes
    characters = text.characters
    var writer = JSONWriter(capacity: text.raw.count + key.own.utf8.count + 32)
    writer.open()
    if text.hasEscapes { writer.write("text", text.string) } else { writer.write("text", quoting: text.raw) }
    textBytes = writer.bytes.count - Self.opening.count - 1
    if !key.own.isEmpty { writer.write("key", key.own) }
    if let reply = extras?.reply { writer.write("reply", reply) }
    writer.close()
    payload = writer.bytes
  }

  /// A message from its payload; nil where the bytes are none that a message has.
  init?(
    payload: [UInt8], textBytes: Int, hasEscapes: Bool, characters: Int, key: CliqueMessageKey,
    extras: CliqueMessageExtras?
  ) {
    guard payload.starts(with: Self.opening), textBytes >= 0, textBytes <= payload.count - Self.opening.count else {
      return nil
    }
    self.payload = payload
    self.textBytes = textBytes
    self.hasEscapes = hasEscapes
    self.characters = characters
    self.key = key
    self.extras = extras
  }

  public var text: String {
    let text = payload[Self.opening.count..<Self.opening.count + textBytes]
    return hasEscapes ? JSONEscapes.resolved(text) : String(decoding: text, as: UTF8.self)
  }
}

/// The key that tells a message that is sent again from a new one.
public struct CliqueMessageKey: Sendable, Equatable {
  /// The key that the client chose; "": none.
  public let own: String
  /// The idempotency key of the publication, with the user in it, so that nobody can use another's key before they do.
  /// Its bytes stay below 255 with the longest user and key.
  public let published: String?

  /// Longest key of a client, in bytes.
  static let maximumBytes = 64

  public init(own: String, user: String) {
    self.own = own
    // Without a key, the log knows a command that a gateway repeats by its origin.
    published = own.isEmpty ? nil : "\(user.utf8.count):\(user):\(own)"
  }

  /// A key as the sender on the link has put it together.
  init(own: String, published: String?) {
    self.own = own
    self.published = published
  }
}
