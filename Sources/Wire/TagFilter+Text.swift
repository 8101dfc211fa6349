extension TagFilter {
  /// The condition as people read it: `user is one of "ann", "ben" and not (colour is "red")`.
  ///
  /// Keys and values come from clients, so what a terminal would obey stands in it as `\u{1B}`.
  ///
  /// - Parameter most: bytes after which the text is cut off and ends with `…`.
  public func text(most: Int = 400) -> String {
    var text = ""
    write(to: &text, most: most, isInner: false)
    if text.utf8.count <= most { return text }
    var cut = text
    while cut.utf8.count > most { cut.removeLast() }
    return cut + "…"
  }

  /// Writes until the text is longer than it may be.
  private func write(to text: inout String, most: Int, isInner: Bool) {
    if text.utf8.count > most { return }
    switch self {
    case .all(let filters): Self.write(filters, " and ", "everything", to: &text, most, isInner)
    case .any(let filters): Self.write(filters, " or ", "nothing", to: &text, most, isInner)
    case .not(let filter):
      text += "not ("
      filter.write(to: &text, most: most, isInner: false)
      text += ")"
    case .equal(let key, let value): text += "\(Self.name(key, most)) is \(Self.quoted(value, most))"
    case .oneOf(let key, let values):
      text += "\(Self.name(key, most)) is one of "
      for (index, value) in values.enumerated() where text.utf8.count <= most {
        text += index == 0 ? Self.quoted(value, most) : ", " + Self.quoted(value, most)
      }
    case .exists(let key): text += "has \(Self.name(key, most))"
    case .hasPrefix(let key, let value): text += "\(Self.name(key, most)) begins with \(Self.quoted(value, most))"
    case .hasSuffix(let key, let value): text += "\(Self.name(key, most)) ends with \(Self.quoted(value, most))"
    case .contains(let key, let value): text += "\(Self.name(key, most)) contains \(Self.quoted(value, most))"
    case .number(let key, let comparison, let value):
      text += "\(Self.name(key, most)) \(comparison.sign) \(Self.plain(value, most))"
    }
  }

  private static func write(
    _ filters: [TagFilter], _ word: String, _ none: String, to text: inout String, _ most: Int, _ isInner: Bool
  ) {
    if filters.isEmpty { text += none }
    let isBracketed = isInner && filters.count > 1
    if isBracketed { text += "(" }
    for (index, filter) in filters.enumerated() where text.utf8.count <= most {
      if index > 0 { text += word }
      filter.write(to: &text, most: most, isInner: true)
    }
    if isBracketed { text += ")" }
  }

  /// A key as it is where it is a plain word, and quoted where it is not.
  private static func name(_ key: String, _ most: Int) -> String {
    let isWord =
      !key.isEmpty
      && key.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
    return isWord && key.utf8.count <= most ? key : quoted(key, most)
  }

  private static func quoted(_ value: String, _ most: Int) -> String { "\"\(plain(value, most))\"" }

  /// The text without quotation marks that would end it, and without what does something to a terminal.
  private static func plain(_ value: String, _ most: Int) -> String {
    var plain = ""
    for scalar in value.unicodeScalars {
      // One sign more than may stand there, so that the whole is seen to be cut off.
      if plain.utf8.count > most { break }
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
        plain += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default:
        if scalar == "\"" || scalar == "\\" { plain += "\\" }
        plain.unicodeScalars.append(scalar)
      }
    }
    return plain
  }
}

extension TagFilter.NumberComparison {
  fileprivate var sign: String {
    switch self {
    case .greater: ">"
    case .greaterOrEqual: "≥"
    case .less: "<"
    case .lessOrEqual: "≤"
    }
  }
}
