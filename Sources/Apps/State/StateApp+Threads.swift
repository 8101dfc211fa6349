import Wire

/// What is done to threads, all in one way: read, let time pass, ask the table, write what changed.
extension StateApp {
  /// The thread of two people as it was read, and as it is now.
  struct Visit {
    var before: StateThread
    var now: StateThread
    var me: StateSide
  }

  func visit(_ user: String, with other: String, _ view: any AppView) throws(ClientError) -> Visit {
    let people = try StatePair(user, other)
    guard let me = people.side(of: user) else { throw .internalError }
    let thread = try view.record(StateThread.self, people.key) ?? StateThread(people: people)
    return Visit(before: thread, now: settled(thread, view.now), me: me)
  }

  // MARK: Commands

  func begin(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let request = try StateJSON.decode(StateBeginRequest.self, call.data)
    var visit = try visit(call.user, with: request.to, view)
    var shape = visit.now.shape
    if case .refused(let refusal) = shape.apply(.begin, by: visit.me) { throw StateError.refused(refusal) }
    // Asked again, or on another device: the first counts, or one could have all the time in the world.
    let recording: StateThread.Recording
    if let open = visit.now.began[visit.me], view.now <= open.deadline {
      recording = open
    } else {
      let limit = try recordLimit(visit, call.user, view)
      recording = StateThread.Recording(
        at: view.now, limit: limit, deadline: view.now.saturatingAdd(limit).saturatingAdd(rules.uploadGrace))
      visit.now.began[visit.me] = recording
    }
    let reply = StateBeginReply(
      at: recording.at, limit: recording.limit, deadline: recording.deadline, now: view.now)
    return AppDecision(
      try change(from: visit.before, to: visit.now, view), reply: try StateJSON.encode(reply))
  }

  /// What the other sent along for the answer, or else what the user has chosen.
  private func recordLimit(_ visit: Visit, _ user: String, _ view: any AppView) throws(ClientError) -> Int64 {
    if visit.now.phase(of: visit.me) == .received, case .sealed(_, _, let limit) = visit.now.standing { return limit }
    return try ownLimit(of: user, view)
  }

  func ownLimit(of user: String, _ view: any AppView) throws(ClientError) -> Int64 {
    try view.record(StatePerson.self, StateKeys.person + user)?.limit ?? rules.recordLimit
  }

  func see(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let request = try StateJSON.decode(StateWithRequest.self, call.data)
    return try apply(.seen, try visit(call.user, with: request.with, view), view)
  }

  func block(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let request = try StateJSON.decode(StateUserRequest.self, call.data)
    var visit = try visit(call.user, with: request.user, view)
    visit.now.began[visit.me] = nil
    return try apply(.block, visit, view)
  }

  func unblock(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let request = try StateJSON.decode(StateUserRequest.self, call.data)
    return try apply(.unblock, try visit(call.user, with: request.user, view), view)
  }

  private func apply(
    _ event: StateEvent, _ visit: Visit, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    var shape = visit.now.shape
    if case .refused(let refusal) = shape.apply(event, by: visit.me) { throw StateError.refused(refusal) }
    var thread = visit.now
    thread.take(shape)
    return AppDecision(try change(from: visit.before, to: thread, view))
  }

  func settings(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let request = try StateJSON.decode(StateSettingsRequest.self, call.data)
    let key = StateKeys.person + call.user
    var person = try view.record(StatePerson.self, key) ?? StatePerson()
    guard let limit = request.limit else {
      return AppDecision(reply: try StateJSON.encode(StateSettingsReply(limit: person.limit ?? rules.recordLimit)))
    }
    person.limit = limit == 0 ? nil : try checked(limit)
    return AppDecision(
      [person.isEmpty ? .erase(key: key) : .write(key: key, person)],
      reply: try StateJSON.encode(StateSettingsReply(limit: person.limit ?? rules.recordLimit)))
  }

  func checked(_ limit: Int64) throws(ClientError) -> Int64 {
    guard (rules.minimumRecordLimit...rules.maximumRecordLimit).contains(limit) else {
      throw .badRequest.saying(
        "a limit is from \(rules.minimumRecordLimit) to \(rules.maximumRecordLimit) milliseconds")
    }
    return limit
  }

  // MARK: What a change means

  /// The effects of a thread that was one thing and is another. Every change goes through here, so that no path can
  /// forget a list, a notice or a key.
  func change(
    from before: StateThread, to thread: StateThread, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    var thread = thread
    thread.due = thread.nextDue(rules)
    if thread == before { return [] }
    let people = thread.people
    var effects: [AppEffect] = []
    effects.append(thread.isEmpty ? .erase(key: people.key) : .write(key: people.key, thread))
    let gone = before.pictures.filter { !thread.pictures.contains($0) }
    if !gone.isEmpty {
      effects += gone.map { .erase(key: StateKeys.picture + $0) }
      effects.append(.discardPictures(gone))
      effects.append(.scrub)
    }
    for side in StateSide.allCases where thread.showsOtherwise(than: before, for: side) {
      let channel = try StateChannels.threads(of: people[side])
      effects.append(.refresh(channel, key: people[side.other], .atomically))
      guard thread.isNews(after: before, for: side) else { continue }
      let notice = StateNotice(
        event: thread.phase(of: side), with: people[side.other], since: thread.since, until: thread.until,
        limit: thread.answerLimit(for: side))
      effects.append(
        .publish(
          AppPublication(channel: try StateChannels.events(of: people[side]), data: try StateJSON.encode(notice))))
    }
    return effects
  }

  // MARK: Lists

  func entry(of thread: StateThread, for me: StateSide) throws(ClientError) -> AppEntry? {
    let phase = thread.phase(of: me)
    var entry = StateListEntry(with: thread.people[me.other], phase: phase, colour: phase.colour)
    if phase != .idle {
      entry.since = thread.since
      entry.until = thread.until
      entry.limit = thread.answerLimit(for: me)
    } else if thread.blocks[me] {
      entry.blocked = true
    } else {
      return nil
    }
    if phase == .revealed, case .revealed(let both) = thread.standing {
      entry.unread = !thread.seen[me]
      entry.mine = try contents(both[me])
      entry.theirs = try contents(both[me.other])
    }
    return AppEntry(data: try StateJSON.encode(entry), score: entry.since ?? 0)
  }

  private func contents(_ contents: ReleasedContents) throws(ClientError) -> StateListEntry.Contents {
    var caption: String?
    if let text = contents.caption {
      do {
        caption = String(decoding: try vault.decrypt(text.box, with: text.key), as: UTF8.self)
      } catch .unavailable {
        throw .internalError
      } catch {
        // Lost for good: the pictures can still be seen.
        caption = nil
      }
    }
    return .init(front: contents.front.id, rear: contents.rear.id, caption: caption)
  }
}

extension StateThread {
  /// To record an answer, for the side that one is awaited from.
  func answerLimit(for side: StateSide) -> Int64? {
    guard phase(of: side) == .received, case .sealed(_, _, let limit) = standing else { return nil }
    return limit
  }

  /// A side's list entry is another.
  func showsOtherwise(than before: StateThread, for side: StateSide) -> Bool {
    isNews(after: before, for: side) || phase(of: side) != before.phase(of: side)
      || blocks[side] != before.blocks[side] || (phase(of: side) == .revealed && seen[side] != before.seen[side])
  }

  /// A side's thread has come into a phase that its owner wants to hear of.
  func isNews(after before: StateThread, for side: StateSide) -> Bool {
    let phase = phase(of: side)
    return phase != .idle && (phase != before.phase(of: side) || since != before.since)
  }
}
