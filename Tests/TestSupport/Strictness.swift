public import Foundation
public import Testing

/// What a machine may lack, and a test needs.
public enum Need: String, CaseIterable, Sendable {
  /// Batched sends; containers often forbid them.
  case ioUring = "io_uring"
  /// Mounting a small file system: root, and the right to mount.
  case tmpfs
  /// A libzmq that encrypts.
  case curve
  /// The servers that Fanfare is measured against.
  case peers
  /// The WebSocket conformance suite.
  case autobahn
  /// Instructions that the counts of the hot path were made with; `.ci/run` looks at this one.
  case avx2
}

/// Whether a test may be left out. With `FANFARE_STRICT=1`, as in CI, it may not: what would be skipped, or replaced by
/// less, runs and fails. What a kind of machine cannot have is named in `FANFARE_LACKS`, separated by commas, where
/// everybody can read it.
public struct Strictness: Sendable {
  public let isOn: Bool
  public let lacks: Set<String>

  public init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
    isOn = environment["FANFARE_STRICT"] == "1"
    lacks = Set((environment["FANFARE_LACKS"] ?? "").split(separator: ",").map { $0.filter { $0 != " " } })
  }

  public func runs(_ need: Need, isThere: Bool) -> Bool { isThere || isOn && !lacks.contains(need.rawValue) }

  /// Names that mean nothing: a slip that would otherwise allow nothing, or everything later.
  public var unknown: [String] { lacks.subtracting(Need.allCases.map(\.rawValue)).sorted() }
}

/// Whether a test runs that needs what this machine may lack: everywhere it is there, and where it must be.
public func runsUnlessLacking(_ need: Need, isThere: Bool) -> Bool { Strictness().runs(need, isThere: isThere) }

extension Trait where Self == ConditionTrait {
  /// Skips a test where the machine lacks something, but under `FANFARE_STRICT=1`: there it runs and fails.
  public static func skipUnlessStrict(
    _ need: Need, isThere: @autoclosure @escaping @Sendable () throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> Self {
    .enabled(
      if: runsUnlessLacking(need, isThere: try isThere()), "this machine lacks \(need.rawValue)",
      sourceLocation: sourceLocation)
  }
}
