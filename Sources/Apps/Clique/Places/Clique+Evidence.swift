import Wire

/// Reports are at home. Of a conversation of another partition, that one says what is reported, before it is.
extension Clique {
  /// Whom and what a report is about.
  struct ReportSubject: Codable, Sendable, Equatable {
    var of: String
    /// Empty: nothing stands between the two that the one who reports sees.
    var conversation: String
    /// The id of the group; "": the report is about somebody outside of groups.
    var group = ""
    /// Newest first; nil: the message that is reported is none that the one who reports can read.
    var messages: [ReadMessage]?
  }

  /// A message as the one who reports reads it, and the id of its picture.
  struct ReadMessage: Codable, Sendable, Equatable {
    var message: Report.Message
    var picture: String?
  }

  /// Gathers what somebody could read in a conversation of this partition of whom they report, for
  /// ``CliqueCommand/Report/evidence``.
  ///
  /// - Throws: the error with which the report is refused.
  func evidence(
    _ command: CliqueCommand.Report, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    try checkGateway(call)
    try checkText(of: command)
    if elsewhere(ofConversation: Self.conversation(of: command, by: call.user)) != nil { throw Self.misplaced }
    var subject = try subject(of: command, call, view)
    // As many as a report keeps: who reports may have been sent much more.
    subject.messages = subject.messages.map { newest in
      zip(Report.kept(newest.map(\.message)).reversed(), newest).map { ReadMessage(message: $0, picture: $1.picture) }
    }
    return AppDecision(reply: try AppJSON.encode(subject))
  }

  /// What a conversation elsewhere has said of what is reported.
  func subject(
    of command: CliqueCommand.Report, from evidence: [UInt8]
  ) throws(ClientError) -> ReportSubject {
    // A gateway that knows of no other partition has gathered none.
    if evidence.isEmpty { throw Self.misplaced }
    guard let subject = try? AppJSON.decode(ReportSubject.self, evidence), !subject.of.isEmpty,
      command.person?.hasSameBytes(as: subject.of) ?? true
    else { throw .badRequest }
    return subject
  }

  /// Where what is reported can be read: in a group, or in the conversation with the person, whatever other conversation
  /// of two is named besides, which is refused there.
  static func conversation(of command: CliqueCommand.Report, by user: String) -> String {
    if let id = command.conversation, isGroup(id) || command.person == nil { return id }
    return CliqueIdentifier.ordered(user, command.person ?? user)
  }
}
