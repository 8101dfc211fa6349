extension CliqueCommand {
  /// A reaction of the caller to a message.
  public struct React: Sendable, Equatable {
    public var conversation: String
    /// Of the message, from 1.
    public var offset: UInt64
    /// One sign as people read it; "": none any more.
    public var reaction: String

    /// Longest reaction in bytes: most emoji of several people are shorter.
    static let maximumBytes = 32
  }
}

extension CliqueCommand.React {
  /// `{"conversation": id, "offset": n, "reaction": "👍"}`
  init(_ fields: CommandFields, in conversation: String) throws(ClientError) {
    guard let offset = try fields.number("offset"), offset > 0 else {
      throw .badRequest.saying("`offset` is missing; send that of the message, from 1")
    }
    guard let reaction = try fields.string("reaction") else {
      throw .badRequest.saying("`reaction` is missing; send one emoji, or \"\" to take yours back")
    }
    guard reaction.isEmpty || Self.isOneSign(reaction) else {
      throw .badRequest.saying("`reaction` is one emoji or letter of at most \(Self.maximumBytes) bytes")
    }
    self.conversation = conversation
    self.offset = UInt64(offset)
    self.reaction = reaction
  }

  /// Whether a text is what people read as one sign (an extended grapheme cluster, Unicode Annex 29), and visible.
  static func isOneSign(_ text: String) -> Bool {
    guard text.utf8.count <= maximumBytes, text.count == 1, let first = text.unicodeScalars.first else { return false }
    switch first.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator, .spaceSeparator,
      .nonspacingMark, .enclosingMark, .spacingMark:
      return false
    default: return true
    }
  }
}
