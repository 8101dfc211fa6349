extension String {
  /// The beginning of a text that somebody else chose, for a line of a log or a list that is kept. It is counted in
  /// bytes, because one character may be made of any number of them: a letter with a million accents is one.
  ///
  /// - Returns: no more than so many bytes, and whole Unicode scalars.
  public func beginning(bytes limit: Int) -> String {
    guard var end = utf8.index(utf8.startIndex, offsetBy: limit, limitedBy: utf8.endIndex) else { return self }
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(self[..<end])
  }
}
