/// What each benchmark may take: the contents of a committed file, with which a change is compared.
public struct Thresholds: Sendable, Equatable, Codable {
  public struct Limit: Sendable, Equatable, Codable {
    public var instructions: Double
    public var allocations: Double

    public init(instructions: Double, allocations: Double) {
      self.instructions = instructions
      self.allocations = allocations
    }
  }

  /// Which counts are compared.
  public enum Kind: String, Sendable, CaseIterable {
    case instructions, allocations, both
  }

  public var about: String
  /// Compiler and processor with which the thresholds were counted: others make other instructions.
  public var countedWith: String
  /// How far instructions may lie above their threshold, in percent. Allocations may not lie above theirs at all.
  public var tolerancePercent: Double
  public var benchmarks: [String: Limit]

  enum CodingKeys: String, CodingKey {
    case about
    case countedWith = "counted_with"
    case tolerancePercent = "tolerance_percent"
    case benchmarks
  }

  public init(about: String, countedWith: String, tolerancePercent: Double, benchmarks: [String: Limit]) {
    self.about = about
    self.countedWith = countedWith
    self.tolerancePercent = tolerancePercent
    self.benchmarks = benchmarks
  }

  /// A count this many percent below its threshold is reported, since a later change could use up the gain unnoticed.
  static let loosePercent = 10.0

  /// Makes the counts the thresholds of their benchmarks, and leaves those of other benchmarks.
  public mutating func take(_ counts: [String: Counts]) {
    for (name, count) in counts {
      benchmarks[name] = Limit(instructions: count.instructions, allocations: count.allocations)
    }
  }

  /// What is wrong with one benchmark's counts, in sentences that say what to do.
  ///
  /// - Parameter toolchain: the toolchain with which the counts were made. Where it is not that of the thresholds,
  ///   instructions cannot be compared: they are reported, and fail nothing. Nil: the same as the thresholds.
  public func findings(
    _ name: String, _ counts: Counts, _ kind: Kind = .both, toolchain: String? = nil
  ) -> [Finding] {
    guard let limit = benchmarks[name] else {
      return [
        .exceeded("\(name) has no threshold; count it with --update and commit the file.")
      ]
    }
    var findings: [Finding] = []
    if kind != .allocations {
      findings += instructionFindings(name, counts.instructions, limit.instructions).map { finding in
        guard let toolchain, toolchain != countedWith else { return finding }
        return .loose("\(finding.sentence) (Counted here with \(toolchain), so this is no failure.)")
      }
    }
    if kind != .instructions { findings += allocationFindings(name, counts.allocations, limit.allocations) }
    return findings
  }

  private func instructionFindings(_ name: String, _ count: Double, _ limit: Double) -> [Finding] {
    if count > limit * (1 + tolerancePercent / 100) {
      return [
        .exceeded(
          "\(name) takes \(shown(count)) instructions; its threshold is \(shown(limit)), and \(shown(tolerancePercent)) % "
            + "more is allowed. Make it cheaper, or say in the commit message why it must cost more and raise the "
            + "threshold with --update. (Thresholds were counted with \(countedWith).)")
      ]
    }
    if count < limit * (1 - Self.loosePercent / 100) {
      return [
        .loose(
          "\(name) takes \(shown(count)) instructions, much less than its threshold of \(shown(limit)); keep what was "
            + "won: lower the threshold with --update.")
      ]
    }
    return []
  }

  private func allocationFindings(_ name: String, _ count: Double, _ limit: Double) -> [Finding] {
    // Counts are rounded to hundredths, so a difference of less than half of one is none.
    if count > limit + 0.005 {
      return [
        .exceeded(
          "\(name) allocates \(shown(count)) times; its threshold is \(shown(limit)), and not one more is allowed. Find "
            + "the new allocation with callgrind_annotate --tree=caller, or say in the commit message why it must be "
            + "and raise the threshold with --update.")
      ]
    }
    if count <= limit - 1 {
      return [
        .loose(
          "\(name) allocates \(shown(count)) times, less than its threshold of \(shown(limit)); keep what was won: lower "
            + "the threshold with --update.")
      ]
    }
    return []
  }

  /// The names of thresholds without a benchmark.
  public func orphans(among names: [String]) -> [String] {
    benchmarks.keys.filter { !names.contains($0) }.sorted()
  }
}

public enum Finding: Sendable, Equatable {
  /// The check fails.
  case exceeded(String)
  /// The threshold could be lower, or belongs to another toolchain: this is reported, and fails nothing.
  case loose(String)

  public var sentence: String {
    switch self {
    case .exceeded(let sentence), .loose(let sentence): sentence
    }
  }

  public var fails: Bool { if case .exceeded = self { true } else { false } }
}

/// The number as text, without decimals that mean nothing.
func shown(_ value: Double) -> String {
  value == value.rounded() ? String(Int64(value)) : String(value)
}
