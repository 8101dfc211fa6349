public import Wire

extension Clique {
  /// What stands between two people, without a word of what they wrote.
  public func standing(
    between user: String, and other: String, _ view: any AppView
  ) throws(ClientError) -> [UInt8] {
    for name in [user, other] { try UserIdentifier.check(name, most: CliqueCommand.maximumUserBytes) }
    let blank = Pair(user, other)
    if elsewhere(ofConversation: blank.id) != nil { throw Self.misplaced }
    let stored = try view.record(Pair.self, Key.pair(blank.id))
    let pair = (stored?.restored(as: blank) ?? blank).advanced(to: view.now)
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("conversation", blank.id)
      write(pair.state.standing, of: pair, &writer)
      writer.list("blocked_by") { writer in
        for side in PairState.Side.allCases where pair.state.isBlocked(by: side) {
          writer.write(element: pair.user(side))
        }
      }
      if pair.openedAt > 0 { writer.write("opened", pair.openedAt) }
      if pair.endedAt > 0 { writer.write("ended", pair.endedAt) }
      if pair.requestEnds > 0 { writer.write("request_ends", pair.requestEnds) }
      if pair.coolUntil > view.now { writer.write("cool_until", pair.coolUntil) }
      writer.write("waiting", pair.waiting.count)
      if let stored, stored.a.isEmpty || stored.b.isEmpty { writer.write("forgotten", true) }
    }
    return writer.bytes
  }

  private func write(_ standing: PairState.Standing, of pair: Pair, _ writer: inout JSONWriter) {
    switch standing {
    case .none: writer.write("standing", "none")
    case .requested(let side):
      writer.write("standing", "requested")
      writer.write("by", pair.user(side))
    case .active: writer.write("standing", "active")
    case .declined(let side, let silence):
      writer.write("standing", "declined")
      writer.write("by", pair.user(side))
      writer.write("silence", silence.rawValue)
    case .ended(let side):
      writer.write("standing", "ended")
      writer.write("by", pair.user(side))
    }
  }
}
