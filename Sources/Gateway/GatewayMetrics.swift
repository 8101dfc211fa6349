import Metrics

/// What operators watch of a gateway beside its link. The numbers stand where they change; here they are read a few
/// times a second, on the backbone's thread.
struct GatewayMetrics {
  /// The listener's totals, as they were told last.
  private struct Totals {
    var accepted = 0
    var websockets = 0
    var streams = 0
    var signIns = 0
    var rejected = 0
    var slow = 0
    var exhausted = 0
    var toCompress = 0
    var compressed = 0

    init() {}

    init(_ counters: ListenerCounters) {
      accepted = counters.acceptedConnections
      websockets = counters.upgradedConnections
      streams = counters.openedStreams
      signIns = counters.signIns
      rejected = counters.rejectedRequests
      slow = counters.slowConnections
      exhausted = counters.descriptorExhaustions
      toCompress = counters.bytesToCompress
      compressed = counters.bytesCompressed
    }
  }

  private let shards: [ShardMailbox]
  private let egress: EgressBudget
  private let listener: () -> ListenerCounters?
  private var reported = Totals()
  private var namespaces = NamespaceMetrics()

  private let connections = Gauge(label: "fanfare_gateway_connections")
  private let signedIn = Gauge(label: "fanfare_gateway_connections_signed_in")
  private let accepted = Counter(label: "fanfare_gateway_connections_accepted_total")
  private let websockets = Counter(label: "fanfare_gateway_websockets_total")
  private let streams = Counter(label: "fanfare_gateway_streams_total")
  private let signIns = Counter(label: "fanfare_gateway_sign_ins_total")
  private let rejected = Counter(label: "fanfare_gateway_requests_rejected_total")
  private let slow = Counter(label: "fanfare_gateway_slow_disconnects_total")
  private let exhausted = Counter(label: "fanfare_gateway_descriptors_exhausted_total")
  private let toCompress = Counter(label: "fanfare_gateway_compression_input_bytes_total")
  private let compressed = Counter(label: "fanfare_gateway_compression_output_bytes_total")
  private let subscriptions = Gauge(label: "fanfare_gateway_subscriptions")
  private let queued = Gauge(label: "fanfare_gateway_fanout_queue_bytes")
  private let waiting = Gauge(label: "fanfare_gateway_egress_waiting_bytes")

  /// - Parameter listener: the counters of the public port; nil while there is none.
  init(shards: [ShardMailbox], egress: EgressBudget, listener: @escaping () -> ListenerCounters?) {
    self.shards = shards
    self.egress = egress
    self.listener = listener
    Gauge(label: "fanfare_gateway_egress_limit_bytes").record(egress.limitBytes)
  }

  mutating func update() {
    subscriptions.record(namespaces.update(shards.map(\.tallies)))
    queued.record(shards.reduce(0) { $0 + $1.queuedBytes })
    waiting.record(egress.waitingBytes)
    guard let counters = listener() else { return }
    connections.record(counters.openConnections)
    signedIn.record(counters.signedInConnections)
    let now = Totals(counters)
    accepted.increment(by: now.accepted - reported.accepted)
    websockets.increment(by: now.websockets - reported.websockets)
    streams.increment(by: now.streams - reported.streams)
    signIns.increment(by: now.signIns - reported.signIns)
    rejected.increment(by: now.rejected - reported.rejected)
    slow.increment(by: now.slow - reported.slow)
    exhausted.increment(by: now.exhausted - reported.exhausted)
    toCompress.increment(by: now.toCompress - reported.toCompress)
    compressed.increment(by: now.compressed - reported.compressed)
    reported = now
  }
}
