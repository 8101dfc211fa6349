/// Everything a run found out: what `--json` writes and what the table and the HTML report are made of.
public struct RunResult: Codable, Sendable {
  public var scenario: Scenario
  /// The command that repeats the run.
  public var command: String
  /// The commit that was measured, as ``Revision`` tells it; nil: not known.
  public var commit: String? = nil
  public var machine: Machine
  /// ISO 8601, UTC.
  public var startedAt: String
  public var peers: [PeerDescription]
  /// In the order in which they were measured.
  public var turns: [Turn]
  /// Peers that were asked for and left out, with the reason.
  public var skipped: [String: String]
}

public struct Machine: Codable, Sendable, Equatable {
  public var processor: String
  public var cores: Int
  public var kernel: String
  public var memoryBytes: UInt64
  /// Which cores the server and the generator were pinned to; empty: not pinned.
  public var serverCores: [Int]
  public var generatorCores: [Int]
}

public struct PeerDescription: Codable, Sendable, Equatable {
  /// As `--peers` names it: `fanfare`, `floor`, `nats`, …
  public var name: String
  public var version: String
  /// How it was configured, in one line, for the report.
  public var settings: String
}

/// One peer measured once.
public struct Turn: Codable, Sendable {
  public var peer: String
  /// From 1 on.
  public var number: Int
  public var connect: ConnectReport?
  /// All workers' reports merged, of the whole turn; nil where the turn failed or was a ramp.
  public var report: WorkerReport?
  /// Of a saturation run.
  public var steps: [Step]
  public var server: ServerUse?
  /// Largest CPU use of a worker, as a part of one core.
  public var generatorUse: Double
  /// Why the figures cannot be trusted: the generator was the bottleneck, something was lost, … Empty: they can.
  public var faults: [String]
}

public struct Step: Codable, Sendable {
  /// Publications per second that were asked for.
  public var rate: Double
  public var report: WorkerReport
  public var server: ServerUse?
  public var generatorUse: Double
  public var faults: [String]
}

/// What the server's processes used while measuring.
public struct ServerUse: Codable, Sendable, Equatable {
  public var cpuSeconds: Double
  public var wallSeconds: Double
  /// Resident (Rss of all its processes) before anybody connected, when all were connected, and at the end.
  public var memoryBefore: UInt64
  public var memoryConnected: UInt64
  public var memoryAfter: UInt64
}
