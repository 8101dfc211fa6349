@testable import Wire

/// Random trees and publications over few names and values, so that they often meet.
enum TagFilterSamples {
  static let keys = ["a", "b", "user", "key", "é", "e\u{301}"]
  static let values = [
    "", "1", "1.0", "-2", "10", "x", "xy", "yx", "u1", "k1", "é", "e\u{301}", "12345678901234567890.5",
  ]

  static func filter(depth: Int = 4, using random: inout SeededRandom) -> TagFilter {
    func key() -> String { keys[Int.random(in: 0..<keys.count, using: &random)] }
    func value() -> String { values[Int.random(in: 0..<values.count, using: &random)] }
    func count() -> Int { Int.random(in: 0..<4, using: &random) }
    let comparisons: [TagFilter.NumberComparison] = [.greater, .greaterOrEqual, .less, .lessOrEqual]
    switch Int.random(in: depth > 1 ? 0..<10 : 3..<10, using: &random) {
    case 0: return .all((0..<count()).map { _ in filter(depth: depth - 1, using: &random) })
    case 1: return .any((0..<count()).map { _ in filter(depth: depth - 1, using: &random) })
    case 2: return .not(filter(depth: depth - 1, using: &random))
    case 3: return .equal(key: key(), value())
    case 4: return .oneOf(key: key(), (0..<count()).map { _ in value() })
    case 5: return .exists(key: key())
    case 6: return .hasPrefix(key: key(), value())
    case 7: return .hasSuffix(key: key(), value())
    case 8: return .contains(key: key(), value())
    default:
      return .number(key: key(), comparisons[Int.random(in: 0..<comparisons.count, using: &random)], value())
    }
  }

  static func publication(using random: inout SeededRandom) -> Publication {
    var tags: [String: String] = [:]
    for key in keys where Bool.random(using: &random) {
      tags[key] = values[Int.random(in: 0..<values.count, using: &random)]
    }
    let users = ["", "u1", "x"]
    let user = users[Int.random(in: 0..<users.count, using: &random)]
    return Publication(
      data: [], info: Bool.random(using: &random) ? ClientInfo(user: user, client: "c") : nil, tags: tags,
      change: Bool.random(using: &random) ? KeyChange(key: "k1") : nil)
  }
}
