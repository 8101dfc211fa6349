/// What a result comes to, as its JSON has it beside the turns: for whoever reads the file without this program.
///
/// It is worked out of the turns anew each time a result is written, and is not read back.
struct ResultFigures: Encodable {
  struct Figure: Encodable {
    var peer: String
    /// A row of the table.
    var figure: String
    /// Bytes, seconds, nanoseconds, a rate per second, or a part of 1.
    var unit: String
    var median: Double
    var least: Double
    var most: Double
    /// Of the median: `exact`, `at least` or `at most`.
    var bound: Bound
    /// Why it is not exact.
    var reason: String?
    /// How many turns it is of: valid ones, of so many that were measured. With 0 valid ones it is of turns with faults.
    var validTurns: Int
    var measuredTurns: Int
  }

  /// The peers of each round, in the order in which they were measured.
  var order: [[String]]
  var figures: [Figure]

  init(_ result: RunResult) {
    let summary = Summary(result)
    order = result.order
    figures = summary.rows.flatMap { row in
      summary.peers.compactMap { peer in
        row.figures[peer].map { figure in
          Figure(
            peer: peer, figure: row.metric.label, unit: row.metric.quantity.unit, median: figure.median,
            least: figure.least, most: figure.most, bound: figure.bound,
            reason: figure.bound == .exact ? nil : result.openings(of: peer), validTurns: figure.valid,
            measuredTurns: figure.measured)
        }
      }
    }
  }
}

/// A result's own keys, and beside them those of ``ResultFigures``.
struct WrittenResult: Encodable {
  fileprivate let result: RunResult

  func encode(to encoder: any Encoder) throws {
    try result.encode(to: encoder)
    try ResultFigures(result).encode(to: encoder)
  }
}

extension RunResult {
  /// The result with what it comes to, as its JSON has it.
  var written: WrittenResult { WrittenResult(result: self) }

  /// Why knees of a peer are lower bounds, as a phrase; nil where none is.
  func openings(of peer: String) -> String? {
    var reasons: [String] = []
    for turn in turns where turn.peer == peer {
      if let reason = turn.opening(scenario)?.reason, !reasons.contains(reason) { reasons.append(reason) }
    }
    return reasons.isEmpty ? nil : reasons.joined(separator: ", or ")
  }

  /// Of each turn whose knee is a lower bound, a sentence without its end.
  var openingNotes: [String] {
    turns.compactMap { turn in
      guard let opening = turn.opening(scenario) else { return nil }
      let place =
        switch opening {
        case .generator(let rate), .unknown(let rate): " in the step of \(Quantity.rate.format(rate))/s"
        case .ramp: "; let it go further"
        }
      return "\(turn.peer), turn \(turn.number): the knee is a lower bound: \(opening.reason)\(place)"
    }
  }
}

extension RunResult {
  /// What a result of an earlier version does not know, and this one's figures depend on: sentences without their end.
  var unknowns: [String] {
    let steps = turns.flatMap(\.steps)
    var sentences: [String] = []
    let unsaid = steps.count { $0.generatorWasLimit == nil }
    if unsaid > 0 {
      sentences.append(
        "the result is of an earlier version, which does not say of \(unsaid) of \(steps.count) steps whether the "
          + "generator was their limit; measure anew to know it")
    }
    let groups = (turns.compactMap(\.report) + steps.map(\.report)).flatMap(\.groups)
    if groups.contains(where: { $0.lostBefore == nil }) {
      sentences.append(
        "the result is of an earlier version, which does not say whether deliveries of the warm-up were lost")
    }
    return sentences
  }
}

extension Quantity {
  /// What figures are in, as JSON names it.
  var unit: String {
    switch self {
    case .nanoseconds: "nanoseconds"
    case .seconds, .microseconds: "seconds"
    case .rate: "per second"
    case .bytes: "bytes"
    case .part: "part of 1"
    case .ratio: "ratio"
    }
  }
}
