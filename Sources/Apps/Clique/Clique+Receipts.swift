import Wire

extension Clique {
  /// Notes that the caller has read everything up to an offset.
  func read(_ mark: CliqueCommand.Mark, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    try change(mark, isRead: true, call, view) { mark, offset in
      mark.read = max(mark.read, offset)
      mark.delivered = max(mark.delivered, offset)
    }
  }

  /// Notes that everything up to an offset has arrived on a device of the caller.
  func delivered(
    _ mark: CliqueCommand.Mark, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    try change(mark, isRead: false, call, view) { mark, offset in mark.delivered = max(mark.delivered, offset) }
  }

  private func change(
    _ mark: CliqueCommand.Mark, isRead: Bool, _ call: AppCall, _ view: any AppView,
    _ change: (inout Mark, UInt64) -> Void
  ) throws(ClientError) -> AppDecision {
    let (id, offset) = (mark.conversation, mark.offset)
    let write: AppEffect
    if Self.isGroup(id) {
      guard var group = try view.record(Group.self, Key.group(id)), let index = group.index(of: call.user)
      else { throw Self.noConversation }
      try checkOffset(offset, id, view)
      let old = group
      change(&group.members[index].mark, offset)
      if group == old { return AppDecision() }
      write = .write(key: Key.group(id), group)
    } else {
      if let decision = try markRequest(mark, isRead: isRead, by: call.user, view) { return decision }
      var (pair, side) = try activePair(id, call.user, view)
      try checkOffset(offset, id, view)
      let old = pair
      change(&pair[mark: side], offset)
      if pair == old { return AppDecision() }
      write = .write(key: Key.pair(id), pair)
    }
    return AppDecision(
      [
        write, .refresh(try Channels.receipts(id), key: call.user, .soon),
        .refresh(try Channels.list(call.user), key: id, .soon),
      ] + acknowledged([call.user], in: id))
  }

  /// Shows the caller as typing, for ``CliqueRules/typingLifetime``.
  func typing(_ id: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    if Self.isGroup(id) {
      guard let group = try view.record(Group.self, Key.group(id)), group.index(of: call.user) != nil
      else { throw Self.noConversation }
    } else {
      _ = try activePair(id, call.user, view)
    }
    return AppDecision([.refresh(try Channels.typing(id), key: call.user, .soon)])
  }

  /// The pair of a conversation that is open for the caller.
  ///
  /// - Throws: one error for all conversations that are not open for the caller, whether or not they exist.
  private func activePair(
    _ id: String, _ user: String, _ view: any AppView
  ) throws(ClientError) -> (Pair, PairState.Side) {
    guard let pair = try view.record(Pair.self, Key.pair(id)), let side = pair.side(of: user)
    else { throw Self.noConversation }
    if pair.state.isBlocked(by: side) { throw refusal(.blockedByYou) }
    if pair.state.sight(of: side) != .active { throw Self.noConversation }
    return (pair, side)
  }

  private func checkOffset(_ offset: UInt64, _ id: String, _ view: any AppView) throws(ClientError) {
    if offset > (try view.top(of: Channels.chat(id))) {
      throw ClientError.badRequest.saying("`offset` is beyond the last message; send that of a message that you got")
    }
  }
}
