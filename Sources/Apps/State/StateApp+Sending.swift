import Wire

extension StateApp {
  /// Seals what is sent; or, where the other's contents wait for an answer, releases both in the one record that makes
  /// them visible.
  func send(_ request: StateCommand.Send, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let key = request.key ?? call.key.description
    let visit = try access(call.user, with: request.to, view)
    // A repeated send is recognised before anything is checked, because it was in time when it came first.
    if let earlier = visit.before.sent[visit.me], let reply = try earlier.reply(to: request, key: key) {
      return AppDecision(try change(from: visit.before, to: visit.now, view), reply: try AppJSON.encode(reply))
    }
    var shape = visit.now.shape
    let move = shape.apply(.send, by: visit.me)
    if case .refused(let refusal) = move { throw StateError.refused(refusal) }
    var person = try person(call.user, view)
    // The other's record decides only where there is no block, and is read in any case: it may have to come from the disk.
    _ = try self.person(request.to, view)
    try checkRecording(of: person, with: request.to, view)
    guard vault.isReady(at: view.now) else { return AppDecision([], .later) }
    let mine = try contents(of: request, by: call.user, view)
    for picture in mine.lent { try take(picture.bytes, of: &person) }

    var thread = visit.now
    var records = visit.own(nil)
    var reached: AppLimit?
    if move == .reveals, let both = try release(visit, mine: mine.contents) {
      thread.adopt(shape)
      thread.standing = .revealed(both)
      thread.until = view.now.saturatingAdd(rules.revealLifetime)
    } else {
      // This send is not an answer. Or nobody can open the other's contents any more: then it is the first of a new
      // exchange.
      guard person.waiting < rules.waitingThreads else {
        throw .limitExceeded.counted(as: .stateThreads).saying(
          "\(rules.waitingThreads) of your threads wait for an answer; send more when some of them have ended")
      }
      if move == .reveals { shape = Self.sealed(by: visit.me, shape) }
      switch try reception(visit, view) {
      case .known: break
      case .shown(let receiver): records[visit.me.other] = receiver
      case .unshown(let limit):
        // The same answer, and the same phase, as where the other only says nothing.
        shape = visit.now.shape
        _ = shape.apply(.sendUnshown, by: visit.me)
        if move == .reveals { shape = Self.sealed(by: visit.me, shape, isShown: false) }
        reached = limit
      }
      thread.standing = .sealed(
        by: visit.me, mine.contents, answerLimit: try answerLimit(request, to: request.to, view))
      thread.adopt(shape)
      thread.until = view.now.saturatingAdd(rules.lifetime)
    }
    thread.since = view.now
    person.close(with: request.to)
    person.unsent.removeAll { id in mine.records.contains { $0.id == id } }
    let reply = StateSendReply(phase: thread.phase(of: visit.me), since: thread.since, until: thread.until)
    thread.sent[visit.me] = StateThread.Sent(key: key, front: request.front, rear: request.rear, reply: reply)
    records[visit.me] = person
    let changes = try change(from: visit.before, to: thread, looksAtBoth: true, view, records)
    let pictures = try taken(mine.records, mine.lent, by: call.user, in: thread.people, view)
    var decision = AppDecision(changes + pictures, reply: try AppJSON.encode(reply))
    decision.reached = reached
    return decision
  }

  private func checkRecording(of person: StatePerson, with other: String, _ view: any AppView) throws(ClientError) {
    guard let recording = person.recording(with: other), recording.isGivenUp != true else { throw StateError.notBegun }
    // The recording is not closed here, so another send gets the same error until the user begins again.
    guard recording.isOpen(at: view.now) else { throw StateError.tooLate }
  }

  /// Whether what somebody sends first is shown to the other.
  private enum Reception {
    /// The two see a reveal, so the sender is no stranger; or the other blocks the sender and is shown nothing anyway.
    case known
    /// It counts as one more in the other's record.
    case shown(StatePerson)
    case unshown(AppLimit)
  }

  private func reception(_ visit: ThreadAccess, _ view: any AppView) throws(ClientError) -> Reception {
    let other = visit.me.other
    if visit.now.blocks[other] || visit.now.phase(of: other) == .revealed { return .known }
    var receiver = try person(visit.now.people[other], view)
    guard receiver.received < rules.receivedThreads else { return .unshown(.stateReceived) }
    guard let mark = CliqueRate(perDay: rules.receivedPerDay).next(after: receiver.receivedMark, now: view.now) else {
      return .unshown(.stateReceivedPerDay)
    }
    receiver.receivedMark = mark
    return .shown(receiver)
  }

  private static func sealed(by me: StateSide, _ shape: StateShape, isShown: Bool = true) -> StateShape {
    var shape = shape
    shape.standing = .sealed(by: me)
    shape.over = Both(false)
    shape.over[me.other] = !isShown
    return shape
  }

  private static func sent(_ picture: StatePicture, in thread: String) -> StatePicture {
    var picture = picture
    picture.key = nil
    picture.upload = nil
    picture.thread = thread
    picture.due = nil
    return picture
  }

  private func answerLimit(
    _ request: StateCommand.Send, to user: String, _ view: any AppView
  ) throws(ClientError) -> Int64 {
    if let limit = request.replyLimit { return try checked(limit) }
    return try person(user, view).limit ?? rules.recordLimit
  }

  /// Releases both sides' contents; nil where the other's keys are destroyed or damaged.
  private func release(_ visit: ThreadAccess, mine: SealedContents) throws(ClientError) -> Both<ReleasedContents>? {
    guard case .sealed(_, let theirs?, _) = visit.now.standing else { return nil }
    let released: ReleasedContents
    do {
      released = try theirs.released(by: vault)
    } catch .destroyed, .damaged {
      return nil
    } catch {
      throw StateError.vault(error)
    }
    do {
      var both = Both(released)
      both[visit.me] = try mine.released(by: vault)
      return both
    } catch .destroyed, .damaged {
      throw StateError.unknownPicture
    } catch {
      throw StateError.vault(error)
    }
  }

  // MARK: What is sent

  private func contents(
    of request: StateCommand.Send, by user: String, _ view: any AppView
  ) throws(ClientError) -> (contents: SealedContents, records: [StatePicture], lent: [StatePicture]) {
    try Self.checkDifferent(request.front, request.rear)
    let lent = try self.lent(request, by: user)
    let front = try unsent(request.front, of: user, lent, view)
    let rear = try unsent(request.rear, of: user, lent, view)
    var contents = SealedContents(front: front.picture, rear: rear.picture)
    if let caption = request.caption {
      guard caption.characters <= rules.captionCharacters, caption.text.utf8.count <= rules.captionBytes else {
        throw .badRequest.counted(as: .stateCaption).saying(
          "a caption has at most \(rules.captionCharacters) characters")
      }
      do {
        contents.caption = try vault.encrypt(Array(caption.text.utf8), at: view.now)
      } catch {
        throw StateError.vault(error)
      }
    }
    return (contents, [front.record, rear.record], [front, rear].filter(\.isLent).map(\.record))
  }

  static func checkDifferent(_ front: String, _ rear: String) throws(ClientError) {
    guard front.hasSameBytes(as: rear) else { return }
    throw .badRequest.saying("\"front\" and \"rear\" are one picture; upload two")
  }

  /// What the sender's partition has lent for this send, if that is another one.
  private func lent(_ request: StateCommand.Send, by user: String) throws(ClientError) -> [StatePicture] {
    if request.lent.isEmpty || elsewhere(ofUser: user) == nil { return [] }
    do { return try AppJSON.decode(StateLent.self, request.lent).pictures } catch { throw .badRequest }
  }

  /// A picture that can be sent.
  struct Unsent {
    var picture: SealedContents.Picture
    var record: StatePicture
    var isLent: Bool
  }

  /// - Parameters:
  ///   - lent: pictures that count where nothing is known of their ids here.
  ///   - thread: where it may be lent to already (``StatePair/digest``); nil: nowhere.
  func unsent(
    _ id: String, of user: String, _ lent: [StatePicture] = [], lentTo thread: String? = nil, _ view: any AppView
  ) throws(ClientError) -> Unsent {
    let known = try view.record(StatePicture.self, StateKeys.picture + id)
    guard let record = known ?? lent.first(where: { $0.id.hasSameBytes(as: id) }),
      record.owner.hasSameBytes(as: user), record.isWhole, record.isFree(for: thread), let key = record.key,
      record.due ?? .min > view.now
    else { throw StateError.unknownPicture }
    return Unsent(picture: .init(id: id, type: record.type, key: key), record: record, isLent: known == nil)
  }

  /// Notes that pictures are in a thread now, and tells the sender's partition which of its own are.
  private func taken(
    _ pictures: [StatePicture], _ lent: [StatePicture], by user: String, in people: StatePair, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    var effects = pictures.map { AppEffect.write(key: StateKeys.picture + $0.id, Self.sent($0, in: people.key)) }
    if !lent.isEmpty, let place = elsewhere(ofUser: user) {
      let used = StateRelay.Pictures(owner: user, ids: lent.map(\.id), thread: people.digest)
      effects.append(try relay(.used(used), to: place, view))
    }
    return effects
  }
}

extension StateThread.Sent {
  /// The answer that this send got, if the request repeats it; nil: the request is another.
  fileprivate func reply(to request: StateCommand.Send, key: String) throws(ClientError) -> StateSendReply? {
    // No picture is sent twice, so the same two pictures are the same send, from whichever device and with whichever
    // key.
    if front.hasSameBytes(as: request.front) && rear.hasSameBytes(as: request.rear) { return reply }
    if self.key.hasSameBytes(as: key) { throw .idempotencyConflict }
    return nil
  }
}
