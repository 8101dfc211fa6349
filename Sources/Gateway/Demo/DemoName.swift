/// Whom a name on the demo's page stands for: pure.
struct DemoName: Equatable {
  /// Why a name is not taken. The description is a sentence for whoever typed it.
  enum Refusal: Error, Equatable, CustomStringConvertible {
    case empty, tooLong, character

    var description: String {
      switch self {
      case .empty: "type a name, for example Ada"
      case .tooLong: "this name is too long; take one of at most \(DemoName.mostCharacters) letters"
      case .character: "a name here holds letters, digits, spaces, - and ' only; leave the rest out"
      }
    }
  }

  static let mostCharacters = 40
  /// Letters of many scripts have three or four bytes, and those with marks more; user ids stand in names of channels.
  static let mostBytes = 120

  /// As it is shown: without spaces around it, and with one where there were more.
  let name: String
  /// The user's id. It has none of the characters that mean something in a channel's name.
  let user: String

  init(_ text: String) throws(Refusal) {
    // Before anything else is done with it, so that a long text costs no more than a short one.
    guard text.utf8.count <= 4 * Self.mostBytes else { throw .tooLong }
    let words = text.split(separator: " ")
    let name = words.joined(separator: " ")
    guard !name.isEmpty else { throw .empty }
    guard name.count <= Self.mostCharacters, name.utf8.count <= Self.mostBytes else { throw .tooLong }
    guard name.unicodeScalars.allSatisfy({ Self.isPartOfWord($0) || " -'".unicodeScalars.contains($0) }) else {
      throw .character
    }
    let parts = name.lowercased().unicodeScalars.split { !Self.isPartOfWord($0) }
    let user = parts.map { String($0) }.joined(separator: "-")
    guard !user.isEmpty else { throw .empty }
    guard user.utf8.count <= Self.mostBytes else { throw .tooLong }
    self.name = name
    self.user = user
  }

  /// Letters, their marks, and digits, of any script.
  private static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
      .spacingMark, .decimalNumber:
      true
    default: false
    }
  }
}
