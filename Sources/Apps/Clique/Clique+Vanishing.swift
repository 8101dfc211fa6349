import Wire

/// Messages that disappear after a time (``CliqueVanishing`` has the table of what two people agree on,
/// ``CliqueVanishingRuns`` the states of what is on its way).
extension Clique {
  func disappear(
    _ command: CliqueCommand.Disappear, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    if vault == nil {
      throw ClientError.notAvailable.saying("messages do not disappear on this server; ask whoever runs it")
    }
    if case .conversation(let conversation) = command.target, Self.isGroup(conversation.id) {
      return try disappearInGroup(conversation.id, command.after, call, view)
    }
    var (pair, id, side, stored) = try pair(command.target, call, view)
    switch pair.state.sight(of: side) {
    case .active: break
    case .blocked: throw refusal(.blockedByYou)
    case .asking, .asked:
      throw ClientError.notAvailable.saying("this is a request; agree on it when the conversation is open")
    case .ended:
      throw ClientError.notAvailable.saying("the other has left; write to them to open the conversation again")
    case .nothing: throw Self.noConversation
    }
    let isHeard = !pair.state.isBlocked(by: side.other)
    let before = pair.vanishing ?? CliqueVanishing()
    let (state, outcome) = before.after(command.after, by: side, heard: isHeard, now: view.now)
    if outcome == .proposed || outcome == .agreed { try checkRuns(in: id, for: command.after, view) }
    pair.vanishing = state == CliqueVanishing() ? nil : state
    let draft = CliqueDraft(view)
    if outcome == .agreed {
      if !isHeard { pair.hasUnseen = true }
      draft.publish(
        AppPublication(
          channel: try Channels.chat(id), data: Self.event(after: state.after, by: call.user), info: call.caller,
          tags: isHeard ? [:] : [Tag.only: call.user]))
    }
    try commit(stored, pair, id: id, draft)
    // In any case: what is new where the other hears of it may be old where a block keeps it from them.
    try lookAtBoth(pair, id: id, draft)
    return draft.decision()
  }

  private func disappearInGroup(
    _ id: String, _ after: Int64, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard let stored = try view.record(Group.self, Key.group(id)), stored.index(of: call.user) != nil
    else { throw Self.noConversation }
    var group = stored.settled(at: view.now)
    guard group.place(of: call.user) == .present(.administrator) else {
      throw ClientError.permissionDenied.saying("only administrators of the group may do this; ask one of them")
    }
    if group.vanishesAfter ?? 0 == after { return AppDecision() }
    try checkRuns(in: id, for: after, view)
    group.vanishesAfter = after == 0 ? nil : after
    let draft = CliqueDraft(view)
    draft.publish(
      AppPublication(
        channel: try Channels.chat(id), data: Self.event(after: after, by: call.user), info: call.caller,
        tags: group.tags()))
    try commit(stored, group, id: id, draft)
    return draft.decision()
  }

  private static func event(after: Int64, by user: String) -> [UInt8] {
    var data = JSONWriter()
    data.object { writer in
      writer.write("event", "disappear")
      writer.write("user", user)
      writer.write("after", after)
    }
    return data.bytes
  }

  /// Refuses a time where messages with as many others are on their way as are kept apart.
  private func checkRuns(in id: String, for after: Int64, _ view: any AppView) throws(ClientError) {
    guard after > 0, let runs = try view.record(CliqueVanishingRuns.self, Key.vanishing(id))?.runs,
      runs.count >= CliqueVanishingRuns.most, !runs.contains(where: { $0.after == after })
    else { return }
    throw ClientError.limitExceeded.counted(as: .cliqueDisappearTimes).saying(
      "messages of this conversation wait to disappear after \(CliqueVanishingRuns.most) different times; take one of "
        + "these, or wait until some have gone")
  }

  /// Writes into an entry of the list what holds in a conversation.
  func write(_ vanishing: CliqueVanishing?, for side: PairState.Side, of pair: Pair, _ writer: inout JSONWriter) {
    guard let vanishing else { return }
    if vanishing.after > 0 { writer.write("disappear", vanishing.after) }
    guard let waiting = vanishing.waiting(for: side) else { return }
    writer.object("disappear_asked") { writer in
      writer.write("after", waiting.after)
      writer.write("by", pair.user(waiting.by))
    }
  }

  // MARK: Sending

  /// Makes a publication one that goes after a time, if messages of its conversation do.
  ///
  /// - Parameter after: milliseconds; 0: it stays.
  /// - Throws: where the key of its last hour is not there yet.
  func vanish(_ message: inout AppPublication, after: Int64, at now: Int64) throws(ClientError) {
    guard after > 0 else { return }
    let end = now.saturatingAdd(after)
    guard vault?.isReady(until: end) ?? false else {
      throw ClientError.internalError.saying("the server can make no keys now; try again later")
    }
    message.identity = message.data
    message.data.removeLast()
    message.data += Array(",\"expires\":\(end)}".utf8)
    message.tags[Publication.vanishesTag] = String(end)
  }

  /// The run of a message that is published now, where it is the first of its run; nil: there is the run already.
  ///
  /// - Parameter offset: the message's, or an earlier one.
  func runBegins(
    in id: String, after: Int64, from offset: UInt64, _ view: any AppView
  ) throws(ClientError) -> AppEffect? {
    if after <= 0 { return nil }
    var record = try view.record(CliqueVanishingRuns.self, Key.vanishing(id)) ?? CliqueVanishingRuns()
    if record.runs.contains(where: { $0.after == after }) { return nil }
    record.runs.append(.init(after: after, next: offset, due: view.now.saturatingAdd(after)))
    return .write(key: Key.vanishing(id), record)
  }

  // MARK: Going

  /// Removes what is over of the run that is due first.
  func vanishIsDue(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard var record = try draft.read(CliqueVanishingRuns.self, key) else { return }
    guard let index = record.runs.indices.min(by: { record.runs[$0].due < record.runs[$1].due }) else {
      return draft.erase(key)
    }
    if record.runs[index].due > draft.now { return draft.write(key, record) }
    let id = String(key.dropFirst("vanish/".count))
    let channel = try Channels.chat(id)
    let run = record.runs[index]
    let last = run.next.addingReportingOverflow(UInt64(CliqueVanishingLook.page) - 1).partialValue
    let messages = try draft.view.newest(CliqueVanishingLook.page, through: last, of: channel)
      .filter { $0.offset >= run.next }.reversed().map { CliqueVanishingLook.Message($0) }
    let look = CliqueVanishingLook.at(messages, of: run, top: try draft.view.top(of: channel), now: draft.now)
    if let next = look.run { record.runs[index] = next } else { record.runs.remove(at: index) }
    if record.runs.isEmpty { draft.erase(key) } else { draft.write(key, record) }
    if look.gone.isEmpty { return }
    var (reacted, readers): ([String], [String]) = ([], [])
    if Self.isGroup(id) {
      let members = try draft.read(Group.self, Key.group(id))?.members ?? []
      reacted = members.filter { $0.mark.hasReacted ?? false }.map(\.user)
      readers = members.filter { !$0.absent }.map(\.user)
    } else if let pair = try draft.read(Pair.self, Key.pair(id)) {
      reacted = pair.reacted
      readers = [pair.a, pair.b]
    }
    try remove(look.gone, in: id, channel, reacted: reacted, readers: readers, draft)
    draft.add(.scrub)
  }

  /// Removes messages, by their author's wish or because their time is over, with all that belongs to them.
  ///
  /// - Parameters:
  ///   - reacted: the members who have reacted to anything in the conversation.
  ///   - readers: those for whom there may be less to tell of the conversation now.
  func remove(
    _ offsets: [UInt64], in id: String, _ channel: ChannelName, reacted: [String], readers: [String],
    _ draft: CliqueDraft
  ) throws(ClientError) {
    for offset in offsets { draft.add(.edit(channel, offset: offset, data: nil)) }
    draft.touch(id)
    try dropReactions(to: Set(offsets), in: id, of: reacted, draft)
    for effect in acknowledged(readers, in: id) { draft.add(effect) }
  }
}

extension CliqueVanishingLook.Message {
  init(_ publication: Publication) {
    self.init(
      offset: publication.offset, time: publication.time, vanishes: publication.vanishes,
      isChange: publication.tags["edits"] != nil || publication.tags["deletes"] != nil)
  }
}

extension Clique.Pair {
  /// Those of the two who have reacted to anything in the conversation.
  var reacted: [String] { PairState.Side.allCases.filter { self[mark: $0].hasReacted ?? false }.map(user) }

  /// Milliseconds after which messages go; 0: never. Asked for each message.
  var vanishesAfter: Int64 { vanishing?.after ?? 0 }
}

extension Clique.Key {
  static func vanishing(_ id: String) -> String { "vanish/" + id }
}

// MARK: On the disk

/// What the log keeps of messages that disappear: their texts only as ciphertext. Who wrote them, when, and who reads a
/// former version stands there as of any message, so that a user's data is found.
extension Clique {
  public func sealed(_ publication: Publication, on channel: ChannelName) -> Publication {
    guard let end = publication.vanishes else { return publication }
    let seal = { (data: [UInt8]) -> [UInt8] in
      guard let box = try? vault?.seal(data, until: end, for: channel.string) else {
        // Better nothing than a text that nothing makes unreadable.
        return Self.nothing
      }
      var writer = JSONWriter()
      writer.object { $0.write("sealed", Base64.standard.text(box)) }
      return writer.bytes
    }
    var sealed = publication
    sealed.data = seal(publication.data)
    if let former = publication.tags[FormerVersions.tag] {
      sealed.tags[FormerVersions.tag] = FormerVersions(former).mapData(seal).text
    }
    return sealed
  }

  public func opened(_ kept: Publication, on channel: ChannelName, at latest: Int64) -> Publication {
    guard let end = kept.vanishes else { return kept }
    if end <= latest { return Self.gone(kept, at: end) }
    let open = { (data: [UInt8]) -> [UInt8]? in
      guard let text = try? CommandFields(data).string("sealed"), let box = Base64.standard.bytes(text) else {
        return nil
      }
      return try? vault?.open(box, until: end, for: channel.string)
    }
    guard let data = open(kept.data) else { return Self.gone(kept, at: end) }
    var opened = kept
    opened.data = data
    if let former = kept.tags[FormerVersions.tag] {
      opened.tags[FormerVersions.tag] = FormerVersions(former).mapData { open($0) ?? Self.nothing }.text
    }
    return opened
  }

  /// The publication as it will stand when it has been removed, but for the tag by which it is found for that.
  private static func gone(_ kept: Publication, at end: Int64) -> Publication {
    var gone = kept
    gone.data = nothing
    gone.tags[FormerVersions.tag] = nil
    if let target = kept.tags["edits"] {
      gone.tags["edits"] = nil
      gone.tags["deletes"] = target
    } else {
      gone.tags["deleted"] = kept.tags["deleted"] ?? String(end)
    }
    return gone
  }

  private static let nothing = Array("null".utf8)
}
