import Wire

extension SearchWords {
  /// Whether FTS5 has to put the list of all messages with this prefix together: longer ones have no index.
  var hasLongPrefix: Bool { words.last?.unicodeScalars.count ?? 0 > IndexFile.longestPrefix }
}
