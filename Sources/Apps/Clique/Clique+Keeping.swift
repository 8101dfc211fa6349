import Wire

/// People mute, archive and pin conversations in their lists (``CliqueKeeping`` has the table).
extension Clique {
  /// Conversations that one person may pin.
  static let maximumPinned = 10

  func keep(_ command: CliqueCommand.Keep, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let draft = CliqueDraft(view)
    if case .conversation(let conversation) = command.target, Self.isGroup(conversation.id) {
      let id = conversation.id
      guard var group = try view.record(Group.self, Key.group(id)), let index = group.index(of: call.user)
      else { throw Self.noConversation }
      guard try change(&group.members[index].mark, command, id, call, draft) else { return draft.decision() }
      draft.write(Key.group(id), group)
    } else {
      var (pair, id, side, stored) = try pair(command.target, call, view)
      switch pair.state.sight(of: side) {
      case .active, .ended: break
      case .blocked: throw refusal(.blockedByYou)
      case .asking, .asked:
        throw ClientError.notAvailable.saying("this is a request; keep the conversation when it has been accepted")
      case .nothing: throw Self.noConversation
      }
      guard try change(&pair[mark: side], command, id, call, draft) else { return draft.decision() }
      try commit(stored, pair, id: id, draft)
    }
    return draft.decision()
  }

  /// - Returns: whether anything has changed.
  private func change(
    _ mark: inout Mark, _ command: CliqueCommand.Keep, _ id: String, _ call: AppCall, _ draft: CliqueDraft
  ) throws(ClientError) -> Bool {
    let old = mark.keeping ?? CliqueKeeping()
    let top = try draft.view.top(of: Channels.chat(id))
    var new = old
    for event in command.events { new = new.after(event, top: top, now: draft.now) }
    if new == old { return false }
    mark.keeping = new == CliqueKeeping() ? nil : new
    if (old.pinnedSince == nil) != (new.pinnedSince == nil) {
      try draft.update(call.user) { person throws(ClientError) in
        if new.pinnedSince == nil { return person.unpin(id) }
        if person.pinned?.count ?? 0 >= Self.maximumPinned {
          throw ClientError.limitExceeded.counted(as: .cliquePinned).saying(
            "\(Self.maximumPinned) conversations are pinned; unpin one first")
        }
        person.pinned = (person.pinned ?? []) + [id]
      }
    }
    draft.refresh(try Channels.list(call.user), key: id, .atomically)
    if new.isMuted || new.isArchived(newest: top) { acknowledge(call.user, in: id, draft) }
    return true
  }

  /// Writes how the conversation is kept into its entry.
  ///
  /// - Parameter newest: the offset of the newest message that the person sees.
  func write(_ keeping: CliqueKeeping?, newest: UInt64?, _ writer: inout JSONWriter) {
    guard let keeping else { return }
    if keeping.isMuted { writer.write("muted", true) }
    if keeping.isArchived(newest: newest ?? 0) { writer.write("archived", true) }
    if let since = keeping.pinnedSince { writer.write("pinned", since) }
  }

  /// Forgets how those keep the conversation who may read it no more, blocks or not.
  func dropKeeping(of pair: inout Pair, id: String, _ draft: CliqueDraft) throws(ClientError) {
    for side in PairState.Side.allCases where pair[mark: side].keeping != nil && !pair.state.mayReadBeneath(side) {
      pair[mark: side].keeping = nil
      try draft.update(pair.user(side)) { person in person.unpin(id) }
    }
  }
}

extension Clique.Person {
  mutating func unpin(_ id: String) {
    pinned?.drop(id)
    if pinned?.isEmpty ?? false { pinned = nil }
  }
}

extension CliqueCommand.Keep {
  fileprivate var events: [CliqueKeeping.Event] {
    [
      isMuted.map { $0 ? .mute : .unmute }, isArchived.map { $0 ? .archive : .unarchive },
      isPinned.map { $0 ? .pin : .unpin },
    ].compactMap(\.self)
  }
}
