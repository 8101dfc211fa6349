/// A person's words as an expression of FTS5.
///
/// Each word is quoted, so that nothing a person types is an operator or a mistake in syntax. What separates words is
/// dropped here as the tokenizer does it (`unicode61`: all but letters, marks, numbers and private use); where the two
/// disagree about a rare character, FTS5 takes what stands in quotes for words next to each other.
public struct SearchWords: Sendable {
  /// Words that are searched for; those after them are left out, since more would hardly narrow a search.
  public static let limit = 32

  public private(set) var words: [String] = []

  /// - Parameter text: as a person wrote it.
  public init(_ text: String) { self.init(folded: SearchFolding.folded(text), limit: Self.limit) }

  private init(folded text: String, limit: Int) {
    var word = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if Self.isPartOfWord(scalar) {
        word.append(scalar)
      } else if !word.isEmpty {
        words.append(String(word))
        word = String.UnicodeScalarView()
      }
      if words.count == limit { return }
    }
    if !word.isEmpty { words.append(String(word)) }
  }

  /// The expression for FTS5, in which the last word is a prefix; nil where there is no word.
  public var expression: String? {
    guard !words.isEmpty else { return nil }
    return words.map { "\"\($0)\"" }.joined(separator: " ") + " *"
  }

  /// Whether a text has all the words, the last of them as a prefix. The index says so of all versions of a message
  /// together; this says it of one version.
  ///
  /// - Parameter text: folded (``SearchFolding``).
  public func match(_ text: String) -> Bool {
    guard let last = words.last else { return false }
    let others = SearchWords(folded: text, limit: .max).words
    return words.dropLast().allSatisfy(others.contains) && others.contains { $0.hasPrefix(last) }
  }

  /// Whether each of the words begins a word of the text.
  ///
  /// - Parameter text: as a person wrote it.
  public func beginWords(of text: String) -> Bool {
    let others = SearchWords(folded: SearchFolding.folded(text), limit: .max).words
    return !words.isEmpty && words.allSatisfy { word in others.contains { $0.hasPrefix(word) } }
  }

  private static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
      .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber, .privateUse, .unassigned:
      true
    default: false
    }
  }
}
