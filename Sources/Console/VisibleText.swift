extension String {
  /// The text without what would move a terminal's cursor, change its colours or hide a part of the text: clients choose
  /// names. A question mark stands in the place of each.
  public var visible: String {
    if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return self }
    return String(String.UnicodeScalarView(unicodeScalars.map { Self.isVisible($0) ? $0 : "?" }))
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: false
    default: true
    }
  }
}
