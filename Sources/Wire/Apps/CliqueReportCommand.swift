extension CliqueCommand {
  /// Somebody tells the moderators of a person, or of a message of theirs.
  public struct Report: Sendable, Equatable {
    public enum Reason: String, Sendable, CaseIterable {
      case spam, harassment, threat, nudity, minor, impersonation, other
    }

    /// Who is reported; nil: the author of the message, or the other of the conversation of two.
    public var person: String?
    /// Where the person or the message is met; nil: the conversation of the two.
    public var conversation: String?
    /// The message that is reported; nil: the person is.
    public var offset: UInt64?
    public var reason: Reason
    /// What the one who reports has to say; "": nothing.
    public var text: String
    /// What the conversation's partition has answered to ``CliqueCommand/evidence(_:)``; empty: what is reported is at
    /// home. Gateways alone set it.
    public var evidence: [UInt8] = []
  }
}

extension CliqueCommand.Report {
  /// `{"person": user, "conversation": id, "offset": n, "reason": …, "text": …}`, of the first two at least one.
  init(_ fields: CommandFields, by user: String) throws(ClientError) {
    person = try fields.string("person")
    if let person {
      try UserIdentifier.check(person, most: CliqueCommand.maximumUserBytes)
      if person.hasSameBytes(as: user) { throw .badRequest.saying("`person` is yourself; name another person") }
    }
    conversation = try fields.conversation()
    offset = try fields.number("offset").map { UInt64($0) }
    switch (person, conversation) {
    case (nil, nil):
      throw .badRequest.saying("name whom you report in `person`, or the `conversation` with its `offset`")
    case (nil, let id?) where CliqueCommand.isGroup(id) && offset == nil:
      throw .badRequest.saying("say which message of the group by its `offset`, or which `person` you report")
    default: break
    }
    guard let reason = Reason(rawValue: try fields.string("reason") ?? "") else {
      let reasons = Reason.allCases.map(\.rawValue).joined(separator: ", ")
      throw .badRequest.saying("`reason` is one of \(reasons)")
    }
    self.reason = reason
    text = try fields.string("text") ?? ""
  }

  func write(to sink: inout some ByteSink) {
    sink.write(optionalText: person)
    sink.write(optionalText: conversation)
    sink.write(optionalText: offset.map { String($0) })
    sink.write(reason.rawValue)
    sink.write(text)
    sink.write(evidence)
  }

  init(from reader: inout ByteReader) throws(MalformedMessage) {
    person = try reader.readOptionalString()
    conversation = try reader.readOptionalString()
    offset = nil
    if let digits = try reader.readOptionalString() {
      guard let number = UInt64(digits) else { throw MalformedMessage() }
      offset = number
    }
    guard let reason = Reason(rawValue: try reader.readString()) else { throw MalformedMessage() }
    self.reason = reason
    text = try reader.readString()
    evidence = try reader.readBytes()
  }
}
