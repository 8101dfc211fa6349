public import Wire

/// Whom State has notified of what (docs/STATE.md, Notifications). ``StateNews`` has the table.
extension StateApp {
  private static let subjectPrefix = "state.with:"

  /// What notices to a user about a thread are about: the other person.
  static func subject(with other: String) -> String { subjectPrefix + other }

  /// Notes that a device of the caller's has what is new in a thread.
  func delivered(_ other: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let visit = try access(call.user, with: other, view)
    var thread = visit.now
    thread.hear(visit.me)
    return AppDecision(try change(from: visit.before, to: thread, view))
  }

  /// The effects by which devices hear what is new, and that what was new is known.
  ///
  /// Where devices are known in another partition, it is said to that, and where something is shown under `looksAtBoth`
  /// (``StateApp/change(from:to:looksAtBoth:isTold:_:_:)``), of both sides: how many rows there are must not depend on
  /// whether it reached the other.
  func notices(
    from before: StateThread, to thread: StateThread, _ looksAtBoth: Bool, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    if let home = homeElsewhere { return try news(from: before, to: thread, looksAtBoth, at: home, view) }
    if thread.told == nil && before.told == nil { return [] }
    var effects: [AppEffect] = []
    for side in StateSide.allCases where thread.told?[side] != before.told?[side] {
      effects.append(
        Self.announcement(of: thread.told?[side], to: thread.people[side], about: thread.people[side.other]))
    }
    return effects
  }

  /// - Parameter news: nil: there are none any more.
  static func announcement(of news: StateNews?, to user: String, about other: String) -> AppEffect {
    guard let news, !news.isDelivered else { return .acknowledge(user: user, subject: subject(with: other)) }
    return .notify(AppNotice(topic: news.kind.topic, subject: subject(with: other), users: [user]))
  }

  private func news(
    from before: StateThread, to thread: StateThread, _ looksAtBoth: Bool, at home: Int, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    guard rules.notifies || before.told != nil, let own = places?.own else { return [] }
    let sides = StateSide.allCases
    let isOfBoth = looksAtBoth && sides.contains { thread.showsOtherwise(than: before, for: $0) }
    var effects: [AppEffect] = []
    for side in sides {
      let change = thread.received(side) - before.received(side)
      guard isOfBoth || change != 0 || thread.told?[side] != before.told?[side] else { continue }
      let user = thread.people[side]
      let news = StateRelay.News(
        user: user, with: thread.people[side.other], news: thread.told?[side],
        received: max(0, try person(user, view).received + change), from: own)
      effects.append(try relay(.news(news), to: home, view))
    }
    return effects
  }

  /// Nothing of what was sent is in it, whatever a person has chosen. Of what is sealed, it does not say who has sent it:
  /// that is not for whoever looks at the phone's screen.
  public func notification(
    about subject: String, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppNotification? {
    guard subject.utf8.starts(with: Self.subjectPrefix.utf8) else { return nil }
    let other = String(decoding: subject.utf8.dropFirst(Self.subjectPrefix.utf8.count), as: UTF8.self)
    guard let people = try? StatePair(user, other), let news = try news(of: user, about: other, people, view) else {
      return nil
    }
    let isSealed = news.kind.phase == .received
    var data = ["channel": try StateChannels.threads(of: user).string]
    if !isSealed { data["with"] = other }
    return AppNotification(
      topic: news.kind.topic, unacknowledged: news.isDelivered ? 0 : 1, unseen: 1, since: news.time,
      badge: try badge(of: user, view),
      sender: isSealed ? nil : try view.shownName(of: other, to: user), data: data,
      // That something sealed ends soon comes after it, and does not mean that it was seen.
      unseenSince: isSealed ? nil : news.time)
  }

  private func news(
    of user: String, about other: String, _ people: StatePair, _ view: any AppView
  ) throws(ClientError) -> StateNews? {
    if elsewhere(of: people) != nil {
      return try view.record(StateHeldNews.self, StateHeldNews.key(of: user, with: other))?.news
    }
    guard let me = people.side(of: user), let stored = try view.record(StateThread.self, people.key) else {
      return nil
    }
    return advanced(stored, view.now).news(of: me)
  }
}
