public import Wire

/// What an entry of a list entails in other partitions when it is worked out again.
extension Clique {
  public var tellsOfEntries: Bool { isShared }

  /// An entry is sent whether or not it has changed: whoever waits for an answer must not learn from its time whether it
  /// has changed for the other.
  public func follows(
    _ key: String, of channel: ChannelName, isAwaited: Bool, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    let (namespace, user) = Self.parts(of: channel)
    guard isShared, CliqueCommand.isConversation(key) else { return [] }
    let isHere = elsewhere(ofConversation: key) == nil
    switch namespace {
    case "clique.list" where isHere: return try listFollowers(user, key, of: channel, isAwaited, view)
    case "clique.list": return try crossingFollowers(user, key, view)
    case "clique.drafts" where isHere:
      guard let place = elsewhere(ofUser: user) else { return [] }
      let entry = try draftEntry(user, key, view)
      return [try shows(.drafts, user, key, entry, naming: [], to: place, view)]
    default: return []
    }
  }

  private func shows(
    _ list: CliqueRelay.Shows.Place, _ user: String, _ id: String, _ entry: AppEntry?, naming names: [String],
    to place: Int, _ view: any AppView
  ) throws(ClientError) -> AppEffect {
    let kept = entry.map { CliqueRelay.Entry(data: String(decoding: $0.data, as: UTF8.self), score: $0.score) }
    return try relay(
      .shows(.init(place: list, user: user, conversation: id, entry: kept, names: kept == nil ? [] : names)), to: place,
      view)
  }

  private func listFollowers(
    _ user: String, _ id: String, of channel: ChannelName, _ isAwaited: Bool, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    let place = elsewhere(ofUser: user)
    // A list that is here is worked out by itself.
    if place == nil, !rules.notifies { return [] }
    let entry = try entry(id, of: channel, view)
    var effects: [AppEffect] = []
    if let place {
      let names = try named(in: id, entry, besides: user, view)
      effects.append(try shows(.list, user, id, entry, naming: names, to: place, view))
    }
    guard rules.notifies else { return effects }
    var totals = Totals()
    if let entry { totals.add(entry.data) }
    let unread = totals.messages + totals.requests
    if isHome { return effects + (try count(unread, in: id, of: user, isAwaited: isAwaited, view)) }
    return effects + (try tellHome(unread, of: id, user, isAwaited, view))
  }

  /// Everybody whom an entry of the list may name: the other of two, the members of a group; and whose message it shows,
  /// who may be nobody of these any more.
  private func named(
    in id: String, _ entry: AppEntry?, besides user: String, _ view: any AppView
  ) throws(ClientError) -> [String] {
    var everybody: [String]
    if Self.isGroup(id) {
      everybody = try view.record(Group.self, Key.group(id))?.members.map(\.user) ?? []
    } else {
      everybody = try view.record(Pair.self, Key.pair(id)).map { [$0.a, $0.b] } ?? []
    }
    let fields = entry.flatMap { try? CommandFields($0.data) }
    if let author = try? fields?.string("from"), !everybody.containsBytes(of: author) { everybody.append(author) }
    return everybody.filter { !$0.isEmpty && !$0.hasSameBytes(as: user) }
  }

  /// Home is told what it does not know yet; while somebody waits, in any case.
  private func tellHome(
    _ unread: Int, of id: String, _ user: String, _ isAwaited: Bool, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    let key = CliqueTold.key(of: user, in: id)
    let before = try view.record(CliqueTold.self, key)
    let now = CliqueTold(user: user, news: try news(of: id, for: user, view), unread: unread)
    if !isAwaited, now == before ?? CliqueTold(user: user, unread: 0) { return [] }
    let news = CliqueRelay.News(user: user, conversation: id, news: now.news, unread: unread)
    let isNothing = now.news == nil && unread == 0
    return [
      isNothing ? .erase(key: key) : .write(key: key, now), try relay(.news(news), to: Partitioning.home, view),
    ]
  }

  /// What the conversation adds to the number on the icon of a person's app.
  func count(
    _ unread: Int, in id: String, of user: String, isAwaited: Bool = false, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    let key = CliqueBadge.key(of: user)
    let before = try view.record(CliqueBadge.self, key) ?? CliqueBadge(user: user)
    var badge = before
    badge.unread[id] = unread == 0 ? nil : unread
    if badge == before, !isAwaited { return [] }
    return [badge.unread.isEmpty ? .erase(key: key) : .write(key: key, badge)]
  }

  /// The last crossing of the two of a conversation elsewhere, for a list elsewhere. Once, as the places of a crowd touch
  /// many lists.
  private func crossingFollowers(
    _ user: String, _ id: String, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    guard isHome, let place = elsewhere(ofUser: user), let pair = try view.record(Pair.self, Key.pair(id)),
      let side = pair.side(of: user)
    else { return [] }
    let other = pair.user(side.other)
    let crossing = other.isEmpty ? nil : try lastCrossing(user, other, view).map { String(decoding: $0, as: UTF8.self) }
    let key = CliqueCrossingView.key(of: user, in: id)
    if try view.record(CliqueCrossingView.self, key)?.crossing == crossing { return [] }
    let record: AppEffect =
      crossing.map { .write(key: key, CliqueCrossingView(user: user, with: other, crossing: $0)) } ?? .erase(key: key)
    let says = CliqueRelay.Crossing(user: user, with: other, conversation: id, crossing: crossing)
    return [record, try relay(.crossing(says), to: place, view)]
  }

  // MARK: What lists show of elsewhere

  /// The entry of a list that a conversation of another partition shows.
  func viewedEntry(_ user: String, _ id: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard let shown = try view.record(CliqueView.self, CliqueView.key(.list, of: user, in: id)) else { return nil }
    var data = Array(shown.entry.data.utf8)
    if let other = shown.names.first, Self.showsCrossing(data),
      let crossing = try shownCrossing(user, other, id, view)
    {
      data.removeLast()
      data += Array(#","crossing":"#.utf8) + crossing + [UInt8(ascii: "}")]
    }
    return AppEntry(data: data, score: shown.entry.score)
  }

  func viewedDraft(_ user: String, _ id: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    let shown = try view.record(CliqueView.self, CliqueView.key(.drafts, of: user, in: id))
    return shown.map { AppEntry(data: Array($0.entry.data.utf8), score: $0.entry.score) }
  }

  /// Of two people's conversations those show a crossing that are a request, or open. Home's own entries have it already.
  private static func showsCrossing(_ entry: [UInt8]) -> Bool {
    let isMeant = [#""state":"active""#, #""state":"request_in""#, #""state":"request_out""#].contains { state in
      entry.firstRange(of: Array(state.utf8)) != nil
    }
    return isMeant && entry.firstRange(of: Array(#""with":"#.utf8)) != nil
      && entry.firstRange(of: Array(#""crossing":{"#.utf8)) == nil
  }

  /// The last crossing of two people as lists show it: worked out at home, elsewhere as home has said.
  func shownCrossing(
    _ user: String, _ other: String, _ id: String, _ view: any AppView
  ) throws(ClientError) -> [UInt8]? {
    if isHome { return try lastCrossing(user, other, view) }
    let shown = try view.record(CliqueCrossingView.self, CliqueCrossingView.key(of: user, in: id))
    return shown.map { Array($0.crossing.utf8) }
  }
}
