public import Wire

extension Clique {
  public func admit(
    _ user: String, to channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> AppAdmission {
    let (namespace, rest) = Self.parts(of: channel)
    if user.isEmpty || rest.isEmpty { throw Self.notAdmitted }
    switch namespace {
    case "clique.list", "clique.crossings", "clique.blocked", "clique.drafts", "clique.reports",
      "clique.totals", "clique.people", "clique.profile":
      guard rest.hasSameBytes(as: user) else { throw Self.notAdmitted }
      return AppAdmission()
    case "clique.chat", "clique.reactions", "clique.receipts", "clique.typing":
      guard CliqueCommand.isConversation(rest) else { throw Self.notAdmitted }
      if elsewhere(ofConversation: rest) != nil { throw Self.misplaced }
      let isChat = namespace == "clique.chat"
      // Reactions are read by whoever reads the messages.
      let isRead = isChat || namespace == "clique.reactions"
      return Self.isGroup(rest)
        ? try admit(user, toGroup: rest, isRead: isRead, view)
        : try admit(user, toPair: rest, isChat: isChat, isRead: isRead, view)
    default: throw Self.notAdmitted
    }
  }

  private func admit(
    _ user: String, toPair id: String, isChat: Bool, isRead: Bool, _ view: any AppView
  ) throws(ClientError) -> AppAdmission {
    guard let pair = try view.record(Pair.self, Key.pair(id)), let side = pair.side(of: user)
    else { throw Self.notAdmitted }
    let sight = pair.state.sight(of: side)
    // Somebody who blocks may stay in the chat, and closes it when they like. If the server unsubscribed them, the
    // other would see them leave at the moment of the block. Each message from then on is seen by its author alone.
    if isChat, sight == .blocked, pair.state.mayReadBeneath(side) {
      return AppAdmission(audience: Self.notForOthers(user), refusal: Self.notAdmitted)
    }
    guard isRead ? sight.mayRead : sight == .active else { throw Self.notAdmitted }
    return AppAdmission(audience: isRead && pair.hasUnseen ? Self.notForOthers(user) : nil)
  }

  private func admit(
    _ user: String, toGroup id: String, isRead: Bool, _ view: any AppView
  ) throws(ClientError) -> AppAdmission {
    guard let group = try view.record(Group.self, Key.group(id)), group.index(of: user) != nil
    else { throw Self.notAdmitted }
    let since = isRead ? try term(of: user, in: group, id, view).map(Self.since) : nil
    if !group.hadBlocks { return AppAdmission(audience: since) }
    // Messages that are hidden from this user say so in a tag. The user also does not see members whom they block. A
    // user who is blocked must see the one who blocks as before.
    let messages = since.map { .all([Self.notHiddenFrom(user), $0]) } ?? Self.notHiddenFrom(user)
    let hidden = group.blocked(by: user)
    if hidden.isEmpty { return AppAdmission(audience: messages) }
    if !isRead { return AppAdmission(audience: .all([messages, .not(.oneOf(key: "key", hidden))])) }
    // The blocked member's joins and presence are left out, and their messages from before the block stay: publications
    // have the tag `hidden`, joins and members have not.
    return AppAdmission(
      audience: .all([messages, .any([.exists(key: Tag.hidden), .not(.oneOf(key: "user", hidden))])]))
  }

  /// The term from which on a member reads; nil: from the founding.
  func term(
    of user: String, in group: Group, _ id: String, _ view: any AppView
  ) throws(ClientError) -> Int? {
    // In most groups nobody has come since, and nothing more has to be read.
    if group.term == nil { return nil }
    return try view.record(Person.self, Key.person(user))?.terms?[id]
  }

  /// What was said from a term on. Joins and members have no tags, and pass.
  private static func since(_ term: Int) -> TagFilter {
    .any([.not(.exists(key: Tag.hidden)), .number(key: Tag.term, .greaterOrEqual, String(term))])
  }

  static func notForOthers(_ user: String) -> TagFilter {
    .any([.not(.exists(key: Tag.only)), .equal(key: Tag.only, user)])
  }

  static func notHiddenFrom(_ user: String) -> TagFilter { .not(.contains(key: Tag.hidden, Tag.bars(user))) }

  /// One error whether or not the conversation exists, so that nobody learns which do.
  private static let notAdmitted = ClientError.permissionDenied.saying(
    "this channel is not yours; subscribe to conversations of your list, and to your own lists")

  /// The namespace, and all that follows the first colon, since user ids may hold colons themselves.
  static func parts(of channel: ChannelName) -> (namespace: String, rest: String) {
    let bytes = channel.string.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return ("", "") }
    return (String(channel.string[..<colon]), String(channel.string[bytes.index(after: colon)...]))
  }

  // MARK: Search

  /// Searches the caller's own conversations.
  func search(
    _ command: CliqueCommand.Search, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    if command.text.utf8.count > Self.maximumSearchBytes {
      throw ClientError.limitExceeded.counted(as: .cliqueSearchText).saying(
        "`text` has at most \(Self.maximumSearchBytes) bytes; send fewer words")
    }
    let me = try view.record(Person.self, Key.person(call.user)) ?? Person()
    var ids = me.open + me.groups
    if let id = command.conversation {
      guard ids.containsBytes(of: id) else { throw Self.noConversation }
      ids = [id]
    }
    // Messages of people whom the caller has blocked are not found.
    if let person = command.person, me.blocked.containsBytes(of: person) { ids = [] }
    var channels: [ChannelName] = []
    var audiences: [ChannelName: TagFilter] = [:]
    for id in ids {
      let channel = try Channels.chat(id)
      channels.append(channel)
      if let term = me.terms?[id] { audiences[channel] = Self.since(term) }
    }
    var audience: [TagFilter] = [Self.notForOthers(call.user), Self.notHiddenFrom(call.user)]
    if !me.blocked.isEmpty { audience.append(.not(.oneOf(key: "user", me.blocked))) }
    return AppDecision(
      search: MessageSearch(
        channels: channels, text: command.text, publisher: command.person, audience: .all(audience),
        audiences: audiences, reader: call.user, limit: command.limit))
  }

  static let maximumSearchBytes = 256
}
