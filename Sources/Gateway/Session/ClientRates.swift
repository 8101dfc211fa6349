public import Wire

/// What is counted of a client.
public enum RateKind: Int, CaseIterable, Sendable {
  /// Whatever the client sends and expects something of, each counting one; the kinds below count on top of it.
  case commands
  /// Publications, writes of maps, edits and receipts.
  case publications
  /// Bytes of messages, as they come.
  case bytes
  case subscribes
  case cliqueCalls
  case stateCalls
  case pushCalls

  /// The name as in `client.limits.commands_per_second`, and in the metrics.
  public var name: String {
    switch self {
    case .commands: "commands"
    case .publications: "publications"
    case .bytes: "bytes"
    case .subscribes: "subscribes"
    case .cliqueCalls: "clique_calls"
    case .stateCalls: "state_calls"
    case .pushCalls: "push_calls"
    }
  }
}

/// A rate for each kind of what a client does.
public struct ClientRates: Sendable, Equatable {
  private var limits: [RateLimit]

  /// Nothing is limited.
  public init() { limits = RateKind.allCases.map { _ in .unlimited } }

  public subscript(kind: RateKind) -> RateLimit {
    get { limits[kind.rawValue] }
    set { limits[kind.rawValue] = newValue }
  }

  public var isUnlimited: Bool { limits.allSatisfy(\.isUnlimited) }
}

/// Where a connection stands with its rates, or a user with theirs.
struct RateLevels {
  private var levels: [TokenLevel]

  init(_ rates: ClientRates) { levels = RateKind.allCases.map { TokenLevel(rates[$0]) } }

  /// As ``TokenLevel/charge(_:of:at:)``.
  mutating func charge(_ count: Int, _ kind: RateKind, of rates: ClientRates, at milliseconds: Int64) -> Int64 {
    levels[kind.rawValue].charge(count, of: rates[kind], at: milliseconds)
  }

  /// As ``TokenLevel/reserve(_:of:within:at:)``.
  mutating func reserve(
    _ count: Int, _ kind: RateKind, of rates: ClientRates, within longest: Int64, at milliseconds: Int64
  ) -> Int64? {
    levels[kind.rawValue].reserve(count, of: rates[kind], within: longest, at: milliseconds)
  }

  /// Milliseconds until nothing of the kind is owed.
  mutating func debt(_ kind: RateKind, of rates: ClientRates, at milliseconds: Int64) -> Int64 {
    levels[kind.rawValue].debt(of: rates[kind], at: milliseconds)
  }
}

/// Which limit was hit, for the log.
struct RateCause {
  static func connection(_ kind: RateKind) -> RefusalCause {
    RefusalCause(
      "connection_\(kind.name)",
      "a client is read later, because it is faster than client.limits.\(kind.name)_per_second allows one connection")
  }

  static func user(_ kind: RateKind) -> RefusalCause {
    RefusalCause(
      "user_\(kind.name)",
      "a user's clients are read later, because together they are faster than client.user_limits.\(kind.name)_per_second"
    )
  }

  static func refused(_ kind: RateKind) -> RefusalCause {
    RefusalCause(
      "user_\(kind.name)_refused",
      "commands of a user were refused with error 111, who went on over several connections beyond client.user_limits.\(kind.name)_per_second"
    )
  }
}
