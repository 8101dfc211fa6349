import Wire

/// What stands between two people whose conversation is elsewhere, as home looks at it: a ``Pair`` without messages and
/// marks. What follows at home from a change, such as who sees which profile, home works out when it hears of it.
extension Clique {
  /// Tells home what stands between two people, where that has changed and home is elsewhere.
  func tellBond(from old: Pair, to new: Pair, id: String, _ draft: CliqueDraft) throws(ClientError) {
    if isHome || old.bond(id) == new.bond(id) { return }
    draft.add(try relay(.bond(new.bond(id)), to: Partitioning.home, draft.view))
  }

  func receive(_ bond: CliqueRelay.Bond, sent: Int64, _ view: any AppView) throws(ClientError) -> AppDecision {
    let (id, draft) = (bond.conversation, CliqueDraft(view))
    let stored = try view.record(Pair.self, Key.pair(id))
    // What names somebody who was forgotten since is late: the conversation's partition forgets them, too, and says so.
    if try view.wereForgotten([bond.a, bond.b], since: sent) { return AppDecision() }
    if stored == nil, bond.a.isEmpty, bond.b.isEmpty { return AppDecision() }
    let old = stored ?? Pair(a: bond.a, b: bond.b)
    var new = old
    for side in PairState.Side.allCases where bond.user(side).isEmpty && !old.user(side).isEmpty {
      new.forget(side, at: view.now)
    }
    for side in PairState.Side.allCases {
      if !old.state.isBlocked(by: side), bond.state.isBlocked(by: side) { try beginBlock(&new, side, draft) }
    }
    let asker = old.state.asker
    new.adopt(bond)
    for side in PairState.Side.allCases {
      if old.state.isBlocked(by: side), !bond.state.isBlocked(by: side) { try endBlock(&new, side, draft) }
    }
    if let asker, old.state.standing != .active, new.state.standing == .active {
      try answers(&new, asker.other, draft)
    }
    if let asker = new.state.asker, bond.waiting > old.copied ?? 0, new.state.sight(of: asker) == .asking {
      let seen = try profile(of: new.user(asker.other), seenBy: new.user(asker), view)
      if let name = seen?.content.name, !name.isEmpty { new[mark: asker].named = name }
    }
    try commitBond(old, new, id: id, draft)
    return draft.decision()
  }

  /// What a block means at home: before the pair says that there is one.
  private func beginBlock(_ pair: inout Pair, _ side: PairState.Side, _ draft: CliqueDraft) throws(ClientError) {
    let (user, other) = (pair.user(side), pair.user(side.other))
    if user.isEmpty || other.isEmpty { return }
    try keepSight(of: &pair, side, draft)
    try draft.update(user) { person in
      if !person.blocked.containsBytes(of: other) { person.blocked.append(other) }
    }
    try showBlock(by: user, of: other, id: pair.id, draft)
  }

  private func endBlock(_ pair: inout Pair, _ side: PairState.Side, _ draft: CliqueDraft) throws(ClientError) {
    let (user, other) = (pair.user(side), pair.user(side.other))
    if let from = pair.crossedFrom {
      pair[mark: side.other].lastSeen = pair[mark: side.other].lastSeen?.map { $0.counting(from: from) }
    }
    if user.isEmpty || other.isEmpty { return }
    try draft.update(user) { person in person.blocked.drop(other) }
    try unfreeze(&pair, side, draft)
    draft.refresh(try Channels.list(user), key: pair.id, .soon)
    try setGroupBlock(by: user, of: other, false, draft)
  }

  /// Writes the copy, and shows at home what follows from it.
  func commitBond(
    _ old: Pair, _ new: Pair, id: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    for side in PairState.Side.allCases where !new.user(side).isEmpty {
      let (user, other) = (new.user(side), new.user(side.other))
      if old.state.isBlocked(by: side) != new.state.isBlocked(by: side) {
        draft.refresh(try Channels.blocked(user), key: other.isEmpty ? old.user(side.other) : other, .atomically)
      }
      try showLastSeen(old, new, side, id: id, draft)
      try commitPeople(old, new, side, id: id, draft)
      // Lists show the last crossing, which home works out. Of a block the other's list must show nothing.
      if old.state.sight(of: side) != new.state.sight(of: side) {
        draft.refresh(try Channels.list(user), key: id, .soon)
      }
    }
    if new == old { return }
    if new.a.isEmpty && new.b.isEmpty { draft.erase(Key.pair(id)) } else { write(new, id: id, draft) }
  }

  /// The copy's time has come: visits that somebody still sees have ended, or a block's end counts no more.
  func bondIsDue(_ stored: Pair, id: String, _ draft: CliqueDraft) throws(ClientError) {
    try commitBond(stored, stored.advanced(to: draft.now), id: id, draft)
  }
}

extension CliqueRelay.Bond {
  func user(_ side: PairState.Side) -> String { side == .a ? a : b }
}

extension Clique.Pair {
  /// A copy at home of what stands elsewhere.
  init(a: String, b: String) { (self.a, self.b) = (a, b) }

  func bond(_ id: String) -> CliqueRelay.Bond {
    CliqueRelay.Bond(
      conversation: id, a: a, b: b, state: state, crossedFrom: crossedFrom, openedAt: openedAt,
      blockedAtA: markA.blockedAt, blockedAtB: markB.blockedAt, waiting: waiting.count)
  }

  /// Takes over what stands elsewhere.
  mutating func adopt(_ bond: CliqueRelay.Bond) {
    adopt(bond.state)
    (crossedFrom, openedAt) = (bond.crossedFrom, bond.openedAt)
    (markA.blockedAt, markB.blockedAt) = (bond.blockedAtA, bond.blockedAtB)
    copied = bond.waiting == 0 ? nil : bond.waiting
    hideTimers()
  }

  /// When requests and cooldowns end, the conversation's partition says.
  mutating func hideTimers() {
    requestEnds = state.asker == nil ? 0 : .max
    if case .declined = state.standing { coolUntil = .max } else { coolUntil = 0 }
  }
}
