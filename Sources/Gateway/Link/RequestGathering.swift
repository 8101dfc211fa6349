import Wire

/// Requests that are asked of several partitions, until all of them have answered.
///
/// States of one:
/// - asking: all parts are under way; or, where home decides first, home's alone. Can transition to: asking (home has
///   answered: the others are asked), done (a part failed while others were not asked yet, or all have answered).
/// - done: whoever asked has one answer.
///
/// Each part is a request like any other for its link, which answers it in the end, if only that it took too long. So
/// what is gathered is bounded by what may wait for links.
struct RequestGathering {
  private struct Gathered {
    let request: GatewayRequest
    let plan: PartitionPlan
    var answers: [BrokerResponse?]
    var asked = 0
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
    gathered[next] = Gathered(
      request: request, plan: plan, answers: Array(repeating: nil, count: plan.parts.count))
    return ask(next, upTo: plan.awaitsFirst ? 1 : plan.parts.count)
  }

  private mutating func ask(_ id: UInt64, upTo end: Int) -> [(partition: Int, request: GatewayRequest)] {
    guard let one = gathered[id] else { return [] }
    gathered[id]?.asked = end
    return (one.asked..<end).map { place in
      let part = one.plan.parts[place]
      let source = RequestSource(loop: RequestSource.gathering, connection: id, tag: UInt64(place))
      return (
        part.partition,
        GatewayRequest(
          source: source, format: one.request.format, request: part.request, isService: one.request.isService)
      )
    }
  }

  /// Takes in the answer to a part.
  mutating func answered(_ source: RequestSource, _ response: BrokerResponse) -> Step {
    guard var one = gathered[source.connection] else { return .none }
    one.answers[Int(source.tag)] = response
    gathered[source.connection] = one
    if one.asked < one.plan.parts.count {
      if case .failed = response { return finish(source.connection, one) }
      return .ask(ask(source.connection, upTo: one.plan.parts.count))
    }
    return one.answers.contains { $0 == nil } ? .none : finish(source.connection, one)
  }

  private mutating func finish(_ id: UInt64, _ one: Gathered) -> Step {
    gathered[id] = nil
    return .answer(one.request.source, one.plan.merged(one.answers.compactMap { $0 }))
  }
}

extension RequestSource {
  /// Stands in place of an event loop in requests that are parts of another one.
  static let gathering = -1
}
