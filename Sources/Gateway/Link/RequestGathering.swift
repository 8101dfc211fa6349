import Wire

/// Requests that are asked of several partitions, until all of them have answered.
///
/// States of one:
/// - asking: all that the plan asks at once is under way. Can transition to: asking (all of it is answered, and the plan
///   asks more), done (it asks nothing more, or an answer has settled it).
/// - done: whoever asked has one answer.
///
/// Each part is a request like any other for its link, which answers it in the end, if only that it took too long. So
/// what is gathered is bounded by what may wait for links.
struct RequestGathering {
  private struct Gathered {
    let request: GatewayRequest
    let plan: PartitionPlan
    /// To all that was asked until now, in the order of the plan's parts.
    var answers: [BrokerResponse?] = []
  }

  /// What follows from an answer.
  enum Step {
    case none
    /// Asks these partitions.
    case ask([(partition: Int, request: GatewayRequest)])
    /// Answers whoever asked.
    case answer(RequestSource, BrokerResponse)
  }

  private var gathered: [UInt64: Gathered] = [:]
  private var next: UInt64 = 0

  var count: Int { gathered.count }

  /// Begins to ask.
  mutating func begin(_ request: GatewayRequest, _ plan: PartitionPlan) -> [(partition: Int, request: GatewayRequest)] {
    next += 1
    gathered[next] = Gathered(request: request, plan: plan)
    return ask(plan.next(after: []), of: next)
  }

  private mutating func ask(
    _ parts: [PartitionPlan.Part], of id: UInt64
  ) -> [(partition: Int, request: GatewayRequest)] {
    guard let one = gathered[id] else { return [] }
    gathered[id]?.answers += Array(repeating: nil, count: parts.count)
    return parts.enumerated().map { place, part in
      let source = RequestSource(
        loop: RequestSource.gathering, connection: id, tag: UInt64(one.answers.count + place))
      return (
        part.partition,
        GatewayRequest(
          source: source, format: one.request.format, request: part.request, isService: one.request.isService)
      )
    }
  }

  /// Takes in the answer to a part.
  mutating func answered(_ source: RequestSource, _ response: BrokerResponse) -> Step {
    let id = source.connection
    guard var one = gathered[id] else { return .none }
    one.answers[Int(source.tag)] = response
    gathered[id] = one
    let answers = one.answers.compactMap(\.self)
    if !one.plan.isSettled(by: response) {
      if answers.count < one.answers.count { return .none }
      let parts = one.plan.next(after: answers)
      if !parts.isEmpty { return .ask(ask(parts, of: id)) }
    }
    gathered[id] = nil
    return .answer(one.request.source, one.plan.merged(answers))
  }
}

extension RequestSource {
  /// Stands in place of an event loop in requests that are parts of another one.
  static let gathering = -1
}
