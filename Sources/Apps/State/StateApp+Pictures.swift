import Wire

/// Commands about pictures, which only gateways may use (``AppCall/source``).
extension StateApp {
  /// Adds a picture that a gateway has taken in, or is taking in: its key is sealed, and the picture waits to be sent.
  func addPicture(
    _ request: StateCommand.Picture, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard StatePictureID.isValid(request.id), request.key.count == 32, request.bytes > 0,
      request.upload?.count ?? 0 <= 64, request.type.map({ (1...64).contains($0.utf8.count) }) ?? true
    else { throw .badRequest }
    let recordKey = StateKeys.picture + request.id
    let earlier = try view.record(StatePicture.self, recordKey)
    if let earlier {
      // An upload may be repeated after a lost answer; then the new upload's key counts. It never replaces a picture
      // that was sent. Nor does an upload that has just begun replace a picture that is whole: a client that sends one
      // picture twice would lose it.
      guard earlier.owner.hasSameBytes(as: call.user), earlier.thread == nil, earlier.away == nil,
        !earlier.isBarred, request.type != nil || !earlier.isWhole
      else { throw StateError.takenPicture }
    }
    guard vault.isReady(at: view.now) else { return AppDecision([], .later) }
    let key: SealedKey
    do {
      key = try vault.seal(request.key, at: view.now)
    } catch {
      throw StateError.vault(error)
    }
    let record = StatePicture(
      id: request.id, owner: call.user, type: request.type ?? "", bytes: request.bytes, key: key,
      upload: request.upload.map(Bytes64.init), thread: nil, due: view.now.saturatingAdd(rules.pictureLifetime))
    var person = try person(call.user, view)
    if !person.unsent.contains(request.id) {
      guard person.unsent.count < rules.unsentPictures else {
        throw .limitExceeded.counted(as: .stateUnsentPictures).saying(
          "\(rules.unsentPictures) pictures are uploaded and not sent; send or discard some")
      }
      person.unsent.append(request.id)
    }
    person.add(-(earlier?.bytes ?? 0))
    try take(request.bytes, of: &person)
    return AppDecision(
      [.write(key: recordKey, record)] + [try change(of: call.user, to: person, view)].compactMap(\.self))
  }

  /// Counts bytes of a picture that comes.
  func take(_ bytes: Int64, of person: inout StatePerson) throws(ClientError) {
    guard bytes <= rules.pictureBytes, person.bytes <= rules.pictureBytes - bytes else {
      throw .limitExceeded.counted(as: .statePictureBytes).saying(
        "your pictures that are kept here have \(rules.pictureBytes) bytes, which is as many as are allowed; wait until "
          + "some are gone")
    }
    person.add(bytes)
  }

  /// The key of an upload that another gateway began, so that any gateway that the owner reaches can go on with it.
  func uploadKey(
    _ id: String, _ upload: [UInt8], _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard StatePictureID.isValid(id), let picture = try view.record(StatePicture.self, StateKeys.picture + id),
      picture.owner.hasSameBytes(as: call.user), picture.upload?.bytes == upload, let key = picture.key,
      picture.due ?? .min > view.now
    else { throw StateError.notRevealed }
    do {
      return AppDecision(reply: try AppJSON.encode(StatePictureUploadReply(key: Bytes64(try vault.open(key)))))
    } catch let error as KeyVaultError {
      throw StateError.vault(error)
    } catch {
      throw .internalError
    }
  }

  /// The key of a picture, for one of the thread's two people while the picture is revealed to them.
  func pictureKey(_ id: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    // One error for all pictures that the caller may not see, so that it does not tell which ids exist.
    guard StatePictureID.isValid(id), let picture = try view.record(StatePicture.self, StateKeys.picture + id),
      let threadKey = picture.thread, let stored = try view.record(StateThread.self, threadKey),
      let me = stored.people.side(of: call.user)
    else { throw StateError.notRevealed }
    let thread = advanced(stored, view.now)
    guard thread.phase(of: me) == .revealed, case .revealed(let both) = thread.standing,
      let found = [both.low.front, both.low.rear, both.high.front, both.high.rear]
        .first(where: { $0.id.hasSameBytes(as: id) })
    else { throw StateError.notRevealed }
    guard view.latest < thread.until else {
      throw .internalError.saying("the server's clock waits to be confirmed; try again later")
    }
    do {
      let key = try vault.open(found.key)
      return AppDecision(reply: try AppJSON.encode(StatePictureKeyReply(type: found.type, key: Bytes64(key))))
    } catch let error as KeyVaultError {
      throw StateError.vault(error)
    } catch {
      throw .internalError
    }
  }

  /// Which of these pictures nobody can ever see again. A gateway asks that may have been away when they were
  /// discarded.
  func gonePictures(_ ids: [String], _ view: any AppView) throws(ClientError) -> AppDecision {
    var gone: [String] = []
    for id in ids where StatePictureID.isValid(id) {
      if try view.record(StatePicture.self, StateKeys.picture + id)?.isGone(at: view.now) ?? true { gone.append(id) }
    }
    return AppDecision(reply: try AppJSON.encode(StatePicturesReply(gone: gone)))
  }

  /// Discards a picture that nobody has sent in time. Of one that was lent it is asked whether it was sent.
  func pictureDue(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard let picture = try view.record(StatePicture.self, key), let due = picture.due, due <= view.now else {
      return AppDecision()
    }
    if case .lent(let place, let thread, _) = picture.away { return try claim(picture, at: place, thread, view) }
    if picture.isBarred || picture.away != nil { return AppDecision([.erase(key: key)]) }
    return AppDecision(
      [.erase(key: key), .discardPictures([picture.id]), .scrub]
        + [try withoutUnsent(picture, view)].compactMap(\.self))
  }

  private func withoutUnsent(
    _ picture: StatePicture, _ view: any AppView
  ) throws(ClientError) -> AppEffect? {
    var person = try person(picture.owner, view)
    person.unsent.removeAll { $0 == picture.id }
    person.add(-picture.bytes)
    return try change(of: picture.owner, to: person, view)
  }
}
