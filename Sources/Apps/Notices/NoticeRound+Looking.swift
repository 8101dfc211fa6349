import Wire

/// Looks at subjects: what is to be said of each now, and whether.
extension NoticeRound {
  /// Looks at what is due, the longest first, until a send begins.
  mutating func advance() throws(ClientError) {
    if let underWay = notices.underWay {
      guard underWay.until <= now || underWay.process != rules.process else { return }
      lose(underWay)
    }
    // Each look leaves a subject with a later time, or takes it away, or begins a send.
    var left = notices.subjects.count
    while notices.underWay == nil, left > 0, let index = nextDue() {
      left -= 1
      try look(at: index)
    }
  }

  private func nextDue() -> Int? {
    let due = notices.subjects.indices.filter { index in
      notices.subjects[index].state != .gone && notices.subjects[index].due <= now
    }
    return due.min { (notices.subjects[$0].due, $0) < (notices.subjects[$1].due, $1) }
  }

  /// Looks at a subject before its time, because something of it was acknowledged or seen. Nothing is sent before its
  /// time for that.
  mutating func lookEarly(at subject: String) throws(ClientError) {
    guard let index = notices.index(of: subject) else { return }
    if notices.subjects[index].state.isUnderWay {
      notices.subjects[index].isHurried = true
    } else {
      try look(at: index, isEarly: true)
    }
  }

  /// Looks at all that waits, because what a person wants to hear, or when, has changed.
  mutating func lookAtAllPending() {
    for index in notices.subjects.indices where !notices.subjects[index].state.isUnderWay {
      if notices.subjects[index].state.isPending { notices.subjects[index].due = min(notices.subjects[index].due, now) }
    }
  }

  /// Tries a device again that was left alone.
  mutating func release(_ device: String) {
    let count = notices.holds.count
    notices.holds.removeAll { $0.device.hasSameBytes(as: device) }
    if notices.holds.count < count { lookAtAllPending() }
  }

  /// - Parameter isEarly: whether nothing changes but what has to go.
  private mutating func look(at index: Int, isEarly: Bool = false) throws(ClientError) {
    let subject = notices.subjects[index]
    if subject.end(rules) <= now {
      if subject.state.after(.over).action == .drop { note(.expired, subject.name) }
      notices.subjects[index].state = subject.state.after(.over).state
      return
    }
    let found = try notification(of: subject)
    let badge = subject.content == nil ? found.map { notices.count($0.badge, of: $0.topic) } : nil
    guard let found, found.unseen > 0, !subject.isSeen(in: found) else { return seen(index, badge, isEarly) }
    if found.unacknowledged == 0 {
      acknowledged(index, isEarly)
    } else if subject.state == .renewed, subject.missing == nil, let newest = found.newest,
      newest == subject.told?.newest
    {
      // The notice came after the look that had seen what it tells of.
      (notices.subjects[index].state, _) = subject.state.after(.nobody)
      lookAgain(index)
    } else if subject.state.isPending {
      return isEarly ? () : try send(index, found, badge)
    } else if !isEarly {
      lookAgain(index)
    }
    update(index, found, badge)
  }

  /// What is to be said of a subject; nil: nothing any more.
  private func notification(of subject: PushNotices.Subject) throws(ClientError) -> AppNotification? {
    if let content = subject.content { return content.notification(subject.topic) }
    return try view.notification(of: subject.topic, about: subject.name, for: user)
  }

  private mutating func acknowledged(_ index: Int, _ isEarly: Bool) {
    let (state, action) = notices.subjects[index].state.after(.acknowledged)
    if action == .nothing, isEarly { return }
    if action == .suppress { note(.suppressed, notices.subjects[index].name) }
    notices.subjects[index].state = state
    if state == .shown { lookAgain(index) }
  }

  /// Looks at what is shown again after a while, which grows.
  mutating func lookAgain(_ index: Int) {
    let subject = notices.subjects[index]
    let pause = min(rules.longestRecheck, rules.firstRecheck << min(subject.looks, 20))
    notices.subjects[index].looks += 1
    (notices.subjects[index].missing, notices.subjects[index].triedAt) = (nil, nil)
    notices.subjects[index].due = min(now + max(1, pause), max(now + 1, subject.end(rules)))
  }

  // MARK: Withdrawals

  private mutating func seen(_ index: Int, _ badge: Int?, _ isEarly: Bool) {
    let subject = notices.subjects[index]
    let (state, action) = subject.state.after(.seen)
    guard action == .withdraw else {
      if action == .suppress { note(.suppressed, subject.name) }
      notices.subjects[index].state = state
      return
    }
    if notices.underWay != nil {
      notices.subjects[index].due = now
      return
    }
    let devices = person.devices.filter { subject.shownOn.containsBytes(of: $0.id) }
    let free = devices.filter { notices.heldUntil($0.id, at: now) == nil }
    if devices.isEmpty || subject.withdrawals >= rules.withdrawals {
      if !devices.isEmpty { note(.givenUp, subject.name, devices: devices.map(\.id), reason: "it is still shown") }
      notices.subjects[index].state = .gone
    } else if free.isEmpty {
      // What was to be sent is seen, too: it only has to go.
      notices.subjects[index].state = .shown
      notices.subjects[index].due = devices.compactMap { notices.heldUntil($0.id, at: now) }.min() ?? now + 1
    } else {
      notices.subjects[index].state = state
      notices.subjects[index].withdrawals += 1
      (notices.subjects[index].newer, notices.subjects[index].missing) = (nil, nil)
      let sent = free.map { PushSend.Device(id: $0.id, json: Array($0.json.utf8), title: "", body: "") }
      begin(
        PushSend(
          user: user, number: notices.number + 1, devices: sent, collapseKey: subject.name, isWithdrawal: true,
          badge: badge, timeToLive: seconds(left: subject), isUrgent: false),
        about: subject.name)
    }
  }

  func seconds(left subject: PushNotices.Subject) -> Int { Int(max(1, (subject.end(rules) - now) / 1000)) }

  // MARK: Sends

  /// Sends what nothing speaks against, or says until when it waits.
  private mutating func send(_ index: Int, _ found: AppNotification, _ badge: Int?) throws(ClientError) {
    let subject = notices.subjects[index]
    // What came first may have been acknowledged, and what came after it has its own time.
    let since = max(min(found.since, now), subject.since)
    let earliest = subject.earliest(after: since, rules)
    if earliest > now { return wait(index, until: earliest) }
    if try view.isSuspended(user) { return tellNobody(index, .suspended) }
    if let end = person.heldUntil(at: now) { return wait(index, until: end, .quiet) }
    let wanting = person.devices(wanting: found.topic).filter { device in
      subject.missing.map { $0.containsBytes(of: device.id) } ?? true
    }
    if wanting.isEmpty { return tellNobody(index, .unwanted) }
    if let tried = subject.triedAt, tried.saturatingAdd(rules.giveUpAfter) <= now {
      return tellNobody(index, .givenUp, wanting.map(\.id))
    }
    let held = wanting.compactMap { notices.heldUntil($0.id, at: now) }
    if held.count == wanting.count { return wait(index, until: held.min() ?? now + 1) }
    let rate = PushRate(perMinute: rules.sendsPerMinute)
    let next = rate.next(after: notices.paidUntil, at: now)
    if next > now { return wait(index, until: next, .limited) }
    notices.paidUntil = rate.paying(notices.paidUntil, at: now)
    send(index, found, badge, to: wanting)
  }

  private mutating func wait(_ index: Int, until time: Int64, _ event: PushNotices.Line.Event? = nil) {
    notices.subjects[index].due = min(time, max(now + 1, notices.subjects[index].end(rules)))
    if let event { note(event, notices.subjects[index].name, until: time) }
  }

  private mutating func tellNobody(_ index: Int, _ event: PushNotices.Line.Event, _ devices: [String]? = nil) {
    note(event, notices.subjects[index].name, devices: devices)
    notices.subjects[index].state = notices.subjects[index].state.after(.nobody).state
    if notices.subjects[index].state == .shown { lookAgain(index) }
  }

  private mutating func send(
    _ index: Int, _ found: AppNotification, _ badge: Int?, to wanting: [PushPerson.Device]
  ) {
    let free = wanting.filter { notices.heldUntil($0.id, at: now) == nil }
    let held = wanting.filter { notices.heldUntil($0.id, at: now) != nil }
    let subject = notices.subjects[index]
    notices.subjects[index].state = subject.state.after(.unacknowledged).state
    notices.subjects[index].missing = held.map(\.id)
    notices.subjects[index].triedAt = subject.triedAt ?? now
    // Devices that are told later, since they were held, may be told a lower number.
    notices.subjects[index].told = .init(
      unseen: max(found.unseen, subject.missing == nil ? 0 : subject.told?.unseen ?? 0), at: now, newest: found.newest)
    notices.subjects[index].newer = nil
    notices.subjects[index].isHurried = nil
    let devices = free.map { device in
      let (title, body) = text(of: subject, found, on: device)
      return PushSend.Device(id: device.id, json: Array(device.json.utf8), title: title, body: body)
    }
    begin(
      PushSend(
        user: user, number: notices.number + 1, devices: devices, collapseKey: subject.name, badge: badge,
        data: Self.data(of: found, about: subject.name), link: subject.content?.link,
        timeToLive: seconds(left: subject), isUrgent: true),
      about: subject.name)
  }

  func text(
    of subject: PushNotices.Subject, _ found: AppNotification, on device: PushPerson.Device
  ) -> (title: String, body: String) {
    let preview = device.preview ?? person.preview ?? .sender
    if let content = subject.content, content.hasText, preview != .nothing { return (content.title, content.body) }
    let values = TopicSecrecy(of: found.topic).values(
      found, preview, tellsRequests: person.requestPreview ?? false)
    return rules.texts.text(of: found.topic, in: device.language, values)
  }

  /// Bytes of the data as JSON, so that a service always has room for a text.
  private static let mostDataBytes = 1536

  /// What the app on the phone is told, for services to read too: of what is secret, nothing but the topic.
  static func data(of found: AppNotification, about subject: String) -> [String: String] {
    var data = ["topic": found.topic]
    if TopicSecrecy(of: found.topic) == .whole { return data }
    data["subject"] = subject
    var bytes = PushForm.bytes(of: data)
    for (name, value) in found.data.sorted(by: { $0.key < $1.key }) where data[name] == nil {
      bytes += PushForm.bytes(name, value)
      if bytes > mostDataBytes { break }
      data[name] = value
    }
    return data
  }
}
