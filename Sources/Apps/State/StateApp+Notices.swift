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
  func notices(from before: StateThread, to thread: StateThread) -> [AppEffect] {
    if thread.told == nil && before.told == nil { return [] }
    var effects: [AppEffect] = []
    for side in StateSide.allCases where thread.told?[side] != before.told?[side] {
      let (user, subject) = (thread.people[side], Self.subject(with: thread.people[side.other]))
      if let news = thread.told?[side], !news.isDelivered {
        effects.append(.notify(AppNotice(topic: news.kind.topic, subject: subject, users: [user])))
      } else {
        effects.append(.acknowledge(user: user, subject: subject))
      }
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
    guard let people = try? StatePair(user, other), let me = people.side(of: user),
      let stored = try view.record(StateThread.self, people.key)
    else { return nil }
    guard let news = advanced(stored, view.now).news(of: me) else { return nil }
    let isSealed = news.kind.phase == .received
    var data = ["channel": try StateChannels.threads(of: user).string]
    if !isSealed { data["with"] = other }
    return AppNotification(
      topic: news.kind.topic, unacknowledged: news.isDelivered ? 0 : 1, unseen: 1, since: news.time,
      badge: try person(user, view).received,
      sender: isSealed ? nil : try view.shownName(of: other, to: user), data: data,
      // That something sealed ends soon comes after it, and does not mean that it was seen.
      unseenSince: isSealed ? nil : news.time)
  }
}
