/// The form of a reaction: one character as a reader counts them, such as an emoji.
///
/// One, since a text that people could write to each other would be a way past everything that messages are checked for.
public enum StateReaction {
  /// Most bytes in UTF-8, because one character can be made of very many: an emoji of a family has 25, a flag of a
  /// country's part 28.
  public static let maximumBytes = 64

  public static let malformed = ClientError.badRequest.saying(
    "a reaction is one character of at most \(maximumBytes) bytes, such as an emoji; leave it out to take yours back")

  /// Whether a text is one visible character: no space, and nothing that only changes how others are shown.
  public static func isValid(_ text: String) -> Bool {
    guard text.utf8.count <= maximumBytes, text.count == 1, let first = text.unicodeScalars.first else { return false }
    return switch first.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
      .paragraphSeparator, .nonspacingMark, .enclosingMark, .spacingMark:
      false
    default: true
    }
  }
}
