public import Wire

extension Clique {
  public func admit(
    _ user: String, to channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> AppAdmission {
    let (namespace, rest) = Self.parts(of: channel)
    if user.isEmpty || rest.isEmpty { throw Self.notAdmitted }
    switch namespace {
    case "clique.list", "clique.crossings", "clique.blocked":
      guard rest.hasSameBytes(as: user) else { throw Self.notAdmitted }
      return AppAdmission()
    case "clique.chat", "clique.receipts", "clique.typing":
      guard CliqueCommand.isConversation(rest) else { throw Self.notAdmitted }
      let isChat = namespace == "clique.chat"
      return Self.isGroup(rest)
        ? try admit(user, toGroup: rest, isChat: isChat, view) : try admit(user, toPair: rest, isChat: isChat, view)
    default: throw Self.notAdmitted
    }
  }

  private func admit(
    _ user: String, toPair id: String, isChat: Bool, _ view: any AppView
  ) throws(ClientError) -> AppAdmission {
    guard let pair = try view.record(Pair.self, Key.pair(id)), let side = pair.side(of: user)
    else { throw Self.notAdmitted }
    let sight = pair.state.sight(of: side)
    // Whoever blocks closes the chat by themselves, when they like: if the server let them go, the other would see them
    // leave at that moment. What is written from now on is for its author alone.
    if isChat, sight == .blocked, pair.state.mayReadBeneath(side) {
      return AppAdmission(audience: Self.notForOthers(user), refusal: Self.notAdmitted)
    }
    guard isChat ? sight.mayRead : sight == .active else { throw Self.notAdmitted }
    return AppAdmission(audience: isChat && pair.hasUnseen ? Self.notForOthers(user) : nil)
  }

  private func admit(
    _ user: String, toGroup id: String, isChat: Bool, _ view: any AppView
  ) throws(ClientError) -> AppAdmission {
    guard let group = try view.record(Group.self, Key.group(id)), group.index(of: user) != nil
    else { throw Self.notAdmitted }
    if !group.hadBlocks { return AppAdmission() }
    // What is hidden says so itself. Beyond that, whoever blocks is spared the other; whoever is blocked must see the
    // other as before.
    let messages = Self.notHiddenFrom(user)
    let hidden = group.blocked(by: user)
    if hidden.isEmpty { return AppAdmission(audience: messages) }
    if !isChat { return AppAdmission(audience: .all([messages, .not(.oneOf(key: "key", hidden))])) }
    // What was said before a block stays: publications have the tag, joins and members have not.
    return AppAdmission(
      audience: .all([messages, .any([.exists(key: Tag.hidden), .not(.oneOf(key: "user", hidden))])]))
  }

  static func notForOthers(_ user: String) -> TagFilter {
    .any([.not(.exists(key: Tag.only)), .equal(key: Tag.only, user)])
  }

  static func notHiddenFrom(_ user: String) -> TagFilter { .not(.contains(key: Tag.hidden, Tag.bars(user))) }

  /// The same whether it exists or not.
  private static let notAdmitted = ClientError.permissionDenied.saying(
    "this channel is not yours; subscribe to conversations of your list, and to your own lists")

  /// The namespace, and all that follows its colon: a user id may hold colons.
  static func parts(of channel: ChannelName) -> (namespace: String, rest: String) {
    let bytes = channel.string.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return ("", "") }
    return (String(channel.string[..<colon]), String(channel.string[bytes.index(after: colon)...]))
  }

  // MARK: Search

  /// In one's own conversations.
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
      guard ids.holds(id) else { throw Self.noConversation }
      ids = [id]
    }
    // Whom one has blocked is found no more.
    if let person = command.person, me.blocked.holds(person) { ids = [] }
    var channels: [ChannelName] = []
    for id in ids { channels.append(try Channels.chat(id)) }
    var audience: [TagFilter] = [Self.notForOthers(call.user), Self.notHiddenFrom(call.user)]
    if !me.blocked.isEmpty { audience.append(.not(.oneOf(key: "user", me.blocked))) }
    return AppDecision(
      search: MessageSearch(
        channels: channels, text: command.text, publisher: command.person, audience: .all(audience),
        reader: call.user, limit: command.limit))
  }

  private static let maximumSearchBytes = 256
}
