/// Which publications of a channel a subscriber wants, or may have: a condition on their tags.
///
/// Two tags need not be written by anybody: `user` is the publisher's user id, `key` the key of a map channel's
/// publication. So one can follow one person in a busy channel.
///
/// Two filters are equal where they are the same tree of the same bytes: subscribers with equal filters share what is
/// sent to them, and an "é" composed otherwise is another text (see ``ChannelName``).
public indirect enum TagFilter: Sendable {
  case all([TagFilter])
  case any([TagFilter])
  case not(TagFilter)
  case equal(key: String, String)
  case oneOf(key: String, [String])
  case exists(key: String)
  case hasPrefix(key: String, String)
  case hasSuffix(key: String, String)
  case contains(key: String, String)
  /// Compares a tag with a number; true only where both are decimal numbers.
  case number(key: String, NumberComparison, String)

  /// Whether the filter looks at one of the tags.
  public func mentions(_ tags: [String]) -> Bool {
    switch self {
    case .all(let filters), .any(let filters): filters.contains { $0.mentions(tags) }
    case .not(let filter): filter.mentions(tags)
    case .equal(let key, _), .oneOf(let key, _), .exists(let key), .hasPrefix(let key, _), .hasSuffix(let key, _),
      .contains(let key, _), .number(let key, _, _):
      tags.contains { $0.hasSameBytes(as: key) }
    }
  }

  /// How many conditions a publication is compared with, each value of a list counted as one.
  public var conditionCount: Int {
    switch self {
    case .all(let filters), .any(let filters): filters.reduce(1) { $0 + $1.conditionCount }
    case .not(let filter): 1 + filter.conditionCount
    case .oneOf(_, let values): 1 + values.count
    case .equal, .exists, .hasPrefix, .hasSuffix, .contains, .number: 1
    }
  }

  public enum NumberComparison: String, Sendable, Hashable {
    case greater = "gt"
    case greaterOrEqual = "gte"
    case less = "lt"
    case lessOrEqual = "lte"
  }
}

extension TagFilter: Hashable {
  /// Compares trees in place: filters are looked up in tables at each subscribe and unsubscribe, with as many
  /// conditions as a client likes, so nothing is copied, and two that differ are told apart where they first do.
  public static func == (a: TagFilter, b: TagFilter) -> Bool {
    switch (a, b) {
    case (.all(let a), .all(let b)), (.any(let a), .any(let b)): a == b
    case (.not(let a), .not(let b)): a == b
    case (.exists(let a), .exists(let b)): a.hasSameBytes(as: b)
    case (.equal(let key, let a), .equal(let other, let b)), (.hasPrefix(let key, let a), .hasPrefix(let other, let b)),
      (.hasSuffix(let key, let a), .hasSuffix(let other, let b)),
      (.contains(let key, let a), .contains(let other, let b)):
      key.hasSameBytes(as: other) && a.hasSameBytes(as: b)
    case (.oneOf(let key, let a), .oneOf(let other, let b)):
      key.hasSameBytes(as: other) && a.elementsEqual(b) { $0.hasSameBytes(as: $1) }
    case (.number(let key, let comparison, let a), .number(let other, let otherComparison, let b)):
      comparison == otherComparison && key.hasSameBytes(as: other) && a.hasSameBytes(as: b)
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .all(let filters): Self.hash(0, filters, into: &hasher)
    case .any(let filters): Self.hash(1, filters, into: &hasher)
    case .not(let filter):
      hasher.combine(2)
      filter.hash(into: &hasher)
    case .equal(let key, let value): Self.hash(3, key, value, into: &hasher)
    case .oneOf(let key, let values):
      Self.hash(4, key, "", into: &hasher)
      for value in values { Self.hash(4, value, "", into: &hasher) }
    case .exists(let key): Self.hash(5, key, "", into: &hasher)
    case .hasPrefix(let key, let value): Self.hash(6, key, value, into: &hasher)
    case .hasSuffix(let key, let value): Self.hash(7, key, value, into: &hasher)
    case .contains(let key, let value): Self.hash(8, key, value, into: &hasher)
    case .number(let key, let comparison, let value):
      hasher.combine(comparison)
      Self.hash(9, key, value, into: &hasher)
    }
  }

  private static func hash(_ kind: Int, _ filters: [TagFilter], into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(filters.count)
    for filter in filters { filter.hash(into: &hasher) }
  }

  /// Hashes the lengths too, so that nobody finds filters of one hash by moving the border between two texts.
  private static func hash(_ kind: Int, _ key: String, _ value: String, into hasher: inout Hasher) {
    hasher.combine(kind | key.utf8.count << 8 | value.utf8.count << 32)
    key.hashBytes(into: &hasher)
    value.hashBytes(into: &hasher)
  }
}

extension TagFilter {
  /// The filter that a publication passes where it passes both; nil passes everything.
  public static func both(_ a: TagFilter?, _ b: TagFilter?) -> TagFilter? {
    guard let a else { return b }
    guard let b else { return a }
    return a == b ? a : .all([a, b])
  }
}
