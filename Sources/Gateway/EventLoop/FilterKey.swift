import Wire

/// A filter as a key of tables, which is hashed once and not at each look.
///
/// A client's filter may have a hundred conditions, and where a subscriber comes and goes it is looked up in several
/// tables: a thousand clients that come and go with filters of their own would keep their event loop hashing.
struct FilterKey: Hashable {
  let filter: TagFilter
  private let digest: Int
  /// How many conditions the filter holds a publication against, and how many values those name, together.
  let conditions: Int

  init(_ filter: TagFilter) {
    self.filter = filter
    digest = filter.hashValue
    conditions = filter.conditionCount
  }

  init?(_ filter: TagFilter?) {
    guard let filter else { return nil }
    self.init(filter)
  }

  static func == (a: FilterKey, b: FilterKey) -> Bool { a.digest == b.digest && a.filter == b.filter }

  func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
