import Wire

/// What pictures are used for: messages, and profiles.
extension Clique {
  // MARK: Messages

  /// What a message's picture means for the decision that publishes it.
  enum Attachment {
    /// - records: what is written with the publication of this payload.
    case published(payload: [UInt8], records: [AppEffect])
    /// The message was published before at the offset, and its picture is gone since: nothing is left to compare.
    case saidBefore(UInt64)
  }

  /// Looks up the picture of a message that is published at an offset.
  ///
  /// - Parameter offset: of the message, whether it is published now or was before.
  /// - Throws: error 435 where the picture is not there to be sent.
  func attach(
    _ message: CliqueMessage, in id: String, at offset: UInt64, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> Attachment {
    guard let named = message.extras?.picture else { return .published(payload: message.payload, records: []) }
    let use = Picture.Use.message(conversation: id, offset: offset)
    let picture = try view.record(Picture.self, Key.picture(named.id))
    if try view.offset(ofRepeated: message.key.published, on: Channels.chat(id)) != nil {
      guard let picture, !picture.isBarred else { return .saidBefore(offset) }
      // The same key with another picture is another message.
      guard picture.use == use, picture.owner.hasSameBytes(as: call.user) else { throw .idempotencyConflict }
      return .published(payload: message.payload(with: Self.json(of: picture, named)), records: [])
    }
    guard var picture, picture.isWhole, picture.use == .unsent, picture.owner.hasSameBytes(as: call.user),
      picture.due ?? .min > view.now
    else { throw StatePictureID.unknown }
    let payload = message.payload(with: Self.json(of: picture, named))
    picture.use = use
    picture.sent = view.now
    picture.due = Picture.nextLook(growth: 0, sent: view.now, now: view.now)
    let draft = CliqueDraft(view)
    var pictures = try draft.pictures(of: call.user)
    pictures.unsent.removeAll { $0 == named.id }
    return .published(
      payload: payload,
      records: [
        .write(key: Key.picture(named.id), picture), .write(key: Key.pictures(of: call.user), pictures),
      ])
  }

  private static func json(of picture: Picture, _ named: CliqueMessageExtras.Picture) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("id", picture.id)
      writer.write("type", picture.type)
      writer.write("bytes", picture.bytes)
      writer.write("width", picture.width)
      writer.write("height", picture.height)
      if !named.hash.isEmpty { writer.write("hash", named.hash) }
    }
    return writer.bytes
  }

  // MARK: Profiles

  /// The holder of a picture that a person's profile shows now. Others are chosen by whoever keeps an older profile for
  /// somebody, for example `frozen/` and the id of a conversation.
  static let profileHolder = "profile"

  /// Makes an uploaded picture one of a person's profile. One that the profile has already stays.
  ///
  /// - Parameters:
  ///   - small: another uploaded picture, which lists show; nil: none.
  ///   - user: whose profile it is.
  /// - Throws: error 435 where one of them is not there to be used, 107 where the small one is too large.
  func useForProfile(
    _ id: String, small: String?, by user: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    if let small, small == id {
      throw ClientError.badRequest.saying("the small picture is one of its own; upload it under another id")
    }
    try useForProfile(id, by: user, isSmall: false, draft)
    if let small { try useForProfile(small, by: user, isSmall: true, draft) }
  }

  private func useForProfile(
    _ id: String, by user: String, isSmall: Bool, _ draft: CliqueDraft
  ) throws(ClientError) {
    guard StatePictureID.isValid(id), var picture = try draft.read(Picture.self, Key.picture(id)), picture.isWhole,
      picture.owner.hasSameBytes(as: user)
    else { throw StatePictureID.unknown }
    let most = Picture.smallPixels
    if isSmall, picture.bytes > Picture.smallBytes || picture.width > most || picture.height > most {
      throw ClientError.badRequest.saying(
        "a picture for lists has at most \(Picture.smallBytes / 1024) KiB and \(most) pixels a side; make it smaller")
    }
    switch picture.use {
    case .unsent where picture.due ?? .min > draft.now:
      picture.use = .profile(holders: [Self.profileHolder])
      picture.due = nil
      var pictures = try draft.pictures(of: user)
      pictures.unsent.removeAll { $0 == id }
      draft.write(pictures)
    case .profile(let holders):
      picture.use = .profile(
        holders: holders.containsBytes(of: Self.profileHolder) ? holders : holders + [Self.profileHolder])
    case .unsent, .message: throw StatePictureID.unknown
    }
    draft.write(Key.picture(id), picture)
  }

  /// Keeps pictures of a profile for one holder more. Those that are none are passed over.
  func holdForProfile(_ ids: [String], as holder: String, _ draft: CliqueDraft) throws(ClientError) {
    for id in ids {
      guard var picture = try draft.read(Picture.self, Key.picture(id)), case .profile(let holders) = picture.use,
        !holders.containsBytes(of: holder)
      else { continue }
      picture.use = .profile(holders: holders + [holder])
      draft.write(Key.picture(id), picture)
    }
  }

  /// A holder lets go of pictures of a profile. Those that nobody holds any more are discarded.
  func releaseFromProfile(
    _ ids: [String], as holder: String = Clique.profileHolder, _ draft: CliqueDraft
  ) throws(ClientError) {
    for id in ids {
      guard var picture = try draft.read(Picture.self, Key.picture(id)), case .profile(var holders) = picture.use
      else { continue }
      holders.drop(holder)
      if holders.isEmpty {
        try draft.remove(picture)
      } else {
        picture.use = .profile(holders: holders)
        draft.write(Key.picture(id), picture)
      }
    }
  }

  /// Whether somebody sees the picture of another's profile. Nobody does before profiles say who sees them.
  func seesProfilePicture(
    of owner: String, id: String, _ reader: String, _ view: any AppView
  ) throws(ClientError) -> Bool { owner.hasSameBytes(as: reader) }
}
