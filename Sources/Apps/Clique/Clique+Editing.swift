public import Wire

/// Authors change and remove their messages, within the same rules under which they wrote them.
extension Clique {
  public func edit(_ edit: AppEdit, _ view: any AppView) throws(ClientError) -> AppDecision {
    let (namespace, id) = Self.parts(of: edit.channel)
    guard namespace == "clique.chat" else { throw Self.noConversation }
    let data = try text(of: edit)
    return Self.isGroup(id) ? try editInGroup(id, edit, data, view) : try editInPair(id, edit, data, view)
  }

  private func editInPair(
    _ id: String, _ edit: AppEdit, _ data: [UInt8]?, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard var pair = try view.record(Pair.self, Key.pair(id)), let side = pair.side(of: edit.editor.user)
    else { throw Self.noConversation }
    let sight = pair.state.sight(of: side)
    // After the other has left, the one who stays may still remove messages of their own.
    guard sight == .active || sight == .ended && data == nil else { throw Self.noConversation }
    let change = { (concealment: AppConcealment?) in
      AppEffect.edit(edit.channel, offset: edit.original.offset, data: data, from: concealment)
    }
    if data == nil {
      let draft = CliqueDraft(view)
      try remove(
        [edit.original.offset], in: id, edit.channel, reacted: pair.reacted, readers: [pair.user(side.other)], draft)
      try dropPicture(of: edit.original, in: id, draft)
      return draft.decision()
    }
    let isSeen = edit.original.tags[Tag.only] == nil
    guard isSeen, pair.state.isBlocked(by: side.other) else {
      return AppDecision([change(nil), .touch(id)])
    }
    let author = edit.editor.user
    let concealed = change(AppConcealment(users: [pair.user(side.other)], tags: [Tag.only: author]))
    if pair.hasUnseen { return AppDecision([concealed, .touch(id)]) }
    pair.hasUnseen = true
    return AppDecision([.write(key: Key.pair(id), pair), concealed, .touch(id)])
  }

  private func editInGroup(
    _ id: String, _ edit: AppEdit, _ data: [UInt8]?, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard let group = try view.record(Group.self, Key.group(id)), group.index(of: edit.editor.user) != nil
    else { throw Self.noConversation }
    if data == nil {
      let users = group.members.filter { $0.mark.hasReacted ?? false }.map(\.user)
      let readers = group.present.map(\.user).filter { !$0.hasSameBytes(as: edit.editor.user) }
      let draft = CliqueDraft(view)
      try remove([edit.original.offset], in: id, edit.channel, reacted: users, readers: readers, draft)
      try dropPicture(of: edit.original, in: id, draft)
      return draft.decision()
    }
    let hiddenBefore = edit.original.tags[Tag.hidden] ?? ""
    var concealment: AppConcealment?
    let users = group.hidden(from: edit.editor.user).filter { !hiddenBefore.contains(Tag.bars($0)) }
    if !users.isEmpty {
      concealment = AppConcealment(users: users, tags: [Tag.hidden: hiddenBefore + users.map(Tag.bars).joined()])
    }
    return AppDecision([
      .edit(edit.channel, offset: edit.original.offset, data: data, from: concealment), .touch(id),
    ])
  }

  /// The message with its new text, and all else as it was; nil: the message is to be removed.
  private func text(of edit: AppEdit) throws(ClientError) -> [UInt8]? {
    let original = try CommandFields(edit.original.data)
    guard try original.text("text") != nil else {
      throw ClientError.badRequest.saying("this is not a message; only messages can be changed")
    }
    guard let data = edit.data else { return nil }
    let picture = original.raw(object: "picture")
    // Beside a picture, there need be no text.
    guard let text = try CommandFields(data).text("text"), !text.raw.isEmpty || picture != nil else {
      throw ClientError.badRequest.saying("`text` is missing or empty; send the new text")
    }
    try check(text.characters, isRequest: false)
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("text", text.string)
      if let key = try? original.string("key") { writer.write("key", key) }
      if let reply = try? original.number("reply") { writer.write("reply", reply) }
      if let from = try? original.string("from") { writer.write("from", from) }
      if let sent = try? original.number("sent") { writer.write("sent", sent) }
      if let picture { writer.write("picture", raw: picture) }
      if let expires = edit.original.vanishes { writer.write("expires", expires) }
    }
    return writer.bytes
  }
}
