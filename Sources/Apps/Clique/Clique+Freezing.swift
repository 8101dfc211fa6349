import Wire

/// Versions of profiles that are shown to people who are, or were, blocked (``ProfileSight`` has the table).
extension Clique {
  /// Keeps what the other sees of a side's profile, because that side blocks the other now; and the name of the other,
  /// which the side goes on seeing in the list of whom it blocks.
  ///
  /// - Parameter pair: as it was before the block.
  func freeze(_ pair: inout Pair, _ side: PairState.Side, _ draft: CliqueDraft) throws(ClientError) {
    let (user, other) = (pair.user(side), pair.user(side.other))
    if let name = try profile(of: other, seenBy: user, draft.view)?.content.name, !name.isEmpty {
      pair[mark: side].named = name
    }
    try draft.update(user) { person in person.isBehind(other, false) }
    if pair[mark: side].frozen != nil { return }
    var profile = try draft.profile(of: user)
    // Where there is nothing to see yet, the block alone says so.
    if profile.content.isEmpty { return }
    pair[mark: side].frozen = profile.content
    if let picture = profile.content.picture {
      profile.hold(picture)
      draft.write(profile)
    }
  }

  /// Looks whether the other still sees an older version of a side's profile when the side's block has ended.
  ///
  /// - Parameter pair: as it is without the block.
  func unfreeze(_ pair: inout Pair, _ side: PairState.Side, _ draft: CliqueDraft) throws(ClientError) {
    let (user, other) = (pair.user(side), pair.user(side.other))
    if pair.state.asker != side { pair[mark: side].named = nil }
    let frozen = pair[mark: side].frozen ?? ProfileContent()
    if frozen == (try draft.profile(of: user).content) { return try thaw(&pair, side, draft) }
    pair[mark: side].frozen = frozen
    var first: String?
    try draft.update(user) { person in first = person.isBehind(other, true) }
    guard let first else { return }
    let id = CliqueIdentifier.ordered(user, first)
    guard let stored = try draft.read(Pair.self, Key.pair(id)), let side = stored.side(of: user) else { return }
    var pair = stored
    try thaw(&pair, side, draft)
    if pair != stored { write(pair, id: id, draft) }
    draft.refresh(try Channels.people(first), key: user, .soon)
  }

  /// The other sees a side's profile as it is now.
  func thaw(_ pair: inout Pair, _ side: PairState.Side, _ draft: CliqueDraft) throws(ClientError) {
    guard let frozen = pair[mark: side].frozen else { return }
    pair[mark: side].frozen = nil
    guard let picture = frozen.picture, !pair.user(side).isEmpty else { return }
    var profile = try draft.profile(of: pair.user(side))
    guard profile.drop(picture) else { return }
    draft.write(profile)
    try release(picture, of: profile, draft)
  }

  /// A user has changed their profile: whoever is not blocked sees it as it is now.
  func thaw(behind user: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let behind = try draft.person(user).behind else { return }
    for other in behind {
      let id = CliqueIdentifier.ordered(user, other)
      guard let stored = try draft.read(Pair.self, Key.pair(id)), let side = stored.side(of: user),
        !stored.state.isBlocked(by: side)
      else { continue }
      var pair = stored
      try thaw(&pair, side, draft)
      if pair != stored { write(pair, id: id, draft) }
      draft.refresh(try Channels.people(other), key: user, .soon)
    }
    try draft.update(user) { person in person.behind = nil }
  }

  /// A side answers a request of the other, who sees that side's profile as it is now.
  func answers(_ pair: inout Pair, _ side: PairState.Side, _ draft: CliqueDraft) throws(ClientError) {
    if pair[mark: side].frozen == nil || pair.state.isBlocked(by: side) { return }
    let other = pair.user(side.other)
    try thaw(&pair, side, draft)
    try draft.update(pair.user(side)) { person in person.isBehind(other, false) }
    draft.refresh(try Channels.people(other), key: pair.user(side), .soon)
  }

  /// Writes a pair of which nothing has changed that either side's lists show.
  func write(_ pair: Pair, id: String, _ draft: CliqueDraft) {
    if pair.isBlank { draft.erase(Key.pair(id)) } else { draft.write(Key.pair(id), pair) }
  }
}

extension Clique.Person {
  /// Notes whether somebody whom this person does not block sees an older version of this person's profile.
  ///
  /// - Returns: whoever made room, and sees the present one from now on.
  @discardableResult
  mutating func isBehind(_ other: String, _ isBehind: Bool) -> String? {
    var users = behind ?? []
    users.drop(other)
    if isBehind { users.append(other) }
    let first = users.count > Clique.maximumBehind ? users.removeFirst() : nil
    behind = users.isEmpty ? nil : users
    return first
  }
}

extension Clique.Profile {
  /// Counts one more frozen version that shows a picture.
  mutating func hold(_ picture: Clique.ProfilePicture) {
    var held = frozenPictures ?? []
    if let index = held.firstIndex(where: { $0.picture == picture }) {
      held[index].count += 1
    } else {
      held.append(Clique.FrozenPicture(picture: picture, count: 1))
    }
    frozenPictures = held
  }

  /// Counts one frozen version less that shows a picture.
  ///
  /// - Returns: whether there was one.
  mutating func drop(_ picture: Clique.ProfilePicture) -> Bool {
    guard let index = frozenPictures?.firstIndex(where: { $0.picture == picture }) else { return false }
    frozenPictures?[index].count -= 1
    frozenPictures?.removeAll { $0.count <= 0 }
    if frozenPictures?.isEmpty ?? false { frozenPictures = nil }
    return true
  }

  /// Ids of the pictures that any version shows.
  var shownPictures: [String] {
    let versions = [content.picture].compactMap(\.self) + (frozenPictures ?? []).map(\.picture)
    return versions.flatMap(\.ids)
  }
}
