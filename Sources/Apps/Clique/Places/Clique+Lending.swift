import Wire

/// Pictures that are at home, for conversations of other partitions. ``Picture`` has the table.
extension Clique {
  // MARK: Gateways ask home

  /// Lends a picture to a conversation. The answer is what a send there takes in place of the picture's record.
  ///
  /// - Throws: error 435 where the picture is not there to be sent, as a send at home would be refused.
  func lend(
    _ lending: CliqueCommand.Lending, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    try checkGateway(call)
    guard elsewhere(ofConversation: lending.conversation) != nil else { throw Self.misplaced }
    guard StatePictureID.isValid(lending.picture),
      var picture = try view.record(Picture.self, Key.picture(lending.picture)), picture.isWhole,
      picture.owner.hasSameBytes(as: call.user), var lent = picture.lent(to: lending.conversation), lent.ends > view.now
    else { throw StatePictureID.unknown }
    let reply = try AppJSON.encode(LentPicture(look: picture.look, owner: picture.owner, ends: lent.ends))
    if lent.attempts.contains(lending.attempt) { return AppDecision(reply: reply) }
    lent.attempts = StatePicture.noting(lending.attempt, among: lent.attempts)
    picture.use = .lent(lent)
    return AppDecision([.write(key: Key.picture(picture.id), picture)], reply: reply)
  }

  /// Crosses out an attempt that was refused; after the last one the picture can be sent to anybody again.
  func giveBack(
    _ lending: CliqueCommand.Lending, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    try checkGateway(call)
    guard StatePictureID.isValid(lending.picture), lending.attempt != StatePicture.uncounted,
      var picture = try view.record(Picture.self, Key.picture(lending.picture)),
      picture.owner.hasSameBytes(as: call.user), case .lent(var lent) = picture.use,
      lent.conversation.hasSameBytes(as: lending.conversation),
      let index = lent.attempts.firstIndex(of: lending.attempt)
    else { return AppDecision() }
    lent.attempts.remove(at: index)
    if lent.attempts.isEmpty {
      (picture.use, picture.due) = (.unsent, lent.ends)
    } else {
      picture.use = .lent(lent)
    }
    return AppDecision([.write(key: Key.picture(picture.id), picture)])
  }

  // MARK: Gateways ask the conversation

  /// Grants a picture's key, which home gives out only with this answer, to whoever reads the message that has it.
  func reads(
    _ reading: CliqueCommand.PictureReading, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    try checkGateway(call)
    let id = reading.conversation
    guard elsewhere(ofConversation: id) == nil else { throw Self.misplaced }
    let offset = reading.offset == 0 ? try newest(withPicture: reading.picture, in: id, view) : reading.offset
    guard let offset, try keeps(reading.picture, in: id, at: offset, view),
      try reads(call.user, id, offset, reading.picture, view)
    else { throw Self.noPicture }
    return AppDecision()
  }

  /// The message with a picture of which home has not heard yet, so that it is one of the last.
  private func newest(
    withPicture picture: String, in id: String, _ view: any AppView
  ) throws(ClientError) -> UInt64? {
    try view.newest(Report.looks, of: Channels.chat(id))
      .first { Self.isMessage($0) && Self.picture(in: $0)?.hasSameBytes(as: picture) ?? false }?.offset
  }

  /// Whether a conversation of this partition still keeps the message with a picture.
  private func keeps(
    _ picture: String, in id: String, at offset: UInt64, _ view: any AppView
  ) throws(ClientError) -> Bool {
    let channel = try Channels.chat(id)
    let top = try view.top(of: channel)
    guard top < offset || top - offset < UInt64(Self.chatSize),
      let message = try view.publication(offset, of: channel), Self.isMessage(message),
      view.now < message.time.saturatingAdd(Self.chatLifetime)
    else { return false }
    return Self.picture(in: message)?.hasSameBytes(as: picture) ?? false
  }

  // MARK: Sending

  /// Looks up the picture of a message in a conversation of this partition, which has no pictures: it takes what home has
  /// lent. The parameters and errors are those of ``attach(_:in:at:goesAfter:_:_:)``.
  func attachLent(
    _ named: CliqueMessageExtras.Picture, to message: CliqueMessage, in id: String, at offset: UInt64,
    goesAfter after: Int64, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> Attachment {
    let channel = try Channels.chat(id)
    if try view.offset(ofRepeated: message.key.published, on: channel) != nil {
      guard let published = try view.publication(offset, of: channel), Self.isMessage(published) else {
        return .saidBefore(offset)
      }
      // The same key with another picture is another message.
      guard let look = PictureLook(of: published), look.id.hasSameBytes(as: named.id) else {
        throw .idempotencyConflict
      }
      return .published(payload: message.payload(with: look.json(named)), records: [])
    }
    // The record that bars an id is looked for in any case, since it may have to come from the disk.
    let barred = try view.record(Picture.self, Key.picture(named.id))
    guard let lent = try lent(for: call), lent.look.id.hasSameBytes(as: named.id),
      lent.owner.hasSameBytes(as: call.user), lent.ends > view.now, barred == nil
    else { throw StatePictureID.unknown }
    let use = CliqueRelay.PictureUse(
      owner: lent.owner, picture: named.id, conversation: id, offset: offset,
      ends: after > 0 ? view.now.saturatingAdd(after) : nil)
    return .published(
      payload: message.payload(with: lent.look.json(named)),
      records: [
        .write(key: Key.picture(named.id), Picture.barred(named.id, of: lent.owner, at: view.now)),
        try relay(.used(use), to: Partitioning.home, view),
      ])
  }

  private func lent(for call: AppCall) throws(ClientError) -> LentPicture? {
    guard case .clique(.send(let send)) = call.command, !send.lent.isEmpty else { return nil }
    do { return try AppJSON.decode(LentPicture.self, send.lent) } catch { throw .badRequest }
  }

  /// Tells home that a message is removed, and its picture with it. Of one that disappears home knows when.
  func dropped(
    _ picture: String, of message: Publication, in id: String, _ view: any AppView
  ) throws(ClientError) -> AppEffect {
    let use = CliqueRelay.PictureUse(
      owner: message.info?.user ?? "", picture: picture, conversation: id, offset: message.offset, ends: nil)
    return try relay(.dropped(use), to: Partitioning.home, view)
  }

  // MARK: Home hears

  /// A lent picture is in a message. Also one of which the attempt was given back, because a gateway that asked again was
  /// refused: the attempt was the one after all.
  func receive(
    used use: CliqueRelay.PictureUse, sent: Int64, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard var picture = try mine(use, view), picture.isWhole, picture.lent(to: use.conversation) != nil,
      try !view.wasForgotten(use.owner, since: sent)
    else { return AppDecision() }
    picture.become(
      .message(conversation: use.conversation, offset: use.offset), sent: sent, ends: use.ends, now: view.now)
    let draft = CliqueDraft(view)
    var pictures = try draft.pictures(of: picture.owner)
    pictures.unsent.removeAll { $0 == picture.id }
    draft.write(Key.picture(picture.id), picture)
    draft.write(pictures)
    return draft.decision()
  }

  func receive(unused use: CliqueRelay.PictureUse, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard let picture = try mine(use, view), case .lent(let lent) = picture.use,
      lent.conversation.hasSameBytes(as: use.conversation)
    else { return AppDecision() }
    return try removing(picture, view)
  }

  /// The message with a picture is not kept any more.
  func receive(dropped use: CliqueRelay.PictureUse, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard let picture = try mine(use, view),
      picture.use == .message(conversation: use.conversation, offset: use.offset)
    else { return AppDecision() }
    return try removing(picture, view)
  }

  /// The record of a picture that another partition says something of; nil: it is somebody else's by now, or gone.
  private func mine(_ use: CliqueRelay.PictureUse, _ view: any AppView) throws(ClientError) -> Picture? {
    guard let picture = try view.record(Picture.self, Key.picture(use.picture)), !picture.isBarred,
      picture.owner.hasSameBytes(as: use.owner)
    else { return nil }
    return picture
  }

  private func removing(_ picture: Picture, _ view: any AppView) throws(ClientError) -> AppDecision {
    let draft = CliqueDraft(view)
    try draft.remove(picture)
    return draft.decision()
  }

  // MARK: Home asks

  /// Asks what became of a picture that was lent and is due.
  func claim(_ picture: Picture, _ lent: Picture.Lent, _ draft: CliqueDraft) throws(ClientError) {
    guard let place = elsewhere(ofConversation: lent.conversation) else { return try draft.remove(picture) }
    var picture = picture
    picture.due = draft.now.saturatingAdd(StatePicture.claimInterval)
    draft.write(Key.picture(picture.id), picture)
    let use = CliqueRelay.PictureUse(
      owner: picture.owner, picture: picture.id, conversation: lent.conversation, offset: 0, ends: nil)
    draft.add(try relay(.claim(use), to: place, draft.view))
  }

  /// Asks whether the message of a picture is still kept in another partition, or discards one that is too old for that.
  func look(
    after picture: Picture, in id: String, _ offset: UInt64, _ place: Int, _ draft: CliqueDraft
  ) throws(ClientError) {
    let sent = picture.sent ?? 0
    if sent.saturatingAdd(Self.chatLifetime) <= draft.now { return try draft.remove(picture) }
    var picture = picture
    picture.due = min(Picture.nextLook(growth: 0, sent: sent, now: draft.now), picture.ends ?? .max)
    draft.write(Key.picture(picture.id), picture)
    let use = CliqueRelay.PictureUse(
      owner: picture.owner, picture: picture.id, conversation: id, offset: offset, ends: picture.ends)
    draft.add(try relay(.looks(use), to: place, draft.view))
  }

  // MARK: The conversation answers

  /// Bars the picture, so that a message which is still on its way is sent without it, and says that it is in none. Where
  /// it is in one, home was told so before, and takes no notice.
  func receive(
    claim use: CliqueRelay.PictureUse, sent: Int64, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard elsewhere(ofConversation: use.conversation) == nil, try !view.wasForgotten(use.owner, since: sent) else {
      return AppDecision()
    }
    return AppDecision([
      .write(key: Key.picture(use.picture), Picture.barred(use.picture, of: use.owner, at: view.now)),
      try relay(.unused(use), to: Partitioning.home, view),
    ])
  }

  func receive(looks use: CliqueRelay.PictureUse, _ view: any AppView) throws(ClientError) -> AppDecision {
    if try keeps(use.picture, in: use.conversation, at: use.offset, view) { return AppDecision() }
    return AppDecision([try relay(.dropped(use), to: Partitioning.home, view)])
  }
}

extension Clique {
  /// What home answers to ``CliqueCommand/lend(_:)``: all of a picture that its message needs.
  struct LentPicture: Codable, Sendable, Equatable {
    var look: PictureLook
    var owner: String
    /// When it can be sent no more, in milliseconds since 1970.
    var ends: Int64
  }
}

extension Clique.Picture {
  /// How it is lent to a conversation, where it is or can be; nil: it is used for something else. The picture is whole.
  func lent(to conversation: String) -> Lent? {
    switch use {
    case .unsent: due.map { Lent(conversation: conversation, attempts: [], ends: $0) }
    case .lent(let lent): lent.conversation.hasSameBytes(as: conversation) ? lent : nil
    case .message, .profile: nil
    }
  }
}
