import Wire

/// The people whom somebody may see, as a channel and by their names.
///
/// Each reader has a channel of their own, since each may see another version of a profile (``ProfileSight``). So there is
/// nothing on it that is not for its reader: no gap, no filter, and no subscription that ends.
extension Clique {
  /// People whom one person is shown in the channel, and among whom one search looks.
  static let maximumPeople = 2000

  /// Somebody whom a reader's lists show.
  struct Contact {
    var user: String
    /// When there was something new between the two, as far as the reader's list says, in milliseconds since 1970.
    var time: Int64
  }

  /// Whom a reader's lists show: those of conversations and requests first, the newest before, then whom the reader
  /// has crossed, then members of groups. Not all of them have a profile that the reader may see.
  func contacts(of reader: String, _ view: any AppView) throws(ClientError) -> [Contact] {
    var contacts: [Contact] = []
    var known: Set<IdentifierKey> = [IdentifierKey(reader), IdentifierKey("")]
    func add(_ user: String, _ time: Int64) {
      guard contacts.count < Self.maximumPeople, known.insert(IdentifierKey(user)).inserted else { return }
      contacts.append(Contact(user: user, time: time))
    }
    let entries = try listed(by: reader, view)
    for entry in entries where !Self.isGroup(entry.key) {
      let pair = try view.unlessMissing { () throws(ClientError) in try view.record(Pair.self, Key.pair(entry.key)) }
      if let pair, let side = pair.side(of: reader) { add(pair.user(side.other), entry.score) }
    }
    for other in try met(by: reader, view) { add(other, 0) }
    for entry in entries where Self.isGroup(entry.key) && contacts.count < Self.maximumPeople {
      let group = try view.unlessMissing { () throws(ClientError) in try view.record(Group.self, Key.group(entry.key)) }
      if let group, group.index(of: reader) != nil {
        for member in group.members { add(member.user, entry.score) }
      }
    }
    return contacts
  }

  /// The conversations that a reader's list shows, the newest first. Home does not have the lists of all where Clique is
  /// shared among partitions, and goes by what stands.
  private func listed(by reader: String, _ view: any AppView) throws(ClientError) -> [(key: String, score: Int64)] {
    guard places == nil else {
      let person = try view.record(Person.self, Key.person(reader)) ?? Person()
      let ids = (person.lists ?? []).reversed() + person.groups.reversed()
      return ids.enumerated().map { index, id in (id, -Int64(index)) }
    }
    return try view.entries(of: Channels.list(reader)).compactMap { $0.change }
      .sorted { a, b in
        a.score == b.score ? a.key.utf8.lexicographicallyPrecedes(b.key.utf8) : a.score > b.score
      }.map { ($0.key, $0.score) }
  }

  func peopleEntry(_ reader: String, _ user: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    if user.hasSameBytes(as: reader) { return nil }  // One's own stands in a channel of its own, which is kept.
    guard let seen = try profile(of: user, seenBy: reader, view) else { return nil }
    var writer = JSONWriter()
    writer.object { write(seen.content, of: user, &$0) }
    return AppEntry(data: writer.bytes, score: 0, expires: seen.expires)
  }

  // MARK: Search

  func people(
    _ search: CliqueCommand.PeopleSearch, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    if search.text.utf8.count > Self.maximumSearchBytes {
      throw ClientError.limitExceeded.counted(as: .cliqueSearchText).saying(
        "`text` has at most \(Self.maximumSearchBytes) bytes; send fewer words")
    }
    let words = SearchWords(search.text)
    var found: [(contact: Contact, content: ProfileContent)] = []
    for contact in try contacts(of: call.user, view) where !words.words.isEmpty {
      let one = try view.unlessMissing { () throws(ClientError) in
        try match(words, contact, for: call.user, view)
      }
      if let one { found.append(one) }
    }
    found.sort { a, b in
      let (one, other) = (a.contact, b.contact)
      return one.time == other.time
        ? one.user.utf8.lexicographicallyPrecedes(other.user.utf8) : one.time > other.time
    }
    return AppDecision(reply: list(found.prefix(search.limit).map { ($0.contact.user, $0.content) }))
  }

  /// Somebody whose name, as the reader sees it, has words that begin as the searched ones; nil: it has not, or the
  /// reader sees none.
  private func match(
    _ words: SearchWords, _ contact: Contact, for reader: String, _ view: any AppView
  ) throws(ClientError) -> (contact: Contact, content: ProfileContent)? {
    // Most names do not match. Whether the reader may see one takes more looks, and is asked of those alone that do.
    let live = try view.record(Profile.self, Key.profile(of: contact.user))?.content ?? ProfileContent()
    let pair = try view.record(Pair.self, Key.pair(CliqueIdentifier.ordered(reader, contact.user)))
    var names = [live.name]
    if let pair, let side = pair.side(of: reader) {
      names = [pair.version(of: side.other, live: live).name, pair[mark: side].named ?? ""]
    }
    guard names.contains(where: { !$0.isEmpty && words.beginWords(of: $0) }),
      let content = try profile(of: contact.user, seenBy: reader, view)?.content, words.beginWords(of: content.name)
    else { return nil }
    var contact = contact
    if let crossing = try crossing(reader, contact.user, view) {
      contact.time = max(contact.time, crossing.lastSeen(view.now))
    }
    return (contact, content)
  }

  // MARK: Who sees somebody

  /// The entries that may show a user's profile. Whether they do, each reader's own entry says.
  func entries(
    showingProfileOf user: String, _ view: any AppView
  ) throws(ClientError) -> [(channel: ChannelName, key: String)] {
    var readers: [String] = []
    var known: Set<IdentifierKey> = [IdentifierKey(user), IdentifierKey("")]
    func add(_ reader: String) {
      if known.insert(IdentifierKey(reader)).inserted { readers.append(reader) }
    }
    let person = try view.record(Person.self, Key.person(user)) ?? Person()
    for id in person.open + (person.seenIn ?? []) {
      let pair = try view.unlessMissing { () throws(ClientError) in try view.record(Pair.self, Key.pair(id)) }
      if let pair, let side = pair.side(of: user) { add(pair.user(side.other)) }
    }
    for id in person.groups + (person.away ?? []) {
      let group = try view.unlessMissing { () throws(ClientError) in try view.record(Group.self, Key.group(id)) }
      for member in group?.present ?? [] { add(member.user) }
    }
    for other in try met(by: user, view) { add(other) }
    var entries: [(channel: ChannelName, key: String)] = []
    for reader in readers { entries.append((try Channels.people(reader), user)) }
    return entries
  }

  /// Shows a side whom it sees since a pair has changed, and notes where that side is seen.
  func commitPeople(
    _ old: Pair, _ new: Pair, _ side: PairState.Side, id: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    let (user, other) = (new.user(side), new.user(side.other))
    let isChanged =
      old.state.sight(of: side) != new.state.sight(of: side) || old[mark: side].named != new[mark: side].named
    if isChanged, !other.isEmpty { draft.refresh(try Channels.people(user), key: other, .soon) }
    // The list of open ones has those of this partition alone.
    let isElsewhere = elsewhere(ofConversation: id) != nil
    let sees = { (state: PairState) in
      state.isShownAlone(to: side.other) || isElsewhere && state.sight(of: side.other) == .active
    }
    let isSeen = sees(new.state)
    if sees(old.state) != isSeen { try draft.update(user) { person in person.isSeen(in: id, isSeen) } }
    if places == nil || !isHome || old.state == new.state { return }
    let sight = new.state.sight(of: side)
    try draft.update(user) { person in person.isListed(id, sight != .nothing && sight != .blocked) }
  }

  /// The entries by which the members of a group see each other.
  func entries(
    showingMembersOf id: String, _ view: any AppView
  ) throws(ClientError) -> [(channel: ChannelName, key: String)] {
    guard let group = try view.record(Group.self, Key.group(id)) else { return [] }
    var entries: [(channel: ChannelName, key: String)] = []
    for reader in group.present {
      let channel = try Channels.people(reader.user)
      for member in group.members where !member.user.hasSameBytes(as: reader.user) {
        entries.append((channel, member.user))
      }
    }
    return entries
  }

  /// Has the entries worked out again by which somebody who leaves a group, and those who stay, saw each other.
  func refreshPeople(_ user: String, leaving group: Group, _ draft: CliqueDraft) throws(ClientError) {
    for member in group.members where !member.user.hasSameBytes(as: user) {
      draft.refresh(try Channels.people(user), key: member.user, .soon)
      if !member.absent { draft.refresh(try Channels.people(member.user), key: user, .soon) }
    }
  }
}

extension Clique.Person {
  /// Notes whether the other of a pair sees this person, whose own list does not show it open.
  mutating func isSeen(in id: String, _ isSeen: Bool) {
    var ids = seenIn ?? []
    ids.drop(id)
    if isSeen { ids.append(id) }
    // Beyond that, the first ones follow when their readers open the channel.
    if ids.count > Clique.maximumPeople { ids.removeFirst() }
    seenIn = ids.isEmpty ? nil : ids
  }

  /// Notes whether this person's list shows a pair that has changed now.
  mutating func isListed(_ id: String, _ isListed: Bool) {
    var ids = lists ?? []
    ids.drop(id)
    if isListed { ids.append(id) }
    if ids.count > Clique.maximumPeople { ids.removeFirst() }
    lists = ids.isEmpty ? nil : ids
  }
}

extension PairState {
  /// Whether a side sees the other by a request that waits for it, or a conversation that the other has left.
  func isShownAlone(to side: Side) -> Bool {
    let sight = sight(of: side)
    return sight == .asked || sight == .ended
  }
}
