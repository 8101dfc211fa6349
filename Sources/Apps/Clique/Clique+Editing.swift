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
    // Who stays in what has ended may still remove what they said.
    guard sight == .active || sight == .ended && data == nil else { throw Self.noConversation }
    let isSeen = edit.original.tags[Tag.only] == nil
    guard let data, isSeen, pair.state.isBlocked(by: side.other) else {
      return AppDecision([.edit(edit.channel, offset: edit.original.offset, data: data), .touch(id)])
    }
    let own = Self.notice(of: edit, data, tags: [Tag.only: edit.editor.user])
    if pair.hasUnseen { return AppDecision([own, .touch(id)]) }
    pair.hasUnseen = true
    return AppDecision([.write(key: Key.pair(id), pair), own, .touch(id)])
  }

  private func editInGroup(
    _ id: String, _ edit: AppEdit, _ data: [UInt8]?, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard let group = try view.record(Group.self, Key.group(id)), group.index(of: edit.editor.user) != nil
    else { throw Self.noConversation }
    let hidden = group.hidden(from: edit.editor.user)
    let hiddenBefore = edit.original.tags[Tag.hidden] ?? ""
    if let data, hidden.contains(where: { !hiddenBefore.contains(Tag.bars($0)) }) {
      return AppDecision([Self.notice(of: edit, data, tags: Self.tags(hiddenFrom: hidden)), .touch(id)])
    }
    return AppDecision([.edit(edit.channel, offset: edit.original.offset, data: data), .touch(id)])
  }

  /// Says that a message was changed, and leaves the message as it is: the history is the same for all, and somebody
  /// whom a block stands before must not read there what was written since.
  private static func notice(of edit: AppEdit, _ data: [UInt8], tags: [String: String]) -> AppEffect {
    var tags = tags
    tags["edits"] = String(edit.original.offset)
    return .publish(AppPublication(channel: edit.channel, data: data, info: edit.editor, tags: tags))
  }

  /// The message with its new text, and all else as it was; nil: it is to be removed.
  private func text(of edit: AppEdit) throws(ClientError) -> [UInt8]? {
    let original = try CliqueArguments(edit.original.data)
    guard try original.text("text") != nil else {
      throw ClientError.badRequest.saying("this is not a message; only messages can be changed")
    }
    guard let data = edit.data else { return nil }
    guard let text = try CliqueArguments(data).text("text"), !text.raw.isEmpty else {
      throw ClientError.badRequest.saying("`text` is missing or empty; send the new text")
    }
    try check(text, isRequest: false)
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("text", text.string)
      if let key = try? original.string("key") { writer.write("key", key) }
      if let from = try? original.string("from") { writer.write("from", from) }
      if let sent = try? original.number("sent") { writer.write("sent", sent) }
    }
    return writer.bytes
  }
}
