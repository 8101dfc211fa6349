/// One figure of a turn: a row of the table.
struct Metric: Sendable {
  let label: String
  let quantity: Quantity
  /// Whether a turn's figure is a lower bound.
  private var isLowerBound: @Sendable (Turn) -> Bool = { _ in false }
  /// Whether a peer's figure is set against the yardstick's.
  let isCompared: Bool
  /// Nil where the turn has no such figure.
  let value: @Sendable (Turn) -> Double?

  /// Whether the figure says something of the server: what was asked of it, what the generator took for asking, and what
  /// all programs did to the cores together do not. Neither do the latency and the CPU at a knee, of two builds whose knees
  /// are at different rates.
  var isJudged: Bool {
    !label.hasPrefix("offered ") && !label.contains("generator's ") && !label.contains("all cores ")
      && !label.contains("server's cores ") && !label.hasPrefix("knee: p") && label != "knee: server's CPU"
      && label != "knee: CPU per delivery"
  }

  /// Whether the figure is a time, which ends when the generator reads.
  var isTime: Bool {
    switch quantity {
    case .nanoseconds, .seconds: true
    case .microseconds, .rate, .bytes, .part, .ratio: false
    }
  }

  /// Whether more of it is better: of rates alone.
  var isBetterLarger: Bool { if case .rate = quantity { true } else { false } }

  init(_ label: String, _ quantity: Quantity, compared: Bool = false, _ value: @escaping @Sendable (Turn) -> Double?) {
    (self.label, self.quantity, isCompared, self.value) = (label, quantity, compared, value)
  }

  /// The figure, as a lower bound in turns in which this holds.
  func atLeast(where isLowerBound: @escaping @Sendable (Turn) -> Bool) -> Metric {
    var metric = self
    metric.isLowerBound = isLowerBound
    return metric
  }

  /// The turn's figure with what it says of the true one; nil where the turn has no such figure.
  func reading(_ turn: Turn) -> Reading? {
    value(turn).map { Reading(value: $0, bound: isLowerBound(turn) ? .atLeast : .exact) }
  }

  /// The rows that a scenario has, the most important first.
  static func all(of scenario: Scenario) -> [Metric] {
    let generator = Metric("generator's CPU", .part) { $0.generatorUse > 0 ? $0.generatorUse : nil }
    switch scenario.measure {
    case .delivery:
      return [cpuPerDelivery, cpuPerPublication] + latencies(scenario) + [
        Metric("offered deliveries/s", .rate) { turn in
          turn.report.flatMap { perSecond(Double($0.expected), scenario.duration) }
        },
        Metric("deliveries/s", .rate) { turn in
          turn.report.flatMap { perSecond(Double($0.arrived), scenario.duration) }
        },
        Metric("acknowledged/s", .rate) { turn in
          turn.report.flatMap {
            $0.acknowledged.isEmpty && $0.answered == 0 ? nil : perSecond(Double($0.answered), scenario.duration)
          }
        },
        quantile("acknowledged p50", 0.5) { $0.acknowledged }, quantile("acknowledged p99", 0.99) { $0.acknowledged },
        serverUse,
      ] + machineUse + [
        bytesPerDelivery, memoryPerConnection, memoryAfter, generator,
        quantile("generator's lateness p99", 0.99) { $0.lateness },
        quantile("generator's reading delay p99", 0.99) { $0.reading },
      ]
    case .saturation: return ramp(scenario) + [memoryPerConnection, generator]
    case .connect: return connects + machineUse + [memoryPerConnection]
    case .resume:
      return [
        Metric("time until all recovered", .seconds, compared: true) { $0.report?.resumeSeconds },
        quantile("a client's recovery p50", 0.5) { $0.resumed },
        quantile("a client's recovery p99", 0.99) { $0.resumed },
        Metric("recovered/s", .rate) { turn in
          turn.report.flatMap { report in report.resumeSeconds.flatMap { perSecond(Double(report.delivered), $0) } }
        },
        cpuPerDelivery,
      ] + machineUse + connects + [memoryPerConnection, generator]
    case .idle:
      return [
        memoryPerConnection, Metric("memory before anybody", .bytes) { $0.server.map { Double($0.memoryBefore) } },
        memoryAfter, serverUse,
      ] + machineUse + connects
    }
  }

  // MARK: What several kinds of run have

  static let cpuPerDelivery = Metric("CPU per delivery", .microseconds, compared: true) { turn in
    guard let report = turn.report, let server = turn.server, report.arrived > 0 else { return nil }
    return server.cpuSeconds / Double(report.arrived)
  }

  /// CPU divided by the publications that were acknowledged while it was measured; where the server acknowledges none,
  /// by those that went out.
  static let cpuPerPublication = Metric("CPU per publication", .microseconds) { turn in
    guard let report = turn.report, let server = turn.server else { return nil }
    let count = report.answered > 0 ? report.answered : report.groups.reduce(0) { $0 + $1.published }
    return count > 0 ? server.cpuSeconds / Double(count) : nil
  }

  /// Frames and all, as they come out of TLS.
  private static let bytesPerDelivery = Metric("bytes per delivery", .bytes) { turn in
    guard let report = turn.report, let received = report.received, report.arrived > 0 else { return nil }
    return Double(received) / Double(report.arrived)
  }

  private static let serverUse = Metric("server's CPU", .part) { turn in
    turn.server.flatMap { perSecond($0.cpuSeconds, $0.wallSeconds) }
  }

  /// What the whole machine did, and where the server was pinned, its cores.
  private static let machineUse = [
    Metric("all cores busy", .part) { $0.machine?.mean { $0.busy } },
    Metric("all cores in interrupts", .part) { $0.machine?.mean { $0.interrupts } },
    Metric("all cores stolen", .part) { $0.machine?.mean { $0.stolen } },
    Metric("server's cores busy", .part) { $0.machine?.serverMean { $0.busy } },
    Metric("server's cores in interrupts", .part) { $0.machine?.serverMean { $0.interrupts } },
  ]

  private static let memoryPerConnection = Metric("memory per connection", .bytes, compared: true) { turn in
    guard let server = turn.server, let connect = turn.connect, connect.connections >= 100 else { return nil }
    return (Double(server.memoryConnected) - Double(server.memoryBefore)) / Double(connect.connections)
  }

  private static let memoryAfter = Metric("memory at the end", .bytes) { turn in
    turn.server.map { Double($0.memoryAfter) }
  }

  private static let connects = [
    Metric("connections/s", .rate, compared: true) { turn in
      turn.connect.flatMap { perSecond(Double($0.connections), $0.seconds) }
    },
    Metric("time until all connected", .seconds) { $0.connect?.seconds },
    Metric("a client's connect p50", .nanoseconds) { turn in
      turn.connect.flatMap { $0.latency.isEmpty ? nil : Double($0.latency.value(at: 0.5)) }
    },
    Metric("a client's connect p99", .nanoseconds) { turn in
      turn.connect.flatMap { $0.latency.isEmpty ? nil : Double($0.latency.value(at: 0.99)) }
    },
  ]

  private static func quantile(
    _ label: String, _ part: Double, compared: Bool = false,
    _ histogram: @escaping @Sendable (WorkerReport) -> EncodedHistogram?
  ) -> Metric {
    Metric(label, .nanoseconds, compared: compared) { turn in
      guard let found = turn.report.flatMap(histogram), !found.isEmpty else { return nil }
      return Double(found.value(at: part))
    }
  }

  private static func perSecond(_ count: Double, _ seconds: Double) -> Double? {
    seconds > 0 ? count / seconds : nil
  }

  /// Rows of each group that publishes and is subscribed to; with the group's name where there are several.
  private static func latencies(_ scenario: Scenario) -> [Metric] {
    var metrics: [Metric] = []
    for (index, group) in scenario.groups.enumerated() where group.rate > 0 && group.subscribers > 0 {
      let prefix = scenario.groups.count > 1 ? group.name + " " : ""
      let pick: @Sendable (WorkerReport) -> WorkerReport.Group? = {
        $0.groups.indices.contains(index) ? $0.groups[index] : nil
      }
      for (name, part) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)] {
        metrics.append(quantile(prefix + name, part, compared: part < 0.995) { pick($0)?.latency })
      }
      for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
        metrics.append(quantile("\(prefix)\(name) at the kernel", part) { pick($0)?.kernel })
      }
      guard group.subscribers > 1 else { continue }
      for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
        metrics.append(quantile("\(prefix)first subscriber \(name)", part) { pick($0)?.first })
        metrics.append(quantile("\(prefix)median subscriber \(name)", part) { pick($0)?.median })
        metrics.append(quantile("\(prefix)last subscriber \(name)", part, compared: true) { pick($0)?.last })
      }
    }
    return metrics
  }

  private static func ramp(_ scenario: Scenario) -> [Metric] {
    guard let ramp = scenario.ramp else { return [] }
    let knee: @Sendable (Turn) -> Step? = { Saturation.knee($0.steps, limitMilliseconds: ramp.p99LimitMilliseconds) }
    let isOpen: @Sendable (Turn) -> Bool = { $0.opening(scenario) != nil }
    return [
      Metric("knee: deliveries/s", .rate, compared: true) { turn in
        knee(turn).flatMap { perSecond(Double($0.report.arrived), ramp.seconds) }
      }.atLeast(where: isOpen),
      Metric("knee: publications/s", .rate) { knee($0)?.rate }.atLeast(where: isOpen),
      Metric("knee: acknowledged/s", .rate) { turn in
        knee(turn).flatMap { $0.report.answered > 0 ? perSecond(Double($0.report.answered), ramp.seconds) : nil }
      }.atLeast(where: isOpen),
      Metric("knee: CPU per delivery", .microseconds, compared: true) { turn in
        guard let step = knee(turn), let server = step.server, step.report.arrived > 0 else { return nil }
        return server.cpuSeconds / Double(step.report.arrived)
      },
      Metric("knee: p50", .nanoseconds) { turn in knee(turn).map { Double($0.report.latency.value(at: 0.5)) } },
      Metric("knee: p99", .nanoseconds) { turn in knee(turn).map { Double($0.report.latency.value(at: 0.99)) } },
      Metric("knee: server's CPU", .part) { turn in
        knee(turn).flatMap { $0.server.flatMap { perSecond($0.cpuSeconds, $0.wallSeconds) } }
      },
      Metric("knee: all cores busy", .part) { knee($0)?.machine?.mean { $0.busy } },
      Metric("knee: server's cores busy", .part) { knee($0)?.machine?.serverMean { $0.busy } },
      Metric("knee: generator's CPU", .part) { knee($0)?.generatorUse },
    ]
  }
}
