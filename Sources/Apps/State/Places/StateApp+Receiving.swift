public import Wire

/// What other partitions say (``StateRelay``).
extension StateApp {
  public func receive(_ data: [UInt8], _ view: any AppView) throws(ClientError) -> AppDecision {
    guard places != nil else { throw .notAvailable.saying("State is not shared among partitions here") }
    let relay: StateRelay
    do {
      relay = try AppJSON.decode(StateRelay.self, data)
    } catch {
      throw .badRequest.saying("another partition says what this version of State does not know")
    }
    return switch relay.says {
    case .shows(nil): AppDecision()
    case .shows(let shows?): try receive(shows, sent: relay.sent, view)
    case .news(let news): try receive(news, sent: relay.sent, view)
    case .limit(let user, let limit): try receive(limit, of: user, sent: relay.sent, view)
    case .used(let pictures): try used(pictures, view)
    case .claim(let pictures): try claim(pictures, sent: relay.sent, view)
    case .unused(let pictures): try unused(pictures, view)
    }
  }

  /// Where one of the two was forgotten since, only what takes something away is taken in.
  private func receive(
    _ shows: StateRelay.Shows, sent: Int64, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let isForgotten = try view.wereForgotten([shows.user, shows.with], since: sent)
    if isForgotten, shows.entry != nil { return AppDecision() }
    let key = StateView.key(of: shows.user, with: shows.with)
    let before = try view.record(StateView.self, key)
    var effects: [AppEffect] = []
    if let entry = shows.entry {
      effects.append(.write(key: key, StateView(of: shows.user, entry)))
    } else if before != nil {
      effects.append(.erase(key: key))
    }
    if !effects.isEmpty {
      effects.append(.refresh(try StateChannels.threads(of: shows.user), key: shows.with, .atomically))
    }
    for event in shows.events where !isForgotten {
      let channel = try StateChannels.events(of: shows.user)
      effects.append(.publish(AppPublication(channel: channel, data: Array(event.utf8))))
    }
    if let before, before.entry.hasText, shows.entry?.since != before.entry.since { effects.append(.scrub) }
    return AppDecision(effects)
  }

  /// Drops the texts of what was revealed, as its time is over. That the phase ends, the thread's partition says.
  func viewDue(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard var shown = try view.record(StateView.self, key), let due = shown.due, due <= view.now else {
      return AppDecision()
    }
    shown.entry.removeTexts()
    shown.due = nil
    let list = try StateChannels.threads(of: shown.user)
    return AppDecision([.write(key: key, shown), .refresh(list, key: shown.entry.with, .atomically), .scrub])
  }

  /// The entry of a person's list that a thread of another partition shows.
  func viewed(by user: String, with other: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard var entry = try view.record(StateView.self, StateView.key(of: user, with: other))?.entry else { return nil }
    if entry.hasText, entry.until ?? .max <= view.now { entry.removeTexts() }
    return try shown(entry)
  }

  // MARK: News

  private func receive(
    _ news: StateRelay.News, sent: Int64, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let isForgotten = try view.wereForgotten([news.user, news.with], since: sent)
    var effects = try count(news, isForgotten: try view.wasForgotten(news.user, since: sent), view)
    let key = StateHeldNews.key(of: news.user, with: news.with)
    let before = try view.record(StateHeldNews.self, key)?.news
    if news.news == before || isForgotten && news.news != nil { return AppDecision(effects) }
    effects.append(
      news.news.map { .write(key: key, StateHeldNews(user: news.user, with: news.with, news: $0)) } ?? .erase(key: key))
    effects.append(Self.announcement(of: news.news, to: news.user, about: news.with))
    return AppDecision(effects)
  }

  private func count(
    _ news: StateRelay.News, isForgotten: Bool, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    let key = StateKeys.badge + news.user
    let before = try view.record(StateBadge.self, key) ?? StateBadge()
    var badge = before
    badge.received[news.from] = news.received == 0 || isForgotten ? nil : news.received
    if badge == before { return [] }
    return [badge.received.isEmpty ? .erase(key: key) : .write(key: key, badge)]
  }

  /// How many threads that a user is shown await the user's answer, in all partitions. Home alone knows.
  func badge(of user: String, _ view: any AppView) throws(ClientError) -> Int {
    let own = try person(user, view).received
    if places == nil { return own }
    return own + (try view.record(StateBadge.self, StateKeys.badge + user)?.count ?? 0)
  }

  // MARK: Limits

  private func receive(
    _ limit: Int64?, of user: String, sent: Int64, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    if limit != nil, try view.wasForgotten(user, since: sent) { return AppDecision() }
    var person = try person(user, view)
    person.limit = limit
    return AppDecision([try change(of: user, to: person, view)].compactMap(\.self))
  }
}
