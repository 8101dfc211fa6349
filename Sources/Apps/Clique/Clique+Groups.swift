import Wire

extension Clique {
  /// Founds a group of the caller and people who have an open conversation with the caller.
  func createGroup(
    _ command: CliqueCommand.NewGroup, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let (users, name) = (command.members, command.name)
    if users.count >= rules.groupSize {
      throw ClientError.limitExceeded.counted(as: .cliqueGroupSize).saying(
        "a group has at most \(rules.groupSize) members, yourself among them")
    }
    try checkName(name)
    let draft = CliqueDraft(view)
    let digest = CliqueIdentifier.hex([name, call.user] + users)
    if let group = try founded(command.key, call, digest, draft) { return AppDecision(reply: Self.conversation(group)) }
    let founded = try draft.person(call.user).groupsFounded
    let key = call.key.description
    let id = CliqueIdentifier.group(by: call.user, key: key.isEmpty ? "\(founded)" : "k" + key)
    if let known = try view.record(Group.self, Key.group(id)) {
      // The group was founded by this same command, which a gateway repeats after a crash.
      if known.members.map(\.user) == [call.user] + users { return AppDecision(reply: Self.conversation(id)) }
      throw ClientError.idempotencyConflict.saying("this key has founded another group; use a new one")
    }
    var group = Group(
      founder: call.user, name: name, members: [.init(user: call.user, administrator: true)], createdAt: view.now)
    var pairs: [Pair?] = [nil]  // Of the founder and each member; the founder comes first.
    for user in users {
      let blank = Pair(call.user, user)
      guard let pair = try view.record(Pair.self, Key.pair(blank.id)), let side = pair.side(of: call.user),
        pair.state.sight(of: side) == .active
      else {
        throw ClientError.permissionDenied.saying(
          "a group is of people who have an open conversation with you; one of these has not")
      }
      group.members.append(.init(user: user, absent: pair.state.isBlocked))
      pairs.append(pair)
    }
    let present = group.members.filter { !$0.absent }.map(\.user)
    // Limits count for absent members, too: the founder must not learn by a limit who has blocked them.
    for (member, pair) in zip(group.members, pairs) {
      let isFounder = member.user.hasSameBytes(as: call.user)
      try draft.update(member.user) { person throws(ClientError) in
        if person.groupCount(asSeenBy: pair) >= rules.maximumGroups {
          throw ClientError.limitExceeded.counted(as: .cliqueGroups).saying(
            "one of them is in \(rules.maximumGroups) groups, as many as one can")
        }
        try isFounder ? countFounding(&person, view.now) : countInvitation(&person, view.now)
        if member.absent { return person.stayAway(from: id) }
        person.groups.append(id)
        for other in person.blocked where present.containsBytes(of: other) {
          group.blocks.append(.init(by: member.user, of: other))
        }
      }
      // Lists of absent members do not change, and are read all the same: the founder waits for it either way.
      draft.refresh(try Channels.list(member.user), key: id, .atomically)
    }
    group.hadBlocks = !group.blocks.isEmpty
    draft.touch(Subject.members(of: id))
    draft.write(Key.group(id), group)
    if !command.key.isEmpty {
      let founding = Founding(group: id, digest: digest, ends: view.now + Self.foundingMemory)
      draft.write(Key.founding(by: call.user, command.key), founding)
    }
    return draft.decision(reply: Self.conversation(id))
  }

  /// Milliseconds for which the key of a group is remembered: longer than a phone without a connection repeats a
  /// command.
  private static let foundingMemory = 7 * CliqueRules.day

  /// The group that was founded with the command's key before; nil: none. A record of its own says so, which outlives
  /// the group: one that everybody has left must not be founded again, with its old messages.
  private func founded(
    _ own: String, _ call: AppCall, _ digest: String, _ draft: CliqueDraft
  ) throws(ClientError) -> String? {
    if own.isEmpty { return nil }
    guard let founding = try draft.read(Founding.self, Key.founding(by: call.user, own)), founding.ends > draft.now
    else { return nil }
    if founding.digest == digest { return founding.group }
    throw ClientError.idempotencyConflict.saying("this key has founded another group; use a new one")
  }

  private func countFounding(_ person: inout Person, _ now: Int64) throws(ClientError) {
    guard let mark = CliqueRate(perDay: rules.groupsPerDay).next(after: person.foundingMark, now: now) else {
      throw ClientError.limitExceeded.counted(as: .cliqueGroupsPerDay).saying(
        "you have founded \(rules.groupsPerDay) groups a day or nearly so many at once; go on later")
    }
    person.foundingMark = mark
    person.groupsFounded += 1
  }

  func countInvitation(_ person: inout Person, _ now: Int64) throws(ClientError) {
    guard let mark = CliqueRate(perDay: rules.invitationsPerDay).next(after: person.drawnMark, now: now) else {
      throw ClientError.limitExceeded.counted(as: .cliqueInvitationsPerDay).saying(
        "one of them was made a member of as many groups as one can be in a day; try again tomorrow")
    }
    person.drawnMark = mark
  }

  func sendToGroup(
    _ conversation: CliqueConversation, _ message: CliqueMessage, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let (id, channel) = (conversation.id, conversation.chat)
    guard let group = try view.record(Group.self, Key.group(id)), let index = group.index(of: call.user)
    else { throw Self.noConversation }
    try check(message.characters, isRequest: false)
    if message.extras != nil { try checkExtras(of: message, in: channel, of: group.members.map(\.user), view) }
    let hidden = group.hidden(from: call.user)
    let offset = try Self.offset(of: message.key, on: channel, view)
    let reply = conversation.answer(offset: offset)
    let after = group.vanishesAfter ?? 0
    var (payload, records) = (message.payload, [AppEffect]())
    if message.extras?.picture != nil {
      switch try attach(message, in: id, at: offset, goesAfter: after, call, view) {
      case .published(let complete, let written): (payload, records) = (complete, written)
      case .saidBefore: return AppDecision(reply: reply)
      }
    }
    var publication = AppPublication(
      channel: channel, data: payload, info: call.caller,
      tags: Self.tags(of: message, group.tags(hiddenFrom: hidden)), idempotencyKey: message.key.published)
    try vanish(&publication, after: after, at: view.now)
    let top = after > 0 ? try view.top(of: channel) : 0
    if let run = try runBegins(in: id, after: after, from: top + 1, view) { records.append(run) }
    if group.members[index].mark.hasDraft ?? false {
      var decision = try sendOverDraft(publication, in: group, index, id: id, reply: reply, view)
      decision.effects += records + notices(of: message, in: group, by: call.user, hiddenFrom: hidden, id: id)
      return decision
    }
    var decision = AppDecision([.publish(publication), .touch(id)], reply: reply)
    if !records.isEmpty { decision.effects += records }
    if rules.notifies {
      decision.effects += notices(of: message, in: group, by: call.user, hiddenFrom: hidden, id: id)
    }
    return decision
  }

  /// The tag that says from whom something is hidden, even if it is nobody.
  static func tags(hiddenFrom users: [String]) -> [String: String] {
    [Tag.hidden: users.map(Tag.bars).joined()]
  }
}
