import Metrics

/// The link's counters as swift-metrics: whichever backend the process has set up exports them.
struct LinkMetrics {
  private let sessions = Counter(label: "fanfare_gateway_link_sessions_total")
  private let moves = Counter(label: "fanfare_gateway_link_moves_total")
  private let gaps = Counter(label: "fanfare_gateway_link_gaps_total")
  private let resets = Counter(label: "fanfare_gateway_link_resets_total")
  private let refilled = Counter(label: "fanfare_gateway_channels_refilled_total")
  private let lost = Counter(label: "fanfare_gateway_channels_lost_total")
  private let deliveries = Counter(label: "fanfare_gateway_deliveries_total")
  private let timedOut = Counter(label: "fanfare_gateway_requests_timed_out_total")
  private let reportsLost = Counter(label: "fanfare_gateway_webhook_events_lost_total")
  private let up = Gauge(label: "fanfare_gateway_link_up")
  private let pending = Gauge(label: "fanfare_gateway_requests_pending_bytes")
  private let channels = Gauge(label: "fanfare_gateway_channels")

  /// - Parameter pendingBytes: requests without an answer.
  func update(isOpen: Bool, channels: Int, pendingBytes: Int) {
    pending.record(pendingBytes)
    up.record(isOpen ? 1 : 0)
    self.channels.record(channels)
  }

  func update(from old: GatewayLinkCounters, to new: GatewayLinkCounters) {
    sessions.increment(by: new.sessions - old.sessions)
    moves.increment(by: new.moves - old.moves)
    gaps.increment(by: new.gaps - old.gaps)
    resets.increment(by: new.resets - old.resets)
    refilled.increment(by: new.channelsRefilled - old.channelsRefilled)
    lost.increment(by: new.channelsLost - old.channelsLost)
    deliveries.increment(by: new.deliveries - old.deliveries)
    timedOut.increment(by: new.requestsTimedOut - old.requestsTimedOut)
    reportsLost.increment(by: new.reportsLost - old.reportsLost)
  }
}
