import Logging
import Wire

/// What an operator is told: counters, and who was refused because of a limit.
final class BrokerTally {
  var counters = BrokerCounters()
  /// The namespaces that have had a channel in use, by their names: no more than are configured.
  private(set) var namespaces: [String: NamespaceTally] = [:]
  /// Refusals for a limit, summed up for the operator's log.
  private var refusals = RefusalLedger()
  /// Lines to be logged at once: the first refusal of each cause.
  private var lines: [RefusalLedger.Line] = []

  func note(_ cause: RefusalCause, from source: String) {
    if let line = refusals.note(cause, from: source) { lines.append(line) }
  }

  /// What is counted of a channel's namespace, which is a configured one.
  func namespace(of channel: ChannelName) -> NamespaceTally {
    let name = channel.namespace.map { String($0) } ?? ""
    if let known = namespaces[name] { return known }
    let new = NamespaceTally(name)
    namespaces[name] = new
    return new
  }

  /// Counts that a client wanted to go on from a position.
  ///
  /// - Parameter isWhole: it got all that it had missed.
  func recovered(isWhole: Bool) {
    if isWhole { counters.recoveriesWhole += 1 } else { counters.recoveriesNotWhole += 1 }
  }

  /// Counts a refusal for a limit of memory, of a channel or of a user.
  func limited(_ cause: RefusalCause, from source: String) {
    counters.limited += 1
    counters.limits[cause.name, default: 0] += 1
    note(cause, from: source)
  }

  /// Counts such a refusal, and returns the error for the caller to throw.
  func refused(_ error: ClientError, _ cause: RefusalCause, _ info: ClientInfo?) -> ClientError {
    limited(cause, from: info?.user ?? "a service")
    return error
  }

  /// Counts an error with which an app, or the broker on its behalf, refuses a user, if it is about a limit.
  func noteLimit(of error: ClientError, by user: String) {
    if let limit = error.limit { return note(limit, by: user) }
    guard error.code == ClientError.limitExceeded.code || error.code == ClientError.tooManyRequests.code else { return }
    counters.callsOverLimit += 1
    note(.appCalls, from: user)
  }

  /// Counts that a user has reached a limit of an app.
  func note(_ limit: AppLimit, by user: String) {
    counters.callsOverLimit += 1
    counters.appLimits[limit, default: 0] += 1
    note(limit.cause, from: user)
  }

  /// Counts that a service asked for something that its grant does not allow.
  ///
  /// - Parameter service: the service's name in the list of keys.
  func refusedService(_ cause: RefusalCause, from service: String) {
    counters.servicesRefused += 1
    note(cause, from: service)
  }

  /// The lines that are to be logged now.
  ///
  /// - Parameter isMinuteOver: true where the sums since the last minute are to be logged as well.
  func takeRefusals(isMinuteOver: Bool) -> [RefusalLedger.Line] {
    if isMinuteOver { lines += refusals.drain() }
    defer { lines = [] }
    return lines
  }
}

/// What is counted of one namespace. Each of its channels in use has a reference to it, so that counting a publication
/// looks nothing up.
final class NamespaceTally {
  /// Empty: channels without a namespace.
  let name: String
  /// Publications that were delivered.
  var published: UInt64 = 0
  /// Channels in memory now.
  var channels = 0
  /// How many publications the metrics have.
  var reported: UInt64 = 0

  init(_ name: String) { self.name = name }
}

extension RefusalCause {
  static let serviceRequests = RefusalCause(
    "service_requests", "requests of a service were refused: its line in broker.services.keys does not allow them")
  static let serviceTaps = RefusalCause(
    "service_taps", "a service asked the tap for what it may not have, and gets nothing of it")
  /// Limits of apps that are no ``AppLimit`` of their own.
  static let appCalls = RefusalCause(
    "app_calls", "calls were refused because their user had reached a limit of the app (docs/STATE.md, docs/CLIQUE.md)")
  static let callsPutAside = RefusalCause(
    "app_calls_put_aside", "calls were refused: as many wait for the disk of the keys as may")
}

extension RefusalLedger.Line {
  func tell(_ logger: Logger) {
    logger.info(
      "\(cause.sentence)",
      metadata: ["cause": "\(cause.name)", "count": "\(count)", "most": "\(source)", "of_these": "\(sourceCount)"])
  }
}
