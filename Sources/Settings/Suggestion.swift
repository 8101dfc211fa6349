/// Finds what somebody probably meant.
enum Suggestion {
  /// - Parameters:
  ///   - word: what was written.
  ///   - candidates: what could have been.
  static func nearest(to word: String, among candidates: some Collection<String>) -> String? {
    let plain = plain(word)
    if let same = candidates.first(where: { Self.plain($0) == plain }) { return same }
    let limit = max(1, word.count / 4)
    return
      candidates
      .map { (candidate: $0, distance: distance(plain, Self.plain($0))) }
      .filter { $0.distance <= limit }
      .min { ($0.distance, $0.candidate) < ($1.distance, $1.candidate) }?
      .candidate
  }

  /// The word in small letters without separators: `pingInterval`, `ping-interval` and `PING_INTERVAL` are one word.
  private static func plain(_ word: String) -> String {
    String(word.prefix(100).lowercased().filter { $0 != "_" && $0 != "-" })
  }

  /// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
  private static func distance(_ a: String, _ b: String) -> Int {
    let a = Array(a)
    let b = Array(b)
    var beforeLast = Array(repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var best = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, beforeLast[j - 1] + 1) }
        row.append(best)
      }
      (beforeLast, last) = (last, row)
    }
    return last[b.count]
  }
}
