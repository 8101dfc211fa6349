public import Wire

/// What becomes of people's records when the data of one of them is deleted (docs/PRIVACY.md).
extension Clique {
  public func channels(of user: String) -> [ChannelName] {
    [
      try? Channels.list(user), try? Channels.blocked(user), try? Channels.drafts(user), try? Channels.reports(user),
      try? Channels.profile(user),
    ].compactMap(\.self)
  }

  public func forget(
    _ users: SoughtUsers, in key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    let draft = CliqueDraft(view)
    switch key.prefix(while: { $0 != "/" }) {
    case "pair": try forgetPair(users, key, draft)
    case "group": try forgetInGroup(users, key, draft)
    case "person": try forgetPerson(users, key, draft)
    case "draft", "drafts": try forgetDraft(users, key, draft)
    case "reactions": try forgetReactions(users, key, draft)
    case "report": try forgetReport(users, key, draft)
    case "kept": try forgetKept(users, key, draft)
    case "profile": try forgetProfile(users, key, draft)
    case "picture": try forgetPicture(users, key, draft)
    case "pictures": try forgetPictures(users, key, draft)
    case "visits": try forgetVisits(users, key, draft)
    case "view", "crossed-view", "news", "badge", "told": try forgetOfElsewhere(users, key, draft)
    case "visitor":
      guard let visitor = try view.record(Visitor.self, key), users.contains(visitor.user) else { return nil }
      draft.erase(key)
    case "place":
      guard let place = try view.record(FormerPlace.self, key),
        place.visits.contains(where: { users.contains($0.user) })
      else { return nil }
      draft.erase(key)
    case "crossing":
      guard let crossing = try view.record(FormerCrossing.self, key),
        users.contains(crossing.a) || users.contains(crossing.b)
      else { return nil }
      draft.erase(key)
    case "crossed":
      guard users.users.contains(where: { key.hasSameBytes(as: "crossed/" + Key.plain($0)) }) else { return nil }
      draft.erase(key)
    default: return nil
    }
    return draft.effects.isEmpty ? nil : draft.decision()
  }

  /// What the conversation's partition forgets of somebody, home forgets of its copy.
  private func forgetPair(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let stored = try draft.read(Pair.self, key) else { return }
    let sides = PairState.Side.allCases.filter { !stored.user($0).isEmpty && users.contains(stored.user($0)) }
    if sides.isEmpty { return }
    let id = String(key.dropFirst("pair/".count))
    let isCopy = elsewhere(ofConversation: id) != nil
    var pair = isCopy ? stored : stored.advanced(to: draft.now)
    for side in sides {
      if !pair.state.isBlocked(by: side.other) { try thaw(&pair, side.other, draft) }
      pair.forget(side, at: draft.now)
    }
    if isCopy {
      pair.hideTimers()
      try commitBond(stored, pair, id: id, draft)
    } else {
      try commit(stored, pair, id: id, draft)
    }
    for side in sides {
      let (user, other) = (stored.user(side), pair.user(side.other))
      if other.isEmpty { continue }
      draft.refresh(try Channels.list(other), key: id, isCopy ? .soon : .atomically)
      draft.refresh(try Channels.blocked(other), key: user, .atomically)
      draft.refresh(try Channels.people(other), key: user, .soon)
      // Receipts are where the conversation is.
      if !isCopy { draft.refresh(try Channels.receipts(id), key: user, .soon) }
      try draft.update(other) { person in person.blocked.drop(user) }
    }
    // Nobody is left who could see the conversation, or be protected by what stands between the two.
    if pair.a.isEmpty && pair.b.isEmpty { draft.erase(key) }
  }

  private func forgetInGroup(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let stored = try draft.read(Group.self, key) else { return }
    let id = String(key.dropFirst("group/".count))
    var group = stored
    group.members.removeAll { users.contains($0.user) }
    group.blocks.removeAll { users.contains($0.by) || users.contains($0.of) }
    group.removed?.removeAll { users.contains($0) }
    if group.removed?.isEmpty ?? false { group.removed = nil }
    // The name is what somebody called the group.
    if users.contains(group.namedBy ?? group.founder) { (group.name, group.namedBy) = ("", nil) }
    if users.contains(group.founder) { group.founder = "" }
    if group == stored { return }
    group = group.settled(at: draft.now)
    let present = group.members.filter { !$0.absent }
    if present.isEmpty { draft.erase(key) } else { draft.write(key, group) }
    for member in present { draft.refresh(try Channels.list(member.user), key: id, .atomically) }
    for member in stored.members where users.contains(member.user) {
      draft.refresh(try Channels.receipts(id), key: member.user, .soon)
    }
  }

  private func forgetPerson(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard var person = try draft.read(Person.self, key) else { return }
    if users.users.contains(where: { Key.person($0).hasSameBytes(as: key) }) { return draft.erase(key) }
    let stored = person
    person.blocked.removeAll { users.contains($0) }
    person.behind?.removeAll { users.contains($0) }
    if person.behind?.isEmpty ?? false { person.behind = nil }
    if person != stored { draft.writeOrErase(person, key) }
  }

  private func forgetVisits(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let user = users.users.first(where: { Key.visits(of: $0).hasSameBytes(as: key) }),
      try draft.read(Visits.self, key) != nil
    else { return }
    for other in try met(by: user, draft.view) {
      draft.refresh(try Channels.crossings(other), key: user, .soon)
      draft.refresh(try Channels.people(other), key: user, .soon)
    }
    draft.erase(key)
  }

  /// A profile is its owner's alone. Versions of it that others still see go with what stands between the two.
  private func forgetProfile(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let profile = try draft.read(Profile.self, key), users.contains(profile.user) else { return }
    draft.touch(Subject.profile(of: profile.user))
    draft.erase(key)
  }

  /// The error for whoever wants something of a person whose data was deleted.
  static let forgotten = ClientError.notAvailable.saying(
    "this person's data was deleted; clique.disconnect takes the conversation out of your list")
}

extension Clique.Pair {
  /// Forgets one of the two. What the other wrote, and what protects the other, stays:
  ///
  /// - An open conversation has ended, as if the one had left it. The other goes on reading their own messages.
  /// - A block by the other holds, and so does the time after which one who was declined may ask again: the record's
  ///   key is a digest of both ids, so whoever comes back under the same id meets it (``restored(as:)``).
  /// - A request that waits has ended, whoever made it.
  mutating func forget(_ side: PairState.Side, at now: Int64) {
    let gone = user(side)
    let isBlocked = state.isBlocked(by: side.other)
    var standing = PairState.Standing.none
    switch state.standing {
    case .active:
      standing = .ended(by: side)
      endedAt = now
    case .ended(let leaver) where leaver == side: standing = .ended(by: side)
    case .declined(let decliner, let silence) where decliner != side && silence != .lapsed && coolUntil > now:
      standing = .declined(by: decliner, .quiet)
    case .none, .requested, .declined, .ended: break
    }
    let blockers: PairState.Blockers = side == .a ? .b : .a
    adopt(isBlocked ? .blocked(by: blockers, over: standing) : .unblocked(standing))
    if standing == .none { (openedAt, endedAt) = (0, 0) }
    (opened, crossedFrom) = (nil, nil)
    self[mark: side] = Clique.Mark()
    self[mark: side.other].listed = false
    self[mark: side.other].lastSeen = nil
    self[mark: side.other].named = nil
    if self[mark: side.other].last?.from.hasSameBytes(as: gone) ?? false { self[mark: side.other].last = nil }
    if side == .a { a = "" } else { b = "" }
  }

  /// The pair with the names of its two people, one of whom may have been forgotten.
  ///
  /// - Parameter pair: has the same id, and so the same two people.
  func restored(as pair: Self) -> Self {
    var restored = self
    (restored.a, restored.b) = (pair.a, pair.b)
    return restored
  }
}
