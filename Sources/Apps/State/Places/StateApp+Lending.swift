import Wire

/// Pictures that lie where their owner is, for threads of other partitions. ``StatePicture`` has the table.
extension StateApp {
  /// Lends two pictures to a thread. The answer is what ``StateApp/send(_:_:_:)`` there takes as its own.
  ///
  /// - Throws: the error with which a send of these pictures is refused.
  func lend(_ lending: StateCommand.Lending, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let people = try StatePair(call.user, lending.to)
    guard let place = elsewhere(of: people) else { throw Self.misplaced }
    try Self.checkDifferent(lending.front, lending.rear)
    var lent = StateLent(pictures: [])
    var effects: [AppEffect] = []
    for id in [lending.front, lending.rear] {
      var picture = try unsent(id, of: call.user, lentTo: people.digest, view).record
      let attempts = picture.attempts(for: people.digest)
      if !attempts.contains(lending.attempt) {
        picture.away = .lent(
          place: place, thread: people.digest, attempts: StatePicture.noting(lending.attempt, among: attempts))
        effects.append(.write(key: StateKeys.picture + id, picture))
      }
      (picture.upload, picture.away) = (nil, nil)
      lent.pictures.append(picture)
    }
    return AppDecision(effects, reply: try AppJSON.encode(lent))
  }

  /// Crosses out an attempt that was refused; after the last one the pictures can be sent to anybody again.
  func giveBack(
    _ lending: StateCommand.Lending, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let digest = try StatePair(call.user, lending.to).digest
    var effects: [AppEffect] = []
    for id in [lending.front, lending.rear] where StatePictureID.isValid(id) {
      guard var picture = try view.record(StatePicture.self, StateKeys.picture + id),
        picture.owner.hasSameBytes(as: call.user), case .lent(let place, digest, var attempts) = picture.away,
        lending.attempt != StatePicture.uncounted, let index = attempts.firstIndex(of: lending.attempt)
      else { continue }
      attempts.remove(at: index)
      picture.away = attempts.isEmpty ? nil : .lent(place: place, thread: digest, attempts: attempts)
      effects.append(.write(key: StateKeys.picture + id, picture))
    }
    return AppDecision(effects)
  }

  /// Also where an attempt was given back that was the one after all: a gateway that asked again was refused, because the
  /// exchange was over by then.
  func used(_ pictures: StateRelay.Pictures, _ view: any AppView) throws(ClientError) -> AppDecision {
    try returned(pictures, wholeToo: true, view) { picture in
      [.write(key: StateKeys.picture + picture.id, picture.moved(at: view.now, rules))]
    }
  }

  func unused(_ pictures: StateRelay.Pictures, _ view: any AppView) throws(ClientError) -> AppDecision {
    try returned(pictures, view) { picture in
      [.erase(key: StateKeys.picture + picture.id), .discardPictures([picture.id]), .scrub]
    }
  }

  /// Frees the places of pictures that were lent to a thread.
  private func returned(
    _ pictures: StateRelay.Pictures, wholeToo: Bool = false, _ view: any AppView,
    _ effects: (StatePicture) -> [AppEffect]
  ) throws(ClientError) -> AppDecision {
    var person = try person(pictures.owner, view)
    var decision = AppDecision()
    for id in pictures.ids {
      guard let picture = try view.record(StatePicture.self, StateKeys.picture + id),
        picture.owner.hasSameBytes(as: pictures.owner), picture.key != nil,
        picture.isLent(to: pictures.thread) || wholeToo && picture.away == nil
      else { continue }
      person.unsent.removeAll { $0 == id }
      person.add(-picture.bytes)
      decision.effects += effects(picture)
    }
    if let effect = try change(of: pictures.owner, to: person, view) { decision.effects.append(effect) }
    return decision
  }

  /// Says what became of pictures. Those that are in no thread are barred: a send of them that is still on its way must
  /// not find that nobody knows them.
  func claim(
    _ pictures: StateRelay.Pictures, sent: Int64, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard let place = elsewhere(ofUser: pictures.owner),
      try !view.wasForgotten(pictures.owner, since: sent)
    else { return AppDecision() }
    var (used, unused) = (pictures, pictures)
    (used.ids, unused.ids) = ([], [])
    var effects: [AppEffect] = []
    for id in pictures.ids {
      let picture = try view.record(StatePicture.self, StateKeys.picture + id)
      if let picture, picture.thread != nil, picture.owner.hasSameBytes(as: pictures.owner) {
        used.ids.append(id)
        continue
      }
      if picture?.isBarred ?? true {
        let barred = StatePicture.barred(id, of: pictures.owner, at: view.now)
        effects.append(.write(key: StateKeys.picture + id, barred))
      }
      unused.ids.append(id)
    }
    if !used.ids.isEmpty { effects.append(try relay(.used(used), to: place, view)) }
    if !unused.ids.isEmpty { effects.append(try relay(.unused(unused), to: place, view)) }
    return AppDecision(effects)
  }

  /// Asks what became of a picture that was lent and is due.
  func claim(_ picture: StatePicture, at place: Int, _ thread: String, _ view: any AppView) throws(ClientError)
    -> AppDecision
  {
    var picture = picture
    picture.due = view.now.saturatingAdd(StatePicture.claimInterval)
    let pictures = StateRelay.Pictures(owner: picture.owner, ids: [picture.id], thread: thread)
    return AppDecision([
      .write(key: StateKeys.picture + picture.id, picture), try relay(.claim(pictures), to: place, view),
    ])
  }
}

/// What a person's partition answers to ``StateCommand/lend(_:)``: the records of two pictures, as if they were not lent.
struct StateLent: Sendable, Codable {
  var pictures: [StatePicture]
}

extension StatePair {
  /// Tells a pair from others without naming anybody.
  var digest: String { CliqueIdentifier.hex(["state.thread", low, high]) }
}
