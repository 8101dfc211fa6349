import Wire

/// Surveys under way: who asked, which gateways have still to answer, and what the others found.
///
/// A survey ends when every gateway that it waits for has answered, or when its time is over. A gateway whose link has
/// overflowed is asked again in its new session; one that has departed has no clients any more, and is not waited for.
struct PendingSurveys {
  struct Pending {
    let id: UInt64
    let survey: Survey
    let requester: Requester
    /// What the broker itself knows of an inspection's subject, as JSON; empty for other surveys.
    let own: [UInt8]
    /// The channels that the answer may name; nil: all.
    let visible: [NamePattern]?
    /// Gateways that have not answered.
    var waiting: Set<UInt64>
    var gathered: Gathered
    /// Monotonic milliseconds at which the requester is answered with what has come.
    let deadline: Int64
  }

  /// What the gateways that have answered found, added up.
  enum Gathered: Equatable {
    case counts([ServerInfo.Gateway])
    case channels(ChannelCounts, ChannelLimit)
    case coverage(WhyQuestion?, [CoverageFindings])
    /// What the gateways found, by their numbers, as JSON.
    case inspected([UInt64: [UInt8]])
    case top(TopFindings)
  }

  /// Most surveys at a time, since each may hold as much as an answer; one more is refused.
  static let limit = 16

  /// By their numbers, and so by their deadlines, too.
  private var pending: [Pending] = []
  private var nextID: UInt64 = 1

  var count: Int { pending.count }

  /// When the next survey's time is over, in monotonic milliseconds; nil: none is under way.
  var nextDeadline: Int64? { pending.first?.deadline }

  mutating func add(
    _ survey: Survey, for requester: Requester, own: [UInt8] = [], visible: [NamePattern]? = nil,
    question: WhyQuestion? = nil, waiting: Set<UInt64>, deadline: Int64
  ) -> LinkSurvey {
    let id = nextID
    nextID += 1
    let gathered: Gathered =
      switch survey {
      case .counts: .counts([])
      case .channels(_, let limit): .channels(ChannelCounts(), limit)
      case .coverage: .coverage(question, [])
      case .inspect: .inspected([:])
      case .top: .top(TopFindings())
      }
    pending.append(
      Pending(
        id: id, survey: survey, requester: requester, own: own, visible: visible, waiting: waiting,
        gathered: gathered, deadline: deadline))
    return LinkSurvey(id: id, survey)
  }

  /// The surveys that a gateway has not answered.
  func waiting(for gateway: UInt64) -> [LinkSurvey] {
    pending.filter { $0.waiting.contains(gateway) }.map { LinkSurvey(id: $0.id, $0.survey) }
  }

  /// Adds what a gateway found. An answer that nobody waits for any more changes nothing.
  ///
  /// - Returns: false where the gateway answers something that it was not asked.
  mutating func add(_ findings: LinkFindings, of gateway: UInt64) -> Bool {
    guard let index = pending.firstIndex(where: { $0.id == findings.id }),
      pending[index].waiting.contains(gateway)
    else { return true }
    guard pending[index].gathered.add(findings.findings, of: gateway) else { return false }
    pending[index].waiting.remove(gateway)
    return true
  }

  /// Stops waiting for a gateway that has departed.
  mutating func forget(_ gateway: UInt64) {
    for index in pending.indices { pending[index].waiting.remove(gateway) }
  }

  /// Takes out the surveys that have ended: all that they waited for has come, or their time is over.
  mutating func takeEnded(at now: Int64) -> [Pending] {
    let ended = pending.filter { $0.hasEnded(at: now) }
    if !ended.isEmpty { pending.removeAll { $0.hasEnded(at: now) } }
    return ended
  }
}

extension PendingSurveys.Pending {
  fileprivate func hasEnded(at now: Int64) -> Bool { waiting.isEmpty || deadline <= now }
}

extension PendingSurveys.Gathered {
  /// - Returns: false where these are findings of another kind of survey.
  fileprivate mutating func add(_ findings: Findings, of gateway: UInt64) -> Bool {
    switch (self, findings) {
    case (.counts(let gateways), .counts(let counts)):
      self = .counts(gateways + [ServerInfo.Gateway(gateway, counts)])
    case (.channels(var sum, let limit), .channels(let counts)):
      sum.add(counts)
      sum.cut(to: limit)
      self = .channels(sum, limit)
    case (.inspected(var found), .inspected(let bytes)):
      found[gateway] = bytes
      self = .inspected(found)
    case (.top(var sum), .top(let top)):
      sum.add(top)
      self = .top(sum)
    case (.coverage(let question, let all), .coverage(let found)): self = .coverage(question, all + [found])
    case (.counts, _), (.channels, _), (.inspected, _), (.top, _), (.coverage, _): return false
    }
    return true
  }
}
