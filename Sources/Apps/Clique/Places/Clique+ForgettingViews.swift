import Wire

/// What becomes of records about other partitions when users' data is deleted: each partition forgets what it has, and what
/// one said before it did so is dropped where it comes later (``AppView/wasForgotten(_:since:)``).
extension Clique {
  func forgetOfElsewhere(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    switch key.prefix(while: { $0 != "/" }) {
    case "view": try forgetView(users, key, draft)
    case "crossed-view":
      guard let shown = try draft.read(CliqueCrossingView.self, key),
        users.contains(shown.user) || users.contains(shown.with)
      else { return }
      draft.erase(key)
      if !users.contains(shown.user), let id = Self.last(of: key) {
        draft.refresh(try Channels.list(shown.user), key: id, .soon)
      }
    case "news":
      guard let held = try draft.read(CliqueHeldNews.self, key),
        users.contains(held.user) || users.contains(held.news.from)
      else { return }
      draft.erase(key)
      guard let id = Self.last(of: key) else { return }
      acknowledge(held.user, in: id, draft)
    case "badge":
      guard let badge = try draft.read(CliqueBadge.self, key), users.contains(badge.user) else { return }
      draft.erase(key)
    case "told":
      guard var told = try draft.read(CliqueTold.self, key) else { return }
      if users.contains(told.user) { return draft.erase(key) }
      guard users.contains(told.news?.from ?? "") else { return }
      // Home is told what is left, as it was told of more than that.
      told.news = nil
      told.unread = max(told.unread, 1)
      draft.write(key, told)
      if let id = Self.last(of: key) { draft.refresh(try Channels.list(told.user), key: id, .soon) }
    default: return
    }
  }

  /// The list of somebody else loses the entry, until the conversation's partition says what it shows without the one who
  /// is forgotten.
  private func forgetView(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let shown = try draft.read(CliqueView.self, key) else { return }
    let isOwn = users.contains(shown.user)
    guard isOwn || shown.names.contains(where: { users.contains($0) }) else { return }
    draft.erase(key)
    guard !isOwn, let id = Self.last(of: key) else { return }
    draft.refresh(try Channels.list(shown.user), key: id, .atomically)
  }

  /// The conversation with which a record's key ends.
  private static func last(of key: String) -> String? { key.split(separator: "/").last.map { String($0) } }
}
