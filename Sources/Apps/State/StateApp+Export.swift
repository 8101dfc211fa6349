public import Wire

extension StateApp {
  /// The picture of a record, for the export of a user's data: what is revealed to the user, the user's own where it is
  /// revealed to the other, and uploads of the user that were not sent. What is sealed stays sealed, the user's own too.
  public func picture(
    in key: String, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppPicture? {
    guard key.utf8.starts(with: StateKeys.picture.utf8), let picture = try view.record(StatePicture.self, key) else {
      return nil
    }
    guard let thread = picture.thread else { return try unsent(picture, of: user, view) }
    guard let stored = try view.record(StateThread.self, thread) else { return nil }
    return try sent(picture, in: stored, for: user, view)
  }

  private func unsent(
    _ picture: StatePicture, of user: String, _ view: any AppView
  ) throws(ClientError) -> AppPicture? {
    guard picture.isWhole, picture.away == nil, picture.owner.hasSameBytes(as: user), picture.due ?? .min > view.now,
      let key = picture.key
    else { return nil }
    return try exported(picture, type: picture.type, with: nil) { () throws(KeyVaultError) in try vault.open(key) }
  }

  private func sent(
    _ picture: StatePicture, in stored: StateThread, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppPicture? {
    guard let me = stored.people.side(of: user) else { return nil }
    let thread = advanced(stored, view.now)
    let isOwn = picture.owner.hasSameBytes(as: user)
    guard case .revealed(let both) = thread.standing, isOwn || thread.phase(of: me) == .revealed,
      let found = [both.low.front, both.low.rear, both.high.front, both.high.rear]
        .first(where: { $0.id.hasSameBytes(as: picture.id) })
    else { return nil }
    guard view.latest < thread.until else {
      throw .internalError.saying("the server's clock waits to be confirmed; try again later")
    }
    let other = thread.people[me.other]
    return try exported(picture, type: found.type, with: other) { () throws(KeyVaultError) in
      try vault.open(found.key)
    }
  }

  private func exported(
    _ picture: StatePicture, type: String, with other: String?, _ open: () throws(KeyVaultError) -> [UInt8]
  ) throws(ClientError) -> AppPicture? {
    do throws(KeyVaultError) {
      return AppPicture(
        id: picture.id, type: type, bytes: picture.bytes, owner: picture.owner, with: other, key: try open())
    } catch .destroyed, .damaged {
      return nil  // Nobody can see it any more.
    } catch {
      throw StateError.vault(error)
    }
  }
}
