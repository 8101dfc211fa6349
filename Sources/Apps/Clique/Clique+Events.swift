import Wire

/// What webhooks are told of a pair: who asks whom, and the answer. Nothing of what they write, and nothing of blocks.
extension Clique {
  func tell(from old: Pair, to new: Pair, id: String, _ draft: CliqueDraft) {
    switch (old.state.standing, new.state.standing) {
    case (.requested(let before), .requested(let side)) where before == side: break
    case (_, .requested(let side)): tell(.cliqueRequest, of: new, by: side, nil, id, draft)
    case (.requested(let side), .active): tell(.cliqueAnswer, of: new, by: side, "accepted", id, draft)
    // Who declined has thought better of it.
    case (.declined(let side, _), .active): tell(.cliqueAnswer, of: new, by: side.other, "accepted", id, draft)
    case (.requested(let side), .declined): tell(.cliqueAnswer, of: new, by: side, "declined", id, draft)
    default: break
    }
  }

  /// - Parameter side: the one who asks.
  private func tell(
    _ event: WebhookEvents, of pair: Pair, by side: PairState.Side, _ answer: String?, _ id: String,
    _ draft: CliqueDraft
  ) {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("conversation", id)
      writer.write("from", pair.user(side))
      writer.write("to", pair.user(side.other))
      if let answer { writer.write("answer", answer) }
    }
    draft.tell(event, writer.bytes)
  }
}
