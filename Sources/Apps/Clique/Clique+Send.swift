import Wire

extension Clique {
  func send(_ command: CliqueCommand.Send, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let message = command.message
    if case .conversation(let conversation) = command.target {
      let id = conversation.id
      if Self.isGroup(id) { return try sendToGroup(conversation, message, call, view) }
      // The short way, which nearly all messages take: one record is read and none is written.
      if let pair = try view.record(Pair.self, Key.pair(id)), pair.state == .unblocked(.active),
        let side = pair.side(of: call.user)
      {
        if let answer = openedBefore(pair, id, message.key, call, view) { return answer }
        return try sendToActive(conversation, message, of: pair, side, call, view)
      }
    }
    let (pair, id, side, stored) = try pair(command.target, call, view)
    if pair.user(side.other).isEmpty { throw Self.forgotten }
    try checkKnown(pair.user(side.other), stored, view)
    if let answer = openedBefore(pair, id, message.key, call, view) { return answer }
    if pair.state == .unblocked(.active) {
      return try sendToActive(CliqueConversation(id), message, of: pair, side, call, view)
    }
    return try sendByTable(pair, id, side, stored, message, call, view)
  }

  /// The answer to a repeated command whose message waited in a request that was accepted since; nil: the command comes
  /// for the first time. Only for messages without a key: by its key, the channel knows a message itself.
  private func openedBefore(
    _ pair: Pair, _ id: String, _ key: CliqueMessageKey, _ call: AppCall, _ view: any AppView
  ) -> AppDecision? {
    guard key.own.isEmpty, let opened = pair.opened, view.now < pair.openedAt.saturatingAdd(Pair.openedMemory) else {
      return nil
    }
    guard let message = opened.first(where: { call.key.isWritten($0.origin) }) else { return nil }
    return AppDecision(reply: CliqueConversation(id).answer(offset: message.offset))
  }

  private func sendToActive(
    _ conversation: CliqueConversation, _ message: CliqueMessage, of pair: Pair, _ side: PairState.Side,
    _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    try check(message.characters, isRequest: false)
    let channel = conversation.chat
    if message.extras != nil { try checkExtras(of: message, in: channel, of: [pair.a, pair.b], view) }
    let offset = try Self.offset(of: message.key, on: channel, view)
    let reply = conversation.answer(offset: offset)
    let after = pair.vanishesAfter
    var (payload, records) = (message.payload, [AppEffect]())
    if message.extras?.picture != nil {
      switch try attach(message, in: conversation.id, at: offset, goesAfter: after, call, view) {
      case .published(let complete, let written): (payload, records) = (complete, written)
      case .saidBefore: return AppDecision(reply: reply)
      }
    }
    var publication = AppPublication(
      channel: channel, data: payload, info: call.caller, tags: Self.tags(of: message),
      idempotencyKey: message.key.published)
    try vanish(&publication, after: after, at: view.now)
    let top = after > 0 ? try view.top(of: channel) : 0
    if let run = try runBegins(in: conversation.id, after: after, from: top + 1, view) { records.append(run) }
    if pair.hasDraft(side) {
      var decision = try sendOverDraft(publication, in: pair, side, id: conversation.id, reply: reply, view)
      decision.effects += records + notices(of: message, in: pair, by: side, id: conversation.id)
      return decision
    }
    var decision = AppDecision([.publish(publication), .touch(conversation.id)], reply: reply)
    if !records.isEmpty { decision.effects += records }
    if rules.notifies { decision.effects += notices(of: message, in: pair, by: side, id: conversation.id) }
    return decision
  }

  /// The offset of a message that is published now, or was published when its command came before.
  static func offset(
    of key: CliqueMessageKey, on channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> UInt64 {
    if let offset = try view.offset(ofRepeated: key.published, on: channel) { return offset }
    return try view.top(of: channel) + 1
  }

  private func sendByTable(
    _ old: Pair, _ id: String, _ side: PairState.Side, _ stored: Pair?, _ message: CliqueMessage, _ call: AppCall,
    _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let key = message.key
    let draft = CliqueDraft(view)
    var heard = true
    if old.state.sight(of: side) == .nothing {
      // The record is read where there is a block, too: it may have to come from the disk.
      heard = try draft.person(old.user(side.other)).asked < rules.maximumRequestsIn || old.state.isBlocked
    }
    let step = old.state.after(.message, by: side, heard: heard)
    var pair = old
    switch step.outcome {
    case .refused(let reason): throw refusal(reason)
    case .waits(let seen):
      try check(message.characters, isRequest: true)
      let origin = call.key.description
      if old.state.asker == side, old.waiting.contains(where: { $0.isSame(as: key.own, from: origin) }) {
        return AppDecision(reply: Self.waits(id, count: old.waiting.count))
      }
      if let offset = try saidBefore(key, id, view) {
        return AppDecision(reply: CliqueConversation(id).answer(offset: offset))
      }
      // The command was done before: its message waited in a request that was taken back or has ended since.
      if view.isAskedAgain { return AppDecision(reply: Self.waits(id, count: old.waiting(for: side).count)) }
      if message.extras != nil { throw Self.noExtras }
      pair.adopt(step.state)
      try wait(message, seen: seen, call, of: side, in: &pair, now: view.now)
      let named = try profile(of: pair.user(side.other), seenBy: call.user, view)?.content.name ?? ""
      if !named.isEmpty { pair[mark: side].named = named }
      try countRequestMessage(of: call.user, draft)
      try endDraft(of: call.user, &pair[mark: side], in: id, draft)
      try commit(stored, pair, id: id, looksAtBoth: true, draft)
      if seen { notify(pair.user(side.other), Topic.request, in: id, draft) }
      var decision = draft.decision(reply: Self.waits(id, count: pair.waiting.count))
      if !heard { decision.reached = .cliqueRequestsReceived }
      return decision
    case .delivered(let seen):
      try check(message.characters, isRequest: false)
      try checkExtras(of: message, in: Channels.chat(id), of: [old.a, old.b], view)
      if !seen { pair.hasUnseen = true }
      let offset = try Self.offset(of: key, on: Channels.chat(id), view)
      if try !publish(message, seen: seen, at: offset, call, of: pair, id: id, draft) {
        return AppDecision(reply: CliqueConversation(id).answer(offset: offset))
      }
      try endDraft(of: call.user, &pair[mark: side], in: id, draft)
      try commit(stored, pair, id: id, draft)
      // Both people's lists are worked out again, as with a message that the other sees; the other's does not change.
      draft.touch(id)
      for notice in notices(of: message, in: pair, by: side, id: id, isSeen: seen) { draft.add(notice) }
      return draft.decision(reply: CliqueConversation(id).answer(offset: offset))
    case .openedAndDelivered(let seen):
      return try openAndDeliver(message, seen: seen, old, &pair, id, side, stored, to: step.state, call, draft)
    case .unchanged, .changed, .takenBack, .opened: return AppDecision()
    }
  }

  /// Answers a request with a message.
  private func openAndDeliver(
    _ message: CliqueMessage, seen: Bool, _ old: Pair, _ pair: inout Pair, _ id: String, _ side: PairState.Side,
    _ stored: Pair?, to state: PairState, _ call: AppCall, _ draft: CliqueDraft
  ) throws(ClientError) -> AppDecision {
    let view = draft.view
    try check(message.characters, isRequest: false)
    if let offset = try saidBefore(message.key, id, view) {
      return AppDecision(reply: CliqueConversation(id).answer(offset: offset))
    }
    try checkExtras(of: message, in: Channels.chat(id), of: [old.a, old.b], view)
    let top = try open(&pair, id: id, to: state, answeredBy: side, draft)
    let offset = top + 1
    _ = try publish(message, seen: seen, at: offset, call, of: pair, id: id, draft)
    pair[mark: side].last = preview(
      message.text, from: call.user, time: view.now, offset: offset, hasPicture: message.extras?.picture != nil)
    try endDraft(of: call.user, &pair[mark: side], in: id, draft)
    if seen { pair[mark: side.other].last = pair[mark: side].last } else { pair.hasUnseen = true }
    try commit(stored, pair, id: id, looksAtBoth: true, draft)
    for notice in notices(of: message, in: pair, by: side, id: id, isSeen: seen) { draft.add(notice) }
    return draft.decision(reply: CliqueConversation(id).answer(offset: offset))
  }

  /// The offset of a message that was sent before one of the two left, and is sent again now: it neither begins nor
  /// answers a request. Nil: the message is new.
  private func saidBefore(_ key: CliqueMessageKey, _ id: String, _ view: any AppView) throws(ClientError) -> UInt64? {
    try view.offset(ofRepeated: key.published, on: Channels.chat(id))
  }

  private func wait(
    _ message: CliqueMessage, seen: Bool, _ call: AppCall, of side: PairState.Side, in pair: inout Pair, now: Int64
  ) throws(ClientError) {
    let takenBack = pair[mark: side].takenBack?.messages ?? 0
    if takenBack > 0, pair.waiting.count + takenBack >= rules.requestMessages {
      throw ClientError.limitExceeded.counted(as: .cliqueRequestMessages).saying(
        "a request that is taken back and made again has \(rules.requestMessages) messages in all; wait for an answer, or "
          + "until the first would have ended")
    }
    if pair.waiting.count >= rules.requestMessages {
      throw ClientError.limitExceeded.counted(as: .cliqueRequestMessages).saying(
        "\(rules.requestMessages) messages wait already; more can be sent when the request is accepted")
    }
    pair.waiting.append(
      Waiting(
        text: message.text, time: now, key: message.key.own, seen: seen, client: call.caller.client,
        about: call.caller.connectionInfo.map { String(decoding: $0, as: UTF8.self) },
        origin: call.key.description))
    pair.requestEnds = now + rules.requestLifetime
  }

  /// - Returns: false where the message was published before, and nothing is left of its picture.
  private func publish(
    _ message: CliqueMessage, seen: Bool, at offset: UInt64, _ call: AppCall, of pair: Pair, id: String,
    _ draft: CliqueDraft
  ) throws(ClientError) -> Bool {
    let (channel, after) = (try Channels.chat(id), pair.vanishesAfter)
    var payload = message.payload
    switch try attach(message, in: id, at: offset, goesAfter: after, call, draft.view) {
    case .saidBefore: return false
    case .published(let complete, let records):
      payload = complete
      for effect in records { draft.add(effect) }
    }
    var publication = AppPublication(
      channel: channel, data: payload, info: call.caller,
      tags: Self.tags(of: message, seen ? [:] : [Tag.only: call.user]), idempotencyKey: message.key.published)
    try vanish(&publication, after: after, at: draft.now)
    draft.publish(publication)
    let top = try draft.view.top(of: channel)
    if let run = try runBegins(in: id, after: after, from: top + 1, draft.view) { draft.add(run) }
    return true
  }

  /// Opens a conversation: publishes the messages that waited in the request, in their order.
  ///
  /// - Returns: the offset of the last of them.
  func open(
    _ pair: inout Pair, id: String, to state: PairState, answeredBy side: PairState.Side, _ draft: CliqueDraft
  ) throws(ClientError) -> UInt64 {
    let channel = try Channels.chat(id)
    var top = try draft.view.top(of: channel)
    let asker = side.other
    let user = pair.user(asker)
    pair.opened = nil
    (pair.markA.takenBack, pair.markB.takenBack) = (nil, nil)
    try answers(&pair, side, draft)
    for message in pair.waiting {
      top += 1
      if message.key.isEmpty, let origin = message.origin, !origin.isEmpty {
        pair.opened = (pair.opened ?? []) + [Opened(origin: origin, offset: top)]
      }
      var data = JSONWriter()
      data.object { writer in
        writer.write("text", message.text)
        if !message.key.isEmpty { writer.write("key", message.key) }
        writer.write("from", user)
        writer.write("sent", message.time)
      }
      let info = ClientInfo(user: user, client: message.client, connectionInfo: message.about.map { Array($0.utf8) })
      draft.publish(
        AppPublication(
          channel: channel, data: data.bytes, info: info, tags: message.seen ? [:] : [Tag.only: user],
          idempotencyKey: CliqueMessageKey(own: message.key, user: user).published))
      let last = preview(message.text, from: user, time: message.time, offset: top)
      pair[mark: asker].last = last
      if message.seen { pair[mark: side].last = last } else { pair.hasUnseen = true }
    }
    // Whoever answers the request has read its messages.
    pair[mark: side].read = top
    pair[mark: side].delivered = top
    pair.openedAt = draft.now
    pair.adopt(state)
    draft.refresh(try Channels.receipts(id), key: pair.user(side), .soon)
    // Unread messages are counted on disk, so the lists are worked out once more when these are there.
    draft.touch(id)
    return top
  }

  // MARK: Texts

  func check(_ count: Int, isRequest: Bool) throws(ClientError) {
    let limit = isRequest ? rules.requestCharacters : rules.messageCharacters
    if count > limit {
      let name: AppLimit = isRequest ? .cliqueRequestCharacters : .cliqueMessageCharacters
      throw ClientError.limitExceeded.counted(as: name).saying(
        "the text has \(count) characters; \(isRequest ? "in a request" : "here") at most \(limit) are allowed")
    }
  }

  func preview(
    _ text: String, from user: String, time: Int64, offset: UInt64, hasPicture: Bool = false
  ) -> Preview {
    Preview(text: cut(text), from: user, time: time, offset: offset, hasPicture: hasPicture ? true : nil)
  }

  func cut(_ text: String) -> String {
    if text.utf8.count <= rules.previewCharacters { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.prefix(rules.previewCharacters)))
  }

  private static func waits(_ id: String, count: Int) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("conversation", id)
      writer.write("waiting", count)
    }
    return writer.bytes
  }
}

extension Clique {
  /// Tags of publications, for audiences. Clients are never sent them: the tag `only` would tell its author that they
  /// are blocked.
  enum Tag {
    /// The only user who gets the publication.
    static let only = "only"
    /// In groups: the users who do not get the publication, each between bars.
    static let hidden = "hidden"
    /// In groups that somebody has joined after they were founded: ``Group/term``.
    static let term = "term"
    /// On what tells of a change of a group: the administrator who made it, where that is not the publisher. This one
    /// clients do see.
    static let actor = "actor"
    /// On messages that mention members: their names, each between bars. In a tag rather than the payload, so that a
    /// name can be taken out when the data of that user is deleted. Clients see it.
    static let mentions = "mentions"

    static func bars(_ user: String) -> String { "|" + Key.plain(user) + "|" }
  }
}
