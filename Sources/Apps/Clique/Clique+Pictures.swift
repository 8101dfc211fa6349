public import Wire

/// Pictures of messages and profiles (``Picture`` has the table). A picture is seen by whoever sees what it belongs to.
extension Clique {
  /// Does what a gateway says of pictures, or asks.
  func picture(
    _ command: PictureCommand, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    try checkGateway(call)
    switch command {
    case .add(let picture): return try addPicture(picture, call, view)
    case .uploadKey(let id, let upload): return try uploadKey(id, upload, call, view)
    case .key(let id): return try pictureKey(id, call, view)
    case .gone(let ids): return try gonePictures(ids, view)
    case .discard(let id): return try discardPicture(id, call, view)
    }
  }

  /// - Throws: where it is not a gateway that asks in its own right: no client may say what a gateway says.
  func checkGateway(_ call: AppCall) throws(ClientError) {
    guard call.source == .gateway else { throw .methodNotFound }
    // A gateway names the user of a token, which has not been checked to be a user id of this app.
    try UserIdentifier.check(call.user, most: CliqueCommand.maximumUserBytes)
  }

  // MARK: Coming in

  private func addPicture(
    _ request: PictureCommand.Picture, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let sides = request.type == nil ? 0...0 : 1...65_535
    guard StatePictureID.isValid(request.id), request.key.count == 32, request.bytes > 0,
      request.upload?.count ?? 0 <= 64, request.type.map(Picture.types.contains) ?? true,
      sides.contains(request.width), sides.contains(request.height)
    else { throw .badRequest }
    let (key, draft) = (Key.picture(request.id), CliqueDraft(view))
    let earlier = try view.record(Picture.self, key)
    if let earlier {
      // An upload may be repeated after a lost answer; then the new upload's key counts. It never replaces a picture
      // that was sent, and one that has just begun none that is whole.
      guard earlier.owner.hasSameBytes(as: call.user), earlier.use == .unsent, !earlier.isBarred,
        request.type != nil || !earlier.isWhole
      else { throw StateError.takenPicture }
    }
    var pictures = try draft.pictures(of: call.user)
    if !pictures.unsent.contains(request.id) {
      guard pictures.unsent.count < rules.unsentPictures else {
        throw ClientError.limitExceeded.counted(as: .cliqueUnsentPictures).saying(
          "\(rules.unsentPictures) pictures are uploaded and not sent; send or discard some")
      }
      pictures.unsent.append(request.id)
    }
    pictures.bytes = max(0, pictures.bytes - (earlier?.bytes ?? 0))
    guard request.bytes <= rules.pictureBytes, pictures.bytes <= rules.pictureBytes - request.bytes else {
      throw ClientError.limitExceeded.counted(as: .cliquePictureBytes).saying(
        "your pictures that are kept here have \(rules.pictureBytes) bytes, as many as are allowed; remove messages with "
          + "pictures that you no longer need")
    }
    pictures.bytes += request.bytes
    draft.write(
      key,
      Picture(
        id: request.id, owner: call.user, type: request.type ?? "", bytes: request.bytes, width: request.width,
        height: request.height, key: Bytes64(request.key), upload: request.upload.map(Bytes64.init),
        due: view.now + rules.pictureLifetime))
    draft.write(pictures)
    return draft.decision()
  }

  /// The key of an upload that another gateway began, so that any gateway that the owner reaches can go on with it.
  private func uploadKey(
    _ id: String, _ upload: [UInt8], _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard StatePictureID.isValid(id), let picture = try view.record(Picture.self, Key.picture(id)),
      picture.owner.hasSameBytes(as: call.user), picture.upload?.bytes == upload, picture.use == .unsent,
      let key = picture.key, picture.due ?? .min > view.now
    else { throw Self.noPicture }
    return Self.answer { $0.write("key", base64: key.bytes) }
  }

  /// Discards an upload, or a picture that was not sent. An id that is unknown is barred, so that an upload of which the
  /// broker was not told yet is refused at its end. Of somebody else's nothing is said.
  private func discardPicture(_ id: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard StatePictureID.isValid(id) else { throw .badRequest }
    let draft = CliqueDraft(view)
    let picture = try view.record(Picture.self, Key.picture(id))
    if let picture {
      guard picture.owner.hasSameBytes(as: call.user), !picture.isBarred else { return AppDecision() }
      if picture.use != .unsent {
        throw StatePictureID.unknown.saying("the picture was sent; remove the message, or change the profile")
      }
    }
    var pictures = try draft.pictures(of: call.user)
    let rate = CliqueRate(perDay: Self.pictureDiscardsPerDay)
    guard let mark = rate.next(after: pictures.discardMark, now: view.now) else {
      throw ClientError.limitExceeded.counted(as: .cliquePictureDiscards).saying(
        "you have discarded \(Self.pictureDiscardsPerDay) pictures a day or nearly so many at once; go on later")
    }
    pictures.discardMark = mark
    draft.write(pictures)
    if let picture {
      try draft.remove(picture)
    } else {
      draft.write(Key.picture(id), Picture.barred(id, of: call.user, at: view.now))
    }
    return draft.decision()
  }

  // MARK: Being seen

  /// One error for all pictures that the caller may not see, so that it does not tell which ids exist.
  static let noPicture = StateError.notRevealed.saying("there is no picture here that you can see; it may be gone")

  /// Whether somebody may have the key of a picture.
  private enum PictureSight: Equatable {
    case nothing
    case granted
    /// If they read the message in its partition. The offset is 0 where it is not known here yet.
    case asks(conversation: String, offset: UInt64)
  }

  private func pictureKey(_ id: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard StatePictureID.isValid(id), let picture = try view.record(Picture.self, Key.picture(id)), picture.isWhole,
      let key = picture.key
    else { throw Self.noPicture }
    let sight = try sight(of: picture, call.user, view)
    if sight == .nothing { throw Self.noPicture }
    return Self.answer { writer in
      writer.write("type", picture.type)
      writer.write("key", base64: key.bytes)
      guard case .asks(let conversation, let offset) = sight else { return }
      writer.object("reads") { writer in
        writer.write("conversation", conversation)
        writer.write("offset", offset)
      }
    }
  }

  private func sight(
    of picture: Picture, _ user: String, _ view: any AppView
  ) throws(ClientError) -> PictureSight {
    let isOwn = picture.owner.hasSameBytes(as: user)
    switch picture.use {
    case .unsent: return isOwn && picture.due ?? .min > view.now ? .granted : .nothing
    case .lent(let lent):
      // The message may have reached the other before this partition has heard of it.
      return isOwn ? .granted : asks(picture, in: lent.conversation, at: 0, user)
    case .message(let id, let offset):
      guard view.latest < picture.ends ?? .max, try isInReach(picture, in: id, offset, view) else { return .nothing }
      if isOwn { return .granted }
      if elsewhere(ofConversation: id) != nil { return asks(picture, in: id, at: offset, user) }
      return try reads(user, id, offset, picture.id, view) ? .granted : .nothing
    case .profile:
      if isOwn { return .granted }
      return try seesProfilePicture(of: picture.owner, id: picture.id, user, view) ? .granted : .nothing
    }
  }

  /// Only the other of the two is sent on to the conversation: to anybody else it must not show, by how long the answer
  /// takes, that there is the picture.
  private func asks(_ picture: Picture, in id: String, at offset: UInt64, _ user: String) -> PictureSight {
    let isOfTheTwo = CliqueIdentifier.ordered(picture.owner, user).hasSameBytes(as: id)
    return isOfTheTwo ? .asks(conversation: id, offset: offset) : .nothing
  }

  /// Whether somebody reads the message with a picture now, by the rules of its chat.
  func reads(
    _ user: String, _ id: String, _ offset: UInt64, _ picture: String, _ view: any AppView
  ) throws(ClientError) -> Bool {
    let channel = try Channels.chat(id)
    let admission: AppAdmission
    do throws(ClientError) {
      admission = try admit(user, to: channel, view)
    } catch {
      if error.code == ClientError.permissionDenied.code { return false }
      throw error
    }
    guard admission.refusal == nil, let stored = try view.publication(offset, of: channel) else { return false }
    let message = stored.shown(to: user)
    return Self.isMessage(message) && admission.audience?.matches(message) ?? true
      && Self.picture(in: message)?.hasSameBytes(as: picture) ?? false
  }

  /// Whether the message of a picture may still be kept, by its age and place alone; of one elsewhere, by its age.
  private func isInReach(
    _ picture: Picture, in id: String, _ offset: UInt64, _ view: any AppView
  ) throws(ClientError) -> Bool {
    let isYoung = view.now < (picture.sent ?? 0).saturatingAdd(Self.chatLifetime)
    if elsewhere(ofConversation: id) != nil { return isYoung }
    let top = try view.top(of: Channels.chat(id))
    return top < offset || top - offset < UInt64(Self.chatSize) && isYoung
  }

  /// The id of a message's picture; nil: it has none.
  static func picture(in message: Publication) -> String? {
    guard let fields = try? CommandFields(message.data) else { return nil }
    return try? fields.object("picture")?.string("id")
  }

  /// Which of these pictures nobody can ever see again, and what reports keep of them. A gateway asks that may have been away when they were discarded.
  private func gonePictures(_ ids: [String], _ view: any AppView) throws(ClientError) -> AppDecision {
    var gone: [String] = []
    var kept: [KeptPictures] = []
    for id in ids where StatePictureID.isValid(id) {
      if try view.record(Picture.self, Key.picture(id))?.isBarred ?? true { gone.append(id) }
      if let pictures = try view.record(KeptPictures.self, KeptPictures.key(id)) { kept.append(pictures) }
    }
    return Self.answer { writer in
      writer.list("gone") { writer in for id in gone { writer.write(element: id) } }
      if kept.isEmpty { return }
      writer.list("kept") { writer in for pictures in kept { writer.object { Self.write(pictures, &$0) } } }
    }
  }

  private static func write(_ kept: KeptPictures, _ writer: inout JSONWriter) {
    writer.write("id", kept.id)
    writer.list("uploads") { writer in
      for upload in kept.uploads { writer.write(element: Base64.standard.text(upload.upload.bytes)) }
    }
  }

  private static func answer(_ content: (inout JSONWriter) -> Void) -> AppDecision {
    var writer = JSONWriter()
    writer.object(nil, content)
    return AppDecision(reply: writer.bytes)
  }

  // MARK: Their end

  func pictureIsDue(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard var picture = try draft.read(Picture.self, key) else { return }
    if picture.isBarred { return draft.erase(key) }
    switch picture.use {
    case .unsent: try draft.remove(picture)
    case .lent(let lent): try claim(picture, lent, draft)
    case .message(let id, let offset):
      // The message is removed in the same moment, and says no more which picture it had.
      if let ends = picture.ends, ends <= draft.now { return try draft.remove(picture) }
      if let place = elsewhere(ofConversation: id) { return try look(after: picture, in: id, offset, place, draft) }
      try look(after: picture, in: id, offset, draft)
    case .profile:
      picture.due = nil
      draft.write(key, picture)
    }
  }

  /// Discards the picture of a message that is not kept any more.
  private func look(
    after picture: Picture, in id: String, _ offset: UInt64, _ draft: CliqueDraft
  ) throws(ClientError) {
    let channel = try Channels.chat(id)
    let top = try draft.view.top(of: channel)
    guard try isInReach(picture, in: id, offset, draft.view),
      let message = try draft.view.publication(offset, of: channel), Self.isMessage(message)
    else { return try draft.remove(picture) }
    let look = Picture.nextLook(growth: top - offset, sent: picture.sent ?? message.time, now: draft.now)
    var picture = picture
    picture.due = min(look, picture.ends ?? .max)
    draft.write(Key.picture(picture.id), picture)
  }

  func picturesAreDue(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    if let pictures = try draft.read(Pictures.self, key) { draft.write(pictures) }
  }

  /// The picture of a message goes with it.
  func dropPicture(of message: Publication, in id: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let picture = Self.picture(in: message), StatePictureID.isValid(picture) else { return }
    if !isHome { return draft.add(try dropped(picture, of: message, in: id, draft.view)) }
    guard let stored = try draft.read(Picture.self, Key.picture(picture)),
      stored.use == .message(conversation: id, offset: message.offset)
    else { return }
    try draft.remove(stored)
  }

  /// A user's pictures go with the user's data, whatever shows them.
  func forgetPicture(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let picture = try draft.read(Picture.self, key), users.contains(picture.owner) else { return }
    draft.erase(key)
    if picture.isBarred { return }
    draft.add(.discardPictures([picture.id]))
    draft.add(.scrub)
  }

  func forgetPictures(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    if let pictures = try draft.read(Pictures.self, key), users.contains(pictures.user) { draft.erase(key) }
  }

  // MARK: Export

  /// A picture of the user's own, for the export of their data. What others have sent them is the others', as their
  /// messages are.
  public func picture(
    in key: String, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppPicture? {
    guard key.utf8.starts(with: "picture/".utf8), let picture = try view.record(Picture.self, key),
      picture.isWhole, let fileKey = picture.key, picture.owner.hasSameBytes(as: user),
      try sight(of: picture, user, view) == .granted
    else { return nil }
    var other: String?
    if case .message(let id, _) = picture.use, !Self.isGroup(id),
      let pair = try view.record(Pair.self, Key.pair(id)), let side = pair.side(of: user)
    {
      other = pair.user(side.other)
    }
    return AppPicture(
      id: picture.id, type: picture.type, bytes: picture.bytes, owner: picture.owner,
      with: other.flatMap { $0.isEmpty ? nil : $0 }, key: fileKey.bytes)
  }
}
