extension CliqueCommand {
  /// What the caller has begun to write and not sent yet.
  public struct DraftText: Sendable, Equatable {
    public var target: Target
    /// "": nothing, so that what was kept is removed.
    public var text: String
    /// Unicode code points of the text.
    public var characters: Int
    /// The offset of the message that is replied to, from 1; nil: none.
    public var reply: UInt64?
  }
}

extension CliqueCommand.DraftText {
  /// `{"person": user | "conversation": id, "text": …, "reply": offset}`
  init(_ fields: CommandFields, _ target: CliqueCommand.Target) throws(ClientError) {
    guard let text = try fields.text("text") else {
      throw .badRequest.saying("`text` is missing; send what is written so far, or \"\" to remove it")
    }
    let reply = try fields.number("reply")
    if reply == 0 { throw .badRequest.saying("`reply` is the offset of a message, from 1") }
    self.target = target
    self.text = text.string
    characters = text.characters
    self.reply = reply.map(UInt64.init)
  }

  func writeText(to sink: inout some ByteSink) {
    sink.write(text)
    sink.write(UInt64(characters))
    sink.write(reply ?? 0)
  }

  init(_ target: CliqueCommand.Target, textFrom reader: inout ByteReader) throws(MalformedMessage) {
    self.target = target
    text = try reader.readString()
    characters = Int(try reader.readLimit())
    let reply = try reader.readNumber()
    self.reply = reply == 0 ? nil : reply
  }
}
