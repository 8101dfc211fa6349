public import Apps
import Log
import Wire

/// What the app of notifications has sent, what becomes of it, and what people acknowledge.
extension BrokerCore {
  // MARK: Sending

  /// Has a notification sent, because the decision about it is on the disk. Nobody whose data is being deleted, and
  /// nobody who is suspended, is sent anything.
  func send(_ send: PushSend, in turn: inout Turn) {
    guard let notices else { return }
    let reason: String
    if deletions?.bars(send.user) == true {
      reason = "the user's data is being deleted"
    } else if revocations?.table.suspension(of: send.user) != nil {
      reason = "the user is suspended"
    } else {
      notices.tally.sends(send)
      return turn.effects.append(.push(send))
    }
    let verdicts = send.devices.map { ($0.id, PushAnswer.Verdict.refused(reason: reason)) }
    let answer = PushAnswer(
      user: send.user, number: send.number, verdicts: Dictionary(verdicts, uniquingKeysWith: { first, _ in first }))
    run(.pushAnswered(PushAnswerTry(answer: answer)), in: &turn)
  }

  /// It is known what became of a notification.
  public func pushed(_ answer: PushAnswer, in turn: inout Turn) {
    guard let notices else { return }
    notices.tally.answered(answer)
    run(.pushAnswered(PushAnswerTry(answer: answer)), in: &turn)
  }

  /// Has the app decide about an answer. Where that fails it is tried again some times, and then left to the time at
  /// which the person's record is due.
  func pushAnswered(_ given: PushAnswerTry, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let notices else { return }
    do throws(ClientError) {
      let decision = try consult(notices.host, in: &turn) { (lens) throws(ClientError) in
        try notices.app.answered(given.answer, lens)
      }
      try carryOut(decision, of: notices.host, for: .broker, in: &turn)
    } catch {
      if !turn.missing.isEmpty { return stores.park(waiting, .pushAnswered(given), in: &turn) }
      var again = given
      again.failures += 1
      again.time = turn.time.monotonic + PushAnswerTry.pause
      let isLeft = again.failures >= PushAnswerTry.mostFailures || notices.answersAgain.count >= PushAnswerTry.most
      if isLeft { notices.tally.answersLost += 1 } else { notices.answersAgain.append(again) }
    }
  }

  // MARK: Acknowledgements

  func acknowledge(_ subject: String, by user: String, at time: BrokerTime) {
    notices?.acknowledgements.add(user, subject, at: time.monotonic)
  }

  /// Has the app look at what was acknowledged. What fails is found when the app looks by itself.
  func acknowledged(_ place: Acknowledgements.Place, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let notices else { return }
    do throws(ClientError) {
      let decision = try consult(notices.host, in: &turn) { (lens) throws(ClientError) in
        try notices.app.look(at: place.subject.string, of: place.user.string, lens)
      }
      try carryOut(decision, of: notices.host, for: .broker, in: &turn)
    } catch {
      if !turn.missing.isEmpty { stores.park(waiting, .acknowledged(place), in: &turn) }
    }
  }

  // MARK: Why

  /// What happened to a person's notifications about a channel, as JSON; nil where notifications are off.
  func noticeLines(
    about channel: ChannelName, of user: String, in turn: inout Turn
  ) throws(ClientError) -> [UInt8]? {
    guard let notices else { return nil }
    return try consult(notices.host, in: &turn) { (lens) throws(ClientError) in
      try notices.app.lines(about: channel.string, of: user, lens)
    }
  }

  // MARK: Deletions

  /// Takes a notice that names users away, and writes it anew for the others whom it names where it was not taken yet.
  ///
  /// - Returns: whether the row is to be cleared.
  func eraseNotice(
    _ row: TracedRow, of users: SoughtUsers, owning owned: Set<ChannelName>, in turn: inout Turn
  ) throws(ClientError) -> Bool {
    guard users.areNamed(byNotice: row.publication, owning: owned) else { return false }
    guard let notices, notices.isOpen, row.publication.offset > notices.reader.cursor,
      var intent = PushIntent(row.publication), !users.areNamed(bySubject: intent.subject, owning: owned)
    else { return true }
    intent.users.removeAll { users.contains($0) }
    _ = try append(intent, to: notices, in: &turn)
    return true
  }
}

extension SoughtUsers {
  /// Whether a notice names one of the users, or a channel that is theirs.
  func areNamed(byNotice publication: Publication, owning owned: Set<ChannelName> = []) -> Bool {
    guard let intent = PushIntent(publication) else { return false }
    return intent.users.contains(where: contains) || areNamed(bySubject: intent.subject, owning: owned)
      || areQuoted(in: publication.data)
  }

  fileprivate func areNamed(bySubject subject: String, owning owned: Set<ChannelName>) -> Bool {
    guard let channel = try? ChannelName(subject, limit: .max) else { return false }
    return owned.contains(channel) || own(channel)
  }
}
