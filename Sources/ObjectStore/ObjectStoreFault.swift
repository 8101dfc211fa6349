/// Why a store has not done what it was asked for. The description is a sentence for the operator.
public enum ObjectStoreFault: Error, Sendable, Equatable, CustomStringConvertible {
  /// There is no object of that name.
  case missing
  /// The object ends before the bytes that are asked for.
  case outside
  /// The store says no, and will until somebody changes something: the key, its rights, the bucket, the clock.
  case refused(String)
  /// The store does not let this key do it, or does not know how.
  case notAllowed(String)
  /// There is no answer, or none that can be used, and another time there may be one. The store may have done what it was
  /// asked for.
  case unavailable(String)
  /// The configuration cannot be used.
  case invalid(String)

  public var description: String {
    switch self {
    case .missing: "the object is not there"
    case .outside: "the object ends before"
    case .refused(let sentence), .notAllowed(let sentence), .unavailable(let sentence), .invalid(let sentence): sentence
    }
  }

  /// Whether the store may still do, or have done, what it was asked for.
  public var leavesDoubt: Bool { if case .unavailable = self { true } else { false } }
}
