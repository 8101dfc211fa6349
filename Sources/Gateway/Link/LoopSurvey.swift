import Synchronization
import Wire

#if canImport(Glibc)
  import Glibc
#endif

/// A survey among this gateway's event loops: gathers what each of them found. When the last has told, all of it is
/// added up on a thread that delivers no messages, and the gateway answers.
final class LoopSurvey: Sendable {
  /// What one event loop found.
  enum Part: Sendable {
    case counts(subscriptions: Int)
    case channels(FirstChannels)
    case coverage([LiveCoverage])
    /// For an inspection, and for `top`.
    case inspected(LoopInspection)
  }

  let survey: Survey
  private let loops: Int
  /// What the gateway knows without its event loops. Asked when they all have answered: whoever had signed in on one of
  /// them before it did is counted by then.
  private let known: @Sendable () -> GatewayCounts
  /// Where intervals of subscriptions are looked up; nil: none are kept.
  private let coverage: CoverageSink?
  /// Nil where a test needs none.
  private let inspector: Inspector?
  private let parts = Mutex<[Part]>([])
  private let runElsewhere: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let answer: @Sendable (Findings) -> Void

  /// - Parameters:
  ///   - runElsewhere: runs its argument, on a thread that delivers no messages.
  ///   - answer: called once, when so many event loops have told what they found, where `runElsewhere` runs.
  init(
    _ survey: Survey, loops: Int, inspector: Inspector? = nil, known: @escaping @Sendable () -> GatewayCounts,
    coverage: CoverageSink? = nil,
    runElsewhere: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { work in Task.detached { work() } },
    answer: @escaping @Sendable (Findings) -> Void
  ) {
    self.survey = survey
    self.loops = loops
    self.known = known
    self.coverage = coverage
    self.inspector = inspector
    self.runElsewhere = runElsewhere
    self.answer = answer
  }

  /// Any thread. Each event loop calls it once.
  func add(_ part: Part) {
    let all = parts.withLock { parts -> [Part]? in
      parts.append(part)
      return parts.count == loops ? parts : nil
    }
    guard let all else { return }
    if case .coverage(let query) = survey { return find(query, all) }
    runElsewhere { [self] in answer(Self.findings(all, of: survey, known(), inspector)) }
  }

  /// Asks the file when all event loops have told: what they recorded before stands in it then.
  private func find(_ query: CoverageQuery, _ parts: [Part]) {
    guard let coverage else {
      return runElsewhere { [self] in answer(.coverage(CoverageFindings(isKept: false))) }
    }
    var live: [LiveCoverage] = []
    for case .coverage(let found) in parts { live += found }
    coverage.find(query) { [answer, live] found in answer(.coverage(CoverageFindings(found, live: live))) }
  }

  /// What all event loops found together.
  static func findings(
    _ parts: [Part], of survey: Survey, _ known: GatewayCounts, _ inspector: Inspector? = nil
  ) -> Findings {
    switch survey {
    case .coverage: return .coverage(CoverageFindings(isKept: false))  // See ``find(_:_:)``.
    case .counts:
      var counts = known
      for case .counts(let subscriptions) in parts { counts.subscriptions += UInt64(subscriptions) }
      return .counts(counts)
    case .channels(_, let limit):
      var sum = ChannelCounts()
      for case .channels(let found) in parts { sum.add(found.counts) }
      sum.cut(to: limit)
      return .channels(sum)
    case .inspect(let request):
      return .inspected(inspector?.findings(inspection(parts), of: request, known) ?? Array("{}".utf8))
    case .top: return .top(inspection(parts).top)
    }
  }
}

extension LoopSurvey {
  fileprivate static func inspection(_ parts: [Part]) -> LoopInspection {
    var sum = LoopInspection()
    for case .inspected(let found) in parts { sum.add(found) }
    return sum
  }
}

/// What a gateway tells of itself when it is surveyed, beside what its event loops have.
struct GatewayIdentity: Sendable {
  /// Tells people which gateway it is.
  var name = ""
  /// Name and version of the server.
  var version = "Fanfare"
  var census = ClientCensus()
  /// When the gateway began, in milliseconds of `MonotonicClock`.
  var startedAt: Int64 = 0
  /// Answers inspections; nil where a test needs none.
  var inspector: Inspector?

  /// - Parameter channels: that somebody is subscribed to, or about to be.
  func counts(channels: Int, at now: Int64) -> GatewayCounts {
    let (clients, users) = census.numbers
    return GatewayCounts(
      name: name, version: version, uptime: UInt64(clamping: (now - startedAt) / 1000),
      clients: UInt64(clamping: clients), users: UInt64(clamping: users), channels: UInt64(clamping: channels))
  }

  /// A name for the gateway: the machine's, and the number by which the link knows the gateway.
  static func name(of gateway: UInt64) -> String {
    var host = [CChar](repeating: 0, count: 256)
    let isKnown = unsafe gethostname(&host, host.count - 1) == 0
    let text = String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return "\(isKnown && !text.isEmpty ? text : "gateway")-\(LinkIdentity.text(of: gateway))"
  }
}
