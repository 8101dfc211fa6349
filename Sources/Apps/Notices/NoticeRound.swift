import Wire

/// One decision about one person's record: what is taken in, looked at and sent, in memory.
///
/// Nothing is sent while something is under way, and at most one send begins in a round.
struct NoticeRound {
  let rules: NotificationRules
  let view: any AppView
  let user: String
  var person: PushPerson
  var notices: PushNotices
  /// What is to be sent when the decision is on disk.
  private(set) var sends: [PushSend] = []
  /// What the person is not told of, for the metrics.
  private(set) var unsent: [UnsentNotice] = []
  /// Devices that services do not know any more.
  var gone: [String] = []

  init(_ rules: NotificationRules, _ view: any AppView, _ user: String, _ person: PushPerson, _ notices: PushNotices) {
    self.rules = rules
    self.view = view
    self.user = user
    self.person = person
    self.notices = notices
  }

  var now: Int64 { view.now }

  /// - Parameter topic: where the subject is not among those of the person.
  mutating func note(
    _ event: PushNotices.Line.Event, _ subject: String, devices: [String]? = nil, until: Int64? = nil,
    reason: String? = nil, topic: String? = nil
  ) {
    let line = PushNotices.Line(
      at: now, subject: subject, event: event, devices: devices, until: until, reason: reason)
    notices.note(line, rules)
    guard let reason = event.unsent else { return }
    let topic = topic ?? notices.index(of: subject).map { notices.subjects[$0].topic }
    let wanting = topic.map { person.devices(wanting: $0) } ?? []
    var kinds: [String: Int] = [:]
    for device in wanting.isEmpty ? person.devices : wanting where devices?.containsBytes(of: device.id) ?? true {
      kinds[device.kind, default: 0] += 1
    }
    unsent.append(UnsentNotice(reason, kinds: kinds))
  }

  /// Begins a send, after which nothing else is begun until it has ended.
  mutating func begin(_ send: PushSend, about subject: String) {
    notices.number = send.number
    notices.underWay = PushNotices.UnderWay(
      number: send.number, subject: subject, devices: send.devices.map(\.id), at: now,
      until: now + rules.answerTimeout, process: rules.process)
    sends.append(send)
  }

  // MARK: Notices

  /// Takes a notice in, unless it has come before.
  mutating func take(_ intent: PushIntent) {
    guard intent.offset > notices.through || intent.time > notices.throughTime else { return }
    (notices.through, notices.throughTime) = (intent.offset, intent.time)
    // The clock may have been set back since.
    let time = min(intent.time, now)
    if time.saturatingAdd(rules.timeToLive) <= now { return note(.expired, intent.subject, topic: intent.topic) }
    let mark = PushNotices.Mark(offset: intent.content?.offset, time: time)
    if intent.content != nil,
      notices.acknowledged.contains(where: { $0.subject.hasSameBytes(as: intent.subject) && $0.covers(mark) })
    {
      return note(.suppressed, intent.subject, topic: intent.topic)
    }
    guard let index = notices.index(of: intent.subject) ?? place(for: intent, at: time) else {
      return note(.crowded, intent.subject, topic: intent.topic)
    }
    notices.subjects[index].take(intent, mark, rules, now)
  }

  /// A place for a new subject, for which the one makes room that was shown longest ago; nil: all wait.
  private mutating func place(for intent: PushIntent, at time: Int64) -> Int? {
    if notices.subjects.count >= rules.subjects {
      let shown = notices.subjects.indices.filter { notices.subjects[$0].state == .shown }
      guard let oldest = shown.min(by: { notices.subjects[$0].since < notices.subjects[$1].since }) else { return nil }
      notices.subjects.remove(at: oldest)
    }
    notices.subjects.append(.init(name: intent.subject, topic: intent.topic, since: time, due: time))
    return notices.subjects.count - 1
  }

  /// Notes what a device has acknowledged or the person has seen of a backend's notices, those included that are still
  /// on their way here.
  mutating func acknowledge(_ mark: PushCommand.Mark, isSeen: Bool) {
    var new = PushNotices.Acknowledgement(subject: mark.subject, offset: mark.offset, at: now, isSeen: isSeen)
    if let index = notices.index(of: mark.subject) { notices.subjects[index].content?.acknowledge(new) }
    let same = notices.acknowledged.firstIndex {
      $0.subject.hasSameBytes(as: mark.subject) && $0.isSeen == isSeen && ($0.offset == nil) == (mark.offset == nil)
    }
    // A client that says the same on and on has nothing written each time.
    if let same, let offset = mark.offset, offset <= notices.acknowledged[same].offset ?? 0,
      now - notices.acknowledged[same].at < rules.acknowledgementLifetime / 2
    {
      return
    }
    if let same {
      let old = notices.acknowledged.remove(at: same)
      if let offset = new.offset { new.offset = max(offset, old.offset ?? 0) }
    }
    notices.acknowledged.append(new)
  }
}

extension PushNotices.Subject {
  /// What a backend wants to have shown without a way to acknowledge it: it does not wait.
  var isImmediate: Bool { content.map { $0.newest.offset == nil } ?? false }

  /// When something that came at a time may be sent at the earliest.
  func earliest(after time: Int64, _ rules: NotificationRules) -> Int64 {
    let first = isImmediate ? time : time.saturatingAdd(rules.delay)
    guard missing == nil, let sentAt else { return first }
    return max(first, sentAt.saturatingAdd(rules.repeatInterval))
  }

  fileprivate mutating func take(
    _ intent: PushIntent, _ mark: PushNotices.Mark, _ rules: NotificationRules, _ now: Int64
  ) {
    topic = intent.topic
    if let new = intent.content {
      var open = content ?? .init(title: "", body: "", data: [:], open: [], newest: mark)
      open.add(mark)
      open.title = NotificationTexts.cut(new.title, NotificationTexts.titleBytes)
      open.body = NotificationTexts.cut(new.body, NotificationTexts.bodyBytes)
      (open.data, open.link) = (new.data, new.link)
      content = open
    } else {
      content = nil
    }
    let before = state
    let wasPartial = missing != nil
    state = state.after(.news).state
    if state.isUnderWay {
      newer = newer ?? mark.time
      return
    }
    (missing, triedAt) = (nil, nil)
    switch before {
    case .gone, .shown: begin(at: mark.time, rules)
    // Devices that have the older thing are told of this one in its own time.
    case .renewed where wasPartial: begin(at: mark.time, rules)
    default: if isImmediate { due = min(due, now) }
    }
  }

  /// Waits with what came at a time.
  mutating func begin(at time: Int64, _ rules: NotificationRules) {
    since = time
    due = earliest(after: time, rules)
  }
}
