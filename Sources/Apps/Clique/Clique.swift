public import Wire

/// The rules of the app Clique: chats between people who crossed paths.
///
/// The table in ``PairState`` decides what stands between two people. This type looks up the people whom a command
/// names, and turns the table's outcomes into effects. `docs/CLIQUE.md` describes the app from the phone's side.
public struct Clique: App {
  public let rules: CliqueRules
  /// Of messages that disappear; nil: none do.
  let vault: (any VanishingVault)?
  /// Nil: all of Clique is in one partition.
  let places: AppPlaces?

  public init(_ rules: CliqueRules, vault: (any VanishingVault)? = nil, places: AppPlaces? = nil) {
    self.rules = rules
    self.vault = vault
    self.places = places
  }

  public var name: String { "clique" }

  /// Messages that a chat keeps, and for how many milliseconds.
  static let chatSize = 10_000
  static let chatLifetime = 366 * CliqueRules.day

  public var namespaces: [String: ChannelOptions] {
    var chat = ChannelOptions()
    chat.app = AppName(name)
    chat.durability = .durable
    chat.historySize = Self.chatSize
    chat.historyTTLMilliseconds = Self.chatLifetime
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

    // What somebody has begun to write is nobody else's, and gone soon after it was sent.
    var drafts = list
    drafts.mapMaximumEntries = 1000
    drafts.historySize = 100
    drafts.historyTTLMilliseconds = CliqueRules.day

    var reactions = list
    reactions.historyTTLMilliseconds = CliqueRules.day

    // Crossings are worked out from visits when somebody opens the channel, so that nothing is written for a crowd of
    // people who do not look.
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

    // What people see of others is worked out, as crossings are: names and pictures stand in one place on the disk alone.
    var people = crossings
    people.mapOrder = .key

    var typing = receipts
    typing.lane = .typing
    typing.mapTTLMilliseconds = rules.typingLifetime
    return shared([
      "clique.chat": chat, "clique.list": list, "clique.crossings": crossings, "clique.blocked": list,
      "clique.drafts": drafts, "clique.reactions": reactions, "clique.reports": list,
      "clique.receipts": receipts, "clique.typing": typing, "clique.totals": receipts,
      "clique.people": people, "clique.profile": drafts,
    ])
  }

  /// The namespaces with how their channels are shared among partitions.
  private func shared(_ namespaces: [String: ChannelOptions]) -> [String: ChannelOptions] {
    if !isShared { return namespaces }
    var namespaces = namespaces
    for name in ["clique.chat", "clique.reactions", "clique.receipts", "clique.typing"] {
      namespaces[name]?.sharing = .conversation
    }
    for name in ["clique.list", "clique.drafts", "clique.totals"] { namespaces[name]?.sharing = .user }
    return namespaces
  }

  public func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard case .clique(let command) = call.command else { throw .methodNotFound }
    try checkPlace(of: call, command)
    return try noting(call, try decide(command, call, view), view)
  }

  private func decide(
    _ command: CliqueCommand, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    switch command {
    case .send(let send): return try self.send(send, call, view)
    case .accept(let target): return try answer(.accept, target, call, view)
    case .decline(let target): return try answer(.decline, target, call, view)
    case .disconnect(let target): return try answer(.disconnect, target, call, view)
    case .block(let target): return try block(target, call, view)
    case .unblock(let target): return try unblock(target, call, view)
    case .read(let mark): return try read(mark, call, view)
    case .delivered(let mark): return try delivered(mark, call, view)
    case .typing(let id): return try typing(id, call, view)
    case .createGroup(let group): return try createGroup(group, call, view)
    case .leaveGroup(let id): return try leaveGroup(id, call, view)
    case .changeGroup(let id, let change): return try changeGroup(id, change, call, view)
    case .joinGroup(let link): return try joinGroup(link, call, view)
    case .keep(let keep): return try self.keep(keep, call, view)
    case .draft(let draft): return try keepDraft(draft, call, view)
    case .totals: return AppDecision(reply: try totals(of: call.user, view).json)
    case .react(let react): return try self.react(react, call, view)
    case .report(let report): return try self.report(report, call, view)
    case .disappear(let disappear): return try self.disappear(disappear, call, view)
    case .search(let search): return try self.search(search, call, view)
    case .enter(let place, let hasToken): return try enter(place, hasToken, call, view)
    case .leave(let place): return try leave(place, call, view)
    case .invisible(let on): return try setInvisible(on, call, view)
    case .crossings(let crossings): return try self.crossings(crossings, call, view)
    case .setProfile(let change): return try setProfile(change, call, view)
    case .profiles(let people): return try profiles(people, call, view)
    case .people(let search): return try people(search, call, view)
    case .picture(let command): return try picture(command, call, view)
    case .lend(let lending): return try lend(lending, call, view)
    case .giveBack(let lending): return try giveBack(lending, call, view)
    case .reads(let reading): return try reads(reading, call, view)
    case .evidence(let report): return try evidence(report, call, view)
    }
  }

  public func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision {
    let draft = CliqueDraft(view)
    switch key.prefix(while: { $0 != "/" }) {
    case "pair":
      guard let pair = try view.record(Pair.self, key) else { return AppDecision() }
      let id = String(key.dropFirst("pair/".count))
      if elsewhere(ofConversation: id) != nil {
        try bondIsDue(pair, id: id, draft)
        break
      }
      try commit(pair, pair.advanced(to: view.now), id: id, looksAtBoth: true, draft)
    // A person's record is due when only marks are left that have passed: `settle` drops them.
    case "person": if let person = try view.record(Person.self, key) { draft.writeOrErase(person, key) }
    case "group": if let group = try view.record(Group.self, key) { draft.write(key, group.settled(at: view.now)) }
    case "visits": try visitsAreDue(key, draft)
    case "visitor": try visitorIsDue(key, draft)
    case "places": try placeIsDue(key, draft)
    case "draft": try draftIsDue(key, draft)
    case "reactions": try reactionsAreDue(key, draft)
    case "picture": try pictureIsDue(key, draft)
    case "pictures": try picturesAreDue(key, draft)
    case "report": try reportIsDue(key, draft)
    case "kept": return AppDecision()  // Has no time.
    case "vanish": try vanishIsDue(key, draft)
    case "place", "crossing": try forgetFormer(key, draft)
    default: draft.erase(key)
    }
    return draft.decision()
  }

  // MARK: What commands name

  static let noConversation = CliqueCommand.noConversation

  static func isGroup(_ id: String) -> Bool { CliqueCommand.isGroup(id) }

  /// The pair of a command, which names the other person or the conversation. A conversation must be one that the
  /// caller sees, so that nobody can try out ids.
  func pair(
    _ target: CliqueCommand.Target, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> (pair: Pair, id: String, side: PairState.Side, stored: Pair?) {
    let id: String
    switch target {
    case .conversation(let conversation): id = conversation.id
    case .person(let user):
      let blank = Pair(call.user, user)
      let id = blank.id
      let stored = try view.record(Pair.self, Key.pair(id))
      let pair = (stored?.restored(as: blank) ?? blank).advanced(to: view.now)
      guard let side = pair.side(of: call.user) else { throw Self.noConversation }
      return (pair, id, side, stored)
    }
    guard let stored = try view.record(Pair.self, Key.pair(id)), let side = stored.side(of: call.user)
    else { throw Self.noConversation }
    let pair = stored.advanced(to: view.now)
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
    static func drafts(_ user: String) throws(ClientError) -> ChannelName { try named("clique.drafts:", user) }
    static func reactions(_ id: String) throws(ClientError) -> ChannelName { try named("clique.reactions:", id) }
    static func reports(_ user: String) throws(ClientError) -> ChannelName { try named("clique.reports:", user) }
    static func people(_ user: String) throws(ClientError) -> ChannelName { try named("clique.people:", user) }
    static func profile(_ user: String) throws(ClientError) -> ChannelName { try named("clique.profile:", user) }
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
