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
  /// True only where both are decimal numbers.
  case number(key: String, NumberComparison, String)

  /// Whether it looks at one of the tags.
  public func mentions(_ tags: [String]) -> Bool {
    switch self {
    case .all(let filters), .any(let filters): filters.contains { $0.mentions(tags) }
    case .not(let filter): filter.mentions(tags)
    case .equal(let key, _), .oneOf(let key, _), .exists(let key), .hasPrefix(let key, _), .hasSuffix(let key, _),
      .contains(let key, _), .number(let key, _, _):
      tags.contains { $0.hasSameBytes(as: key) }
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
  public static func == (a: TagFilter, b: TagFilter) -> Bool { a.encoded == b.encoded }

  public func hash(into hasher: inout Hasher) {
    unsafe encoded.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
  }
}

extension TagFilter {
  /// What passes both; nil passes everything.
  public static func both(_ a: TagFilter?, _ b: TagFilter?) -> TagFilter? {
    guard let a else { return b }
    guard let b else { return a }
    return a == b ? a : .all([a, b])
  }
}
