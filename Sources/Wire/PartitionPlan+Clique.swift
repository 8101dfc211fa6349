// Requests of Clique, where it is shared among partitions (docs/decisions/0074-clique-in-all-partitions.md).

extension Partitioning {
  /// Where all that a command is about stands; nil: in several places.
  func onlyPlace(of command: CliqueCommand, by user: String) -> Int? {
    switch command {
    case .send(let send):
      let place = place(of: send.target, by: user)
      // Pictures are at home.
      return place == Self.home || send.message.extras?.picture == nil ? place : nil
    case .accept(let target), .decline(let target), .disconnect(let target), .block(let target), .unblock(let target):
      return place(of: target, by: user)
    case .keep(let keep): return place(of: keep.target, by: user)
    case .draft(let draft): return place(of: draft.target, by: user)
    case .disappear(let disappear): return place(of: disappear.target, by: user)
    case .read(let mark), .delivered(let mark): return place(ofConversation: mark.conversation)
    case .typing(let id): return place(ofConversation: id)
    case .react(let react): return place(ofConversation: react.conversation)
    case .reads(let reading): return place(ofConversation: reading.conversation)
    case .totals: return place(ofUser: user)
    case .search(let search): return search.conversation.map { place(ofConversation: $0) }
    case .report(let report): return place(of: report, by: user) == Self.home ? Self.home : nil
    case .evidence(let report): return place(of: report, by: user)
    case .picture(.key): return nil
    case .createGroup, .leaveGroup, .changeGroup, .joinGroup, .enter, .leave, .invisible, .crossings, .setProfile,
      .profiles, .people, .picture, .lend, .giveBack:
      return Self.home
    }
  }

  func place(of target: CliqueCommand.Target, by user: String) -> Int {
    place(ofConversation: conversation(of: target, by: user))
  }

  private func conversation(of target: CliqueCommand.Target, by user: String) -> String {
    switch target {
    case .person(let other): conversation(of: user, and: other)
    case .conversation(let conversation): conversation.id
    }
  }

  /// Where it can be read what somebody reports: in a group, or in the conversation with the person, whatever other
  /// conversation of two is named besides, which the app refuses.
  private func place(of report: CliqueCommand.Report, by user: String) -> Int {
    if let id = report.conversation, CliqueCommand.isGroup(id) || report.person == nil {
      return place(ofConversation: id)
    }
    return report.person.map { place(of: .person($0), by: user) } ?? Self.home
  }

  func plan(for command: CliqueCommand, of call: BrokerRequest.CallRequest) -> PartitionPlan {
    let user = call.caller.user
    if let place = onlyPlace(of: command, by: user) { return one(.call(call), at: place) }
    func part(_ partition: Int, _ command: CliqueCommand, isGateways: Bool = false) -> PartitionPlan.Part {
      .init(partition: partition, request: call.asking(.clique(command), isGateways: isGateways))
    }
    switch command {
    case .send(let send):
      let conversation = conversation(of: send.target, by: user)
      let lending = CliqueCommand.Lending(
        conversation: conversation, picture: send.message.extras?.picture?.id ?? "", attempt: .random(in: .min ... .max)
      )
      return PartitionPlan(
        [
          part(Self.home, .lend(lending), isGateways: true), part(place(ofConversation: conversation), command),
          part(Self.home, .giveBack(lending), isGateways: true),
        ], .send)
    case .report(let report):
      return PartitionPlan(
        [part(place(of: report, by: user), .evidence(report), isGateways: true), part(Self.home, command)], .report)
    case .search(let search): return each(.search(search.limit)) { _ in .call(call) }
    default: return PartitionPlan([part(Self.home, command)], .pictureKey(in: self))
    }
  }
}

extension PartitionPlan {
  /// Where home says that a picture is in a message elsewhere, the message's partition is asked whether the caller reads
  /// it now.
  func partOfPictureKey(after answers: [BrokerResponse], in partitioning: Partitioning) -> [Part] {
    switch answers.count {
    case 0: return parts
    case 1:
      guard let call = parts[0].request.calling, case .clique(.picture(.key(let picture))) = call.command,
        let reading = answers[0].object?["reads"].flatMap({ Self.reading(of: picture, $0) })
      else { return [] }
      return [
        .init(
          partition: partitioning.place(ofConversation: reading.conversation),
          request: call.asking(.clique(.reads(reading)), isGateways: true))
      ]
    default: return []
    }
  }

  /// `{"conversation": id, "offset": n}`
  private static func reading(of picture: String, _ value: JSONValue) -> CliqueCommand.PictureReading? {
    guard let fields = value.object, let conversation = fields["conversation"]?.string,
      CliqueCommand.isConversation(conversation), let offset = fields["offset"].flatMap({ UInt64($0.text) })
    else { return nil }
    return .init(conversation: conversation, offset: offset, picture: picture)
  }

  /// The key, where nothing stands in its way. A condition that nobody was asked about is not met, whatever the reason.
  static func pictureKey(_ answers: [BrokerResponse]) -> BrokerResponse {
    guard let granted = answers.first, let object = granted.object else { return .failed(.internalError) }
    guard object.has("reads") else { return granted }
    guard answers.count == 2 else { return .failed(.internalError) }
    var writer = JSONWriter()
    writer.object { writer in
      for (key, value) in object.members where key != "reads" { writer.write(named: key, raw: Array(value.bytes)) }
    }
    return .result(writer.bytes)
  }

  /// The newest of the messages that were found, in the order in which an index finds them.
  ///
  /// A partition that has left some out for their size has answered with more than fits into one answer, all of it newer.
  static func search(_ answers: [BrokerResponse], limit: Int) -> BrokerResponse {
    var found: [FoundElement] = []
    for answer in answers {
      guard let messages = answer.object?["messages"]?.array else { return .failed(.internalError) }
      for message in messages {
        guard let one = FoundElement(message) else { return .failed(.internalError) }
        found.append(one)
      }
    }
    found.sort { $0.precedes($1) }
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("messages") { writer in
        for one in found.prefix(limit) {
          if writer.bytes.count > MessageSearch.answerBytes { return }
          writer.write(rawElement: Array(one.json))
        }
      }
    }
    return .result(writer.bytes)
  }
}

/// A message as a partition has found it.
private struct FoundElement {
  let time: Int64
  let channel: String
  let offset: UInt64
  let json: ArraySlice<UInt8>

  init?(_ value: JSONValue) {
    guard let fields = value.object, let time = fields.number("time"), let channel = fields["channel"]?.string,
      let offset = fields["offset"].flatMap({ UInt64($0.text) })
    else { return nil }
    (self.time, self.channel, self.offset, json) = (time, channel, offset, value.bytes)
  }

  func precedes(_ other: FoundElement) -> Bool {
    if time != other.time { return time > other.time }
    return channel == other.channel ? offset > other.offset : channel < other.channel
  }
}
