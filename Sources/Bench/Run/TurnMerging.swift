/// Several workers' reports as one.
extension WorkerReport {
  /// Counts are added and histograms merged. A publication's first, median and last subscriber are each worker's own, so
  /// that with several workers these three are nearer to each other's than they should be: their largest values are
  /// right, and ``Scenario/workers`` of 1 makes all of them exact.
  static func merged(_ parts: [WorkerReport]) -> WorkerReport {
    var merged = WorkerReport(
      groups: [], seconds: [], lateness: .merged(parts.map(\.lateness)), reading: .merged(parts.map(\.reading)),
      acknowledged: .merged(parts.map(\.acknowledged)), answered: parts.reduce(0) { $0 + $1.answered },
      cpuSeconds: parts.reduce(0) { $0 + $1.cpuSeconds },
      wallSeconds: parts.map(\.wallSeconds).max() ?? 0, received: parts.compactMap(\.received).reduce(0, +),
      disconnected: parts.reduce(0) { $0 + $1.disconnected },
      resumed: nil, resumeSeconds: parts.compactMap(\.resumeSeconds).max(), remarks: [])
    let resumed = parts.compactMap(\.resumed)
    if !resumed.isEmpty { merged.resumed = .merged(resumed) }
    for index in 0..<(parts.map(\.groups.count).min() ?? 0) {
      merged.groups.append(.merged(parts.map { $0.groups[index] }))
    }
    for index in 0..<(parts.map(\.seconds.count).max() ?? 0) {
      merged.seconds.append(.merged(parts.filter { $0.seconds.count > index }.map { $0.seconds[index] }))
    }
    for remark in parts.flatMap(\.remarks) where !merged.remarks.contains(remark) && merged.remarks.count < 20 {
      merged.remarks.append(remark)
    }
    return merged
  }

  /// The largest part of a core that a worker used, or of all the generator's cores that all of them used.
  ///
  /// - Parameter cores: that the workers share; 0: they are not pinned.
  static func generatorUse(_ parts: [WorkerReport], cores: Int) -> Double {
    let uses = parts.map { $0.wallSeconds > 0 ? $0.cpuSeconds / $0.wallSeconds : 0 }
    let shared = cores > 0 ? uses.reduce(0, +) / Double(cores) : 0
    return max(uses.max() ?? 0, shared)
  }

  /// The latencies of all groups together.
  var latency: EncodedHistogram { groups.count == 1 ? groups[0].latency : .merged(groups.map(\.latency)) }
  var delivered: Int { groups.reduce(0) { $0 + $1.delivered } }
  var expected: Int { groups.reduce(0) { $0 + $1.expected } }
  /// Deliveries within the measured time.
  var arrived: Int { groups.reduce(0) { $0 + $1.arrived } }
  var lost: Int { groups.reduce(0) { $0 + $1.lost } }
}

extension WorkerReport.Group {
  /// The sum; nil where any count is not known.
  private static func total(_ counts: [Int?]) -> Int? {
    let known = counts.compactMap(\.self)
    return known.count == counts.count ? known.reduce(0, +) : nil
  }

  static func merged(_ parts: [WorkerReport.Group]) -> WorkerReport.Group {
    func sum(_ count: (WorkerReport.Group) -> Int) -> Int { parts.reduce(0) { $0 + count($1) } }
    return WorkerReport.Group(
      name: parts.first?.name ?? "", intended: sum { $0.intended }, published: sum { $0.published },
      refused: sum { $0.refused }, unanswered: sum { $0.unanswered }, expected: sum { $0.expected },
      delivered: sum { $0.delivered }, arrived: sum { $0.arrived },
      lost: sum { $0.lost }, lostBefore: total(parts.map(\.lostBefore)), duplicated: sum { $0.duplicated },
      misordered: sum { $0.misordered },
      latency: .merged(parts.map(\.latency)), kernel: .merged(parts.map(\.kernel)), first: .merged(parts.map(\.first)),
      median: .merged(parts.map(\.median)), last: .merged(parts.map(\.last)))
  }
}

extension WorkerReport.Second {
  /// The median of several workers is their medians' mean, each as heavy as its deliveries: near enough for a chart.
  static func merged(_ parts: [WorkerReport.Second]) -> WorkerReport.Second {
    let delivered = parts.reduce(0) { $0 + $1.delivered }
    let weighted = parts.reduce(0.0) { $0 + Double($1.p50) * Double($1.delivered) }
    return WorkerReport.Second(
      delivered: delivered, p50: delivered > 0 ? UInt64(weighted / Double(delivered)) : 0,
      p99: parts.map(\.p99).max() ?? 0, max: parts.map(\.max).max() ?? 0)
  }
}

extension ConnectReport {
  static func merged(_ parts: [ConnectReport]) -> ConnectReport {
    ConnectReport(
      connections: parts.reduce(0) { $0 + $1.connections }, seconds: parts.map(\.seconds).max() ?? 0,
      latency: .merged(parts.map(\.latency)))
  }
}

extension Progress {
  static func merged(_ parts: [Progress]) -> Progress {
    Progress(
      connections: parts.reduce(0) { $0 + $1.connections }, published: parts.map(\.published).max() ?? 0,
      delivered: parts.reduce(0) { $0 + $1.delivered }, p99: parts.map(\.p99).max() ?? 0)
  }
}

extension EncodedHistogram {
  /// All that is known of these, merged; nil where none is.
  static func merged(_ parts: [EncodedHistogram?]) -> EncodedHistogram? {
    let known = parts.compactMap(\.self)
    return known.isEmpty ? nil : merged(known)
  }

  var count: UInt64 {
    stride(from: 1, to: pairs.count, by: 2).reduce(0) { $0 &+ pairs[$1] }
  }

  var isEmpty: Bool { pairs.isEmpty }

  /// The smallest value that so large a part of all values does not exceed; 0 where nothing was recorded.
  ///
  /// - Parameter part: from 0 to 1.
  func value(at part: Double) -> UInt64 {
    let total = count
    guard total > 0 else { return 0 }
    let rank = max(1, (min(max(part, 0), 1) * Double(total) - 1e-6).rounded(.up))
    var seen: UInt64 = 0
    for place in stride(from: 0, to: pairs.count - 1, by: 2) {
      seen &+= pairs[place + 1]
      if Double(seen) >= rank { return pairs[place] }
    }
    return pairs[pairs.count - 2]
  }
}
