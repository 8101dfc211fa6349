import Wire

/// Replies and mentions.
extension Clique {
  /// - Parameters:
  ///   - members: of the conversation, as all of them are shown them.
  /// - Throws: where the message refers to what is not in the conversation. One that was published before is not
  ///   looked at again: whom it mentions may have left since.
  func checkExtras(
    of message: CliqueMessage, in channel: ChannelName, of members: [String], _ view: any AppView
  ) throws(ClientError) {
    guard let extras = message.extras,
      try view.offset(ofRepeated: message.key.published, on: channel) == nil
    else { return }
    if let reply = extras.reply, reply > (try view.top(of: channel)) {
      throw ClientError.badRequest.saying("`reply` is beyond the last message; send the offset of one that you got")
    }
    if extras.mentions.contains(where: { !members.containsBytes(of: $0) }) {
      throw ClientError.badRequest.saying("`mentions` names somebody who is not in the conversation; leave them out")
    }
  }

  static let noExtras = ClientError.badRequest.saying(
    "a message of a request has no `reply`, no `mentions` and no `picture`; leave them out")

  /// The tags of a message, with those whom it mentions.
  static func tags(of message: CliqueMessage, _ tags: [String: String] = [:]) -> [String: String] {
    guard let mentions = message.extras?.mentions, !mentions.isEmpty else { return tags }
    return tags.merging([Tag.mentions: mentions.map(Tag.bars).joined()]) { $1 }
  }
}
