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
  /// - Parameters:
  ///   - offset: of the message, whether it is published now or was before.
  ///   - after: milliseconds after which the message disappears; 0: it stays.
  /// - Throws: error 435 where the picture is not there to be sent.
  func attach(
    _ message: CliqueMessage, in id: String, at offset: UInt64, goesAfter after: Int64, _ call: AppCall,
    _ view: any AppView
  ) throws(ClientError) -> Attachment {
    guard let named = message.extras?.picture else { return .published(payload: message.payload, records: []) }
    if !isHome { return try attachLent(named, to: message, in: id, at: offset, goesAfter: after, call, view) }
    let use = Picture.Use.message(conversation: id, offset: offset)
    let picture = try view.record(Picture.self, Key.picture(named.id))
    if try view.offset(ofRepeated: message.key.published, on: Channels.chat(id)) != nil {
      guard let picture, !picture.isBarred else { return .saidBefore(offset) }
      // The same key with another picture is another message.
      guard picture.use == use, picture.owner.hasSameBytes(as: call.user) else { throw .idempotencyConflict }
      return .published(payload: message.payload(with: picture.look.json(named)), records: [])
    }
    guard var picture, picture.isWhole, picture.use == .unsent, picture.owner.hasSameBytes(as: call.user),
      picture.due ?? .min > view.now
    else { throw StatePictureID.unknown }
    let payload = message.payload(with: picture.look.json(named))
    let ends = after > 0 ? view.now.saturatingAdd(after) : nil
    picture.become(use, sent: view.now, ends: ends, now: view.now)
    let draft = CliqueDraft(view)
    var pictures = try draft.pictures(of: call.user)
    pictures.unsent.removeAll { $0 == named.id }
    return .published(
      payload: payload,
      records: [
        .write(key: Key.picture(named.id), picture), .write(key: Key.pictures(of: call.user), pictures),
      ])
  }

  // MARK: Profiles

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
      picture.use = .profile
      picture.due = nil
      var pictures = try draft.pictures(of: user)
      pictures.unsent.removeAll { $0 == id }
      draft.write(pictures)
    case .profile: return
    case .unsent, .lent, .message: throw StatePictureID.unknown
    }
    draft.write(Key.picture(id), picture)
  }

  /// Discards pictures that no version of a profile shows any more.
  func releaseFromProfile(_ ids: [String], _ draft: CliqueDraft) throws(ClientError) {
    for id in ids {
      guard let picture = try draft.read(Picture.self, Key.picture(id)), picture.use == .profile else { continue }
      try draft.remove(picture)
    }
  }

  /// Whether somebody sees the picture in the version of another's profile that they are shown.
  func seesProfilePicture(
    of owner: String, id: String, _ reader: String, _ view: any AppView
  ) throws(ClientError) -> Bool {
    guard let shown = try profile(of: owner, seenBy: reader, view)?.content.picture else { return false }
    return shown.ids.containsBytes(of: id)
  }
}

extension Clique {
  /// What a message says of its picture.
  struct PictureLook: Codable, Sendable, Equatable {
    var id: String
    var type: String
    var bytes: Int64
    var width: Int
    var height: Int

    func json(_ named: CliqueMessageExtras.Picture) -> [UInt8] {
      var writer = JSONWriter()
      writer.object { writer in
        writer.write("id", id)
        writer.write("type", type)
        writer.write("bytes", bytes)
        writer.write("width", width)
        writer.write("height", height)
        if !named.hash.isEmpty { writer.write("hash", named.hash) }
      }
      return writer.bytes
    }
  }
}

extension Clique.PictureLook {
  /// From a message as it was published; nil: it has no picture.
  init?(of message: Publication) {
    guard let picture = try? CommandFields(message.data).object("picture"), let id = try? picture.string("id"),
      let type = try? picture.string("type"), let bytes = try? picture.number("bytes"),
      let width = try? picture.number("width"), let height = try? picture.number("height")
    else { return nil }
    self.init(id: id, type: type, bytes: bytes, width: Int(width), height: Int(height))
  }
}

extension Clique.Picture {
  var look: Clique.PictureLook { .init(id: id, type: type, bytes: bytes, width: width, height: height) }
}
