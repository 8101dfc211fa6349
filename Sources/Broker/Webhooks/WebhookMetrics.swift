import Logging
import Metrics
import Wire

/// How webhooks are doing, as metrics: one set for each webhook, so no more than are configured.
struct WebhookMetrics {
  private struct Cells {
    let waiting: Gauge
    let waitingBytes: Gauge
    let oldest: Gauge
    let keptGivenUp: Gauge
    let sent: Counter
    let failures: Counter
    let givenUp: Counter
    let lost: Counter
    var reported = WebhookStatus()

    init(_ name: String) {
      let labels = [("webhook", name)]
      waiting = Gauge(label: "fanfare_webhook_waiting_events", dimensions: labels)
      waitingBytes = Gauge(label: "fanfare_webhook_waiting_bytes", dimensions: labels)
      oldest = Gauge(label: "fanfare_webhook_oldest_time_seconds", dimensions: labels)
      keptGivenUp = Gauge(label: "fanfare_webhook_given_up_events", dimensions: labels)
      sent = Counter(label: "fanfare_webhook_sent_total", dimensions: labels)
      failures = Counter(label: "fanfare_webhook_failures_total", dimensions: labels)
      givenUp = Counter(label: "fanfare_webhook_given_up_total", dimensions: labels)
      lost = Counter(label: "fanfare_webhook_lost_total", dimensions: labels)
    }

    mutating func update(_ status: WebhookStatus) {
      waiting.record(status.waiting)
      waitingBytes.record(status.waitingBytes)
      oldest.record((status.oldest ?? 0) / 1000)
      keptGivenUp.record(status.keptGivenUp)
      sent.increment(by: status.sent - reported.sent)
      failures.increment(by: status.failures - reported.failures)
      givenUp.increment(by: status.givenUp - reported.givenUp)
      lost.increment(by: status.lost - reported.lost)
      reported = status
    }
  }

  private var cells: [String: Cells] = [:]

  mutating func update(_ statuses: [WebhookStatus]) {
    for status in statuses {
      var own = cells[status.name] ?? Cells(status.name)
      own.update(status)
      cells[status.name] = own
    }
  }
}

/// What an operator is told of webhooks when it happens.
enum WebhookLog {
  static func tell(_ note: WebhookNote, _ logger: Logger) {
    switch note.kind {
    case .fails(let reason):
      logger.warning(
        "a webhook's receiver does not take its events; they wait and are sent again",
        metadata: ["webhook": "\(note.webhook)", "reason": "\(reason)"])
    case .recovered:
      logger.notice("a webhook's receiver takes its events again", metadata: ["webhook": "\(note.webhook)"])
    case .gaveUp(let count, let reason):
      logger.error(
        "events of a webhook were given up; look at them with 'fanfare webhooks given-up', and send them again with 'fanfare webhooks resend'",
        metadata: ["webhook": "\(note.webhook)", "events": "\(count)", "reason": "\(reason)"])
    }
  }
}
