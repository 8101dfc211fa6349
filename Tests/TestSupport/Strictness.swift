public import Foundation
public import Testing

/// Something that a test needs and a machine may lack.
public enum Need: String, CaseIterable, Sendable {
  /// io_uring, for batched sends; containers often forbid it.
  case ioUring = "io_uring"
  /// Mounting a small file system, which takes root and the right to mount.
  case tmpfs
  /// Network namespaces, with cables between them and queues on these, which take root, iproute2 and a container that
  /// allows them (`.ci/namespaces`).
  case namespaces
  /// A libzmq that encrypts.
  case curve
  /// The servers that Fanfare is measured against.
  case peers
  /// The WebSocket conformance suite.
  case autobahn
  /// Prometheus and its promtool, which read the page of the metrics, the alerts and the configuration.
  case promtool
  /// PostgreSQL's server, installed, or unpacked by `.ci/setup servers`.
  case postgresql
  /// PgBouncer, installed, or unpacked by `.ci/setup servers`.
  case pgbouncer
  /// moto, which speaks the protocol of S3: made ready in `.build` by pip, as the official SDK for Python is.
  case moto
  /// nginx and HAProxy, installed, or unpacked by `.ci/setup servers`.
  case proxies
  /// Firefox, which notifications are shown in; where it is installed.
  case firefox
  /// Chromium, which the demo and the console are opened in; where it is installed, or by `.ci/setup browser`.
  case chromium
  /// Node, which runs the tests of the client for browsers.
  case node
  /// The compiler of TypeScript, which reads that client's types, installed, or unpacked by `.ci/setup servers`.
  case typescript
  /// The official centrifuge-js, as a file of CommonJS that FANFARE_CENTRIFUGE_JS names.
  case centrifugeJS = "centrifuge-js"
  /// LazyFS, a file system that forgets what was not synced, as a program that FANFARE_LAZYFS names.
  case lazyfs
  /// testssl.sh, which scans the port for clients as strangers do; by `.ci/setup test`.
  case testssl
  /// `systemd-analyze`, which reads the unit for systemd.
  case systemd
  /// Instructions with which the counts of the hot path were made. Only `.ci/run` looks at this need.
  case avx2
}

/// Whether a test may be left out. With `FANFARE_STRICT=1`, as in CI, none may: a test that would be skipped, or
/// replaced by a smaller one, runs and fails. The needs that a kind of machine cannot meet are named in
/// `FANFARE_LACKS`, separated by commas, where everybody can read it.
public struct Strictness: Sendable {
  public let isOn: Bool
  public let lacks: Set<String>

  public init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
    isOn = environment["FANFARE_STRICT"] == "1"
    lacks = Set((environment["FANFARE_LACKS"] ?? "").split(separator: ",").map { $0.filter { $0 != " " } })
  }

  public func runs(_ need: Need, isThere: Bool) -> Bool { isThere || isOn && !lacks.contains(need.rawValue) }

  /// Names in `FANFARE_LACKS` that are no ``Need``. A misspelt name would otherwise go unnoticed.
  public var unknown: [String] { lacks.subtracting(Need.allCases.map(\.rawValue)).sorted() }
}

/// Whether a test runs that has a need: where the machine meets it, and where a strict run requires that it does.
public func runsUnlessLacking(_ need: Need, isThere: Bool) -> Bool { Strictness().runs(need, isThere: isThere) }

extension Trait where Self == ConditionTrait {
  /// Skips a test where the machine lacks something. Under `FANFARE_STRICT=1` the test runs there and fails.
  public static func skipUnlessStrict(
    _ need: Need, isThere: @autoclosure @escaping @Sendable () throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> Self {
    .enabled(
      if: runsUnlessLacking(need, isThere: try isThere()), "this machine lacks \(need.rawValue)",
      sourceLocation: sourceLocation)
  }
}
