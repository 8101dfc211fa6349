// How commands of State are read from JSON. Those that only gateways give are never read from JSON.

extension StateCommand {
  init(_ name: String, _ data: [UInt8], by user: String) throws(ClientError) {
    try UserIdentifier.check(user, most: Self.maximumUserBytes)
    guard let method = Method.named[name] else { throw .methodNotFound }
    let fields = try StateFields(data)
    switch method {
    case .begin: self = .begin(to: try fields.person("to", besides: user))
    case .send: self = .send(try Send(fields, user))
    case .seen: self = .seen(with: try fields.person("with", besides: user))
    case .delivered: self = .delivered(with: try fields.person("with", besides: user))
    case .settings: self = .settings(limit: try fields.number("limit"))
    case .block: self = .block(try fields.person("user", besides: user))
    case .unblock: self = .unblock(try fields.person("user", besides: user))
    case .react:
      let text = try fields.optionalText("reaction")
      if let text, !StateReaction.isValid(text) { throw StateReaction.malformed }
      self = .react(Reaction(with: try fields.person("with", besides: user), text: text))
    case .cancel:
      self = .cancel(Cancel(to: try fields.person("to", besides: user), pictures: try fields.pictures() ?? []))
    case .discard:
      guard let pictures = try fields.pictures() else {
        throw .badRequest.saying("\"pictures\" is missing; name the pictures that are to be discarded")
      }
      self = .discard(pictures)
    case .addPicture, .uploadKey, .pictureKey, .gonePictures, .discardUpload, .lend, .giveBack: throw .methodNotFound
    }
  }
}

extension StateCommand.Send {
  fileprivate init(_ fields: StateFields, _ user: String) throws(ClientError) {
    let to = try fields.text("to")
    front = try fields.text("front")
    rear = try fields.text("rear")
    let caption = try fields.optionalText("caption")
    replyLimit = try fields.number("reply_limit")
    key = try fields.optionalText("key")
    guard StatePictureID.isValid(front), StatePictureID.isValid(rear) else { throw StatePictureID.unknown }
    if let key, key.utf8.count > StateCommand.maximumKeyBytes {
      throw .badRequest.saying("\"key\" has at most \(StateCommand.maximumKeyBytes) bytes; a random UUID is enough")
    }
    self.to = try StateFields.checked(to, besides: user)
    self.caption = caption.map { StateCommand.Caption(text: $0, characters: $0.count) }
  }
}

/// Fields by name, with State's errors.
private struct StateFields {
  private let fields: CommandFields

  private static let wrong = ClientError.badRequest.saying(
    "this is not what the method takes; docs/STATE.md says what is")

  init(_ data: [UInt8]) throws(ClientError) {
    do throws(ClientError) { fields = try CommandFields(data) } catch { throw Self.wrong }
  }

  func text(_ name: StaticString) throws(ClientError) -> String {
    guard fields.has(name) else {
      throw .badRequest.saying("\"\(name)\" is missing; docs/STATE.md says what this method takes")
    }
    do throws(ClientError) { return try fields.string(name) ?? "" } catch { throw Self.wrong }
  }

  /// A text; nil where it is left out or empty.
  func optionalText(_ name: StaticString) throws(ClientError) -> String? {
    do throws(ClientError) {
      return try fields.string(name).flatMap { $0.isEmpty ? nil : $0 }
    } catch { throw Self.wrong }
  }

  func number(_ name: StaticString) throws(ClientError) -> Int64? {
    do throws(ClientError) { return try fields.wholeNumber(name) } catch { throw Self.wrong }
  }

  /// Ids of pictures, each once; nil where they are left out.
  func pictures() throws(ClientError) -> [String]? {
    let ids: [String]?
    do throws(ClientError) { ids = try fields.strings("pictures") } catch { throw Self.wrong }
    guard let ids else { return nil }
    guard ids.count <= StateCommand.maximumDiscarded else {
      throw .badRequest.saying("\"pictures\" has at most \(StateCommand.maximumDiscarded) ids; say it again for more")
    }
    var pictures: [String] = []
    for id in ids {
      guard StatePictureID.isValid(id) else { throw StatePictureID.unknown }
      if !pictures.contains(id) { pictures.append(id) }
    }
    return pictures
  }

  func person(_ name: StaticString, besides user: String) throws(ClientError) -> String {
    try Self.checked(try text(name), besides: user)
  }

  static func checked(_ other: String, besides user: String) throws(ClientError) -> String {
    try UserIdentifier.check(other, most: StateCommand.maximumUserBytes)
    if other.hasSameBytes(as: user) {
      throw .badRequest.saying("a thread is between two people; name somebody else")
    }
    return other
  }
}
