import HTTPClient
import Logging
import Settings
import Synchronization
import Telemetry
import ZeroMQ

#if canImport(Glibc)
  import Glibc
#endif

/// The collector that traces are sent to: an HTTP client of its own, and a task that sends what waits every two
/// seconds.
final class Collector: Sendable {
  let exporter: SpanExporter
  private let client: HTTPClient
  private let trouble: Trouble
  private let flushing: Task<Void, Never>

  /// Nil where the settings name none.
  init?(_ settings: Settings, version: String, logger: Logger) {
    let tracing = settings.tracing
    if tracing.endpoint.isEmpty { return nil }
    let client = HTTPClient(
      HTTPClient.Limits(
        connections: 1, connectionsPerHost: 1, waiting: 4, replyBytes: 64 << 10,
        allowsPrivateAddresses: tracing.allowPrivateAddresses, certificateAuthorities: nil),
      name: "fanfare-traces", userAgent: "Fanfare/\(version)")
    var headers = [(name: "content-type", value: "application/json")]
    headers += tracing.headers.compactMap { HeaderLine($0) }.map { ($0.name, $0.value) }
    let call = HTTPCall(
      method: "POST", url: tracing.endpoint, headers: headers, body: [],
      timeoutMilliseconds: Int(tracing.timeout.milliseconds))
    var limits = SpanExporter.Limits()
    limits.waiting = tracing.maxWaitingSpans
    let trouble = Trouble(logger)
    let encoder = SpanEncoder(
      service: "fanfare", version: version, instance: String(getpid()), epoch: Self.epoch())
    let exporter = SpanExporter(encoder, limits: limits) { body, done in
      var call = call
      call.body = body
      client.send(call) { result in done(trouble.note(result)) }
    }
    self.client = client
    self.trouble = trouble
    self.exporter = exporter
    flushing = Task.detached(priority: .background) {
      while !Task.isCancelled {
        exporter.flush()
        try? await Task.sleep(for: .seconds(2))
      }
    }
  }

  /// Sends what waits, for a second at most, so that the last spans of a server that stops are not lost.
  func finish() async {
    flushing.cancel()
    await exporter.finish(within: .seconds(1))
  }

  /// Sends no more. What is under way is dropped, and nobody is told of it: it is not the collector's fault.
  func close() {
    flushing.cancel()
    trouble.close()
    exporter.close()
    client.close()
  }

  /// Nanoseconds between 1970 and the beginning of `CLOCK_MONOTONIC`. The two clocks are read several times, because
  /// another process may run between the two: the closest pair counts.
  private static func epoch() -> UInt64 {
    var best: (gap: UInt64, epoch: UInt64) = (.max, 0)
    for _ in 0..<8 {
      let before = MonotonicClock.now()
      var wall = timespec()
      unsafe clock_gettime(CLOCK_REALTIME, &wall)
      let gap = MonotonicClock.now() &- before
      let now = UInt64(clamping: wall.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: wall.tv_nsec)
      if gap < best.gap { best = (gap, now &- before &- gap / 2) }
    }
    return best.epoch
  }
}

/// Tells an operator once that the collector takes nothing, and once that it does again.
private final class Trouble: Sendable {
  private struct State {
    var isIn = false
    var isClosed = false
  }

  private let state = Mutex(State())
  private let logger: Logger

  init(_ logger: Logger) { self.logger = logger }

  /// From here on calls end because this process ends them.
  func close() { state.withLock { $0.isClosed = true } }

  /// - Returns: whether the collector took what it was sent.
  func note(_ result: Result<HTTPReply, HTTPCallError>) -> Bool {
    let fault: String?
    switch result {
    case .success(let reply) where (200..<300).contains(reply.status): fault = nil
    case .success(let reply): fault = "it answers with status \(reply.status)"
    case .failure(let error): fault = "\(error)"
    }
    let changed = state.withLock { state in
      if state.isClosed { return false }
      defer { state.isIn = fault != nil }
      return state.isIn != (fault != nil)
    }
    if changed, let fault {
      logger.warning("the collector of tracing.endpoint takes no spans, which are dropped: \(fault)")
    } else if changed {
      logger.notice("the collector of tracing.endpoint takes spans again")
    }
    return fault == nil
  }
}
