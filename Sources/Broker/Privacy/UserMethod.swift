import Wire

/// The methods about one user's data, by the names that services give them.
enum UserMethod: String {
  case data = "user_data"
  case export = "user_export"
  case delete = "user_delete"
  case status = "user_delete_status"
  case cliquePair = "clique_pair"
  case stateThread = "state_thread"
  case cliqueGroups = "clique_groups"
  case cliqueUnblock = "clique_unblock"
  case suspend = "user_suspend"
  case unsuspend = "user_unsuspend"
  case suspensions = "user_suspensions"
  case cliqueReports = "clique_reports"
  case cliqueReport = "clique_report"
  case cliqueReportPicture = "clique_report_picture"
  case cliqueReportSettle = "clique_report_settle"

  /// Whether it changes something each time that it is asked for, so that a repeated request is told by its
  /// idempotency key. A deletion that was asked for is the same deletion until it is done.
  var isDoneOnce: Bool { [.cliqueUnblock, .cliqueReportSettle, .suspend, .unsuspend].contains(self) }

  static func read(_ method: String, _ fields: JSONArguments) throws(ClientError) -> UserRequest {
    guard let method = UserMethod(rawValue: method) else { throw .methodNotFound }
    if method == .cliqueGroups, let group = try group(fields) { return .groups(.one(group)) }
    switch method {
    case .suspensions: return .suspensions(.list)
    case .cliqueReports: return .reports(.list(try reports(fields)))
    case .cliqueReport: return .reports(.look(try number(fields, of: method)))
    case .cliqueReportPicture: return .reports(.picture(try picture(fields)))
    case .cliqueReportSettle: return .reports(.settle(try settlement(fields, of: method)))
    default: return try readAboutUser(method, user(fields, "user", of: method), fields)
    }
  }

  private static func readAboutUser(
    _ method: UserMethod, _ user: String, _ fields: JSONArguments
  ) throws(ClientError) -> UserRequest {
    switch method {
    // They name no user.
    case .cliqueReports, .cliqueReport, .cliqueReportPicture, .cliqueReportSettle, .suspensions: throw .methodNotFound
    case .suspend:
      let reason = try fields.string("reason") ?? ""
      guard reason.utf8.count <= SuspensionRequest.longestReason else {
        throw .badRequest.saying("the reason has at most \(SuspensionRequest.longestReason) bytes")
      }
      return .suspensions(.suspend(user: user, until: try fields.number("expire_at"), reason: reason))
    case .unsuspend: return .suspensions(.lift(user: user))
    case .cliqueGroups: return .groups(.of(user: user))
    case .cliqueUnblock: return try unblock(user, self.user(fields, "other", of: method))
    case .data: return .data(user: user)
    case .export: return .export(user: user, cursor: try fields.string("cursor") ?? "")
    case .status: return .deletionStatus(user: user)
    case .cliquePair: return .pair(app: "clique", user: user, other: try self.user(fields, "other", of: method))
    case .stateThread: return .pair(app: "state", user: user, other: try self.user(fields, "other", of: method))
    case .delete:
      var deletion = UserRequest.Deletion(user: user)
      let names = try fields.strings("channels") ?? []
      guard names.count <= UserRequest.mostChannels else {
        throw .badRequest.saying("one deletion names at most \(UserRequest.mostChannels) channels")
      }
      for name in names { deletion.channels.append(try channel(name)) }
      deletion.isBanned = try fields.flag("ban") ?? false
      deletion.bannedUntil = try fields.number("expire_at")
      if deletion.bannedUntil != nil, !deletion.isBanned {
        throw .badRequest.saying("expire_at is the end of a ban; say \"ban\": true, or leave it out")
      }
      return .delete(deletion)
    }
  }

  private static func group(_ fields: JSONArguments) throws(ClientError) -> String? {
    guard let id = try fields.string("conversation"), !id.isEmpty else { return nil }
    guard CliqueCommand.isGroup(id), CliqueCommand.isConversation(id) else {
      throw .badRequest.saying("conversation is the id of a group, as its members have it in their lists: g and digits")
    }
    return id
  }

  private static func unblock(_ user: String, _ other: String) throws(ClientError) -> UserRequest {
    for name in [user, other] { try UserIdentifier.check(name, most: CliqueCommand.maximumUserBytes) }
    if user.hasSameBytes(as: other) { throw .badRequest.saying("user and other are the same person; name two") }
    return .unblock(user: user, other: other)
  }

  private static func reports(_ fields: JSONArguments) throws(ClientError) -> ReportRequest.Query {
    guard let filter = ReportRequest.Query.Filter(rawValue: try fields.string("state") ?? "open") else {
      throw .badRequest.saying("state is open, settled or all")
    }
    let cursor = try fields.string("cursor") ?? ""
    guard let from = cursor.isEmpty ? 0 : UInt64(cursor) else {
      throw .badRequest.saying("this is no cursor of clique_reports; send the one of the page before, or none")
    }
    var user = try fields.string("user")
    if user?.isEmpty ?? false { user = nil }
    if let user { try UserIdentifier.check(user, most: CliqueCommand.maximumUserBytes) }
    let limit: Int64 = try fields.number("limit") ?? 20
    guard limit > 0 else { throw .badRequest.saying("limit is 1 or more") }
    return ReportRequest.Query(
      filter, user: user, from: from, limit: Int(min(limit, Int64(ReportRequest.Query.most))))
  }

  private static func number(_ fields: JSONArguments, of method: UserMethod) throws(ClientError) -> UInt64 {
    guard let number = try fields.number("report", as: UInt64.self), number > 0 else {
      throw .badRequest.saying("\(method.rawValue) needs report, a number that clique_reports lists")
    }
    return number
  }

  private static func picture(_ fields: JSONArguments) throws(ClientError) -> ReportRequest.Picture {
    guard let id = try fields.string("picture"), !id.isEmpty, id.utf8.count <= 64 else {
      throw .badRequest.saying("clique_report_picture needs picture, an id of the pictures that clique_report shows")
    }
    let cursor = try fields.string("cursor") ?? ""
    guard let start = cursor.isEmpty ? 0 : UInt32(cursor), Int(start) % PicturePart.longest == 0 else {
      throw .badRequest.saying("this is no cursor of clique_report_picture; send the one of the part before, or none")
    }
    return ReportRequest.Picture(number: try number(fields, of: .cliqueReportPicture), id: id, start: Int(start))
  }

  private static func settlement(
    _ fields: JSONArguments, of method: UserMethod
  ) throws(ClientError) -> ReportRequest.Settlement {
    typealias Settlement = ReportRequest.Settlement
    guard let outcome = Settlement.Outcome(rawValue: try fields.string("outcome") ?? "") else {
      let outcomes = Settlement.Outcome.allCases.map(\.rawValue).joined(separator: ", ")
      throw .badRequest.saying("outcome is one of \(outcomes)")
    }
    let note = try fields.string("note") ?? ""
    guard note.utf8.count <= Settlement.longestNote else {
      throw .badRequest.saying("note has at most \(Settlement.longestNote) bytes")
    }
    return Settlement(number: try number(fields, of: method), outcome: outcome, note: note)
  }

  private static func user(
    _ fields: JSONArguments, _ name: String, of method: UserMethod
  ) throws(ClientError) -> String {
    guard let user = try fields.string(name), !user.isEmpty, user.utf8.count <= UserRequest.longestUser else {
      throw .badRequest.saying("\(method.rawValue) needs \(name): a user id of 1 to \(UserRequest.longestUser) bytes")
    }
    return user
  }

  private static func channel(_ text: String) throws(ClientError) -> ChannelName {
    let name: ChannelName
    do { name = try ChannelName(text) } catch { throw .badRequest.saying("\(error)") }
    if AppChannels.contains(name.string) {
      throw .badRequest.saying("\(name) belongs to an app, which deletes what is the user's by itself; leave it out")
    }
    return name
  }
}
