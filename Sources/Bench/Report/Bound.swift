/// How a figure that was measured stands to the true one.
enum Bound: String, Codable, Sendable {
  case exact
  /// The true one is as large or larger: the generator, not the server, was the limit.
  case atLeast = "at least"
  /// The true one is as small or smaller: what it was divided by is a lower bound.
  case atMost = "at most"

  /// Stands before a figure.
  var sign: String {
    switch self {
    case .exact: ""
    case .atLeast: "≥ "
    case .atMost: "≤ "
    }
  }

  /// Of a ratio; nil where nothing can be said, because both parts are bounds.
  static func ofRatio(_ value: Bound, to base: Bound) -> Bound? {
    switch (value, base) {
    case (_, .exact): value
    case (.exact, .atLeast): .atMost
    case (.exact, .atMost): .atLeast
    default: nil
    }
  }
}

/// One turn's figure.
struct Reading: Sendable, Equatable {
  var value: Double
  var bound = Bound.exact
}
