public import Wire

/// What moderators see and do: `docs/API.md` has it as methods.
extension Clique {
  public func moderate(_ request: ReportRequest, _ view: any AppView) throws(ClientError) -> AppDecision {
    switch request {
    case .list(let query): AppDecision(reply: try list(query, view))
    case .look(let number): AppDecision(reply: try look(number, view))
    case .settle(let settlement): try settle(settlement, view)
    // The broker reads it, and asks for it by `reportedPicture`.
    case .picture: throw .methodNotFound
    }
  }

  func report(_ number: UInt64, _ view: any AppView) throws(ClientError) -> Report {
    guard let report = try view.record(Report.self, Report.key(number)) else {
      throw ClientError.notAvailable.saying("there is no report \(number); list those that there are")
    }
    return report
  }

  private func list(_ query: ReportRequest.Query, _ view: any AppView) throws(ClientError) -> [UInt8] {
    let reports = try view.record(Reports.self, Reports.key) ?? Reports()
    var number = max(query.from, reports.first)
    var looks = Reports.looks
    var found: [Report] = []
    while number < reports.next, looks > 0, found.count < min(query.limit, ReportRequest.Query.most) {
      let report = try view.record(Report.self, Report.key(number))
      number += 1
      looks -= 1
      guard let report else { continue }
      let isWanted =
        switch query.filter {
        case .open: report.settled == nil
        case .settled: report.settled != nil
        case .all: true
        }
      if isWanted, query.user.map({ $0.hasSameBytes(as: report.of) }) ?? true { found.append(report) }
    }
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("reports") { writer in for report in found { writer.object { Self.write(report, &$0) } } }
      writer.write("open", reports.open)
      if number < reports.next { writer.write("cursor", String(number)) }
    }
    return writer.bytes
  }

  private func look(_ number: UInt64, _ view: any AppView) throws(ClientError) -> [UInt8] {
    let report = try report(number, view)
    var writer = JSONWriter()
    writer.object { writer in
      Self.write(report, &writer)
      if !report.text.isEmpty { writer.write("text", report.text) }
      if let profile = report.profile { writer.object("profile") { profile.write(rules.profileFields, &$0) } }
      if let pictures = report.pictures { Self.write(pictures, &writer) }
      writer.list("messages") { writer in
        for message in report.messages {
          writer.object { writer in
            if message.offset > 0 { writer.write("offset", message.offset) }
            writer.write("time", message.time)
            writer.write("text", message.text)
            if message.hasPicture ?? false { writer.write("picture", true) }
          }
        }
      }
    }
    return writer.bytes
  }

  private static func write(_ pictures: [Report.Picture], _ writer: inout JSONWriter) {
    writer.list("pictures") { writer in
      for picture in pictures {
        writer.object { writer in
          writer.write("id", picture.id)
          writer.write("type", picture.type)
          writer.write("bytes", picture.bytes)
          if let offset = picture.offset { writer.write("offset", offset) }
        }
      }
    }
  }

  private static func write(_ report: Report, _ writer: inout JSONWriter) {
    writer.write("report", report.number)
    writer.write("user", report.of)
    if !report.by.isEmpty { writer.write("by", report.by) }
    if !report.conversation.isEmpty { writer.write("conversation", report.conversation) }
    if let offset = report.offset { writer.write("offset", offset) }
    writer.write("reason", report.reason)
    writer.write("time", report.time)
    writer.write("kept", report.messages.count)
    writer.write("ends", report.ends)
    guard let settled = report.settled else { return writer.write("state", "open") }
    writer.write("state", "settled")
    writer.write("outcome", settled.outcome)
    writer.write("settled", settled.time)
    if !settled.note.isEmpty { writer.write("note", settled.note) }
  }

  private func settle(
    _ settlement: ReportRequest.Settlement, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    var report = try report(settlement.number, view)
    let draft = CliqueDraft(view)
    if report.settled == nil, var reports = try draft.read(Reports.self, Reports.key) {
      reports.open = max(0, reports.open - 1)
      draft.write(Reports.key, reports)
    }
    report.settled = Report.Settled(outcome: settlement.outcome.rawValue, note: settlement.note, time: view.now)
    report.ends = view.now + Report.settledFor
    draft.write(Report.key(report.number), report)
    if !report.by.isEmpty {
      draft.refresh(try Channels.reports(report.by), key: report.subject, .atomically)
    }
    return draft.decision()
  }
}
