public import Auth
public import Broker
public import Logging
public import Wire

/// The server API: Centrifugo's methods and ours, as commands for the broker.
///
/// What a method means is decided where services' requests over ZeroMQ are decided: here its JSON is taken apart and
/// the answers are put together.
public struct ServerAPI: Sendable {
  let desk: ServiceDesk
  /// The key that a client shows; nil: nobody's.
  let key: @Sendable (String) -> APIKey?
  /// Commands of one batch and channels of one broadcast, all of a batch together.
  let maximumCommands: Int
  let logger: Logger
  let audit: Audit

  /// - Parameters:
  ///   - desk: where the broker is asked.
  ///   - maximumCommands: commands of one batch, and channels of one broadcast.
  ///   - key: the key that a client shows; nil: nobody's.
  public init(
    desk: ServiceDesk, maximumCommands: Int, logger: Logger, audit: Audit = .none,
    key: @escaping @Sendable (String) -> APIKey?
  ) {
    self.desk = desk
    self.maximumCommands = maximumCommands
    self.logger = logger
    self.audit = audit
    self.key = key
  }

  /// The key that a request's head shows; nil: none that holds. Asked before the body is read, so that a stranger's costs
  /// nothing.
  func key(shownBy request: AdminRequest) -> APIKey? { Self.shown(by: request).flatMap(key) }

  static let unauthorized = AdminAnswer.sentence(
    401,
    "send a key as X-API-Key, or as Authorization: apikey KEY; make one with "
      + "fanfare keys create --name NAME --allow all --channels '*'")

  /// - Parameter context: the trace that the HTTP request belongs to; nil: none.
  func answer(
    _ method: String, _ body: [UInt8], by key: APIKey, under context: TraceContext? = nil
  ) async -> AdminAnswer {
    guard method == "batch" || APIMethod(rawValue: method) != nil else {
      return .sentence(404, "there is no method \(method.prefix(40).debugDescription); see /api/openapi.json")
    }
    let plan: APIPlan
    do throws(ClientError) {
      plan = try APIPlan(method, body: body, limit: maximumCommands) { target throws(ClientError) in
        try planned(target, for: key)
      }
    } catch {
      return .sentence(400, error.message)
    }
    var responses: [BrokerResponse] = []
    for step in plan.steps {
      let answers = await desk.ask(step, under: context)
      for (request, answer) in zip(step, answers) { audit.note(request, answered: answer, by: key.name, door: "api") }
      responses += answers
    }
    let body = APIReplies(plan: plan, responses: responses, isBinary: desk.isBinary, mayRead: key.grant.mayUse).bytes
    log(method, plan, by: key)
    return AdminAnswer(AdminAnswer.json, body)
  }

  /// The key that a request shows, in either header.
  static func shown(by request: AdminRequest) -> String? {
    if let key = request.apiKey { return key }
    guard let words = request.authorization?.split(separator: " "), words.count == 2,
      words[0].lowercased() == "apikey"
    else { return nil }
    return String(words[1])
  }

  /// Reads one request and holds the key's grant against it.
  private func planned(_ target: APIPlan.Target, for key: APIKey) throws(ClientError) -> BrokerRequest {
    var request = try desk.request(
      target.method.service, target.arguments, channel: target.channel, payload: target.payload)
    // Services over ZeroMQ may want the names alone; clients of this API expect the numbers of clients always.
    if case .channels(let prefix) = request {
      guard let pattern = ChannelPattern(beginning: prefix) else {
        throw .badRequest.saying("the prefix is longer than \(ChannelPattern.maximumLength) bytes")
      }
      request = .channelCounts(pattern)
    }
    if case .why(var why) = request {
      // Who may end people's subscriptions may know what an app keeps from them.
      why.mayKnowExclusions =
        key.grant.refusal(of: APIMethod.unsubscribe.rawValue, channel: why.channel) == nil
      request = .why(why)
    }
    if let missing = key.grant.refusal(of: target.method.rawValue, channel: request.channel) {
      throw .permissionDenied.saying("the key \(key.name) may not do that; it would need \(missing)")
    }
    return try desk.admitted(request.asked(by: key.name, visible: key.grant.channels))
  }

  /// Writes down who did what; what ends, bans or destroys something where an operator sees it by default.
  private func log(_ method: String, _ plan: APIPlan, by key: APIKey) {
    let isProved = plan.commands.contains { $0.method?.isProved == true }
    logger.log(
      level: isProved ? .notice : .debug, "server API",
      metadata: [
        "\(Audit.field)": "\(AuditEvent.keyUsed.rawValue)", "key": "\(key.name)", "method": "\(method)",
        "commands": "\(plan.commands.count)",
        "refused": "\(plan.commands.count { $0.isRefused })",
      ])
  }
}

extension APIMethod {
  /// The method of services that does this.
  var service: String { self == .broadcast ? APIMethod.publish.rawValue : rawValue }

  /// Whether the method only writes publications, in the order in which they are asked for.
  var publishes: Bool { self == .publish || self == .broadcast }

  /// Whether somebody may ask later who did this.
  var isProved: Bool {
    switch group {
    case .control, .webhooks, .privacy, .support, .moderation: true
    default: self == .historyRemove
    }
  }
}
