import Foundation

extension Goal {
  /// A goal as it is written on the command line, which is nearly as reports write it:
  ///
  ///     p99<=5ms                                        by itself
  ///     deliveries/s of fanfare-send >= 40000/s         of another peer than the first
  ///     CPU per delivery <= 1.1x floor                  as a part of another peer's, taken within each round
  ///     p50 <= 200us more than floor                    as the difference to another peer's
  ///
  /// - Parameter peers: that are measured; without `of` the first that is not the floor is meant.
  /// - Throws: a sentence, where the text is none of these, or the scenario has no such figure, peer or unit.
  public init(required text: String, of scenario: Scenario, peers: [String]) throws(BenchError) {
    func wrong(_ sentence: String) -> BenchError { BenchError("the requirement \"\(text)\": \(sentence)") }
    let relations = ["<=", ">=", "≤", "≥"].compactMap { text.firstRange(of: $0) }
    guard let relation = relations.min(by: { $0.lowerBound < $1.lowerBound }) else {
      throw wrong("write it like p99<=5ms, or like 'CPU per delivery <= 1.1x floor'.")
    }
    let isAtMost = ["<=", "≤"].contains(text[relation])
    let usual = peers.first { $0 != "floor" } ?? peers.first ?? "fanfare"
    let (figure, peer) = Self.subject(Self.trimmed(text[..<relation.lowerBound]), peers, usual)
    let right = Self.trimmed(text[relation.upperBound...])
    let digits = right.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard let limit = Double(digits) else {
      throw wrong("\"\(right)\" does not begin with a number; write it like p99<=5ms.")
    }
    self.init(peer: peer, figure: figure, atMost: isAtMost ? limit : nil, atLeast: isAtMost ? nil : limit)
    let rest = Self.trimmed(right[digits.endIndex...])
    if rest.hasPrefix("x") || rest.hasPrefix("×") {
      of = Self.owner(rest.dropFirst())
    } else if let than = rest.firstRange(of: " more than ") {
      (unit, of) = (Self.unit(rest[..<than.lowerBound]), Self.owner(rest[than.upperBound...]))
    } else if !rest.isEmpty {
      unit = Self.unit(rest[...])
    }
    for name in [peer, of].compactMap({ $0 }) where !peers.contains(name) {
      let what = name.isEmpty ? "no peer is named behind the factor" : "\(name) is not measured"
      throw wrong("\(what); measured are \(peers.joined(separator: ", ")).")
    }
    try ScenarioRules.check([self], of: scenario, wrong)
  }

  /// The figure, and the peer where the text ends with ` of ` and one that is measured or known.
  private static func subject(_ text: String, _ peers: [String], _ usual: String) -> (String, String) {
    for name in peers + PeerCatalogue.names where text.hasSuffix(" of \(name)") {
      return (trimmed(text.dropLast(name.count + 4)), name)
    }
    return (text, usual)
  }

  private static func owner(_ text: Substring) -> String {
    let name = trimmed(text)
    return name.hasSuffix("'s") ? String(name.dropLast(2)) : name
  }

  private static func unit(_ text: Substring) -> String { trimmed(text).replacingOccurrences(of: "µs", with: "us") }

  private static func trimmed(_ text: some StringProtocol) -> String { text.trimmingCharacters(in: .whitespaces) }
}
