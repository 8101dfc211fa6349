import Wire

/// People react to messages (``CliqueReaction`` has the table). Who sees a reaction follows from who sees the message, and
/// from the blocks between that reader and the one who reacts.
extension Clique {
  /// All reactions of one person in one conversation, with those to the oldest messages first.
  struct Reactions: AppRecord {
    var user: String
    var conversation: String
    var list: [CliqueReaction] = []

    var due: Int64? { list.map(\.ends).min() }
    var lane: AppLane { .upkeep }

    func key(_ reaction: CliqueReaction) -> String { "\(reaction.offset)/\(user)" }
  }

  /// Reactions that one person has in one conversation. One more takes the place of that to the oldest message. Each
  /// person has a number of their own, so that nobody can tell from it what others do.
  static let maximumReactions = 200

  func react(_ command: CliqueCommand.React, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let (id, draft) = (command.conversation, CliqueDraft(view))
    if Self.isGroup(id) {
      guard var group = try view.record(Group.self, Key.group(id)), let index = group.index(of: call.user)
      else { throw Self.noConversation }
      let term = try term(of: call.user, in: group, id, view)
      try react(command, call.user, since: term, keptFrom: group.hidden(from: call.user), draft)
      if group.members[index].mark.hasReacted == nil, !draft.effects.isEmpty {
        group.members[index].mark.hasReacted = true
        draft.write(Key.group(id), group)
      }
      return draft.decision()
    }
    guard let stored = try view.record(Pair.self, Key.pair(id)), let side = stored.side(of: call.user)
    else { throw Self.noConversation }
    var pair = stored.advanced(to: view.now)
    switch pair.state.sight(of: side) {
    case .active: break
    case .blocked: throw refusal(.blockedByYou)
    // Who stays may still take back what they said, as they may remove messages.
    case .ended where command.reaction.isEmpty: break
    case .nothing, .asking, .asked, .ended: throw Self.noConversation
    }
    let isHeard = !pair.state.isBlocked(by: side.other)
    try react(command, call.user, since: nil, keptFrom: isHeard ? [] : [pair.user(side.other)], draft)
    if draft.effects.isEmpty { return draft.decision() }
    pair[mark: side].hasReacted = true
    if !isHeard { pair.hasUnseen = true }
    if pair != stored { try commit(stored, pair, id: id, draft) }
    return draft.decision()
  }

  private func react(
    _ command: CliqueCommand.React, _ user: String, since term: Int?, keptFrom others: [String], _ draft: CliqueDraft
  ) throws(ClientError) {
    let id = command.conversation
    let channel = try Channels.chat(id)
    let old =
      try draft.read(Reactions.self, Key.reactions(of: user, in: id)) ?? Reactions(user: user, conversation: id)
    var new = old.advanced(to: draft.now, top: try draft.view.top(of: channel))
    let before = new.list.first { $0.offset == command.offset }
    new.list.removeAll { $0.offset == command.offset }
    if !command.reaction.isEmpty {
      guard let message = try draft.view.publication(command.offset, of: channel), Self.isMessage(message),
        Self.isSeen(message.shown(to: user), by: user, since: term)
      else {
        throw ClientError.badRequest.saying("there is no message of this offset; send the offset of one that you got")
      }
      let reaction = CliqueReaction.after(before, command.reaction, to: message, at: draft.now, keptFrom: others)
      new.list.insert(reaction, at: new.list.firstIndex { $0.offset > command.offset } ?? new.list.endIndex)
      if new.list.count > Self.maximumReactions {
        if new.list[0].offset == command.offset {
          throw ClientError.limitExceeded.counted(as: .cliqueReactions).saying(
            "you have reacted to \(Self.maximumReactions) newer messages here; take a reaction back first")
        }
        new.list.removeFirst()
      }
    }
    try write(new, over: old, .soon, draft)
  }

  /// Writes what has changed of somebody's reactions, and shows it.
  private func write(
    _ new: Reactions, over old: Reactions, _ timing: AppTiming, _ draft: CliqueDraft
  ) throws(ClientError) {
    if new == old { return }
    let (key, channel) = (
      Key.reactions(of: old.user, in: old.conversation), try Channels.reactions(old.conversation)
    )
    if new.list.isEmpty { draft.erase(key) } else { draft.write(key, new) }
    for reaction in old.list where !new.list.contains(reaction) {
      draft.refresh(channel, key: old.key(reaction), timing)
    }
    for reaction in new.list where !old.list.contains(reaction) {
      draft.refresh(channel, key: new.key(reaction), timing)
    }
  }

  // MARK: Their end

  /// The reactions to messages go with these.
  ///
  /// - Parameter users: the members who have reacted to anything in the conversation.
  func dropReactions(
    to offsets: Set<UInt64>, in id: String, of users: [String], _ draft: CliqueDraft
  ) throws(ClientError) {
    for user in users {
      guard let old = try draft.read(Reactions.self, Key.reactions(of: user, in: id)) else { continue }
      var new = old
      new.list.removeAll { offsets.contains($0.offset) }
      try write(new, over: old, .soon, draft)
    }
  }

  /// The reactions of a member who leaves a group go with them.
  func dropReactions(of user: String, _ mark: inout Mark, in id: String, _ draft: CliqueDraft) throws(ClientError) {
    guard mark.hasReacted ?? false else { return }
    mark.hasReacted = nil
    guard let old = try draft.read(Reactions.self, Key.reactions(of: user, in: id)) else { return }
    try write(Reactions(user: user, conversation: id), over: old, .soon, draft)
  }

  func reactionsAreDue(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let old = try draft.read(Reactions.self, key) else { return }
    let top = try draft.view.top(of: Channels.chat(old.conversation))
    try write(old.advanced(to: draft.now, top: top), over: old, .soon, draft)
  }

  /// A user's reactions go with the user's data; of others', what is kept for the user.
  func forgetReactions(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let old = try draft.read(Reactions.self, key) else { return }
    var new = old
    if users.contains(old.user) { new.list = [] }
    for index in new.list.indices {
      new.list[index].kept?.removeAll { users.contains($0.user) }
      if new.list[index].kept?.isEmpty ?? false { new.list[index].kept = nil }
      new.list[index].audience = new.list[index].audience.map { users.stripped($0) }
    }
    try write(new, over: old, .atomically, draft)
  }

  // MARK: What is shown

  func reactionEntry(_ id: String, _ key: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard CliqueCommand.isConversation(id), let slash = key.utf8.firstIndex(of: UInt8(ascii: "/")),
      let offset = UInt64(key[..<slash])
    else { return nil }
    let user = String(key[key.utf8.index(after: slash)...])
    let reactions = try view.record(Reactions.self, Key.reactions(of: user, in: id))
    return reactions?.list.first { $0.offset == offset }?.entry(of: user, inGroup: Self.isGroup(id))
  }
}

extension Clique.Reactions {
  /// The reactions without those to messages that are too old to be kept.
  func advanced(to now: Int64, top: UInt64) -> Self {
    var reactions = self
    let last = top > UInt64(Clique.chatSize) ? top - UInt64(Clique.chatSize) : 0
    reactions.list.removeAll { $0.ends <= now || $0.offset <= last }
    return reactions
  }
}

extension Clique.Key {
  static func reactions(of user: String, in id: String) -> String { "reactions/\(id)/\(plain(user))" }
}
