extension CliqueCommand {
  /// After which time messages of a conversation are to disappear.
  public struct Disappear: Sendable, Equatable {
    public var target: Target
    /// Milliseconds, from ``shortest`` to ``longest``; 0: messages stay.
    public var after: Int64

    public static let shortest: Int64 = 60_000
    public static let longest: Int64 = 30 * 86_400_000
  }
}

extension CliqueCommand.Disappear {
  /// `{"person": user | "conversation": id, "after": milliseconds}`
  init(_ fields: CommandFields, _ target: CliqueCommand.Target) throws(ClientError) {
    guard let after = try fields.number("after") else {
      throw .badRequest.saying("`after` is missing; say after how many milliseconds messages disappear, or 0 for never")
    }
    guard after == 0 || (Self.shortest...Self.longest).contains(after) else {
      throw .badRequest.saying(
        "`after` is in milliseconds, from \(Self.shortest) (a minute) to \(Self.longest) (30 days), or 0 for never")
    }
    self.target = target
    self.after = after
  }

  init(_ target: CliqueCommand.Target, afterFrom reader: inout ByteReader) throws(MalformedMessage) {
    self.target = target
    after = Int64(bitPattern: try reader.readNumber())
    guard after == 0 || (Self.shortest...Self.longest).contains(after) else { throw MalformedMessage() }
  }
}
