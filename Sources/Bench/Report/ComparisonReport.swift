import Foundation

/// A comparison for a terminal.
public enum ComparisonReport {
  /// - Parameter showsTurns: each turn's figure stands under its row.
  public static func render(_ comparison: Comparison, showsTurns: Bool = false) -> String {
    var peers: [String] = []
    for row in comparison.rows where !peers.contains(row.peer) { peers.append(row.peer) }
    var parts = [zip(["first:  ", "second: "], comparison.runs).map { $0 + $1 }.joined(separator: "\n")]
    parts += peers.map { peer in table(peer, comparison.rows.filter { $0.peer == peer }, showsTurns) }
    parts.append(notes(comparison).joined(separator: "\n"))
    parts.append(conclusion(comparison))
    return parts.joined(separator: "\n\n") + "\n"
  }

  private static func table(_ peer: String, _ rows: [Comparison.Row], _ showsTurns: Bool) -> String {
    var table = TextTable(header: [peer, "first", "second", "ratio", "99 % interval", "turns", "verdict"])
    for row in rows {
      let mark = row.isByFloor ? " *" : ""
      table.add([
        row.label + mark, median(row.first, row.quantity), median(row.second, row.quantity),
        row.interval.map { factor($0.ratio) + "×" } ?? "–",
        row.interval.map { "\(factor($0.lower))–\(factor($0.upper))" } ?? "–",
        "\(row.compared[0]), \(row.compared[1])", word(row),
      ])
    }
    return showsTurns ? table.text + "\n\n" + rows.map(turns).joined(separator: "\n") : table.text
  }

  private static func turns(_ row: Comparison.Row) -> String {
    func list(_ values: [Double]) -> String { values.map(row.quantity.format).joined(separator: ", ") }
    return "\(row.label)\n  first: \(list(row.first))\n  second: \(list(row.second))"
  }

  private static func median(_ values: [Double], _ quantity: Quantity) -> String {
    Summary.Figure(values).map { quantity.format($0.median) } ?? "–"
  }

  /// A ratio with three digits behind the point: two would hide the difference that is looked for.
  private static func factor(_ value: Double) -> String { String(format: "%.3f", value) }

  static func word(_ row: Comparison.Row) -> String {
    let isLarger = (row.outcome == .better) == row.isBetterLarger
    switch (row.outcome, row.quantity) {
    case (.same, _): return "same"
    case (.undecided, _): return row.reason ?? "too few turns to say"
    case (_, .bytes), (_, .microseconds), (_, .part): return isLarger ? "more" : "less"
    case (.better, _): return "faster"
    case (.worse, _): return "slower"
    }
  }

  // MARK: Sentences

  private static func notes(_ comparison: Comparison) -> [String] {
    var notes: [String] = []
    if comparison.rows.contains(where: \.isByFloor) {
      notes.append("* The ratio is of figures relative to the floor's of the same round.")
    }
    if comparison.rows.contains(where: { !$0.isByFloor && $0.peer != "floor" && $0.quantity.varies }) {
      notes.append(
        "A ratio of a time or a rate without * holds what the machine did otherwise in one run: the floor was not valid "
          + "in \(Comparison.turnsNeeded) rounds of each, or figures were to be taken as they are.")
    }
    if let stamps = comparison.stamps { notes.append("Times are not compared: \(stamps.reason).") }
    for row in comparison.machine where row.outcome == .better || row.outcome == .worse {
      guard let interval = row.interval else { continue }
      notes.append(
        "The machine was not the same: the floor's \(row.label) was \(factor(interval.ratio))× "
          + "(\(factor(interval.lower))–\(factor(interval.upper))) in the second run.")
    }
    notes.append(
      "A difference is named at a risk of 1 in 100 for all \(comparison.rows.count) figures together, from 1 % on.")
    return notes
  }

  /// What came of the comparison, in a sentence or two.
  static func conclusion(_ comparison: Comparison) -> String {
    func list(_ outcome: Comparison.Outcome) -> String {
      comparison.rows.filter { $0.outcome == outcome }.map { row in
        "\(row.label) of \(row.peer) (\(row.interval.map { factor($0.ratio) } ?? "–")×)"
      }.joined(separator: ", ")
    }
    var sentences: [String] = []
    switch comparison.outcome {
    case .worse: sentences.append("Worse: \(list(.worse)).")
    case .better where comparison.rows.contains(where: { $0.outcome == .undecided }):
      sentences.append("Nothing is known to be worse.")
    case .better: sentences.append("Nothing is worse.")
    case .same: sentences.append("The two are the same, within \(Quantity.part.format(comparison.margin)).")
    case .undecided: sentences.append("Nothing is known to be worse.")
    }
    if comparison.rows.contains(where: { $0.outcome == .better }) { sentences.append("Better: \(list(.better)).") }
    let undecided = comparison.rows.filter { $0.outcome == .undecided && $0.reason == nil }
    if !undecided.isEmpty { sentences.append(sentence(undecided, of: comparison.rows.count)) }
    return sentences.joined(separator: " ")
  }

  /// How much may hide in what could not be decided.
  private static func sentence(_ undecided: [Comparison.Row], of count: Int) -> String {
    let few = undecided.filter { $0.interval == nil }
    guard few.isEmpty else {
      return "\(few.count) of \(count) figures have fewer than \(Comparison.turnsNeeded) valid turns in a result: "
        + "measure with more --turns."
    }
    let widest = undecided.compactMap { row in
      row.interval.map { (row, max($0.upper, 1 / max($0.lower, 1e-9))) }
    }.max { $0.1 < $1.1 }
    guard let (row, most) = widest else { return "" }
    return "Of \(undecided.count) of \(count) figures it cannot be said: up to \(factor(most))× may hide in "
      + "\(row.label) of \(row.peer); measure with more --turns, or compare fewer figures with --figures."
  }
}
