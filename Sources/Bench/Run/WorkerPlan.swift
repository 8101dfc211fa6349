/// What one generator process does in one turn. Goes to the worker's standard input as one line of JSON.
///
/// The worker answers on standard output with lines of JSON, each a ``WorkerMessage``; the coordinator's next lines are
/// ``WorkerOrder``s. All times are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
public struct WorkerPlan: Codable, Sendable {
  /// Which of the workers this one is, from 0 on. Publications are made by worker 0 alone.
  public var worker: Int
  public var workers: Int
  public var target: Target
  public var scenario: Scenario
  /// Distinguishes the channels of one turn from those of another: a prefix of channel names' last part.
  public var run: String
  /// Seconds in which nothing happens until the worker gives up: connecting, or waiting for what is under way. Nil: what
  /// ``Connecting`` and ``Run`` say.
  public var patience: Double?
  /// Whether the kernel stamps what subscribers get.
  public var stampsArrivals: Bool

  public init(
    worker: Int, workers: Int, target: Target, scenario: Scenario, run: String, patience: Double? = nil,
    stampsArrivals: Bool = false
  ) {
    self.worker = worker
    self.workers = workers
    self.target = target
    self.scenario = scenario
    self.run = run
    self.patience = patience
    self.stampsArrivals = stampsArrivals
  }
}

/// Where the server is and how it is spoken to.
public struct Target: Codable, Sendable, Equatable {
  /// Name of a ``Dialect``: `centrifuge`, `clique`, `state`, `floor`, `nats`, `mqtt`, `nchan`, `redis`, `zmtp`,
  /// `template`.
  public var dialect: String
  /// Where subscribers connect, such as `ws://127.0.0.1:8000/connection/websocket` or `tcp://127.0.0.1:6379`.
  public var url: String
  /// Where publishers connect, if that differs.
  public var publishURL: String?
  /// Each client is one user; a token for it is made with this secret. Nil: connect without a token.
  public var secret: String?
  /// Connection token as given by the user instead of a secret.
  public var token: String?
  /// A file of certificates to trust for wss. Nil: the system's.
  public var trust: String?
  /// Spread source addresses over 127.0.0.0/8, so that one address's ports do not run out. Loopback targets alone.
  public var spreadsSourceAddresses: Bool
  /// What is said in the dialect `template`.
  public var templates: MessageTemplates? = nil
  /// Publishers subscribe to their channels first: a server that nobody has configured for measuring may let subscribers
  /// alone publish. What they get is not counted.
  public var subscribesPublishers = false
  /// Subscribers ask for permessage-deflate, and publications hold words rather than one letter again and again.
  public var compresses = false
}

/// From the coordinator to a worker, one line of JSON each.
public enum WorkerOrder: Codable, Sendable {
  /// Everything is connected everywhere: begin at this time. Warm-up comes first.
  case begin(at: UInt64)
  /// In a saturation run: one step at this rate, or nil when the ramp is over.
  case step(at: UInt64, rate: Double?)
  /// Close everything, report, and end.
  case stop
}

/// From a worker to the coordinator, one line of JSON each.
public enum WorkerMessage: Codable, Sendable {
  /// All connections are open and all subscriptions confirmed.
  case ready(ConnectReport)
  /// About once a second.
  case progress(Progress)
  /// A step of the ramp is over, and what was published in it has arrived, or the time for that is over.
  case stepped(WorkerReport)
  case finished(WorkerReport)
  /// The worker cannot go on; the sentence says why and what to do.
  case failed(String)
}

public struct Progress: Codable, Sendable {
  public var connections: Int
  public var published: Int
  public var delivered: Int
  /// The last second's p99, in nanoseconds.
  public var p99: UInt64
}

/// How connecting went.
public struct ConnectReport: Codable, Sendable {
  public var connections: Int
  /// From the first connect to the last confirmed subscription, in seconds.
  public var seconds: Double
  /// From a client's connect() to its confirmed subscription.
  public var latency: EncodedHistogram
}

/// What a worker measured in one turn or step.
public struct WorkerReport: Codable, Sendable {
  public struct Group: Codable, Sendable {
    public var name: String
    /// Publications that were due and that went out.
    public var intended: Int
    public var published: Int
    /// Publications that the server refused.
    public var refused: Int
    /// Publications that the server had not acknowledged in the end, where it acknowledges.
    public var unanswered: Int
    /// Deliveries to this worker's healthy subscribers of what was due in the measured time: that should have come, and
    /// that came, however late.
    public var expected: Int
    public var delivered: Int
    /// Deliveries that came within the measured time, whatever was due when: the server's throughput.
    public var arrived: Int
    /// Of `expected`, those that never came.
    public var lost: Int
    /// Deliveries that never came of what was due before the measured time: of the warm-up. Nil in results of earlier
    /// versions, which do not say it.
    public var lostBefore: Int? = nil
    public var duplicated: Int
    public var misordered: Int
    /// From a publication's intended time to a subscriber's reading it, over all subscribers.
    public var latency: EncodedHistogram
    /// From a publication's intended time to the kernel's stamp of the newest segment that was read with it; nil where
    /// stamps were not asked for. What several segments brought to one reading has the time of the last: it may be
    /// later than the publication was there, and is never later than its reading.
    public var kernel: EncodedHistogram? = nil
    /// Per publication: its first, its median and its last subscriber of this worker.
    public var first: EncodedHistogram
    public var median: EncodedHistogram
    public var last: EncodedHistogram
  }

  /// One second of the run.
  public struct Second: Codable, Sendable {
    public var delivered: Int
    /// Nanoseconds.
    public var p50: UInt64
    public var p99: UInt64
    public var max: UInt64
  }

  public var groups: [Group]
  public var seconds: [Second]
  /// How late the generator itself sent a publication, in nanoseconds: from its intended time, or from when the
  /// publisher's socket last took nothing.
  public var lateness: EncodedHistogram
  /// How long what a socket gave had been there when the generator read it: from the kernel's stamp of its newest
  /// segment, of each reading in the measured time. Nil where stamps were not asked for.
  public var reading: EncodedHistogram? = nil
  /// From sending a publication to the server's answer, where the server answers. Nanoseconds.
  public var acknowledged: EncodedHistogram
  /// Publications that the server acknowledged within the measured time and did not refuse, whatever was due when.
  public var answered: Int
  /// CPU that this worker used while measuring, and the time that passed, in seconds.
  public var cpuSeconds: Double
  public var wallSeconds: Double
  /// Bytes that came to subscribers within the measured time, before they were decompressed and after they were decrypted.
  /// Nil in results of earlier versions.
  public var received: Int? = nil
  /// Connections that the server closed while measuring.
  public var disconnected: Int
  /// A resume run: from the beginning of the return to the last publication recovered, per subscriber; and that of the
  /// slowest, in seconds.
  public var resumed: EncodedHistogram?
  public var resumeSeconds: Double?
  /// What was noticed, as sentences. At most 20.
  public var remarks: [String]
}
