import Wire

extension Clique {
  /// Does accept, decline and disconnect.
  func answer(
    _ event: PairState.Event, _ target: CliqueCommand.Target, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    var (pair, id, side, stored) = try pair(target, call, view)
    let draft = CliqueDraft(view)
    let step = pair.state.after(event, by: side)
    switch step.outcome {
    case .refused(let reason): throw refusal(reason)
    case .opened: _ = try open(&pair, id: id, to: step.state, answeredBy: side, draft)
    case .changed:
      if case .declined(_, .asking) = step.state.standing { pair.coolUntil = view.now + rules.declineCooldown }
      if case .ended = step.state.standing { pair.endedAt = view.now }
      pair.adopt(step.state)
    case .takenBack:
      pair[mark: side].takenBack = .after(
        pair[mark: side].takenBack, waited: pair.waiting.count, requestEnds: pair.requestEnds)
      pair.adopt(step.state)
    case .unchanged, .waits, .delivered, .openedAndDelivered: break
    }
    try commit(stored, pair, id: id, looksAtBoth: true, draft)
    if step.outcome == .opened, pair.state.sight(of: side.other) == .active {
      notify(pair.user(side.other), Topic.accepted, in: id, draft)
    }
    return draft.decision(reply: Self.conversation(id))
  }

  func block(
    _ target: CliqueCommand.Target, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    var (pair, id, side, stored) = try pair(target, call, view)
    let other = pair.user(side.other)
    if other.isEmpty { throw Self.forgotten }
    let draft = CliqueDraft(view)
    let step = pair.state.after(.block, by: side)
    if step.outcome == .changed {
      let sight = pair.state.sight(of: side)
      pair[mark: side].listed = sight != .nothing
      pair[mark: side].blockedAt = view.now
      if sight == .active || sight == .ended {
        let newest = try newest(try Channels.chat(id), seenBy: call.user, after: 0, counting: false, view)
        if let last = newest.last, last.vanishes == nil, last.offset >= pair[mark: side].last?.offset ?? 0 {
          pair[mark: side].last = preview(of: last)
        }
      }
      try keepSight(of: &pair, side, draft)
      pair.adopt(step.state)
      try draft.update(call.user) { person throws(ClientError) in
        if person.blocked.count >= rules.maximumBlocked {
          throw ClientError.limitExceeded.counted(as: .cliqueBlocked).saying(
            "you block \(rules.maximumBlocked) people; unblock somebody first")
        }
        guard let mark = CliqueRate(perDay: rules.blocksPerDay).next(after: person.blockMark, now: view.now) else {
          throw ClientError.limitExceeded.counted(as: .cliqueBlocksPerDay).saying(
            "you have blocked \(rules.blocksPerDay) people a day or nearly so many at once; go on later")
        }
        person.blockMark = mark
        person.blocked.append(other)
      }
      try showBlock(by: call.user, of: other, id: id, draft)
    }
    try commit(stored, pair, id: id, draft)
    return draft.decision()
  }

  /// Keeps what the other goes on seeing of a side that blocks them now.
  ///
  /// - Parameter pair: as it was before the block.
  func keepSight(of pair: inout Pair, _ side: PairState.Side, _ draft: CliqueDraft) throws(ClientError) {
    try freeze(&pair, side, draft)
    pair[mark: side].keepLastSeen(
      try draft.view.record(Visits.self, Key.visits(of: pair.user(side))), from: pair.crossedFrom ?? 0, now: draft.now)
  }

  /// Shows a block that begins to the one who blocks alone: nothing that the other sees changes, and no entry of theirs is
  /// worked out.
  func showBlock(by user: String, of other: String, id: String, _ draft: CliqueDraft) throws(ClientError) {
    draft.refresh(try Channels.crossings(user), key: other, .soon)
    draft.refresh(try Channels.list(user), key: id, .soon)
    try setGroupBlock(by: user, of: other, true, draft)
  }

  func unblock(
    _ target: CliqueCommand.Target, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    var (pair, id, side, stored) = try pair(target, call, view)
    let other = pair.user(side.other)
    let draft = CliqueDraft(view)
    let step = pair.state.after(.unblock, by: side)
    if step.outcome == .changed {
      pair.adopt(step.state)
      // Messages that came during the block do not count as unread, and the other is not told that they were read.
      pair[mark: side].base = try view.top(of: Channels.chat(id))
      pair[mark: side].blockedAt = 0
      pair[mark: side].listed = false
      pair.crossedFrom = view.now
      // Whoever lifts a block of their own sees no crossing from before, whether or not the other blocks them too.
      pair[mark: side.other].lastSeen = pair[mark: side.other].lastSeen?.map { $0.counting(from: view.now) }
      try draft.update(call.user) { person in person.blocked.drop(other) }
      if !other.isEmpty { try unfreeze(&pair, side, draft) }
      try setGroupBlock(by: call.user, of: other, false, draft)
    }
    try commit(stored, pair, id: id, draft)
    return draft.decision()
  }

  static func conversation(_ id: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { $0.write("conversation", id) }
    return writer.bytes
  }

  // MARK: What follows from a change

  /// Writes a pair that has changed. Each side's lists and subscriptions change only where that side's own sight does,
  /// so that nobody learns of a change that they must not see.
  ///
  /// - Parameter looksAtBoth: where the change shows in the list of one of the two, all is read that it needs where it
  ///   shows to both: whoever waits for the answer must not learn by its time whether it reached the other. Not for what
  ///   shows to the one who acts alone, as a block does: to open the other's list would tell them.
  func commit(
    _ stored: Pair?, _ new: Pair, id: String, looksAtBoth: Bool = false, _ draft: CliqueDraft
  ) throws(ClientError) {
    let old = stored ?? Pair(new.a, new.b)
    var new = new
    try dropKeeping(of: &new, id: id, draft)
    try dropDrafts(of: &new, id: id, draft)
    if looksAtBoth, PairState.Side.allCases.contains(where: { Self.isListChanged(old, new, $0) }) {
      try lookAtBoth(new, id: id, draft)
    }
    for side in PairState.Side.allCases { try commit(old, new, side, id: id, draft) }
    if new == old { return }
    try tellBond(from: old, to: new, id: id, draft)
    tell(from: old, to: new, id: id, draft)
    if !new.isBlank {
      draft.write(Key.pair(id), new)
    } else if stored != nil {
      draft.erase(Key.pair(id))
    }
  }

  private func commit(
    _ old: Pair, _ new: Pair, _ side: PairState.Side, id: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    let user = new.user(side)
    if user.isEmpty { return }
    let (was, now) = (old.state.sight(of: side), new.state.sight(of: side))
    try showLastSeen(old, new, side, id: id, draft)
    if was == .blocked, now == .blocked, old.state.mayReadBeneath(side), !new.state.mayReadBeneath(side) {
      draft.readmit(user, try Channels.chat(id))
    }
    // The one who blocks hits the limit of conversations as without a block: otherwise the other would learn of the
    // block because the limit is missing.
    if was == .blocked, now == .blocked, !old.state.mayReadBeneath(side), new.state.mayReadBeneath(side),
      try draft.person(user).open.count >= rules.maximumConversations
    {
      throw Self.tooManyConversations
    }
    if Self.isListChanged(old, new, side) { draft.refresh(try Channels.list(user), key: id, .atomically) }
    if (was == .blocked) != (now == .blocked) {
      draft.refresh(try Channels.blocked(user), key: new.user(side.other), .atomically)
    }
    try commitPeople(old, new, side, id: id, draft)
    if was == now { return }
    if was == .asked || was == .active { acknowledge(user, in: id, draft) }
    if was.mayRead != now.mayRead {
      draft.readmit(user, try Channels.chat(id))
      draft.readmit(user, try Channels.reactions(id))
    }
    if (was == .active) != (now == .active) {
      draft.readmit(user, try Channels.receipts(id))
      draft.readmit(user, try Channels.typing(id))
    }
    try draft.update(user) { person throws(ClientError) in
      if was.mayRead { person.open.drop(id) }
      if now.mayRead {
        // A conversation that only comes back when a block is lifted is not refused.
        if person.open.count >= rules.maximumConversations, was != .blocked { throw Self.tooManyConversations }
        person.open.append(id)
      }
      if was == .asking { person.asking = max(0, person.asking - 1) }
      if was == .asked { person.asked = max(0, person.asked - 1) }
      if now == .asked { person.asked += 1 }
      if now == .asking {
        try ask(&person, isBack: was == .blocked, isRepeated: new[mark: side].takenBack != nil, at: draft.now)
      }
    }
  }

  /// Shows a side what it sees of a visit of the other that has ended by itself.
  func showLastSeen(
    _ old: Pair, _ new: Pair, _ side: PairState.Side, id: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    let seen = old[mark: side.other]
    var later = seen
    later.advanceLastSeen(to: draft.now)
    if later == seen { return }
    let user = new.user(side)
    draft.refresh(try Channels.crossings(user), key: new.user(side.other), .soon)
    draft.refresh(try Channels.people(user), key: new.user(side.other), .soon)
    draft.refresh(try Channels.list(user), key: id, .soon)
  }

  /// Reads all that the lists of the two need to show their pair.
  func lookAtBoth(_ pair: Pair, id: String, _ draft: CliqueDraft) throws(ClientError) {
    for user in [pair.a, pair.b] where !user.isEmpty {
      _ = try draft.person(user)
      draft.refresh(try Channels.list(user), key: id, .atomically)
    }
  }

  /// Whether a change shows in the list of one of the two.
  private static func isListChanged(_ old: Pair, _ new: Pair, _ side: PairState.Side) -> Bool {
    let (was, now) = (old.state.sight(of: side), new.state.sight(of: side))
    if was != now { return true }
    return switch now {
    case .asking, .asked: old.waiting(for: side) != new.waiting(for: side)
    case .active:
      old.vanishesAfter != new.vanishesAfter
        || old.vanishing?.waiting(for: side)?.shown != new.vanishing?.waiting(for: side)?.shown
    case .nothing, .ended, .blocked: false
    }
  }

  /// Counts one more request of a person.
  ///
  /// - Parameters:
  ///   - isBack: the request only comes back when a block is lifted, and is not refused.
  ///   - isRepeated: it goes on with one that was taken back.
  private func ask(_ person: inout Person, isBack: Bool, isRepeated: Bool, at now: Int64) throws(ClientError) {
    if person.asking >= rules.maximumRequestsOut, !isBack {
      throw ClientError.limitExceeded.counted(as: .cliqueRequestsSent).saying(
        "\(rules.maximumRequestsOut) of your requests wait; wait for answers, or take one back with clique.disconnect")
    }
    if !isBack, !isRepeated { try countRequest(&person, at: now) }
    person.asking += 1
  }

  /// Counts one more message in a request against the day's number.
  func countRequestMessage(of user: String, _ draft: CliqueDraft) throws(ClientError) {
    if rules.requestMessagesPerDay == 0 { return }
    try draft.update(user) { person throws(ClientError) in
      let rate = CliqueRate(perDay: rules.requestMessagesPerDay)
      guard let mark = rate.next(after: person.requestMessageMark, now: draft.now) else {
        throw ClientError.limitExceeded.counted(as: .cliqueRequestMessagesPerDay).saying(
          "you have sent \(rules.requestMessagesPerDay) messages a day, or nearly so many at once, to people who have not "
            + "answered; write to them later")
      }
      person.requestMessageMark = mark
    }
  }

  /// Counts one more request against the day's number.
  private func countRequest(_ person: inout Person, at now: Int64) throws(ClientError) {
    guard let mark = CliqueRate(perDay: rules.requestsPerDay).next(after: person.requestMark, now: now) else {
      throw ClientError.limitExceeded.counted(as: .cliqueRequestsPerDay).saying(
        "you have asked \(rules.requestsPerDay) people a day or nearly so many at once; write to others later")
    }
    person.requestMark = mark
  }

  private static let tooManyConversations = ClientError.limitExceeded.counted(as: .cliqueConversations).saying(
    "one of you has as many conversations as one can have; end one with clique.disconnect first")

  /// Sets or lifts a block in the groups that both are members of: from then on neither gets the other's messages
  /// there, or both do again.
  func setGroupBlock(
    by user: String, of other: String, _ isBlocked: Bool, _ draft: CliqueDraft
  ) throws(ClientError) {
    for id in try draft.person(user).groups {
      guard var group = try draft.read(Group.self, Key.group(id)), let index = group.index(of: user),
        group.index(of: other) != nil
      else { continue }
      group.blocks.removeAll { $0.by.hasSameBytes(as: user) && $0.of.hasSameBytes(as: other) }
      if isBlocked {
        let mark = group.members[index].mark
        group.blocks.append(Group.Block(by: user, of: other, read: mark.read, delivered: mark.delivered))
        group.hadBlocks = true
      }
      draft.write(Key.group(id), group)
      draft.refresh(try Channels.receipts(id), key: user, .soon)
      for member in [user, other] { try readmit(member, toGroup: id, draft) }
    }
  }

  func readmit(_ user: String, toGroup id: String, _ draft: CliqueDraft) throws(ClientError) {
    for channel in [
      try Channels.chat(id), try Channels.reactions(id), try Channels.receipts(id), try Channels.typing(id),
    ] { draft.readmit(user, channel) }
  }
}

extension PairState.Sight {
  /// Whether the chat may be read. It stays readable after the other has left.
  var mayRead: Bool { self == .active || self == .ended }
}
