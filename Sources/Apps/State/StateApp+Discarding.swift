import Wire

/// What people throw away before it is sent: pictures, and recorders with or without them.
extension StateApp {
  func discard(_ ids: [String], _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    var person = try person(call.user, view)
    let effects = try discard(ids, of: call.user, &person, view)
    return AppDecision(effects + [try change(of: call.user, to: person, view)].compactMap(\.self))
  }

  /// Gives up a recorder, so that its place is free for another, and discards what was recorded with it.
  ///
  /// | The recorder | Then | `state.send` | `state.begin` |
  /// |---|---|---|---|
  /// | is not open | nothing changes | as before | as before |
  /// | is open | is given up, until its deadline | nothing is being recorded | opens it again, with the same deadline |
  /// | was given up, and its deadline has passed | is forgotten | nothing is being recorded | opens another |
  ///
  /// The deadline stays, since somebody who could give up and begin anew would have all the time in the world. The
  /// thread's phases do not change, and the other hears nothing: nobody was told of the recorder either.
  func cancel(_ cancel: StateCommand.Cancel, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let visit = try access(call.user, with: cancel.to, view)
    var shape = visit.now.shape
    if case .refused(let refusal) = shape.apply(.cancel, by: visit.me) { throw StateError.refused(refusal) }
    var person = try person(call.user, view)
    person.giveUp(with: cancel.to, at: view.now)
    let effects = try discard(cancel.pictures, of: call.user, &person, view)
    return AppDecision(effects + (try change(from: visit.before, to: visit.now, view, visit.own(person))))
  }

  /// Discards all of these pictures or, where one was sent, none.
  ///
  /// | The picture | Then |
  /// |---|---|
  /// | the user's, coming or whole | its key is erased, its file deleted, its place free; the id is barred |
  /// | unknown | the id is barred, so that an upload of which the broker was not told yet is refused at its end |
  /// | the user's and barred, or somebody else's | nothing, and the user is not told which |
  /// | the user's, sent, or lent to be sent elsewhere | error 435 |
  private func discard(
    _ ids: [String], of user: String, _ person: inout StatePerson, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    var effects: [AppEffect] = []
    var gone: [String] = []
    for id in ids where StatePictureID.isValid(id) {
      let key = StateKeys.picture + id
      if let picture = try view.record(StatePicture.self, key) {
        guard picture.owner.hasSameBytes(as: user), !picture.isBarred else { continue }
        if picture.thread != nil || picture.away != nil {
          throw StateError.unknownPicture.saying("a picture was sent already; nothing was discarded")
        }
        person.unsent.removeAll { $0 == id }
        person.add(-picture.bytes)
        gone.append(id)
      }
      // What somebody bars is kept for a while, so it costs like what else makes a record grow.
      try pay(&person, view)
      effects.append(.write(key: key, StatePicture.barred(id, of: user, at: view.now)))
    }
    if !gone.isEmpty { effects += [.discardPictures(gone), .scrub] }
    return effects
  }
}
