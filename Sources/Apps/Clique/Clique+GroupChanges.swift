import Wire

/// What administrators do with a group, and what its members do with themselves (``GroupPlace`` has the table).
extension Clique {
  func changeGroup(
    _ id: String, _ change: CliqueCommand.GroupChange, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let stored = try view.record(Group.self, Key.group(id))
    guard let stored, stored.index(of: call.user) != nil else { throw Self.noConversation }
    var group = stored.settled(at: view.now)
    guard group.place(of: call.user) == .present(.administrator) else {
      throw ClientError.permissionDenied.saying("only administrators of the group may do this; ask one of them")
    }
    let draft = CliqueDraft(view)
    switch change {
    case .add(let users): try add(users, to: &group, id, call, draft)
    case .remove(let user): try move(user, .remove, in: &group, id, call, draft)
    case .appoint(let user): try move(user, .appoint, in: &group, id, call, draft)
    case .dismiss(let user): try move(user, .dismiss, in: &group, id, call, draft)
    case .rename(let name): try rename(&group, name, id, call, draft)
    case .makeLink(let link): return try makeLink(link, in: &group, id, call, draft)
    case .listLinks: return AppDecision(reply: Self.list(group.links ?? []))
    case .revokeLinks(let link):
      group.links = link.flatMap { link in group.links?.filter { !$0.id.hasSameBytes(as: link) } }
    }
    try commit(stored, group.settled(at: view.now), id: id, draft)
    return draft.decision()
  }

  func leaveGroup(_ id: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let stored = try view.record(Group.self, Key.group(id))
    guard let stored, stored.index(of: call.user) != nil else { throw Self.noConversation }
    var group = stored.settled(at: view.now)
    let draft = CliqueDraft(view)
    try move(call.user, .leave, in: &group, id, call, draft)
    try commit(stored, group.settled(at: view.now), id: id, draft)
    return draft.decision()
  }

  // MARK: Adding

  private func add(
    _ users: [String], to group: inout Group, _ id: String, _ call: AppCall, _ draft: CliqueDraft
  ) throws(ClientError) {
    for user in users {
      let blank = Pair(call.user, user)
      guard let pair = try draft.view.record(Pair.self, Key.pair(blank.id)), let side = pair.side(of: call.user),
        pair.state.sight(of: side) == .active
      else {
        throw ClientError.permissionDenied.saying(
          "you can add people who have an open conversation with you; one of these has not")
      }
      let step = group.place(of: user).after(.add(heard: !pair.state.isBlocked))
      switch step.outcome {
      case .refused, .unchanged: continue
      case .came:
        // An absent person who is in as many groups as one can be stays away: a refusal would tell that they were.
        if try draft.person(user).groups.count >= rules.maximumGroups { continue }
        try come(user, step.place, into: &group, id, draft)
      case .changed:
        try checkRoom(in: group)
        // Limits count for absent members, too: nobody must learn by a limit who has blocked them.
        try draft.update(user) { person throws(ClientError) in
          if person.groupCount(asSeenBy: pair) >= rules.maximumGroups {
            throw ClientError.limitExceeded.counted(as: .cliqueGroups).saying(
              "one of them is in \(rules.maximumGroups) groups, as many as one can")
          }
          try countInvitation(&person, draft.now)
          if case .absent = step.place { person.stayAway(from: id) }
        }
        if step.place == .present(.member) {
          try come(user, step.place, into: &group, id, draft)
        } else {
          group.put(user, at: step.place)
          group.term = (group.term ?? 0) + 1
          draft.touch(Subject.members(of: id))
        }
        try tell("added", user, by: call.user, in: group, id, draft)
      }
    }
  }

  func checkRoom(in group: Group) throws(ClientError) {
    if group.members.count >= rules.groupSize {
      throw ClientError.limitExceeded.counted(as: .cliqueGroupSize).saying(
        "the group has \(rules.groupSize) members, as many as one can have")
    }
  }

  /// Somebody comes into the group. They read what is published from now on, and blocks between them and members hold
  /// in the group as if they had been laid at this moment.
  func come(
    _ user: String, _ place: GroupPlace, into group: inout Group, _ id: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    group.put(user, at: place)
    let term = (group.term ?? 0) + 1
    group.term = term
    let top = try draft.view.top(of: Channels.chat(id))
    for index in group.members.indices where group.members[index].user.hasSameBytes(as: user) {
      group.members[index].mark.base = top
    }
    try draft.update(user) { person in
      person.stayAwayNoMore(from: id)
      person.groups.append(id)
      person.terms = (person.terms ?? [:]).merging([id: term]) { $1 }
    }
    draft.touch(Subject.members(of: id))
    let blocked = try draft.person(user).blocked
    for other in group.present where !other.user.hasSameBytes(as: user) {
      let (mine, theirs) = (
        blocked.containsBytes(of: other.user), try draft.person(other.user).blocked.containsBytes(of: user)
      )
      if mine { group.blocks.append(.init(by: user, of: other.user)) }
      if theirs {
        let mark = other.mark
        group.blocks.append(.init(by: other.user, of: user, read: mark.read, delivered: mark.delivered))
        draft.refresh(try Channels.receipts(id), key: other.user, .soon)
      }
      if mine || theirs {
        group.hadBlocks = true
        try readmit(other.user, toGroup: id, draft)
      }
    }
  }

  // MARK: Everything else

  private func move(
    _ user: String, _ event: GroupPlace.Event, in group: inout Group, _ id: String, _ call: AppCall,
    _ draft: CliqueDraft
  ) throws(ClientError) {
    let place = group.place(of: user)
    let step = place.after(event, isLast: group.isLastAdministrator(user))
    switch step.outcome {
    case .refused(.lastAdministrator):
      throw ClientError.notAvailable.saying("a group has an administrator; appoint somebody else first")
    case .refused(.nobody), .refused(.link):
      throw ClientError.notAvailable.saying("this person is not in the group; take members from its entry in your list")
    case .unchanged, .came: return
    case .changed: break
    }
    if let index = group.index(of: user), step.place.shown == nil {
      try endDraft(of: user, &group.members[index].mark, in: id, draft)
      try dropReactions(of: user, &group.members[index].mark, in: id, draft)
    }
    if step.place.shown == nil { try refreshPeople(user, leaving: group, draft) }
    group.put(user, at: step.place)
    if case .absent = place, step.place.shown == nil {
      try draft.update(user) { person in person.stayAwayNoMore(from: id) }
    }
    if case .present = place, step.place.shown == nil {
      try draft.update(user) { person in
        person.groups.drop(id)
        person.terms?[id] = nil
        if person.terms?.isEmpty ?? false { person.terms = nil }
        person.unpin(id)
      }
      draft.refresh(try Channels.list(user), key: id, .atomically)
      draft.refresh(try Channels.receipts(id), key: user, .soon)
      try readmit(user, toGroup: id, draft)
      acknowledge(user, in: id, draft)
    }
    if group.present.isEmpty { return }  // Nobody is left who could be told.
    switch event {
    case .remove: try tell("removed", user, by: call.user, in: group, id, draft)
    case .appoint: try tell("appointed", user, by: call.user, in: group, id, draft)
    case .dismiss: try tell("dismissed", user, by: call.user, in: group, id, draft)
    case .leave, .add, .join: try tell("left", user, by: user, call.caller, in: group, id, draft)
    }
  }

  private func rename(
    _ group: inout Group, _ name: String, _ id: String, _ call: AppCall, _ draft: CliqueDraft
  ) throws(ClientError) {
    try checkName(name)
    if group.name.hasSameBytes(as: name) { return }
    (group.name, group.namedBy) = (name, call.user)
    try tell("renamed", call.user, by: call.user, call.caller, name: name, in: group, id, draft)
  }

  func checkName(_ name: String) throws(ClientError) {
    if name.unicodeScalars.count > rules.previewCharacters {
      throw ClientError.limitExceeded.counted(as: .cliqueGroupName).saying(
        "the name of a group has at most \(rules.previewCharacters) characters")
    }
  }

  // MARK: What follows from a change

  /// Tells all members of a change. It is hidden from nobody, blocks or not, because all see the list of members change.
  ///
  /// The one whom it is about is the publisher, so that it goes with that person's data; who did it is a tag, which goes
  /// with theirs.
  func tell(
    _ event: StaticString, _ user: String, by actor: String, _ caller: ClientInfo? = nil, name: String? = nil,
    in group: Group, _ id: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    var data = JSONWriter()
    data.object { writer in
      writer.write("event", event.description)
      writer.write("user", user)
      if let name { writer.write("name", name) }
    }
    var tags = group.tags()
    if !actor.hasSameBytes(as: user) { tags[Tag.actor] = actor }
    draft.publish(
      AppPublication(
        channel: try Channels.chat(id), data: data.bytes, info: caller ?? ClientInfo(user: user, client: ""),
        tags: tags))
  }

  /// Writes a group that has changed, and shows it in the lists of all who are there.
  func commit(_ old: Group, _ new: Group, id: String, _ draft: CliqueDraft) throws(ClientError) {
    let present = new.present
    if present.isEmpty { return draft.erase(Key.group(id)) }
    if new == old { return }
    draft.write(Key.group(id), new)
    let isShown =
      old.name != new.name || old.vanishesAfter != new.vanishesAfter
      || old.members.map { [$0.user, $0.absent ? "1" : "", $0.isAdministrator ? "1" : ""] }
        != new.members.map { [$0.user, $0.absent ? "1" : "", $0.isAdministrator ? "1" : ""] }
    guard isShown else { return }
    // Those of absent members do not change, and are read all the same: who waits for it must not learn who is absent.
    for member in new.members { draft.refresh(try Channels.list(member.user), key: id, .atomically) }
    // Lists show the last message on disk, so they are worked out once more when what tells of the change is there.
    draft.touch(id)
  }
}
