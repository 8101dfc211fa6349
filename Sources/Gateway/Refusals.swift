public import Logging
import Metrics
import Synchronization
import Wire

/// The gateway's ledger of refusals, for all its threads: each is counted by cause, and told in the log at `info` in
/// one line per cause and minute.
public final class Refusals: Sendable {
  private struct State {
    var ledger = RefusalLedger()
    /// Refusals since the start, by cause: no more entries than there are causes in the code.
    var counts: [RefusalCause: (count: Int, counter: Counter)] = [:]
  }

  private let state = Mutex(State())
  private let logger: Logger

  public init(logger: Logger) { self.logger = logger }

  /// - Parameter source: the address or the user that is concerned.
  func note(_ cause: RefusalCause, from source: String) {
    let line = state.withLock { state in
      var (count, counter) =
        state.counts[cause]
        ?? (0, Counter(label: "fanfare_gateway_refusals_total", dimensions: [("cause", cause.name)]))
      counter.increment()
      count += 1
      state.counts[cause] = (count, counter)
      return state.ledger.note(cause, from: source)
    }
    if let line { log(line) }
  }

  /// Logs what was gathered since the last call; to be called once a minute.
  func tellMinute() {
    for line in state.withLock({ $0.ledger.drain() }) { log(line) }
  }

  /// Refusals for this cause since the start.
  func count(_ cause: RefusalCause) -> Int { state.withLock { $0.counts[cause]?.count ?? 0 } }

  private func log(_ line: RefusalLedger.Line) {
    var metadata: Logger.Metadata = ["cause": "\(line.cause.name)", "count": "\(line.count)"]
    if !line.source.isEmpty {
      metadata["from"] = "\(line.source)"
      if line.count > 1 { metadata["from_count"] = "\(line.sourceCount)" }
    }
    logger.info("\(line.cause.sentence)", metadata: metadata)
  }
}
