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

  /// The peers of each round, in the order in which they were measured.
  var order: [[String]] {
    var rounds: [[String]] = []
    for turn in turns {
      while rounds.count < turn.number { rounds.append([]) }
      if turn.number > 0 { rounds[turn.number - 1].append(turn.peer) }
    }
    return rounds
  }
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
  /// The peer as `--peers` names it: `fanfare`, `floor`, `nats`, …
  public var name: String
  public var version: String
  /// How the peer was configured, in one line, for the report.
  public var settings: String
}

/// One peer measured once.
public struct Turn: Codable, Sendable {
  public var peer: String
  /// The turn's round, from 1 on.
  public var number: Int
  public var connect: ConnectReport?
  /// All workers' reports merged, of the whole turn; nil where the turn failed or was a ramp.
  public var report: WorkerReport?
  /// The steps of a saturation run's ramp; else empty.
  public var steps: [Step]
  public var server: ServerUse?
  /// What the whole machine did over the same time as ``server``; nil where the kernel does not tell.
  public var machine: MachineUse? = nil
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
  public var machine: MachineUse? = nil
  public var generatorUse: Double
  public var faults: [String]
  /// The generator sent late, or had used up its core while the server had not: what the step failed by may be the
  /// generator's. Nil in results of earlier versions, which do not say it: a knee below the step may be a lower bound.
  public var generatorWasLimit: Bool? = nil
}

/// What the server's processes used while measuring.
public struct ServerUse: Codable, Sendable, Equatable {
  public var cpuSeconds: Double
  public var wallSeconds: Double
  /// Bytes that the server's processes had resident (Rss) before anybody connected, when all were connected, and at the
  /// end.
  public var memoryBefore: UInt64
  public var memoryConnected: UInt64
  public var memoryAfter: UInt64
}

/// What all of a machine's cores did while measuring, by the kernel's ticks (`/proc/stat`, proc(5)).
///
/// It has what no process's own time has: the kernel's work for sockets in interrupts and in its own threads, other
/// programs, and the time that a hypervisor gave to other machines. Ticks are samples, mostly of 10 ms: parts of seconds
/// are coarse, and work that is shorter than a tick may be told of wrongly.
public struct MachineUse: Codable, Sendable, Equatable {
  /// Parts of the measured time, from 0 to 1.
  public struct Core: Codable, Sendable, Equatable {
    /// Which core it is, as the kernel numbers them from 0 on.
    public var number: Int
    /// Time in which the core was neither idle, nor waiting for a disk, nor stolen.
    public var busy: Double
    /// Of `busy`: the kernel in interrupts, hard and soft.
    public var interrupts: Double
    /// A hypervisor ran something else while this core had work.
    public var stolen: Double
  }

  public var cores: [Core]
  /// The numbers of those that the server was pinned to; empty: it was not.
  public var serverCores: [Int]

  /// The mean of all cores; nil where there is none.
  func mean(_ part: (Core) -> Double) -> Double? { Self.mean(cores, part) }

  /// The mean of the server's cores; nil where it was not pinned.
  func serverMean(_ part: (Core) -> Double) -> Double? {
    Self.mean(cores.filter { serverCores.contains($0.number) }, part)
  }

  private static func mean(_ cores: [Core], _ part: (Core) -> Double) -> Double? {
    cores.isEmpty ? nil : cores.reduce(0) { $0 + part($1) } / Double(cores.count)
  }
}
