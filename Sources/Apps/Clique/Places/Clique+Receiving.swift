public import Wire

/// What other partitions say (``CliqueRelay``).
extension Clique {
  public func receive(_ data: [UInt8], _ view: any AppView) throws(ClientError) -> AppDecision {
    guard places != nil else { throw .notAvailable.saying("Clique is not shared among partitions here") }
    let relay: CliqueRelay
    do {
      relay = try AppJSON.decode(CliqueRelay.self, data)
    } catch {
      throw .badRequest.saying("another partition says what this version of Clique does not know")
    }
    switch relay.says {
    case .shows(let shows): return try receive(shows, sent: relay.sent, view)
    case .crossing(let crossing): return try receive(crossing, sent: relay.sent, view)
    case .bond(let bond): return try receive(bond, sent: relay.sent, view)
    case .news(let news): return try receive(news, sent: relay.sent, view)
    case .known(let key):
      return AppDecision(try view.record(Known.self, key) == nil ? [.write(key: key, Known())] : [])
    case .used(let use): return try receive(used: use, sent: relay.sent, view)
    case .dropped(let use): return try receive(dropped: use, view)
    case .claim(let use): return try receive(claim: use, sent: relay.sent, view)
    case .looks(let use): return try receive(looks: use, view)
    case .unused(let use): return try receive(unused: use, view)
    }
  }

  /// Where somebody was forgotten since whom the entry names, only what takes something away is taken in.
  private func receive(
    _ shows: CliqueRelay.Shows, sent: Int64, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    if shows.entry != nil, try view.wereForgotten([shows.user] + shows.names, since: sent) { return AppDecision() }
    let key = CliqueView.key(shows.place, of: shows.user, in: shows.conversation)
    let before = try view.record(CliqueView.self, key)
    let now = shows.entry.map { CliqueView(user: shows.user, entry: $0, names: shows.names) }
    if before == now { return AppDecision() }
    let channel =
      switch shows.place {
      case .list: try Channels.list(shows.user)
      case .drafts: try Channels.drafts(shows.user)
      }
    return AppDecision([
      now.map { .write(key: key, $0) } ?? .erase(key: key),
      .refresh(channel, key: shows.conversation, .atomically),
    ])
  }

  private func receive(
    _ crossing: CliqueRelay.Crossing, sent: Int64, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let isForgotten = try view.wereForgotten([crossing.user, crossing.with], since: sent)
    if crossing.crossing != nil, isForgotten { return AppDecision() }
    let key = CliqueCrossingView.key(of: crossing.user, in: crossing.conversation)
    let before = try view.record(CliqueCrossingView.self, key)
    let now = crossing.crossing.map {
      CliqueCrossingView(user: crossing.user, with: crossing.with, crossing: $0)
    }
    if before == now { return AppDecision() }
    return AppDecision([
      now.map { .write(key: key, $0) } ?? .erase(key: key),
      .refresh(try Channels.list(crossing.user), key: crossing.conversation, .atomically),
    ])
  }

  // MARK: News

  private func receive(_ says: CliqueRelay.News, sent: Int64, _ view: any AppView) throws(ClientError) -> AppDecision {
    let isForgotten = try view.wereForgotten([says.user, says.news?.from ?? ""], since: sent)
    if isForgotten, says.news != nil || says.unread > 0 { return AppDecision() }
    let (user, id) = (says.user, says.conversation)
    let key = CliqueHeldNews.key(of: user, in: id)
    let before = try view.record(CliqueHeldNews.self, key)?.news
    var effects = try count(says.unread, in: id, of: user, view)
    if says.news != before {
      effects.append(
        says.news.map { .write(key: key, CliqueHeldNews(user: user, news: $0)) } ?? .erase(key: key))
      effects.append(announcement(of: says.news, after: before, to: user, in: id))
    }
    return AppDecision(effects)
  }

  /// Somebody may have to be notified where something waits that did not before; else there is less to tell.
  private func announcement(of news: News?, after before: News?, to user: String, in id: String) -> AppEffect {
    let subject = Self.subject(of: id)
    guard let news, !news.isSilent, news.isNew(after: before) else {
      return .acknowledge(user: user, subject: subject)
    }
    return .notify(AppNotice(topic: news.topic, subject: subject, users: [user]))
  }
}

extension Clique.News {
  /// Whether something waits that was not among what was there before, which may be as much: one was acknowledged, and
  /// another came. The messages of a request have no offset, and are known by their time.
  fileprivate func isNew(after before: Self?) -> Bool {
    guard unacknowledged > 0 else { return false }
    guard let before, before.topic == topic, unacknowledged <= before.unacknowledged else { return true }
    guard let offset else { return unacknowledged == before.unacknowledged && since > before.since }
    return offset > before.offset ?? 0
  }
}
