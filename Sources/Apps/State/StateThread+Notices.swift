/// What each of the two is told of a change, on the channel of their events.
///
/// | My phase before → after | Told |
/// |---|---|
/// | any → `sent`, `received`, `revealed` or `expired`, if it is another one or a new one of the same | that phase |
/// | `revealed` → any, or a new `revealed` | `ended`, before what comes next |
/// | `revealed` → the same, and the other has said something new to it | `reacted`, without what they said |
///
/// Everything that ends a reveal for me is in the second row: its time, a send by either of the two, and my own block,
/// of which my other devices hear so. A block by the other is not: I go on seeing what was revealed, and hear of its end
/// when its time has come, as where nobody blocks.
extension StateThread {
  func notices(after before: StateThread, for side: StateSide) -> [StateNotice] {
    var notices: [StateNotice] = []
    if before.phase(of: side) == .revealed, phase(of: side) != .revealed || since != before.since {
      notices.append(
        StateNotice(event: .ended, with: people[side.other], since: before.since, until: before.until))
    }
    if isNews(after: before, for: side) {
      notices.append(
        StateNotice(
          event: .phase(phase(of: side)), with: people[side.other], since: since, until: until,
          limit: answerLimit(for: side)))
    }
    if let theirs = reactions?[side.other], phase(of: side) == .revealed, since == before.since,
      theirs != before.reactions?[side.other]
    {
      notices.append(StateNotice(event: .reacted, with: people[side.other], since: since, until: until))
    }
    return notices
  }

  /// Whether a side's thread has come into another phase.
  func isNews(after before: StateThread, for side: StateSide) -> Bool {
    let phase = phase(of: side)
    return phase != .idle && (phase != before.phase(of: side) || since != before.since)
  }

  /// Whether a side's list entry differs from the one before.
  func showsOtherwise(than before: StateThread, for side: StateSide) -> Bool {
    if isNews(after: before, for: side) || phase(of: side) != before.phase(of: side) { return true }
    if blocks[side] != before.blocks[side] { return true }
    return phase(of: side) == .revealed && (seen[side] != before.seen[side] || reactions != before.reactions)
  }

  /// What each of the two says to what was revealed; nil: nothing is revealed.
  var reactions: Both<ReleasedContents.Caption?>? {
    guard case .revealed(let both) = standing else { return nil }
    return Both(low: both.low.reaction, high: both.high.reaction)
  }

  /// How long the side may record its answer, in milliseconds; nil where no answer of it is awaited.
  func answerLimit(for side: StateSide) -> Int64? {
    guard phase(of: side) == .received, case .sealed(_, _, let limit) = standing else { return nil }
    return limit
  }
}
