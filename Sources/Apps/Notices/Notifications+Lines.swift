public import Wire

extension Notifications {
  /// What became of a person's notifications, as JSON for `fanfare why`: the person's devices without what reaches
  /// them, what waits or is shown, and what has happened, oldest first. Times are in milliseconds since 1970.
  ///
  /// - Parameter subject: nil: of all subjects.
  public func lines(
    about subject: String?, of user: String, _ view: any AppView
  ) throws(ClientError) -> [UInt8] {
    let person = try person(user, view)
    let notices = try view.record(PushNotices.self, PushKeys.notices + user) ?? PushNotices()
    func isAsked(_ name: String) -> Bool { subject.map { name.isEmpty || $0.hasSameBytes(as: name) } ?? true }
    let isSuspended = try view.isSuspended(user)
    var writer = JSONWriter()
    writer.object { writer in
      person.write(to: &writer)
      if let topics = person.topics { writer.list("topics") { for topic in topics { $0.write(element: topic) } } }
      if isSuspended { writer.write("suspended", true) }
      if let until = person.heldUntil(at: view.now) { writer.write("quiet_until", until) }
      writer.list("subjects") { writer in
        for subject in notices.subjects where isAsked(subject.name) {
          var inner = JSONWriter()
          inner.object { subject.write(to: &$0) }
          writer.write(rawElement: inner.bytes)
        }
      }
      writer.list("lines") { writer in
        for line in notices.lines where isAsked(line.subject) {
          var inner = JSONWriter()
          inner.object { line.write(to: &$0) }
          writer.write(rawElement: inner.bytes)
        }
      }
    }
    return writer.bytes
  }
}

extension PushNotices.Subject {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.write("subject", name)
    writer.write("topic", topic)
    writer.write("state", state.rawValue)
    writer.write("since", since)
    if !state.isUnderWay { writer.write("due", due) }
    if let sentAt { writer.write("sent", sentAt) }
    if !shownOn.isEmpty { writer.list("shown_on") { for id in shownOn { $0.write(element: id) } } }
  }
}

extension PushNotices.Line {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.write("time", at)
    if !subject.isEmpty { writer.write("subject", subject) }
    writer.write("event", event.rawValue)
    if let devices { writer.list("devices") { for id in devices { $0.write(element: id) } } }
    if let until { writer.write("until", until) }
    writer.write("text", sentence)
  }

  /// What happened, for people.
  private var sentence: String {
    let why = reason.map { ": \($0)" } ?? ""
    return switch event {
    case .sent: "services have taken it"
    case .suppressed: "not sent: a device acknowledged it in time, or it was seen or taken back"
    case .quiet: "waits: the person has quiet hours, or has muted everything"
    case .limited: "waits: the person was sent as much as a minute allows"
    case .later: "tried again later\(why)"
    case .refused: "the service refused it, and would again\(why)"
    case .forgotten: "the service does not know the device any more; it was forgotten"
    case .lost: "nobody said what became of it; sent again"
    case .withdrawn: "withdrawn: the person has seen it, or it was taken back"
    case .updated: "replaced without a sound: the person has seen some of it"
    case .expired: "not sent: it became too old"
    case .crowded: "not sent: too many other things wait for the person"
    case .unwanted: "not sent: no device wants to hear of this"
    case .suspended: "not sent: the person is suspended"
    case .givenUp: "given up\(why)"
    }
  }
}
