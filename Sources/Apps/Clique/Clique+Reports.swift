import Wire

/// People report others, and moderators look at that (``Report`` has the states). Who is reported sees nothing of it.
extension Clique {
  func report(
    _ command: CliqueCommand.Report, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    try checkText(of: command)
    let subject = try subject(of: command, call, view)
    let draft = CliqueDraft(view)
    let id = CliqueIdentifier.hex(
      ["report", call.user, subject.of, subject.group, command.offset.map { "\($0)" } ?? ""])
    if let known = try view.record(Reported.self, Reported.key(id)),
      let report = try view.record(Report.self, Report.key(known.number)), report.settled == nil
    {
      // Also where the message was removed meanwhile.
      return AppDecision(reply: Self.answer(id))
    }
    guard let messages = subject.messages else { throw Self.noMessage }
    var reports = try draft.read(Reports.self, Reports.key) ?? Reports()
    if reports.kept >= rules.maximumReports {
      throw ClientError.limitExceeded.counted(as: .cliqueReports).saying(
        "the moderators have as many reports as they can keep; try again later")
    }
    try draft.update(call.user) { person throws(ClientError) in
      guard let mark = CliqueRate(perDay: rules.reportsPerDay).next(after: person.reportMark, now: view.now) else {
        throw ClientError.limitExceeded.counted(as: .cliqueReportsPerDay).saying(
          "you have made \(rules.reportsPerDay) reports a day or nearly so many at once; go on later")
      }
      person.reportMark = mark
    }
    var report = Report(
      number: reports.next, subject: id, by: call.user, of: subject.of, conversation: subject.conversation,
      offset: command.offset, reason: command.reason.rawValue, text: command.text, time: view.now,
      messages: Report.kept(messages.map(\.message)),
      profile: try profile(of: subject.of, seenBy: call.user, view)?.content,
      ends: view.now + Report.openFor)
    try keepPictures(of: &report, messages, &reports, draft)
    reports.next += 1
    reports.open += 1
    reports.kept += 1
    draft.write(Report.key(report.number), report)
    draft.write(Reported.key(id), Reported(number: report.number))
    draft.write(Reports.key, reports)
    draft.refresh(try Channels.reports(call.user), key: id, .atomically)
    return draft.decision(reply: Self.answer(id))
  }

  func checkText(of command: CliqueCommand.Report) throws(ClientError) {
    if command.text.unicodeScalars.count <= rules.reportCharacters { return }
    throw ClientError.limitExceeded.counted(as: .cliqueReportText).saying(
      "`text` has at most \(rules.reportCharacters) characters; say it shorter")
  }

  /// Keeps the pictures of the messages that a report keeps, and of the profile, newest first.
  private func keepPictures(
    of report: inout Report, _ newest: [ReadMessage], _ reports: inout Reports, _ draft: CliqueDraft
  ) throws(ClientError) {
    let offsets = Set(report.messages.map(\.offset))
    var named: [(id: String, offset: UInt64?)] = newest.compactMap { read in
      guard let id = read.picture, offsets.contains(read.message.offset) else { return nil }
      return (id, read.message.offset)
    }
    if let id = report.profile?.picture?.id { named.append((id, nil)) }
    var pictures: [Report.Picture] = []
    for (id, offset) in named {
      let kept = try draft.keep(
        id, of: report.of, at: offset, for: report.number, &reports, most: rules.reportPictureBytes)
      if let kept { pictures.append(kept) }
    }
    if !pictures.isEmpty { report.pictures = pictures }
  }

  private static func answer(_ id: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { $0.write("report", id) }
    return writer.bytes
  }

  // MARK: What is reported

  func subject(
    of command: CliqueCommand.Report, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> ReportSubject {
    if let id = command.conversation, Self.isGroup(id) { return try inGroup(id, command, call, view) }
    if elsewhere(ofConversation: Self.conversation(of: command, by: call.user)) != nil {
      return try subject(of: command, from: command.evidence)
    }
    let target: CliqueCommand.Target
    if let person = command.person {
      target = .person(person)
    } else {
      target = .conversation(CliqueConversation(command.conversation ?? ""))
    }
    let (pair, id, side, _) = try pair(target, call, view)
    if let named = command.conversation, !named.hasSameBytes(as: id) { throw Self.noConversation }
    let other = pair.user(side.other)
    if other.isEmpty { throw Self.forgotten }
    var messages: [ReadMessage]? = []
    if pair.state.mayReadBeneath(side) {
      messages = try read(try Channels.chat(id), of: other, command.offset, call, since: nil, view)
    } else if command.offset != nil {
      throw Self.noMessage
    } else if pair.state.asker == side.other {
      messages = pair.waiting(for: side).reversed().map {
        ReadMessage(message: .init(offset: 0, time: $0.time, text: $0.text))
      }
    }
    // What the reporter does not see standing is not named: it would tell of a block.
    let isSeen = pair.state.sight(of: side) != .nothing
    return ReportSubject(of: other, conversation: isSeen ? id : "", messages: messages)
  }

  private func inGroup(
    _ id: String, _ command: CliqueCommand.Report, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> ReportSubject {
    guard let group = try view.record(Group.self, Key.group(id)), group.index(of: call.user) != nil
    else { throw Self.noConversation }
    let channel = try Channels.chat(id)
    let since = try term(of: call.user, in: group, id, view)
    var author = command.person
    if author == nil, let offset = command.offset {
      author = try view.newest(1, through: offset, of: channel).first { $0.offset == offset }?.info?.user
    }
    guard let author, !author.hasSameBytes(as: call.user) else { throw Self.noMessage }
    let messages = try read(channel, of: author, command.offset, call, since: since, view)
    if messages?.isEmpty ?? true, !group.members.contains(where: { $0.user.hasSameBytes(as: author) }) {
      throw ClientError.notAvailable.saying("this person is not in the group; take members from its entry in your list")
    }
    return ReportSubject(of: author, conversation: id, group: id, messages: messages)
  }

  /// Messages of somebody that the caller can read, newest first, each as the caller reads it.
  ///
  /// - Parameter offset: the newest of them; nil: the last that there is.
  /// - Returns: nil where there is none at the offset.
  private func read(
    _ channel: ChannelName, of author: String, _ offset: UInt64?, _ call: AppCall, since term: Int?,
    _ view: any AppView
  ) throws(ClientError) -> [ReadMessage]? {
    let publications = try view.newest(Report.looks, through: offset ?? .max, of: channel)
      .map { $0.shown(to: call.user) }
      .filter { publication in
        Self.isMessage(publication) && Self.isSeen(publication, by: call.user, since: term)
          && publication.info?.user.hasSameBytes(as: author) ?? false
      }
    if let offset, publications.first?.offset != offset { return nil }
    return publications.map { publication in
      let fields = try? CommandFields(publication.data)
      let message = Report.Message(
        offset: publication.offset, time: publication.time, text: (try? fields?.string("text")) ?? "",
        hasPicture: fields?.has("picture") ?? false ? true : nil)
      return ReadMessage(message: message, picture: Self.picture(in: publication))
    }
  }

  private static let noMessage = ClientError.badRequest.saying(
    "`offset` is none of a message of somebody else that you can read; send that of one that you got")

  // MARK: The reporter's list

  /// What came of a report, for the one who has made it: that it is settled, and not what was found.
  func reportEntry(_ user: String, _ id: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard let known = try view.record(Reported.self, Reported.key(id)),
      let report = try view.record(Report.self, Report.key(known.number)), report.by.hasSameBytes(as: user)
    else { return nil }
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("report", id)
      writer.write("user", report.of)
      if !report.conversation.isEmpty { writer.write("conversation", report.conversation) }
      if let offset = report.offset { writer.write("offset", offset) }
      writer.write("reason", report.reason)
      if !report.text.isEmpty { writer.write("text", report.text) }
      writer.write("time", report.time)
      writer.write("state", report.settled == nil ? "open" : "settled")
    }
    return AppEntry(data: writer.bytes, score: report.time)
  }

  // MARK: Ends

  func reportIsDue(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let report = try draft.read(Report.self, key) else { return }
    if report.ends > draft.now { return draft.write(key, report) }
    try erase(report, draft)
  }

  private func erase(_ report: Report, _ draft: CliqueDraft) throws(ClientError) {
    draft.erase(Report.key(report.number))
    var reports = try draft.read(Reports.self, Reports.key) ?? Reports()
    reports.kept = max(0, reports.kept - 1)
    if report.settled == nil { reports.open = max(0, reports.open - 1) }
    for picture in report.pictures ?? [] { try draft.letGo(picture, of: report.number, &reports) }
    if reports.kept == 0 {
      reports.first = reports.next
    } else if reports.first == report.number {
      reports.first += 1
    }
    draft.write(Reports.key, reports)
    if report.subject.isEmpty { return }
    if try draft.read(Reported.self, Reported.key(report.subject))?.number == report.number {
      draft.erase(Reported.key(report.subject))
      draft.refresh(try Channels.reports(report.by), key: report.subject, .atomically)
    }
  }

  /// Forgets what a report holds of users whose data is deleted. One about them goes: it holds what they wrote. One by
  /// them stays, since it is about somebody else, but not who has made it and what they said.
  func forgetReport(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard var report = try draft.read(Report.self, key) else { return }
    if users.contains(report.of) { return try erase(report, draft) }
    guard !report.by.isEmpty, users.contains(report.by) else { return }
    if try draft.read(Reported.self, Reported.key(report.subject))?.number == report.number {
      draft.erase(Reported.key(report.subject))
    }
    (report.by, report.text, report.subject, report.conversation) = ("", "", "", "")
    draft.write(key, report)
  }
}
