/// What each of the two is told of a change, on the channel of their events.
///
/// | My phase before → after | Told |
/// |---|---|
/// | any → `sent`, `received`, `revealed` or `expired`, if it is another one or a new one of the same | that phase |
/// | `revealed` → any, or a new `revealed` | `ended`, before what comes next |
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
    return notices
  }

  /// Whether a side's thread has come into another phase.
  func isNews(after before: StateThread, for side: StateSide) -> Bool {
    let phase = phase(of: side)
    return phase != .idle && (phase != before.phase(of: side) || since != before.since)
  }

  /// Whether a side's list entry differs from the one before.
  func showsOtherwise(than before: StateThread, for side: StateSide) -> Bool {
    isNews(after: before, for: side) || phase(of: side) != before.phase(of: side)
      || blocks[side] != before.blocks[side] || (phase(of: side) == .revealed && seen[side] != before.seen[side])
  }

  /// How long the side may record its answer, in milliseconds; nil where no answer of it is awaited.
  func answerLimit(for side: StateSide) -> Int64? {
    guard phase(of: side) == .received, case .sealed(_, _, let limit) = standing else { return nil }
    return limit
  }
}
