extension CliqueCommand {
  /// How the caller wants to keep a conversation in their list. What is nil stays as it is; something is not.
  public struct Keep: Sendable, Equatable {
    public var target: Target
    public var isMuted: Bool?
    public var isArchived: Bool?
    public var isPinned: Bool?
  }
}

extension CliqueCommand.Keep {
  /// `{"person": user | "conversation": id, "muted": …, "archived": …, "pinned": …}`
  init(_ fields: CommandFields, _ target: CliqueCommand.Target) throws(ClientError) {
    self.target = target
    isMuted = try fields.boolean("muted")
    isArchived = try fields.boolean("archived")
    isPinned = try fields.boolean("pinned")
    if isMuted == nil, isArchived == nil, isPinned == nil {
      throw .badRequest.saying("say `muted`, `archived` or `pinned`, each true or false")
    }
    if isArchived == true, isPinned == true {
      throw .badRequest.saying("a conversation is archived or pinned, not both; send one of them")
    }
  }

  func writeFlags(to sink: inout some ByteSink) {
    for flag in [isMuted, isArchived, isPinned] { sink.write(byte: flag.map { $0 ? 2 : 1 } ?? 0) }
  }

  init(_ target: CliqueCommand.Target, flagsFrom reader: inout ByteReader) throws(MalformedMessage) {
    func flag(_ byte: UInt8) throws(MalformedMessage) -> Bool? {
      guard byte <= 2 else { throw MalformedMessage() }
      return byte == 0 ? nil : byte == 2
    }
    self.target = target
    isMuted = try flag(try reader.readByte())
    isArchived = try flag(try reader.readByte())
    isPinned = try flag(try reader.readByte())
  }
}
