// How commands for apps stand in the body of a link message: the app, the method's number, and the fields.

private enum AppKind: UInt8 {
  case other
  case clique, state, push
}

extension BrokerRequest.CallRequest {
  func write(to sink: inout some ByteSink) {
    switch command {
    case .other(let other):
      sink.write(byte: AppKind.other.rawValue)
      sink.write(other.method)
      sink.write(other.data)
    case .clique(let command):
      sink.write(byte: AppKind.clique.rawValue)
      sink.write(byte: command.method.rawValue)
      command.write(to: &sink)
    case .state(let command):
      sink.write(byte: AppKind.state.rawValue)
      sink.write(byte: command.method.rawValue)
      command.write(to: &sink)
    case .push(let command):
      sink.write(byte: AppKind.push.rawValue)
      sink.write(byte: command.method.rawValue)
      command.write(to: &sink)
    }
    sink.write(caller)
    // Whose command it is: 0 the client's, 1 the gateway's, 2 the client's in a place that a token attests, which
    // follows.
    guard let place = attestedPlace else { return sink.write(flag: isGateways) }
    precondition(!isGateways, "a token attests the place of a client, and nothing that the gateway says itself")
    sink.write(byte: 2)
    sink.write(place)
  }

  init(from reader: inout ByteReader) throws(MalformedMessage) {
    self.init(try Self.command(from: &reader), caller: try reader.readInfo())
    switch try reader.readByte() {
    case 0: break
    case 1: isGateways = true
    case 2: attestedPlace = try reader.readString()
    default: throw MalformedMessage()
    }
  }

  private static func command(from reader: inout ByteReader) throws(MalformedMessage) -> AppCommand {
    switch AppKind(rawValue: try reader.readByte()) {
    case .other: return .other(.init(method: try reader.readString(), data: try reader.readBytes()))
    case .clique:
      guard let method = CliqueCommand.Method(rawValue: try reader.readByte()) else { throw MalformedMessage() }
      return .clique(try CliqueCommand(method, from: &reader))
    case .state:
      guard let method = StateCommand.Method(rawValue: try reader.readByte()) else { throw MalformedMessage() }
      return .state(try StateCommand(method, from: &reader))
    case .push:
      guard let method = PushCommand.Method(rawValue: try reader.readByte()) else { throw MalformedMessage() }
      return .push(try PushCommand(method, from: &reader))
    case nil: throw MalformedMessage()
    }
  }
}

// MARK: Clique

extension CliqueCommand {
  fileprivate func write(to sink: inout some ByteSink) {
    switch self {
    case .send(let send):
      sink.write(send.target)
      sink.write(send.message)
      sink.write(send.lent)
    case .accept(let target), .decline(let target), .disconnect(let target), .block(let target), .unblock(let target):
      sink.write(target)
    case .read(let mark), .delivered(let mark):
      sink.write(mark.conversation)
      sink.write(mark.offset)
    case .typing(let text), .leaveGroup(let text), .leave(let text): sink.write(text)
    case .createGroup(let group):
      sink.write(group.members)
      sink.write(group.name)
      sink.write(group.key)
    case .changeGroup(let id, let change):
      sink.write(id)
      change.write(to: &sink)
    case .joinGroup(let link):
      sink.write(link.conversation)
      sink.write(link.secret)
    case .keep(let keep):
      sink.write(keep.target)
      keep.writeFlags(to: &sink)
    case .draft(let draft):
      sink.write(draft.target)
      draft.writeText(to: &sink)
    case .react(let react):
      sink.write(react.conversation)
      sink.write(react.offset)
      sink.write(react.reaction)
    case .disappear(let disappear):
      sink.write(disappear.target)
      sink.write(UInt64(bitPattern: disappear.after))
    case .totals: break
    case .report(let report), .evidence(let report): report.write(to: &sink)
    case .search(let search):
      sink.write(search.text)
      sink.write(optionalText: search.person)
      sink.write(optionalText: search.conversation)
      sink.write(UInt64(search.limit))
    case .enter(let place, let hasToken):
      sink.write(place)
      sink.write(flag: hasToken)
    case .invisible(let on): sink.write(flag: on)
    case .crossings(let crossings):
      sink.write(flag: crossings.isByTime)
      sink.write(UInt64(crossings.limit))
    case .setProfile(let change): change.write(to: &sink)
    case .profiles(let people): sink.write(people)
    case .people(let search):
      sink.write(search.text)
      sink.write(UInt64(search.limit))
    case .picture(let command): command.write(to: &sink)
    case .lend(let lending), .giveBack(let lending): lending.write(to: &sink)
    case .reads(let reading): reading.write(to: &sink)
    }
  }

  fileprivate init(_ method: Method, from reader: inout ByteReader) throws(MalformedMessage) {
    switch method {
    case .send:
      self = .send(
        .init(target: try reader.readTarget(), message: try reader.readMessage(), lent: try reader.readBytes()))
    case .accept: self = .accept(try reader.readTarget())
    case .decline: self = .decline(try reader.readTarget())
    case .disconnect: self = .disconnect(try reader.readTarget())
    case .block: self = .block(try reader.readTarget())
    case .unblock: self = .unblock(try reader.readTarget())
    case .read: self = .read(.init(conversation: try reader.readConversation(), offset: try reader.readNumber()))
    case .delivered:
      self = .delivered(.init(conversation: try reader.readConversation(), offset: try reader.readNumber()))
    case .typing: self = .typing(try reader.readConversation())
    case .createGroup:
      self = .createGroup(
        .init(members: try reader.readStrings(), name: try reader.readString(), key: try reader.readString()))
    case .leaveGroup: self = .leaveGroup(try reader.readConversation())
    case .addToGroup, .removeFromGroup, .renameGroup, .appoint, .dismiss, .makeGroupLink, .groupLinks,
      .revokeGroupLinks:
      self = .changeGroup(try reader.readConversation(), try GroupChange(method, from: &reader))
    case .joinGroup:
      self = .joinGroup(.init(conversation: try reader.readConversation(), secret: try reader.readString()))
    case .keep: self = .keep(try Keep(try reader.readTarget(), flagsFrom: &reader))
    case .react:
      self = .react(
        .init(
          conversation: try reader.readConversation(), offset: try reader.readNumber(),
          reaction: try reader.readString()))
    case .disappear: self = .disappear(try Disappear(try reader.readTarget(), afterFrom: &reader))
    case .totals: self = .totals
    case .draft: self = .draft(try DraftText(try reader.readTarget(), textFrom: &reader))
    case .report: self = .report(try Report(from: &reader))
    case .search:
      self = .search(
        .init(
          text: try reader.readString(), person: try reader.readOptionalString(),
          conversation: try reader.readOptionalString(), limit: Int(try reader.readLimit())))
    case .enter: self = .enter(place: try reader.readString(), hasToken: try reader.readFlag())
    case .leave: self = .leave(place: try reader.readString())
    case .invisible: self = .invisible(try reader.readFlag())
    case .crossings: self = .crossings(.init(isByTime: try reader.readFlag(), limit: Int(try reader.readLimit())))
    case .setProfile: self = .setProfile(try ProfileChange(from: &reader))
    case .profiles: self = .profiles(try reader.readStrings())
    case .people: self = .people(.init(text: try reader.readString(), limit: Int(try reader.readLimit())))
    case .pictureAdded, .pictureUpload, .pictureKey, .pictureGone, .pictureDiscard:
      self = .picture(try PictureCommand(method, from: &reader))
    case .lend: self = .lend(try Lending(from: &reader))
    case .giveBack: self = .giveBack(try Lending(from: &reader))
    case .reads: self = .reads(try PictureReading(from: &reader))
    case .evidence: self = .evidence(try Report(from: &reader))
    }
  }
}

extension ByteSink {
  fileprivate mutating func write(_ target: CliqueCommand.Target) {
    switch target {
    case .person(let user):
      write(flag: true)
      write(user)
    case .conversation(let conversation):
      write(flag: false)
      write(conversation.id)
    }
  }

  fileprivate mutating func write(_ message: CliqueMessage) {
    write(message.payload)
    write(UInt64(message.textBytes))
    write(flag: message.hasEscapes)
    write(UInt64(message.characters))
    write(message.key.own)
    write(optionalText: message.key.published)
    // 0: nothing more; 1: what the message refers to; 2: that, and its picture.
    guard let extras = message.extras else { return write(byte: 0) }
    write(byte: extras.picture == nil ? 1 : 2)
    write(extras.reply ?? 0)
    write(extras.mentions)
    guard let picture = extras.picture else { return }
    write(picture.id)
    write(picture.hash)
  }

  mutating func write(_ texts: [String]) {
    write(UInt64(texts.count))
    for text in texts { write(text) }
  }
}

extension ByteReader {
  fileprivate mutating func readTarget() throws(MalformedMessage) -> CliqueCommand.Target {
    try readFlag() ? .person(try readString()) : .conversation(CliqueConversation(try readConversation()))
  }

  /// Reads a conversation's id and checks its form, since apps rely on that.
  mutating func readConversation() throws(MalformedMessage) -> String {
    let id = try readString()
    guard CliqueCommand.isConversation(id) else { throw MalformedMessage() }
    return id
  }

  fileprivate mutating func readMessage() throws(MalformedMessage) -> CliqueMessage {
    let message = CliqueMessage(
      payload: try readBytes(), textBytes: Int(try readLimit()), hasEscapes: try readFlag(),
      characters: Int(try readLimit()),
      key: CliqueMessageKey(own: try readString(), published: try readOptionalString()),
      extras: try readExtras())
    guard let message else { throw MalformedMessage() }
    return message
  }

  private mutating func readExtras() throws(MalformedMessage) -> CliqueMessageExtras? {
    let kind = try readByte()
    guard kind <= 2 else { throw MalformedMessage() }
    if kind == 0 { return nil }
    return CliqueMessageExtras(
      reply: try readNumber(), mentions: try readStrings(),
      picture: kind == 2 ? .init(id: try readString(), hash: try readString()) : nil)
  }

  mutating func readStrings() throws(MalformedMessage) -> [String] {
    var texts: [String] = []
    for _ in 0..<(try readCount()) { texts.append(try readString()) }
    return texts
  }
}

// MARK: State

extension StateCommand {
  fileprivate func write(to sink: inout some ByteSink) {
    switch self {
    case .begin(let user), .seen(let user), .delivered(let user), .block(let user), .unblock(let user):
      sink.write(user)
    case .send(let send):
      sink.write(send.to)
      sink.write(send.front)
      sink.write(send.rear)
      sink.write(flag: send.caption != nil)
      if let caption = send.caption {
        sink.write(caption.text)
        sink.write(UInt64(caption.characters))
      }
      sink.write(optionalTime: send.replyLimit)
      sink.write(optionalText: send.key)
      sink.write(send.lent)
    case .react(let reaction):
      sink.write(reaction.with)
      sink.write(optionalText: reaction.text)
    case .cancel(let cancel):
      sink.write(cancel.to)
      sink.write(cancel.pictures)
    case .settings(let limit): sink.write(optionalTime: limit)
    case .addPicture(let picture):
      sink.write(picture.id)
      sink.write(optionalText: picture.type)
      sink.write(UInt64(bitPattern: picture.bytes))
      sink.write(picture.key)
      sink.write(optional: picture.upload)
    case .uploadKey(let id, let upload):
      sink.write(id)
      sink.write(upload)
    case .pictureKey(let id): sink.write(id)
    case .gonePictures(let ids), .discard(let ids): sink.write(ids)
    case .discardUpload(let id): sink.write(id)
    case .lend(let lending), .giveBack(let lending):
      for text in [lending.to, lending.front, lending.rear] { sink.write(text) }
      sink.write(lending.attempt)
    }
  }

  fileprivate init(_ method: Method, from reader: inout ByteReader) throws(MalformedMessage) {
    switch method {
    case .begin: self = .begin(to: try reader.readString())
    case .send:
      self = .send(
        .init(
          to: try reader.readString(), front: try reader.readString(), rear: try reader.readString(),
          caption: try reader.readFlag()
            ? .init(text: try reader.readString(), characters: Int(try reader.readLimit())) : nil,
          replyLimit: try reader.readOptionalTime(), key: try reader.readOptionalString(), lent: try reader.readBytes())
      )
    case .seen: self = .seen(with: try reader.readString())
    case .delivered: self = .delivered(with: try reader.readString())
    case .settings: self = .settings(limit: try reader.readOptionalTime())
    case .block: self = .block(try reader.readString())
    case .unblock: self = .unblock(try reader.readString())
    case .react: self = .react(.init(with: try reader.readString(), text: try reader.readOptionalString()))
    case .cancel: self = .cancel(.init(to: try reader.readString(), pictures: try reader.readStrings()))
    case .discard: self = .discard(try reader.readStrings())
    case .discardUpload: self = .discardUpload(id: try reader.readString())
    case .lend: self = .lend(try reader.readLending())
    case .giveBack: self = .giveBack(try reader.readLending())
    case .addPicture:
      self = .addPicture(
        .init(
          id: try reader.readString(), type: try reader.readOptionalString(),
          bytes: Int64(bitPattern: try reader.readNumber()), key: try reader.readBytes(),
          upload: try reader.readOptionalBytes()))
    case .uploadKey: self = .uploadKey(id: try reader.readString(), upload: try reader.readBytes())
    case .pictureKey: self = .pictureKey(id: try reader.readString())
    case .gonePictures: self = .gonePictures(try reader.readStrings())
    }
  }
}

extension ByteReader {
  fileprivate mutating func readLending() throws(MalformedMessage) -> StateCommand.Lending {
    StateCommand.Lending(
      to: try readString(), front: try readString(), rear: try readString(), attempt: try readNumber())
  }
}
