import Wire

extension Clique {
  /// `{"conversation": id, "offset": n}`: everything up to it was read.
  func read(_ call: AppCall, _ arguments: CliqueArguments, _ view: any AppView) throws(ClientError) -> AppDecision {
    try mark(call, arguments, view) { mark, offset in
      mark.read = max(mark.read, offset)
      mark.delivered = max(mark.delivered, offset)
    }
  }

  /// `{"conversation": id, "offset": n}`: everything up to it has arrived on a device.
  func delivered(
    _ call: AppCall, _ arguments: CliqueArguments, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    try mark(call, arguments, view) { mark, offset in mark.delivered = max(mark.delivered, offset) }
  }

  private func mark(
    _ call: AppCall, _ arguments: CliqueArguments, _ view: any AppView, _ change: (inout Mark, UInt64) -> Void
  ) throws(ClientError) -> AppDecision {
    guard let id = try conversation(arguments) else { throw Self.conversationMissing }
    guard let number = try arguments.number("offset") else {
      throw ClientError.badRequest.saying("`offset` is missing; send that of the last message")
    }
    let offset = UInt64(number)
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
      var (pair, side) = try activePair(id, call.user, view)
      try checkOffset(offset, id, view)
      let old = pair
      change(&pair[mark: side], offset)
      if pair == old { return AppDecision() }
      write = .write(key: Key.pair(id), pair)
    }
    return AppDecision([
      write, .refresh(try Channels.receipts(id), key: call.user, .soon),
      .refresh(try Channels.list(call.user), key: id, .soon),
    ])
  }

  /// `{"conversation": id}`: it stands for a few seconds.
  func typing(_ call: AppCall, _ arguments: CliqueArguments, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard let id = try conversation(arguments) else { throw Self.conversationMissing }
    if Self.isGroup(id) {
      guard let group = try view.record(Group.self, Key.group(id)), group.index(of: call.user) != nil
      else { throw Self.noConversation }
    } else {
      _ = try activePair(id, call.user, view)
    }
    return AppDecision([.refresh(try Channels.typing(id), key: call.user, .soon)])
  }

  /// The pair as the caller sees it in an open conversation; where it is not, nothing of them may be told.
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

  private static let conversationMissing = ClientError.badRequest.saying(
    "`conversation` is missing; take its id from your list")
}
