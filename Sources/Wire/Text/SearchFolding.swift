import Foundation

/// Text as it is searched for: case and accents make no difference.
///
/// The tokenizer of FTS5 makes letters small one by one, so that `STRASSE` and `Straße` would be two words. This is the
/// full case folding of Unicode, as far as `uppercased` and then `lowercased` give it (`ß` is `ss`, `ﬁ` is `fi`, both
/// forms of sigma are one), on letters that were taken apart from their accents. Marks of other scripts are letters of
/// their words and stay.
public enum SearchFolding {
  public static func folded(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
    var folded = String.UnicodeScalarView()
    for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars {
      for upper in scalar.properties.uppercaseMapping.unicodeScalars {
        append(upper.properties.lowercaseMapping, to: &folded)
      }
    }
    // Letters that were taken apart only to drop accents are put together again, such as the syllables of Hangul.
    return String(folded).precomposedStringWithCanonicalMapping
  }

  private static func append(_ mapping: String, to folded: inout String.UnicodeScalarView) {
    for scalar in mapping.unicodeScalars where !isAccent(scalar) { folded.append(scalar) }
  }

  /// The combining diacritical marks of Latin, Greek and Cyrillic letters.
  private static func isAccent(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x300...0x36F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF: true
    default: false
    }
  }
}
