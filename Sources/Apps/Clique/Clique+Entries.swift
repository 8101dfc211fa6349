public import Wire

extension Clique {
  public func entry(
    _ key: String, of channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> AppEntry? {
    let (namespace, rest) = Self.parts(of: channel)
    switch namespace {
    case "clique.list" where elsewhere(ofConversation: key) != nil: return try viewedEntry(rest, key, view)
    case "clique.drafts" where elsewhere(ofConversation: key) != nil: return try viewedDraft(rest, key, view)
    case "clique.list":
      return Self.isGroup(key) ? try groupEntry(rest, key, view) : try pairEntry(rest, key, view)
    case "clique.blocked": return try blockedEntry(rest, key, view)
    case "clique.crossings": return try crossingEntry(rest, key, view)
    case "clique.reactions": return try reactionEntry(rest, key, view)
    case "clique.totals": return try totalsEntry(rest, key, view)
    case "clique.people": return try peopleEntry(rest, key, view)
    case "clique.profile": return try profileEntry(rest, key, view)
    case "clique.drafts": return try draftEntry(rest, key, view)
    case "clique.reports": return try reportEntry(rest, key, view)
    case "clique.receipts": return try receiptEntry(rest, key, view)
    case "clique.typing":
      // The entry is worked out only when somebody types, and ends by itself.
      guard try isMember(key, rest, view) else { return nil }
      return AppEntry(
        data: Array("{}".utf8), score: view.now, expires: view.now + rules.typingLifetime,
        tags: try hiding(key, in: rest, view))
    default: return nil
    }
  }

  /// The entries that show a subject. A conversation shows in the lists of its members.
  public func entries(
    showing subject: String, _ view: any AppView
  ) throws(ClientError) -> [(channel: ChannelName, key: String)] {
    if let user = Subject.whoMet(subject) {
      return try self.entries(showingMeetingsOf: user, with: met(by: user, view).map { ($0, 0) }, view)
    }
    if subject.utf8.starts(with: "visitor/".utf8) { return try entries(showingVisitor: subject, view) }
    if let user = Subject.whoseProfile(subject) { return try self.entries(showingProfileOf: user, view) }
    if let id = Subject.whoseMembers(subject) { return try self.entries(showingMembersOf: id, view) }
    var entries: [(channel: ChannelName, key: String)] = []
    for user in try members(of: subject, view) { entries.append((try Channels.list(user), subject)) }
    return entries
  }

  /// The entries that show the crossings of a visitor.
  ///
  /// - Parameter key: of the visitor's record: `visitor/<place>/<number>`.
  private func entries(
    showingVisitor key: String, _ view: any AppView
  ) throws(ClientError) -> [(channel: ChannelName, key: String)] {
    let parts = key.split(separator: "/")
    guard parts.count == 3, let number = UInt64(parts[2]), let visitor = try view.record(Visitor.self, key) else {
      return []
    }
    let others = try near(number, in: parts[1], notOf: visitor.user, view)
    return try entries(showingMeetingsOf: visitor.user, with: others, in: parts[1], view)
  }

  /// Of the channels in memory alone, all but typing can be worked out when they are opened.
  public func keys(of channel: ChannelName, _ view: any AppView) throws(ClientError) -> [String] {
    let (namespace, rest) = Self.parts(of: channel)
    switch namespace {
    case "clique.receipts": return CliqueCommand.isConversation(rest) ? try members(of: rest, view) : []
    case "clique.crossings": return try met(by: rest, view)
    case "clique.totals": return [Self.totalsKey]
    case "clique.people": return try contacts(of: rest, view).map(\.user)
    default: return []
    }
  }

  private func members(of id: String, _ view: any AppView) throws(ClientError) -> [String] {
    if Self.isGroup(id) {
      let group = try view.record(Group.self, Key.group(id))
      return group?.members.filter { !$0.absent }.map(\.user) ?? []
    }
    return try view.record(Pair.self, Key.pair(id)).map { [$0.a, $0.b].filter { !$0.isEmpty } } ?? []
  }

  // MARK: The list

  private func pairEntry(_ user: String, _ id: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard let pair = try view.record(Pair.self, Key.pair(id))?.advanced(to: view.now), let side = pair.side(of: user)
    else { return nil }
    let other = pair.user(side.other)
    let sight = pair.state.sight(of: side)
    if sight == .nothing || sight == .blocked { try lookBeneath(pair, side, id, view) }
    var writer = JSONWriter()
    writer.open()
    writer.write("conversation", id)
    writer.write("with", other)
    switch sight {
    case .nothing: return nil
    case .asking, .asked:
      let messages = pair.waiting(for: side)
      guard let last = messages.last else { return nil }
      writer.write("state", sight == .asking ? "request_out" : "request_in")
      write(preview(last.text, from: sight == .asking ? user : other, time: last.time, offset: 0), &writer)
      writer.write("unread", sight == .asking ? 0 : messages.count)
      writer.list("messages") { writer in
        for message in messages {
          writer.object { writer in
            writer.write("text", message.text)
            writer.write("time", message.time)
            if sight == .asking, !message.key.isEmpty { writer.write("key", message.key) }
          }
        }
      }
      try writeCrossing(user, other, &writer, view)
      writer.close()
      return AppEntry(data: writer.bytes, score: last.time)
    case .active, .ended:
      let mark = pair[mark: side]
      let newest = try newest(
        try Channels.chat(id), seenBy: user, after: mark.unreadFrom, counting: sight == .active, view)
      let last = later(mark.last, newest)
      writer.write("state", sight == .active ? "active" : "ended")
      if let last { write(last, &writer) }
      writer.write("unread", newest.unread)
      writer.write("read", mark.unreadFrom)
      write(mark.keeping, newest: last?.offset, &writer)
      if sight == .active { write(pair.vanishing, for: side, of: pair, &writer) }
      if sight == .active { try writeCrossing(user, other, &writer, view) }
      writer.close()
      let changed = sight == .active ? pair.openedAt : pair.endedAt
      return AppEntry(data: writer.bytes, score: max(changed, last?.time ?? 0))
    case .blocked:
      guard pair[mark: side].listed else { return nil }
      writer.write("state", "blocked")
      writer.write("unread", 0)
      writer.close()
      return AppEntry(data: writer.bytes, score: pair[mark: side].blockedAt)
    }
  }

  /// Reads what an entry of the list would need if it showed what is kept from this side: a request that was declined, or
  /// what stands beneath a block. It may have to come from the disk, and whoever waits for the entry must not learn that
  /// it did not.
  private func lookBeneath(
    _ pair: Pair, _ side: PairState.Side, _ id: String, _ view: any AppView
  ) throws(ClientError) {
    let (user, other) = (pair.user(side), pair.user(side.other))
    if other.isEmpty { return }
    let beneath = PairState.unblocked(pair.state.standing).sight(of: side)
    if beneath.mayRead {
      _ = try newest(
        try Channels.chat(id), seenBy: user, after: pair[mark: side].unreadFrom, counting: beneath == .active, view)
    }
    if beneath != .ended { _ = try crossing(user, other, view) }
  }

  private func groupEntry(_ user: String, _ id: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard let group = try view.record(Group.self, Key.group(id)), let index = group.index(of: user)
    else { return nil }
    let mark = group.members[index].mark
    let newest = try newest(
      try Channels.chat(id), seenBy: user, since: term(of: user, in: group, id, view), after: mark.unreadFrom,
      counting: true, view)
    var writer = JSONWriter()
    writer.open()
    writer.write("conversation", id)
    writer.write("state", "active")
    writer.write("group", true)
    if !group.name.isEmpty { writer.write("name", group.name) }
    writer.list("members") { writer in for member in group.members { writer.write(element: member.user) } }
    writer.list("admins") { writer in
      for member in group.settled(at: view.now).members where member.isAdministrator {
        writer.write(element: member.user)
      }
    }
    let last = newest.last.map(preview(of:))
    if let last { write(last, &writer) }
    writer.write("unread", newest.unread)
    writer.write("read", mark.unreadFrom)
    write(mark.keeping, newest: last?.offset, &writer)
    if let after = group.vanishesAfter { writer.write("disappear", after) }
    writer.close()
    return AppEntry(data: writer.bytes, score: max(group.createdAt, last?.time ?? 0))
  }

  private func write(_ last: Preview, _ writer: inout JSONWriter) {
    // The list and its changes are kept for longer than a message that disappears, so its text is not among them.
    if let expires = last.expires { writer.write("expires", expires) } else { writer.write("last", cut(last.text)) }
    if last.hasPicture ?? false { writer.write("picture", true) }
    writer.write("from", last.from)
    writer.write("time", last.time)
  }

  /// The later of two previews: the one that was stored when the conversation changed, which may be newer than what is
  /// on disk, and the newest message that was found there. If the stored message's offset was among those looked at and
  /// it was not found, it was deleted since.
  private func later(_ snapped: Preview?, _ newest: Newest) -> Preview? {
    if let snapped, newest.last?.offset ?? 0 < snapped.offset, !newest.looked.contains(snapped.offset) {
      return snapped
    }
    return newest.last.map(preview(of:))
  }

  func preview(of publication: Publication) -> Preview {
    if let expires = publication.vanishes {
      return Preview(
        text: "", from: publication.info?.user ?? "", time: publication.time, offset: publication.offset,
        expires: expires)
    }
    var (text, sent, hasPicture): (String, Int64?, Bool) = ("", nil, false)
    if let arguments = try? CommandFields(publication.data) {
      text = (try? arguments.string("text")) ?? ""
      sent = (try? arguments.number("sent")) ?? nil
      hasPicture = arguments.has("picture")
    }
    return preview(
      text, from: publication.info?.user ?? "", time: sent ?? publication.time, offset: publication.offset,
      hasPicture: hasPicture)
  }

  // MARK: Unread

  /// Unread messages are counted up to this number, which means so many or more.
  static let maximumUnread = 100

  struct Newest {
    /// The last message that the user sees.
    var last: Publication?
    /// How many messages of others follow the last one that the user read or wrote. Whoever writes counts as having
    /// read.
    var unread = 0
    /// The offsets that were looked at.
    var looked: ClosedRange<UInt64> = 0...0
  }

  /// The newest message that a user sees, and how many are unread. Looks at few messages first, as this is worked out
  /// after each message and most conversations have been read.
  ///
  /// - Parameter term: in a group, the term from which on the user reads.
  func newest(
    _ channel: ChannelName, seenBy user: String, since term: Int? = nil, after read: UInt64, counting: Bool,
    _ view: any AppView
  ) throws(ClientError) -> Newest {
    var count = 8
    while true {
      let publications = try view.newest(count, of: channel).map { $0.shown(to: user) }
      var newest = Newest()
      if let top = publications.first?.offset, let bottom = publications.last?.offset, bottom <= top {
        newest.looked = bottom...top
      }
      for publication in publications
      where Self.isMessage(publication) && Self.isSeen(publication, by: user, since: term) {
        if newest.last == nil { newest.last = publication }
        let isOwn = publication.info?.user.hasSameBytes(as: user) ?? false
        if isOwn || publication.offset <= read || !counting { return newest }
        newest.unread += 1
      }
      let isAll = publications.count < count || publications.last?.offset ?? 0 <= read
      if isAll && newest.last != nil || publications.count < count || count == Self.maximumUnread { return newest }
      count = Self.maximumUnread
    }
  }

  /// Whether a publication is a message: no notice of a change, no event such as a member's leaving, and not deleted.
  static func isMessage(_ publication: Publication) -> Bool {
    if publication.data.starts(with: Self.eventStart) { return false }
    let tags = publication.tags
    return tags.isEmpty || tags["edits"] == nil && tags["deletes"] == nil && tags["deleted"] == nil
  }

  /// How publications of the app itself begin in a chat. Messages of people always begin with their text.
  private static let eventStart = Array("{\"event\"".utf8)

  static func isSeen(_ publication: Publication, by user: String, since term: Int?) -> Bool {
    if let term, publication.tags[Tag.term].flatMap({ Int($0) }) ?? 0 < term { return false }
    if publication.tags.isEmpty { return true }
    if let only = publication.tags[Tag.only], !only.hasSameBytes(as: user) { return false }
    guard let hidden = publication.tags[Tag.hidden], !hidden.isEmpty else { return true }
    // The tag holds names between bars, and no encoded name holds a bar.
    let plain = Key.plain(user)
    return !hidden.split(separator: "|").contains { $0.hasSameBytes(as: plain) }
  }

  // MARK: The small ones

  private func blockedEntry(_ user: String, _ other: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    let blank = Pair(user, other)
    guard let pair = try view.record(Pair.self, Key.pair(blank.id)), let side = pair.side(of: user),
      pair.state.isBlocked(by: side), !pair.user(side.other).isEmpty
    else { return nil }
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("user", other)
      if let name = pair[mark: side].named { writer.write("name", name) }
      writer.write("time", pair[mark: side].blockedAt)
    }
    return AppEntry(data: writer.bytes, score: pair[mark: side].blockedAt)
  }

  private func receiptEntry(_ id: String, _ user: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard Self.isGroup(id) else {
      guard let pair = try view.record(Pair.self, Key.pair(id)), let side = pair.side(of: user) else { return nil }
      return Self.receipts(pair[mark: side].read, pair[mark: side].delivered).map { AppEntry(data: $0, score: 0) }
    }
    guard let group = try view.record(Group.self, Key.group(id)), let index = group.index(of: user)
    else { return nil }
    let mark = group.members[index].mark
    guard let data = Self.receipts(mark.read, mark.delivered) else { return nil }
    var tags = try hiding(user, in: id, view)
    // People whom this member blocks see the member's receipts as they were when the block began.
    var former = FormerVersions()
    for block in group.blocks where block.by.hasSameBytes(as: user) {
      if let data = Self.receipts(block.read ?? 0, block.delivered ?? 0) { former.keep(data, for: block.of) }
    }
    tags[FormerVersions.tag] = former.text
    return AppEntry(data: data, score: 0, tags: tags)
  }

  private static func receipts(_ read: UInt64, _ delivered: UInt64) -> [UInt8]? {
    if delivered == 0 { return nil }
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("read", read)
      writer.write("delivered", delivered)
    }
    return writer.bytes
  }

  /// The tags for entries of a group's member: whom they are hidden from.
  private func hiding(_ user: String, in id: String, _ view: any AppView) throws(ClientError) -> [String: String] {
    guard Self.isGroup(id), let group = try view.record(Group.self, Key.group(id)) else { return [:] }
    let hidden = group.hidden(from: user)
    return hidden.isEmpty ? [:] : Self.tags(hiddenFrom: hidden)
  }

  private func isMember(_ user: String, _ id: String, _ view: any AppView) throws(ClientError) -> Bool {
    if Self.isGroup(id) { return try view.record(Group.self, Key.group(id))?.index(of: user) != nil }
    guard let pair = try view.record(Pair.self, Key.pair(id)), let side = pair.side(of: user) else { return false }
    return pair.state.sight(of: side) == .active
  }
}
