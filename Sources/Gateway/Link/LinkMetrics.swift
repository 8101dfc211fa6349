import Metrics

/// The link's counters as swift-metrics: whichever backend the process has set up exports them.
struct LinkMetrics {
  private let sessions = Counter(label: "fanfare_gateway_link_sessions_total")
  private let gaps = Counter(label: "fanfare_gateway_link_gaps_total")
  private let resets = Counter(label: "fanfare_gateway_link_resets_total")
  private let refilled = Counter(label: "fanfare_gateway_channels_refilled_total")
  private let lost = Counter(label: "fanfare_gateway_channels_lost_total")
  private let timedOut = Counter(label: "fanfare_gateway_requests_timed_out_total")

  func update(from old: GatewayLinkCounters, to new: GatewayLinkCounters) {
    sessions.increment(by: new.sessions - old.sessions)
    gaps.increment(by: new.gaps - old.gaps)
    resets.increment(by: new.resets - old.resets)
    refilled.increment(by: new.channelsRefilled - old.channelsRefilled)
    lost.increment(by: new.channelsLost - old.channelsLost)
    timedOut.increment(by: new.requestsTimedOut - old.requestsTimedOut)
  }
}
