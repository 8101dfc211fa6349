/// Which publications of a channel a subscriber wants, or may have: a condition on their tags.
///
/// Two tags need not be written by anybody: `user` is the publisher's user id, `key` the key of a map channel's
/// publication. So one can follow one person in a busy channel.
public indirect enum TagFilter: Sendable, Hashable {
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

  public enum NumberComparison: String, Sendable, Hashable {
    case greater = "gt"
    case greaterOrEqual = "gte"
    case less = "lt"
    case lessOrEqual = "lte"
  }
}
