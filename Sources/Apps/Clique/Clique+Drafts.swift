import Wire

/// What people have begun to write, the same on all of their devices, and nobody else's to see.
///
/// One person's draft in one conversation is in one of two states:
/// - none. Can transition to: kept (`clique.draft` with a text).
/// - kept. Can transition to: kept (another text), none (`clique.draft` with "", a message of the person to the
///   conversation, ``Unsent/lifetime`` after the last change, or the conversation leaves the person's list).
///
/// A person's own block keeps the draft: it goes only when the conversation would leave the list without the block, too.
/// All of it follows from what the person sees, so drafts tell nothing of what others decline or block.
///
/// The text is a record of its own, because the pair's is rewritten with each receipt. The person's mark in the
/// conversation says that there is one (``Mark/hasDraft``), so that sending looks for it only then.
extension Clique {
  /// What one person has begun to write in one conversation.
  struct Unsent: AppRecord {
    var user: String
    var conversation: String
    var text: String
    /// The offset of the message that is replied to; nil: none.
    var reply: UInt64?
    /// When it was written, in milliseconds since 1970.
    var time: Int64

    var due: Int64? { time + Self.lifetime }
    var lane: AppLane { .upkeep }

    static let lifetime = 30 * CliqueRules.day
  }

  /// The conversations in which one person has a draft, so that they are counted.
  struct UnsentIndex: AppRecord {
    var user: String
    var conversations: [String] = []

    var due: Int64? { nil }
  }

  /// Conversations in which one person may have a draft.
  static let maximumDrafts = 100

  func keepDraft(
    _ command: CliqueCommand.DraftText, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let draft = CliqueDraft(view)
    if case .conversation(let conversation) = command.target, Self.isGroup(conversation.id) {
      let id = conversation.id
      guard var group = try view.record(Group.self, Key.group(id)), let index = group.index(of: call.user)
      else { throw Self.noConversation }
      let old = group.members[index].mark
      try keep(command, in: id, of: call.user, &group.members[index].mark, draft)
      if group.members[index].mark != old { draft.write(Key.group(id), group) }
      return draft.decision()
    }
    var (pair, id, side, stored) = try pair(command.target, call, view)
    switch pair.state.sight(of: side) {
    case .active, .ended, .asking, .asked: break
    case .blocked: throw refusal(.blockedByYou)
    case .nothing: throw Self.noConversation
    }
    if pair.user(side.other).isEmpty, !command.text.isEmpty { throw Self.forgotten }
    try keep(command, in: id, of: call.user, &pair[mark: side], draft)
    if !draft.effects.isEmpty { try commit(stored, pair, id: id, draft) }
    return draft.decision()
  }

  private func keep(
    _ command: CliqueCommand.DraftText, in id: String, of user: String, _ mark: inout Mark, _ draft: CliqueDraft
  ) throws(ClientError) {
    if command.text.isEmpty { return try endDraft(of: user, &mark, in: id, draft) }
    try check(command.characters, isRequest: false)
    if let reply = command.reply, reply > (try draft.view.top(of: Channels.chat(id))) {
      throw ClientError.badRequest.saying("`reply` is beyond the last message; send the offset of one that you got")
    }
    let key = Key.draft(of: user, in: id)
    var unsent = Unsent(user: user, conversation: id, text: command.text, reply: command.reply, time: draft.now)
    if mark.hasDraft ?? false, let known = try draft.read(Unsent.self, key) {
      unsent.time = known.time
      if unsent == known { return }
      unsent.time = draft.now
    }
    if !(mark.hasDraft ?? false) {
      var index = try draft.read(UnsentIndex.self, Key.drafts(of: user)) ?? UnsentIndex(user: user)
      index.conversations.drop(id)
      if index.conversations.count >= Self.maximumDrafts {
        throw ClientError.limitExceeded.counted(as: .cliqueDrafts).saying(
          "you have drafts in \(Self.maximumDrafts) conversations; send or remove one first")
      }
      index.conversations.append(id)
      draft.write(Key.drafts(of: user), index)
      mark.hasDraft = true
    }
    draft.write(key, unsent)
    draft.refresh(try Channels.drafts(user), key: id, .atomically)
  }

  // MARK: Its end

  /// Removes the draft of a member, if there is one.
  func endDraft(of user: String, _ mark: inout Mark, in id: String, _ draft: CliqueDraft) throws(ClientError) {
    guard mark.hasDraft ?? false else { return }
    mark.hasDraft = nil
    try removeDraft(of: user, in: id, draft)
  }

  private func removeDraft(of user: String, in id: String, _ draft: CliqueDraft) throws(ClientError) {
    draft.erase(Key.draft(of: user, in: id))
    if var index = try draft.read(UnsentIndex.self, Key.drafts(of: user)) {
      index.conversations.drop(id)
      if index.conversations.isEmpty {
        draft.erase(Key.drafts(of: user))
      } else {
        draft.write(Key.drafts(of: user), index)
      }
    }
    draft.refresh(try Channels.drafts(user), key: id, .atomically)
  }

  /// A message of somebody who has a draft in the conversation: the draft goes in the decision that publishes the
  /// message. Where the message was published before, the broker performs none of it, and a newer draft stays.
  func sendOverDraft(
    _ publication: AppPublication, in pair: Pair, _ side: PairState.Side, id: String, reply: [UInt8],
    _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    var pair = pair
    let draft = CliqueDraft(view)
    draft.publish(publication)
    try endDraft(of: pair.user(side), &pair[mark: side], in: id, draft)
    draft.write(Key.pair(id), pair)
    draft.touch(id)
    return draft.decision(reply: reply)
  }

  func sendOverDraft(
    _ publication: AppPublication, in group: Group, _ index: Int, id: String, reply: [UInt8], _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    var group = group
    let draft = CliqueDraft(view)
    draft.publish(publication)
    try endDraft(of: group.members[index].user, &group.members[index].mark, in: id, draft)
    draft.write(Key.group(id), group)
    draft.touch(id)
    return draft.decision(reply: reply)
  }

  /// Removes the drafts of those in whose list the conversation stands no more, blocks or not.
  func dropDrafts(of pair: inout Pair, id: String, _ draft: CliqueDraft) throws(ClientError) {
    for side in PairState.Side.allCases where pair.hasDraft(side) && !pair.state.isListedBeneath(side) {
      try endDraft(of: pair.user(side), &pair[mark: side], in: id, draft)
    }
  }

  func draftIsDue(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let unsent = try draft.read(Unsent.self, key) else { return }
    let (user, id) = (unsent.user, unsent.conversation)
    try removeDraft(of: user, in: id, draft)
    if Self.isGroup(id) {
      guard var group = try draft.read(Group.self, Key.group(id)), let index = group.index(of: user) else { return }
      group.members[index].mark.hasDraft = nil
      draft.write(Key.group(id), group)
    } else if let stored = try draft.read(Pair.self, Key.pair(id)), let side = stored.side(of: user) {
      var pair = stored.advanced(to: draft.now)
      pair[mark: side].hasDraft = nil
      try commit(stored, pair, id: id, draft)
    }
  }

  func draftEntry(_ user: String, _ id: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard CliqueCommand.isConversation(id), let unsent = try view.record(Unsent.self, Key.draft(of: user, in: id))
    else { return nil }
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("text", unsent.text)
      if let reply = unsent.reply { writer.write("reply", reply) }
      writer.write("time", unsent.time)
    }
    return AppEntry(data: writer.bytes, score: unsent.time)
  }

  /// A draft, and the index of them, are the user's alone.
  func forgetDraft(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    let user =
      key.utf8.starts(with: "drafts/".utf8)
      ? try draft.read(UnsentIndex.self, key)?.user : try draft.read(Unsent.self, key)?.user
    if let user, users.contains(user) { draft.erase(key) }
  }
}

extension Clique.Pair {
  /// Whether a side has a draft. Asked for each message, so the mark is not copied.
  func hasDraft(_ side: PairState.Side) -> Bool { (side == .a ? markA.hasDraft : markB.hasDraft) ?? false }
}

extension PairState {
  /// Whether the conversation would stand in a side's list if that side did not block the other.
  func isListedBeneath(_ side: Side) -> Bool { PairState.unblocked(standing).sight(of: side) != .nothing }
}

extension Clique.Key {
  static func draft(of user: String, in id: String) -> String { "draft/\(plain(user))/\(id)" }
  static func drafts(of user: String) -> String { "drafts/" + plain(user) }
}
