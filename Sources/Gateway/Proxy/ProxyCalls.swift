import HTTPClient
public import Logging
import Metrics
import Synchronization
import Wire
import ZeroMQ

/// Puts questions of sessions to the backend, each kind to its endpoint: bounded, behind a ``ProxyBreaker``, and off the
/// event loops.
///
/// Each kind has an HTTP client of its own, with its own thread and connections: a backend that hangs on one kind of
/// question takes nothing from the others. What is under way is bounded by ``ProxyEndpoint/maximumCalls``, and each call
/// ends with its time limit at the latest.
public final class ProxyCalls: Sendable {
  /// A whole reply. (``HTTPReply`` is what the listener answers with.)
  struct Reply: Sendable {
    var status: Int
    var body: [UInt8]
  }

  /// Sends a call and calls back once, from any thread.
  typealias Send = @Sendable (HTTPCall, @escaping @Sendable (Result<Reply, HTTPCallError>) -> Void) -> Void

  /// Headers of clients' requests that some endpoint passes on, in lower case.
  let forwardedHeaders: [String]
  private let endpoints: [ProxyKind: ProxyLine]
  private let clients: [HTTPClient]

  /// - Parameter userAgent: what the backend reads of who calls.
  public convenience init(_ configuration: ProxyConfiguration, userAgent: String, logger: Logger) {
    var clients: [ProxyKind: HTTPClient] = [:]
    for (kind, endpoint) in configuration.endpoints {
      let connections = min(max(configuration.connections, 1), max(endpoint.maximumCalls, 1))
      let limits = HTTPClient.Limits(
        connections: connections, connectionsPerHost: connections,
        // Not fewer: a call waits from when it is posted until the client's thread has looked, whatever is free.
        waiting: max(endpoint.maximumCalls, 1), replyBytes: configuration.replyBytes,
        allowsPrivateAddresses: configuration.allowsPrivateAddresses,
        certificateAuthorities: configuration.certificateAuthorities)
      clients[kind] = HTTPClient(limits, name: "\(kind.rawValue) proxy", userAgent: userAgent)
    }
    self.init(
      configuration, logger: logger, clients: Array(clients.values),
      send: { [clients] kind in
        { call, done in
          guard let client = clients[kind] else { return done(.failure(.closed)) }
          client.send(call) { result in done(result.map { Reply(status: $0.status, body: $0.body) }) }
        }
      },
      now: { Int64(MonotonicClock.now() / 1_000_000) })
  }

  /// - Parameters:
  ///   - send: what sends the calls of a kind.
  ///   - now: monotonic milliseconds.
  init(
    _ configuration: ProxyConfiguration, logger: Logger, clients: [HTTPClient] = [], send: (ProxyKind) -> Send,
    now: @escaping @Sendable () -> Int64
  ) {
    forwardedHeaders = configuration.forwardedHeaders
    self.clients = clients
    var endpoints: [ProxyKind: ProxyLine] = [:]
    for (kind, endpoint) in configuration.endpoints {
      endpoints[kind] = ProxyLine(kind, endpoint, logger: logger, send: send(kind), now: now)
    }
    self.endpoints = endpoints
  }

  /// Asks the backend.
  ///
  /// - Parameters:
  ///   - headers: what was kept of the client's request, under names in lower case.
  ///   - context: the trace that the call belongs to; nil: none.
  ///   - done: called once, from any thread, perhaps before this returns; it must not block.
  func ask(
    _ question: ProxyQuestion, from asker: ProxyAsker, headers: [BackendHeader], under context: TraceContext? = nil,
    then done: @escaping @Sendable (ProxyAnswer) -> Void
  ) {
    guard let line = endpoints[question.kind] else { return done(.failed(.closed)) }
    line.ask(question, from: asker, headers: headers, under: context, then: done)
  }

  /// Calls under way of a kind.
  func underWay(_ kind: ProxyKind) -> Int { endpoints[kind]?.underWay ?? 0 }

  func breakerState(_ kind: ProxyKind) -> ProxyBreaker.State? { endpoints[kind]?.breakerState }

  /// Ends what is under way, and waits for the clients' threads. Whoever asks later is refused.
  public func close() {
    for line in endpoints.values { line.close() }
    for client in clients { client.close() }
  }
}

/// The calls of one kind.
private final class ProxyLine: Sendable {
  private struct State {
    var breaker: ProxyBreaker
    var underWay = 0
    var isClosed = false
  }

  private enum Admission {
    case permit(ProxyBreaker.Permit)
    case fault(ProxyFault)
  }

  private let kind: ProxyKind
  private let endpoint: ProxyEndpoint
  private let logger: Logger
  private let send: ProxyCalls.Send
  private let now: @Sendable () -> Int64
  private let state: Mutex<State>
  private let metrics: ProxyMetrics

  init(
    _ kind: ProxyKind, _ endpoint: ProxyEndpoint, logger: Logger, send: @escaping ProxyCalls.Send,
    now: @escaping @Sendable () -> Int64
  ) {
    self.kind = kind
    self.endpoint = endpoint
    self.logger = logger
    self.send = send
    self.now = now
    state = Mutex(State(breaker: ProxyBreaker(endpoint.breaker)))
    metrics = ProxyMetrics(kind)
  }

  var underWay: Int { state.withLock { $0.underWay } }
  var breakerState: ProxyBreaker.State { state.withLock { $0.breaker.state } }

  func close() { state.withLock { $0.isClosed = true } }

  func ask(
    _ question: ProxyQuestion, from asker: ProxyAsker, headers: [BackendHeader], under context: TraceContext?,
    then done: @escaping @Sendable (ProxyAnswer) -> Void
  ) {
    let permit: ProxyBreaker.Permit
    switch begin() {
    case .permit(let given): permit = given
    case .fault(let fault):
      metrics.count(.failed(fault))
      return done(.failed(fault))
    }
    let call = HTTPCall(
      method: "POST", url: endpoint.url, headers: self.headers(with: headers, under: context),
      body: ProxyRequest.body(
        of: question, from: asker, usesBase64: endpoint.usesBase64, includesMeta: endpoint.includesMeta),
      timeoutMilliseconds: endpoint.timeoutMilliseconds)
    send(call) { [self] result in
      let (answer, outcome, reason) = Self.read(result)
      end(permit, outcome, reason)
      metrics.count(answer)
      done(answer)
    }
  }

  /// The bound is looked at first: else a trial of the breaker's could be given to a call that is not made.
  private func begin() -> Admission {
    let time = now()
    return state.withLock { state in
      if state.isClosed { return .fault(.closed) }
      guard state.underWay < endpoint.maximumCalls else { return .fault(.bound) }
      guard let permit = state.breaker.admit(at: time) else { return .fault(.breaker) }
      state.underWay += 1
      metrics.tell(underWay: state.underWay, state.breaker.state)
      return .permit(permit)
    }
  }

  private func end(_ permit: ProxyBreaker.Permit, _ outcome: ProxyBreaker.Outcome, _ reason: String?) {
    let time = now()
    let (before, after) = state.withLock { state in
      let before = state.breaker.state
      state.underWay -= 1
      state.breaker.ended(permit, outcome, at: time)
      metrics.tell(underWay: state.underWay, state.breaker.state)
      return (before, state.breaker.state)
    }
    if let reason {
      logger.debug("a call to the backend failed", metadata: ["proxy": "\(kind.rawValue)", "why": "\(reason)"])
    }
    switch (before, after) {
    case (.closed, .open):
      logger.warning(
        "the backend does not answer, and is left alone for a while (the breaker is open)",
        metadata: ["proxy": "\(kind.rawValue)", "why": "\(reason ?? "")"])
    case (.halfOpen, .closed):
      logger.notice("the backend answers again (the breaker is closed)", metadata: ["proxy": "\(kind.rawValue)"])
    default: break
    }
  }

  /// What the endpoint is told beside the body. A client's header replaces a static one of its name, and the trace of a
  /// call that is traced replaces both.
  private func headers(
    with given: [BackendHeader], under context: TraceContext?
  ) -> [(name: String, value: String)] {
    var forwarded = given.filter { endpoint.forwardedHeaders.contains($0.name) }
    if let context {
      forwarded.removeAll { $0.name == TraceContext.headerName }
      forwarded.append(BackendHeader(name: TraceContext.headerName, value: context.traceparent))
    }
    let names = Set(forwarded.map(\.name))
    let fixed = endpoint.staticHeaders.filter { !names.contains($0.name.lowercased()) }
    return [("Content-Type", "application/json")] + (fixed + forwarded).map { ($0.name, $0.value) }
  }

  /// A reply with an error status, or one that makes no sense, fails its own client and counts as an answer to the
  /// breaker: the backend is there, and one client whose requests it stumbles over must not cut off all others. A gateway
  /// in between that has no backend (502, 503, 504) counts as none.
  private static func read(
    _ result: Result<ProxyCalls.Reply, HTTPCallError>
  ) -> (ProxyAnswer, ProxyBreaker.Outcome, reason: String?) {
    switch result {
    case .success(let reply) where reply.status == 200:
      do throws(ProxyReply.Malformed) {
        return (try ProxyReply.read(reply.body), .answered, nil)
      } catch {
        return (.failed(.failed), .answered, error.why)
      }
    case .success(let reply):
      let isAway = [502, 503, 504].contains(reply.status)
      return (.failed(.failed), isAway ? .failed : .answered, "status \(reply.status)")
    case .failure(.timedOut): return (.failed(.timeout), .failed, HTTPCallError.timedOut.description)
    case .failure(.tooMany): return (.failed(.bound), .notMade, nil)
    case .failure(.closed): return (.failed(.closed), .notMade, nil)
    case .failure(let error):
      switch error {
      // A header that the client sent may be at fault.
      case .badURL: return (.failed(.failed), .notMade, error.description)
      case .tooLarge: return (.failed(.failed), .answered, error.description)
      default: return (.failed(.failed), .failed, error.description)
      }
    }
  }
}

/// What operators watch of one kind of call. All names are ours: no client can add one.
private struct ProxyMetrics: Sendable {
  private let calls: [String: Counter]
  private let underWay: Gauge
  private let breaker: Gauge

  private static let answers = ["result", "error", "disconnect"]

  init(_ kind: ProxyKind) {
    let proxy = ("proxy", kind.rawValue)
    var calls: [String: Counter] = [:]
    for outcome in Self.answers + ProxyFault.allCases.map(\.rawValue) {
      calls[outcome] = Counter(
        label: "fanfare_gateway_proxy_calls_total", dimensions: [proxy, ("outcome", outcome)])
    }
    self.calls = calls
    underWay = Gauge(label: "fanfare_gateway_proxy_calls_under_way", dimensions: [proxy])
    breaker = Gauge(label: "fanfare_gateway_proxy_breaker_state", dimensions: [proxy])
    tell(underWay: 0, .closed(failures: 0))
  }

  func count(_ answer: ProxyAnswer) {
    let outcome =
      switch answer {
      case .result: "result"
      case .error: "error"
      case .disconnect: "disconnect"
      case .failed(let fault): fault.rawValue
      }
    calls[outcome]?.increment()
  }

  func tell(underWay count: Int, _ state: ProxyBreaker.State) {
    underWay.record(count)
    switch state {
    case .closed: breaker.record(0)
    case .halfOpen: breaker.record(1)
    case .open: breaker.record(2)
    }
  }
}
