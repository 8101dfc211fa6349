/// Texts by which people name themselves to others, as far as a text alone can be judged.
public enum PersonalText {
  /// The text without what changes how the text around it is shown, or shows nothing at all: controls, marks that
  /// override the direction of writing, and invisible characters. White space is one space, and none stands at the ends.
  ///
  /// What joins letters or emoji stays, since some scripts cannot be written without it.
  ///
  /// - Returns: "" where nothing is left that can be seen.
  public static func cleaned(_ text: String) -> String {
    var cleaned = String.UnicodeScalarView()
    var isSpaceDue = false
    var isVisible = false
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator, .spaceSeparator:
        isSpaceDue = !cleaned.isEmpty
        continue
      case .surrogate, .privateUse: continue
      case .format where !isJoiner(scalar): continue
      case .format, .nonspacingMark, .enclosingMark, .spacingMark: break
      default: if !scalar.properties.isDefaultIgnorableCodePoint { isVisible = true }
      }
      if isSpaceDue { cleaned.append(" ") }
      isSpaceDue = false
      cleaned.append(scalar)
    }
    return isVisible ? String(cleaned) : ""
  }

  /// Zero width joiner and non-joiner, and the tags by which flags of regions are written.
  private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x200C, 0x200D, 0xE0020...0xE007F: true
    default: false
    }
  }
}
