/// What a thread is for one of its two people: always exactly one of these.
///
/// Each phase ends at a time of its own (``StateRules``), except *idle*, which ends only when somebody sends.
public enum StatePhase: String, Sendable, Codable, CaseIterable {
  /// Nothing is open. Until somebody sends.
  case idle
  /// What I sent is sealed, and their answer is awaited. Until they answer, or until the deadline.
  case sent
  /// What they sent is sealed, and my answer is awaited. Until I answer, or until the deadline.
  case received
  /// Both were exchanged and can be seen. Until its end, or until one of the two sends again.
  case revealed
  /// Nobody answered in time, so nobody ever sees what was sent. Until the thread is looked at, or until its end.
  case expired

  /// The colour of the dot in a thread list, as CSS writes it.
  public var colour: String {
    switch self {
    case .idle: "#9AA0A6"
    case .sent: "#F5A623"
    case .received: "#2F80ED"
    case .revealed: "#27AE60"
    case .expired: "#EB5757"
    }
  }
}

/// One of a thread's two people.
public enum StateSide: String, Sendable, Codable, CaseIterable {
  /// The person whose user id comes first, compared byte by byte.
  case low
  case high

  public var other: StateSide { self == .low ? .high : .low }
}

/// A value for each of a thread's two people.
public struct Both<Value> {
  public var low: Value
  public var high: Value

  public init(low: Value, high: Value) {
    self.low = low
    self.high = high
  }

  public init(_ value: Value) { self.init(low: value, high: value) }

  public subscript(side: StateSide) -> Value {
    get { side == .low ? low : high }
    set { if side == .low { low = newValue } else { high = newValue } }
  }
}

extension Both: Sendable where Value: Sendable {}
extension Both: Equatable where Value: Equatable {}
extension Both: Hashable where Value: Hashable {}
extension Both: Codable where Value: Codable {}
