/// What `fanfare-bench run` was asked for.
public struct MeasurementRun: Sendable {
  /// A server that runs already.
  public struct Remote: Sendable {
    /// The peer's name in results.
    public static let name = "url"

    public var url: String
    public var publishURL: String?
    /// What the server speaks. Nil: `template` where the scenario has templates, else `centrifuge`.
    public var dialect: String?
    public var secret: String?
    public var token: String?
    public var trust: String?
    /// The namespace of all channels. Nil: they have none, whatever the scenario says.
    public var namespace: String?
    /// The server's process ids, where it runs on this machine.
    public var processes: [Int32] = []

    public init(url: String) { self.url = url }
  }

  public var scenario: Scenario
  public var remote: Remote?
  /// Whether server and generator get cores of their own, where there are two.
  public var pins = true
  public var keepsGoing = false
  /// Whether the kernel stamps what arrives at subscribers, beside the time of its reading.
  public var stampsArrivals = false
  /// The command that repeats the run.
  public var command: String

  public init(_ scenario: Scenario, command: String) { (self.scenario, self.command) = (scenario, command) }

  /// Measures. Ctrl-C and SIGTERM end servers and workers first.
  ///
  /// - Throws: where there is nothing to measure, and after an interruption.
  public func perform(observe: @escaping @Sendable (RunEvent) -> Void) throws(BenchError) -> RunResult {
    var peers: [any Peer] = []
    var scenario = scenario
    if let remote {
      scenario.setNamespace(remote.namespace ?? "")
      peers = [
        try URLPeer(
          url: remote.url, dialect: try dialect(of: remote), publishURL: remote.publishURL, secret: remote.secret,
          token: remote.token, trust: remote.trust, templates: scenario.template, processes: remote.processes)
      ]
    } else {
      for name in scenario.peers { peers.append(try PeerCatalogue.peer(named: name)) }
    }
    let interruption = try Interruption()
    defer { interruption.close() }
    var machine = Machine.current()
    if pins && remote == nil {
      machine = machine.pinned()
      try machine.pinGenerator()
    }
    let coordinator = Coordinator(
      scenario: scenario, peers: peers, machine: machine, worker: [try ProcessTable.ownExecutable(), "worker"],
      command: command, commit: Revision.current(), stampsArrivals: stampsArrivals, keepsGoing: keepsGoing,
      interruption: interruption,
      observe: observe)
    return try coordinator.run()
  }

  /// What the server is spoken to with.
  ///
  /// - Throws: where dialect and templates do not fit.
  func dialect(of remote: Remote) throws(BenchError) -> String {
    let usual = scenario.template == nil ? "centrifuge" : TemplateDialect.name
    let dialect = remote.dialect ?? usual
    if dialect == TemplateDialect.name && scenario.template == nil { throw TemplateDialect.untold }
    guard dialect == TemplateDialect.name || scenario.template == nil else {
      throw BenchError("the dialect \(dialect) needs no templates; leave out either --dialect or --sub and --pub.")
    }
    return dialect
  }

  /// All names that `--peers` takes.
  public static var peerNames: [String] { PeerCatalogue.names }
}
