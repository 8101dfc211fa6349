import Wire

/// Commands about threads, which all go the same way: read the thread, let time pass, ask the table, write what
/// changed.
extension StateApp {
  /// A thread that a command is about: as it was read, as it is after time has passed, and the caller's side.
  struct ThreadAccess {
    var before: StateThread
    var now: StateThread
    var me: StateSide

    /// The caller's new record, for ``StateApp/change(from:to:_:_:)``.
    func own(_ person: StatePerson?) -> Both<StatePerson?> {
      var people = Both<StatePerson?>(nil)
      people[me] = person
      return people
    }
  }

  func access(_ user: String, with other: String, _ view: any AppView) throws(ClientError) -> ThreadAccess {
    let people = try StatePair(user, other)
    guard let me = people.side(of: user) else { throw .internalError }
    if elsewhere(of: people) != nil { throw Self.misplaced }
    var thread = StateThread(people: people)
    // Both are read in any case, at once: they may have to come from the disk, and how long that takes is not to tell
    // whether there is a block.
    let stored = try view.unlessMissing { () throws(ClientError) in try view.record(StateThread.self, people.key) }
    let bar = try view.record(StateBar.self, StateBar.key(of: people))
    if let stored {
      thread = stored
    } else if let bar {
      // Nothing stands but a block, where the one who is blocked was forgotten.
      thread.blocks[bar.by] = true
    }
    return ThreadAccess(before: thread, now: advanced(thread, view.now), me: me)
  }

  // MARK: Commands

  func begin(with other: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let visit = try access(call.user, with: other, view)
    var shape = visit.now.shape
    if case .refused(let refusal) = shape.apply(.begin, by: visit.me) { throw StateError.refused(refusal) }
    var person = try person(call.user, view)
    // If a recorder is open already, its deadline stays, even if another device asks. Otherwise one could have all the
    // time in the world.
    let recording: StatePerson.Recording
    if let open = person.recording(with: other), open.isOpen(at: view.now) {
      recording = open
    } else {
      recording = recorder(visit, person, with: other, at: view.now)
      try pay(&person, view)
      guard person.begin(recording, at: view.now, rules) else {
        throw .limitExceeded.counted(as: .stateRecorders).saying(
          "\(rules.openRecorders) recorders are open; send what was recorded, or give some up with state.cancel")
      }
    }
    // Who begins to record has seen what waits.
    var thread = visit.now
    thread.hear(visit.me)
    let reply = StateBeginReply(
      at: recording.at, limit: recording.limit, deadline: recording.deadline, now: view.now)
    return AppDecision(
      try change(from: visit.before, to: thread, view, visit.own(person)),
      reply: try AppJSON.encode(reply))
  }

  /// The recorder that is opened: another or, until its deadline, the one that was given up.
  private func recorder(
    _ visit: ThreadAccess, _ person: StatePerson, with other: String, at now: Int64
  ) -> StatePerson.Recording {
    if var recording = person.recording(with: other), recording.isGivenUp == true {
      recording.isGivenUp = nil
      if recording.isOpen(at: now) { return recording }
    }
    let limit = recordLimit(visit, person)
    return StatePerson.Recording(
      with: other, at: now, limit: limit, deadline: now.saturatingAdd(limit).saturatingAdd(rules.uploadGrace))
  }

  /// How long the user may record, in milliseconds: as the other chose for the answer, or else as the user has chosen.
  private func recordLimit(_ visit: ThreadAccess, _ person: StatePerson) -> Int64 {
    if visit.now.phase(of: visit.me) == .received, case .sealed(_, _, let limit) = visit.now.standing { return limit }
    return person.limit ?? rules.recordLimit
  }

  // MARK: People

  /// The record of a user, without what is over.
  func person(_ user: String, _ view: any AppView) throws(ClientError) -> StatePerson {
    var person = try view.record(StatePerson.self, StateKeys.person + user) ?? StatePerson()
    person.advance(to: view.now, rules)
    return person
  }

  /// The effect that brings a user's record to the new value; nil where it stays as it is.
  func change(of user: String, to person: StatePerson, _ view: any AppView) throws(ClientError) -> AppEffect? {
    let key = StateKeys.person + user
    let before = try view.record(StatePerson.self, key)
    var person = person
    person.advance(to: view.now, rules)
    if person == before ?? StatePerson() { return nil }
    return person.isEmpty ? .erase(key: key) : .write(key: key, person)
  }

  func pay(_ person: inout StatePerson, _ view: any AppView) throws(ClientError) {
    guard person.pay(at: view.now, rules) else {
      throw .tooManyRequests.counted(as: .stateChanges).saying(
        "\(rules.changesPerMinute) changes in a minute are allowed; wait a moment")
    }
  }

  /// Drops from a person's record what is over.
  func personDue(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision {
    let user = String(decoding: key.utf8.dropFirst(StateKeys.person.utf8.count), as: UTF8.self)
    return AppDecision([try change(of: user, to: try person(user, view), view)].compactMap(\.self))
  }

  func see(_ other: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    try apply(.seen, try access(call.user, with: other, view), view)
  }

  func block(_ other: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let visit = try access(call.user, with: other, view)
    var person = try person(call.user, view)
    person.close(with: other)
    if !visit.now.blocks[visit.me] {
      guard person.blocks < rules.blocks else {
        throw .limitExceeded.counted(as: .stateBlocks).saying(
          "you block \(rules.blocks) people, which is as many as are allowed; unblock some")
      }
      try pay(&person, view)
    }
    return try apply(.block, visit, view, own: person)
  }

  func unblock(_ other: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let visit = try access(call.user, with: other, view)
    var person = try person(call.user, view)
    if visit.now.blocks[visit.me] { try pay(&person, view) }
    return try apply(.unblock, visit, view, own: person)
  }

  /// Applies an event to a thread by the table.
  ///
  /// - Parameter own: the caller's new record, before the thread's change is counted in it; nil: the stored one.
  private func apply(
    _ event: StateEvent, _ visit: ThreadAccess, _ view: any AppView, own: StatePerson? = nil
  ) throws(ClientError) -> AppDecision {
    var shape = visit.now.shape
    if case .refused(let refusal) = shape.apply(event, by: visit.me) { throw StateError.refused(refusal) }
    var thread = visit.now
    thread.adopt(shape)
    if event == .seen { thread.hear(visit.me, isSeen: true) }
    return AppDecision(try change(from: visit.before, to: thread, view, visit.own(own)))
  }

  func settings(_ limit: Int64?, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    var person = try person(call.user, view)
    guard let limit else {
      return AppDecision(reply: try AppJSON.encode(StateSettingsReply(limit: person.limit ?? rules.recordLimit)))
    }
    let chosen = limit == 0 ? nil : try checked(limit)
    var effects: [AppEffect] = []
    if chosen != person.limit {
      try pay(&person, view)
      for place in 0..<(places?.partitioning.count ?? 0) where place != places?.own {
        effects.append(try relay(.limit(user: call.user, limit: chosen), to: place, view))
      }
    }
    person.limit = chosen
    return AppDecision(
      effects + [try change(of: call.user, to: person, view)].compactMap(\.self),
      reply: try AppJSON.encode(StateSettingsReply(limit: person.limit ?? rules.recordLimit)))
  }

  func checked(_ limit: Int64) throws(ClientError) -> Int64 {
    guard (rules.minimumRecordLimit...rules.maximumRecordLimit).contains(limit) else {
      throw .badRequest.saying(
        "a limit is from \(rules.minimumRecordLimit) to \(rules.maximumRecordLimit) milliseconds")
    }
    return limit
  }

  // MARK: What a change means

  /// All effects of a thread's change. Every change goes through here, so that none can forget a list, a notice, a key,
  /// or to count.
  ///
  /// Where a standing has ended by itself and its timer has not run yet, its end is told as the timer would have, before
  /// what is done now: whoever looks at a thread first would else take its `expired` from both.
  ///
  /// - Parameters:
  ///   - records: new records of the two, before the thread's change is counted in them; nil: the stored ones.
  ///   - looksAtBoth: where the change shows to one of the two, the channels of both are opened, as where it shows to
  ///     both: whoever waits for the answer must not learn by its time whether it reached the other. Not for what shows
  ///     to the one who acts alone, as a block does: to open the other's channels would tell them. What time does always
  ///     looks at both.
  ///   - isTold: false: lists change, and nobody hears of it.
  func change(
    from before: StateThread, to thread: StateThread, looksAtBoth: Bool = false, isTold: Bool = true,
    _ view: any AppView,
    _ records: Both<StatePerson?> = Both(nil)
  ) throws(ClientError) -> [AppEffect] {
    var thread = thread
    if rules.notifies { thread.takeNews(after: before, at: view.now) } else { thread.told = nil }
    thread.due = thread.nextDue
    let people = thread.people
    let ended = isTold ? before.ends(until: view.now, rules) : []
    let looksAtBoth = looksAtBoth || !ended.isEmpty
    // What has ended is counted for both, or for one of them where the other is not shown it.
    if !ended.isEmpty { for side in StateSide.allCases { _ = try person(people[side], view) } }
    let gone = before.pictures.filter { !thread.pictures.contains($0) }
    var effects = try counted(from: before, to: thread, without: gone, view, records)
    if thread == before { return effects }
    let steps = isTold ? Array(zip([before] + ended, ended + [thread])) : []
    effects += steps.compactMap { event(of: $1, after: $0) }
    effects += try notices(from: before, to: thread, looksAtBoth, view)
    // From here on the thread's record itself says who blocks whom.
    let bar = StateBar.key(of: people)
    if before.blocks.low || before.blocks.high, try view.record(StateBar.self, bar) != nil {
      effects.append(.erase(key: bar))
    }
    effects.append(thread.isEmpty ? .erase(key: people.key) : .write(key: people.key, thread))
    if !gone.isEmpty {
      effects += gone.map { .erase(key: StateKeys.picture + $0) }
      effects.append(.discardPictures(gone))
      effects.append(.scrub)
    }
    return effects + (try shows(from: before, to: thread, in: steps, looksAtBoth: looksAtBoth, view))
  }

  /// What a change shows in the lists and events of the two; of somebody whose lists are in another partition, what is
  /// said to that.
  ///
  /// - Parameter steps: what they hear of, each as the thread before and after; empty: nothing.
  private func shows(
    from before: StateThread, to thread: StateThread, in steps: [(StateThread, StateThread)], looksAtBoth: Bool,
    _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    var effects: [AppEffect] = []
    let shown = StateSide.allCases.filter { thread.showsOtherwise(than: before, for: $0) }
    for side in StateSide.allCases where shown.contains(side) || looksAtBoth && !shown.isEmpty {
      let (user, other) = (thread.people[side], thread.people[side.other])
      let (list, events) = (try StateChannels.threads(of: user), try StateChannels.events(of: user))
      let isShown = shown.contains(side)
      var notices: [[UInt8]] = []
      for notice in isShown ? steps.flatMap({ $1.notices(after: $0, for: side) }) : [] {
        notices.append(try AppJSON.encode(notice))
      }
      if let place = elsewhere(ofUser: user) {
        let shows = StateRelay.Shows(
          user: user, with: other, entry: listEntry(of: thread, for: side),
          events: notices.map { String(decoding: $0, as: UTF8.self) })
        effects.append(try relay(.shows(isShown ? shows : nil), to: place, view))
        continue
      }
      effects.append(isShown ? .refresh(list, key: other, .atomically) : .open(list))
      effects += notices.map { .publish(AppPublication(channel: events, data: $0)) }
      if looksAtBoth, notices.isEmpty { effects.append(.open(events)) }
    }
    return effects
  }

  /// Counts the thread's change in the records of the two.
  private func counted(
    from before: StateThread, to thread: StateThread, without gone: [String], _ view: any AppView,
    _ records: Both<StatePerson?>
  ) throws(ClientError) -> [AppEffect] {
    var effects: [AppEffect] = []
    var freed = Both<Int64>(0)
    for id in gone {
      guard let picture = try view.record(StatePicture.self, StateKeys.picture + id),
        let owner = thread.people.side(of: picture.owner)
      else { continue }
      freed[owner] = freed[owner].saturatingAdd(picture.bytes)
    }
    for side in StateSide.allCases {
      let waiting = (thread.isWaiting(side) ? 1 : 0) - (before.isWaiting(side) ? 1 : 0)
      let received = thread.received(side) - before.received(side)
      let blocks = (thread.blocks[side] ? 1 : 0) - (before.blocks[side] ? 1 : 0)
      guard records[side] != nil || waiting != 0 || received != 0 || blocks != 0 || freed[side] != 0 else { continue }
      let user = thread.people[side]
      var person = if let record = records[side] { record } else { try person(user, view) }
      // Threads that an earlier version began were not counted, so the numbers must not fall below 0.
      person.waiting = max(0, person.waiting + waiting)
      person.received = max(0, person.received + received)
      person.blocks = max(0, person.blocks + blocks)
      person.add(-freed[side])
      if let effect = try change(of: user, to: person, view) { effects.append(effect) }
    }
    return effects
  }
}
