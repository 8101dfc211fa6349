/// What gateways ask of pictures that are at home, for conversations of other partitions
/// (docs/decisions/0074-clique-in-all-partitions.md).
extension CliqueCommand {
  /// A picture that is at home, and is to be sent in a conversation of another partition.
  public struct Lending: Sendable, Equatable {
    /// The id of two people's conversation.
    public var conversation: String
    public var picture: String
    /// Tells one attempt to send it from others: random.
    public var attempt: UInt64

    public init(conversation: String, picture: String, attempt: UInt64) {
      self.conversation = conversation
      self.picture = picture
      self.attempt = attempt
    }
  }

  /// A picture that is in a message, as home says.
  public struct PictureReading: Sendable, Equatable {
    public var conversation: String
    /// The message's.
    public var offset: UInt64
    public var picture: String

    public init(conversation: String, offset: UInt64, picture: String) {
      self.conversation = conversation
      self.offset = offset
      self.picture = picture
    }
  }
}

// MARK: On the link

extension CliqueCommand.Lending {
  func write(to sink: inout some ByteSink) {
    sink.write(conversation)
    sink.write(picture)
    sink.write(attempt)
  }

  init(from reader: inout ByteReader) throws(MalformedMessage) {
    self.init(
      conversation: try reader.readConversation(), picture: try reader.readString(), attempt: try reader.readNumber())
  }
}

extension CliqueCommand.PictureReading {
  func write(to sink: inout some ByteSink) {
    sink.write(conversation)
    sink.write(offset)
    sink.write(picture)
  }

  init(from reader: inout ByteReader) throws(MalformedMessage) {
    self.init(
      conversation: try reader.readConversation(), offset: try reader.readNumber(), picture: try reader.readString())
  }
}
