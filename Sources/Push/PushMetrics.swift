import Metrics

/// What became of notifications, by kind of device and outcome.
struct PushMetrics: Sendable {
  private let sent: [PushDevice.Kind: [String: Counter]]

  init() {
    var sent: [PushDevice.Kind: [String: Counter]] = [:]
    for kind in PushDevice.Kind.allCases {
      for outcome in PushOutcome.names {
        sent[kind, default: [:]][outcome] = Counter(
          label: "fanfare_push_sent_total", dimensions: [("kind", kind.rawValue), ("outcome", outcome)])
      }
    }
    self.sent = sent
  }

  func count(_ outcome: PushOutcome, _ kind: PushDevice.Kind) { sent[kind]?[outcome.name]?.increment() }
}
