public import Wire

/// The rules of the app Clique: chats between people who crossed paths.
///
/// What stands between two people is ``PairState``'s table. This type reads commands, looks the people up, and turns
/// the table's outcomes into effects. `docs/CLIQUE.md` is the same from the phone's side.
public struct Clique: App {
  public let rules: CliqueRules

  public init(_ rules: CliqueRules = .init()) { self.rules = rules }

  public var name: String { "clique" }

  public var namespaces: [String: ChannelOptions] {
    var chat = ChannelOptions()
    chat.app = AppName(name)
    chat.durability = .durable
    chat.historySize = 10_000
    chat.historyTTLMilliseconds = 366 * CliqueRules.day
    chat.forceRecovery = true
    chat.forcePositioning = true
    chat.presence = true
    chat.joinLeave = true
    chat.allowSubscribeForClient = true
    chat.allowHistoryForSubscriber = true
    chat.allowPresenceForSubscriber = true
    chat.allowEditForAuthor = true

    var list = ChannelOptions()
    list.app = AppName(name)
    list.kind = .map
    list.mapMode = .persistent
    list.mapOrder = .descending
    list.mapMaximumEntries = 10_000
    list.historySize = 1000
    list.historyTTLMilliseconds = 7 * CliqueRules.day
    list.forceRecovery = true
    list.durability = .durable
    list.allowSubscribeForClient = true

    // Worked out from visits when somebody opens it: a crowd writes nothing for those who do not look.
    var crossings = ChannelOptions()
    crossings.app = AppName(name)
    crossings.kind = .map
    crossings.mapMode = .ephemeral
    crossings.mapOrder = .descending
    crossings.mapMaximumEntries = 10_000
    crossings.allowSubscribeForClient = true

    var receipts = ChannelOptions()
    receipts.app = AppName(name)
    receipts.kind = .map
    receipts.mapMode = .ephemeral
    receipts.lane = .receipts
    receipts.allowSubscribeForClient = true

    var typing = receipts
    typing.lane = .typing
    typing.mapTTLMilliseconds = rules.typingLifetime
    return [
      "clique.chat": chat, "clique.list": list, "clique.crossings": crossings, "clique.blocked": list,
      "clique.receipts": receipts, "clique.typing": typing,
    ]
  }

  public func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    _ = try Self.checked(user: call.user)
    let arguments = try CliqueArguments(call.data)
    switch call.method {
    case "clique.send": return try send(call, arguments, view)
    case "clique.accept": return try answer(.accept, call, arguments, view)
    case "clique.decline": return try answer(.decline, call, arguments, view)
    case "clique.disconnect": return try answer(.disconnect, call, arguments, view)
    case "clique.block": return try block(call, arguments, view)
    case "clique.unblock": return try unblock(call, arguments, view)
    case "clique.read": return try read(call, arguments, view)
    case "clique.delivered": return try delivered(call, arguments, view)
    case "clique.typing": return try typing(call, arguments, view)
    case "clique.group.create": return try createGroup(call, arguments, view)
    case "clique.group.leave": return try leaveGroup(call, arguments, view)
    case "clique.search": return try search(call, arguments, view)
    case "clique.enter": return try enter(call, arguments, view)
    case "clique.leave": return try leave(call, arguments, view)
    case "clique.invisible": return try setInvisible(call, arguments, view)
    case "clique.crossings": return try crossings(call, arguments, view)
    default:
      throw ClientError.methodNotFound.saying("there is no such method; docs/CLIQUE.md lists those of clique")
    }
  }

  public func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision {
    let draft = CliqueDraft(view)
    switch key.prefix(while: { $0 != "/" }) {
    case "pair":
      guard let pair = try view.record(Pair.self, key) else { return AppDecision() }
      try commit(pair, pair.settled(view.now), id: pair.id, draft)
    // What is left of somebody is marks that mean nothing any more: they go with the change.
    case "person": if let person = try view.record(Person.self, key) { draft.settle(person, key) }
    case "visits": try visitsAreDue(key, draft)
    case "visitor": try visitorIsDue(key, draft)
    case "places": try placeIsDue(key, draft)
    case "place", "crossing": try forgetFormer(key, draft)
    default: draft.erase(key)
    }
    return draft.decision()
  }

  // MARK: What commands name

  /// Longest user id, so that its channels' names fit.
  static let maximumUserBytes = 180
  static let maximumKeyBytes = 64

  static func checked(user: String) throws(ClientError) -> String {
    try UserIdentifier.check(user, most: maximumUserBytes)
    return user
  }

  /// The other person of a command.
  func person(_ name: StaticString, _ call: AppCall, _ arguments: CliqueArguments) throws(ClientError) -> String? {
    guard let user = try arguments.string(name) else { return nil }
    if user.hasSameBytes(as: call.user) {
      throw ClientError.badRequest.saying("`\(name)` is yourself; name another person")
    }
    return try Self.checked(user: user)
  }

  static func isGroup(_ id: String) -> Bool { id.utf8.first == UInt8(ascii: "g") }

  /// Whether it has the form of a conversation's id: only then is it looked up, so that nobody can make the server
  /// remember what they make up.
  static func isConversation(_ id: some StringProtocol) -> Bool {
    let bytes = id.utf8
    guard bytes.count == 33, bytes.first == UInt8(ascii: "p") || bytes.first == UInt8(ascii: "g") else { return false }
    return bytes.dropFirst().allSatisfy {
      UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
    }
  }

  /// The conversation of a command; nil where it names none.
  func conversation(_ arguments: CliqueArguments) throws(ClientError) -> String? {
    guard let id = try arguments.string("conversation") else { return nil }
    guard Self.isConversation(id) else { throw Self.noConversation }
    return id
  }

  /// The same for what does not exist and for what is somebody else's.
  static let noConversation = ClientError.permissionDenied.saying(
    "you have no such conversation; take its id from your list, or name the person")

  /// The pair of a command that names the person or the conversation; of the latter one only that the caller sees, so
  /// that ids cannot be tried out.
  func pair(
    _ call: AppCall, _ arguments: CliqueArguments, person name: StaticString = "person", _ view: any AppView
  ) throws(ClientError) -> (pair: Pair, id: String, side: PairState.Side, stored: Pair?) {
    if let user = try person(name, call, arguments) {
      let blank = Pair(call.user, user)
      let id = blank.id
      let stored = try view.record(Pair.self, Key.pair(id))
      let pair = (stored ?? blank).settled(view.now)
      guard let side = pair.side(of: call.user) else { throw Self.noConversation }
      return (pair, id, side, stored)
    }
    guard let id = try conversation(arguments) else {
      throw ClientError.badRequest.saying("name the other person in `\(name)`, or the conversation in `conversation`")
    }
    guard let stored = try view.record(Pair.self, Key.pair(id)), let side = stored.side(of: call.user)
    else { throw Self.noConversation }
    let pair = stored.settled(view.now)
    if pair.state.sight(of: side) == .nothing { throw Self.noConversation }
    return (pair, id, side, stored)
  }

  func refusal(_ reason: PairState.Refusal) -> ClientError {
    switch reason {
    case .nothingAsked: ClientError.notAvailable.saying("no request of this person waits for your answer")
    case .ownRequest: ClientError.notAvailable.saying("the request is your own; the other person has to answer it")
    case .alreadyActive:
      ClientError.notAvailable.saying("the conversation is open already; end it with clique.disconnect")
    case .awaitsAnswer:
      ClientError.notAvailable.saying("a request waits; answer it with clique.accept or clique.decline")
    case .blockedByYou: ClientError.permissionDenied.saying("you have blocked this person; unblock them first")
    }
  }
}

extension Clique {
  /// The app's channels.
  enum Channels {
    static func chat(_ id: String) throws(ClientError) -> ChannelName { try named("clique.chat:", id) }
    static func list(_ user: String) throws(ClientError) -> ChannelName { try named("clique.list:", user) }
    static func crossings(_ user: String) throws(ClientError) -> ChannelName { try named("clique.crossings:", user) }
    static func blocked(_ user: String) throws(ClientError) -> ChannelName { try named("clique.blocked:", user) }
    static func receipts(_ id: String) throws(ClientError) -> ChannelName { try named("clique.receipts:", id) }
    static func typing(_ id: String) throws(ClientError) -> ChannelName { try named("clique.typing:", id) }

    private static func named(_ namespace: StaticString, _ rest: String) throws(ClientError) -> ChannelName {
      do throws(ChannelName.Invalid) {
        return try ChannelName(namespace, rest)
      } catch {
        throw ClientError.badRequest.saying(error.description)
      }
    }
  }
}
