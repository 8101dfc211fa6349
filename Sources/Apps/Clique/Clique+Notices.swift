public import Wire

/// Whom Clique has notified of what (docs/CLIQUE.md, Notifications).
///
/// A notice goes to whoever sees what it is about, and to nobody else: not to who wrote it, not across a block, not of a
/// request that reaches nobody, not of what a person has muted. So nobody learns of a decline or a block by what
/// their devices are told. What is about one conversation has one subject, its chat, whatever stands there.
extension Clique {
  enum Topic {
    static let message = "clique.message"
    static let group = "clique.group"
    static let mention = "clique.mention"
    static let request = "clique.request"
    static let accepted = "clique.accepted"
  }

  private static let chatPrefix: StaticString = "clique.chat:"

  static func subject(of id: String) -> String { String(joining: chatPrefix, id) }

  /// A user's name as another person may see it.
  public func shownName(
    of user: String, to reader: String, _ view: any AppView
  ) throws(ClientError) -> String? {
    let name = try profile(of: user, seenBy: reader, view)?.content.name ?? ""
    return name.isEmpty ? nil : name
  }

  // MARK: What is told

  /// Whether what is decided here is told here: devices are known at home.
  var notifiesHere: Bool { rules.notifies && isHome }

  /// Adds the notice of something that happened in a conversation, where people are notified at all.
  func notify(_ user: String, _ topic: String, in id: String, _ draft: CliqueDraft) {
    if notifiesHere { draft.add(.notify(AppNotice(topic: topic, subject: Self.subject(of: id), users: [user]))) }
  }

  /// Adds that there may be less to tell a user of a conversation than there was.
  func acknowledge(_ user: String, in id: String, _ draft: CliqueDraft) {
    if notifiesHere, !user.isEmpty { draft.add(.acknowledge(user: user, subject: Self.subject(of: id))) }
  }

  func acknowledged(_ users: [String], in id: String) -> [AppEffect] {
    guard notifiesHere else { return [] }
    let subject = Self.subject(of: id)
    return users.filter { !$0.isEmpty }.map { .acknowledge(user: $0, subject: subject) }
  }

  /// The effects of a message between two people. Who writes has read.
  ///
  /// - Parameter isSeen: false: the message is for its author alone.
  func notices(
    of message: CliqueMessage, in pair: Pair, by side: PairState.Side, id: String, isSeen: Bool = true
  ) -> [AppEffect] {
    guard notifiesHere else { return [] }
    let (subject, other) = (Self.subject(of: id), pair.user(side.other))
    let read = AppEffect.acknowledge(user: pair.user(side), subject: subject)
    if !isSeen || other.isEmpty || pair[mark: side.other].isMuted { return [read] }
    let isMentioned = message.extras?.mentions.containsBytes(of: other) ?? false
    let topic = isMentioned ? Topic.mention : Topic.message
    return [.notify(AppNotice(topic: topic, subject: subject, users: [other])), read]
  }

  /// The effects of a message in a group.
  ///
  /// - Parameter hidden: the members who do not get it, because of blocks.
  func notices(
    of message: CliqueMessage, in group: Group, by user: String, hiddenFrom hidden: [String], id: String
  ) -> [AppEffect] {
    guard notifiesHere else { return [] }
    let (subject, mentions) = (Self.subject(of: id), message.extras?.mentions ?? [])
    var (mentioned, others): ([String], [String]) = ([], [])
    for member in group.members where !member.absent && !member.mark.isMuted {
      if member.user.hasSameBytes(as: user) || hidden.containsBytes(of: member.user) { continue }
      if mentions.containsBytes(of: member.user) { mentioned.append(member.user) } else { others.append(member.user) }
    }
    var effects: [AppEffect] = []
    for (topic, users) in [(Topic.mention, mentioned), (Topic.group, others)] where !users.isEmpty {
      effects.append(.notify(AppNotice(topic: topic, subject: subject, users: users)))
    }
    return effects + [.acknowledge(user: user, subject: subject)]
  }

  /// Notes how many messages of a request have reached the one who is asked, or were read there. Nobody else can see it.
  ///
  /// - Returns: nil where no request waits for the user in this conversation.
  func markRequest(
    _ mark: CliqueCommand.Mark, isRead: Bool, by user: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    let id = mark.conversation
    guard let stored = try view.record(Pair.self, Key.pair(id)), let side = stored.side(of: user) else { return nil }
    var pair = stored.advanced(to: view.now)
    guard pair.state.sight(of: side) == .asked else { return nil }
    var count: UInt64 = 0
    for index in pair.waiting.indices where pair.waiting[index].seen {
      count += 1
      if count > mark.offset { continue }
      pair.waiting[index].hasArrived = true
      if isRead { pair.waiting[index].isRead = true }
    }
    if mark.offset > count {
      throw ClientError.badRequest.saying("the request has \(count) messages; say how many of them have arrived")
    }
    if !rules.notifies || pair.waiting == stored.waiting { return AppDecision() }
    var noted = stored
    noted.waiting = pair.waiting
    // Elsewhere than at home, home is told when the list's entry is worked out again (``follows(_:of:isAwaited:_:)``).
    let hint = notifiesHere ? acknowledged([user], in: id) : [.refresh(try Channels.list(user), key: id, .soon)]
    return AppDecision([.write(key: Key.pair(id), noted)] + hint)
  }

  // MARK: What there is to tell

  /// What a person is to be told of a conversation, before names are put to it: these, and the number on the app's icon,
  /// home alone knows.
  struct News: Codable, Sendable, Equatable {
    var topic: String
    var unacknowledged: Int
    var unseen: Int
    var since: Int64
    /// The user of whom it comes.
    var from: String
    var text: String?
    /// Of the newest message; nil: the chat cannot be opened.
    var offset: UInt64?
    var hasPicture = false
    var unseenSince: Int64?
    /// Nothing of it is told: the conversation is muted, or archived. Home keeps it to know what is new later.
    var isSilent = false
  }

  public func notification(
    about subject: String, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppNotification? {
    guard let id = Self.conversation(ofSubject: subject) else { return nil }
    let isHere = elsewhere(ofConversation: id) == nil
    let news =
      isHere
      ? try news(of: id, for: user, view)
      : try view.record(CliqueHeldNews.self, CliqueHeldNews.key(of: user, in: id))?.news
    guard let news, !news.isSilent else { return nil }
    var data = ["conversation": id]
    if let offset = news.offset { data = Self.data(id, offset: offset, hasPicture: news.hasPicture) }
    return AppNotification(
      topic: news.topic, unacknowledged: news.unacknowledged, unseen: news.unseen, since: news.since,
      badge: try badge(of: user, view), sender: try shownName(of: news.from, to: user, view) ?? news.from,
      text: news.text, data: data, unseenSince: news.unseenSince, newest: isHere ? nil : news.offset)
  }

  private static func conversation(ofSubject subject: String) -> String? {
    guard subject.utf8.starts(with: chatPrefix.description.utf8) else { return nil }
    let id = String(decoding: subject.utf8.dropFirst(chatPrefix.utf8CodeUnitCount), as: UTF8.self)
    return CliqueCommand.isConversation(id) ? id : nil
  }

  /// - Parameter id: of a conversation of this partition.
  func news(of id: String, for user: String, _ view: any AppView) throws(ClientError) -> News? {
    Self.isGroup(id) ? try news(ofGroup: id, for: user, view) : try news(ofPair: id, for: user, view)
  }

  private func news(ofPair id: String, for user: String, _ view: any AppView) throws(ClientError) -> News? {
    guard let pair = try view.record(Pair.self, Key.pair(id))?.advanced(to: view.now), let side = pair.side(of: user)
    else { return nil }
    let (mark, other) = (pair[mark: side], pair.user(side.other))
    switch pair.state.sight(of: side) {
    case .nothing, .asking, .ended, .blocked: return nil
    case .asked:
      let messages = pair.waiting(for: side)
      let unheard = messages.filter { $0.hasArrived == nil }
      guard let first = messages.first else { return nil }
      return News(
        topic: Topic.request, unacknowledged: unheard.count, unseen: messages.count { $0.isRead == nil },
        since: unheard.first?.time ?? first.time, from: other, unseenSince: messages.first { $0.isRead == nil }?.time)
    case .active:
      let unseen = try unseen(in: id, by: user, mark, since: nil, view)
      if unseen.count > 0 { return news(of: unseen, Topic.message, mark) }
      // The request of this one was accepted, and its messages are the newest in the chat: they have not come back to
      // any device yet.
      guard let opened = mark.last, opened.from.hasSameBytes(as: user), opened.offset > mark.unreadFrom,
        unseen.last?.offset == opened.offset, !other.isEmpty
      else { return nil }
      return News(
        topic: Topic.accepted, unacknowledged: opened.offset > mark.delivered ? 1 : 0, unseen: 1,
        since: pair.openedAt, from: other, offset: opened.offset, isSilent: mark.isMuted)
    }
  }

  private func news(ofGroup id: String, for user: String, _ view: any AppView) throws(ClientError) -> News? {
    guard let group = try view.record(Group.self, Key.group(id)), let index = group.index(of: user) else { return nil }
    let mark = group.members[index].mark
    let unseen = try unseen(in: id, by: user, mark, since: term(of: user, in: group, id, view), view)
    return unseen.count == 0 ? nil : news(of: unseen, Topic.group, mark)
  }

  private func news(of unseen: Unseen, _ topic: String, _ mark: Mark) -> News? {
    guard let newest = unseen.last else { return nil }
    let shown = preview(of: newest)
    return News(
      topic: unseen.isMentioned ? Topic.mention : topic, unacknowledged: unseen.unacknowledged, unseen: unseen.count,
      since: unseen.since, from: shown.from, text: shown.expires == nil ? shown.text : nil, offset: newest.offset,
      hasPicture: shown.hasPicture ?? false, unseenSince: unseen.oldest,
      isSilent: mark.isSilent(newest: newest.offset))
  }

  private static func data(_ id: String, offset: UInt64, hasPicture: Bool = false) -> [String: String] {
    var data = ["channel": subject(of: id), "conversation": id, "offset": String(offset)]
    if hasPicture { data["picture"] = "true" }
    return data
  }

  /// What waits for the user in all conversations, as ``Totals`` count it.
  private func badge(of user: String, _ view: any AppView) throws(ClientError) -> Int {
    if places != nil { return try view.record(CliqueBadge.self, CliqueBadge.key(of: user))?.count ?? 0 }
    let totals = try totals(of: user, view)
    return totals.messages + totals.requests
  }

  /// What a person has not seen of a conversation, up to ``maximumUnread`` messages.
  private struct Unseen {
    var count = 0
    /// Those of them that have reached no device.
    var unacknowledged = 0
    /// When the oldest of these was published; of all, where each has reached a device.
    var since: Int64 = 0
    /// When the oldest of all was published.
    var oldest: Int64?
    var isMentioned = false
    /// The newest message that the person sees, seen or not.
    var last: Publication?
  }

  /// Counts as the list does (``newest(_:seenBy:since:after:counting:_:)``): whoever writes has read.
  private func unseen(
    in id: String, by user: String, _ mark: Mark, since term: Int?, _ view: any AppView
  ) throws(ClientError) -> Unseen {
    let bars = Tag.bars(user)
    var count = 8
    while true {
      let publications = try view.newest(count, of: Channels.chat(id)).map { $0.shown(to: user) }
      var unseen = Unseen()
      var isAll = publications.count < count || count == Self.maximumUnread
      for publication in publications
      where Self.isMessage(publication) && Self.isSeen(publication, by: user, since: term) {
        if unseen.last == nil { unseen.last = publication }
        let isOwn = publication.info?.user.hasSameBytes(as: user) ?? false
        if isOwn || publication.offset <= mark.unreadFrom {
          isAll = true
          break
        }
        unseen.count += 1
        unseen.oldest = publication.time
        let isHeard = publication.offset <= mark.delivered
        if !isHeard { unseen.unacknowledged += 1 }
        if !isHeard || unseen.unacknowledged == 0 { unseen.since = publication.time }
        if publication.tags[Tag.mentions]?.contains(bars) ?? false { unseen.isMentioned = true }
      }
      if isAll { return unseen }
      count = Self.maximumUnread
    }
  }
}

extension Clique.Mark {
  var isMuted: Bool { keeping?.isMuted ?? false }

  /// Whether nothing is told of the conversation: it is muted, or it shows as archived.
  func isSilent(newest: UInt64) -> Bool { isMuted || keeping?.isArchived(newest: newest) ?? false }
}
