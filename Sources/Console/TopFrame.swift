/// What `fanfare top` shows: worked out of two looks, or of one, of which only what is now is known.
public struct TopFrame: Sendable, Equatable {
  /// A number by its name.
  public struct Row: Sendable, Equatable {
    public var name: String
    public var value: Double
    public var unit: Unit
  }

  public enum Unit: String, Sendable {
    case count
    case perSecond = "per_second"
    case bytes
    case bytesPerSecond = "bytes_per_second"
    case seconds
  }

  /// Times of one hop of publications, in seconds.
  public struct Latency: Sendable, Equatable {
    public var hop: String
    public var median: Double
    public var p99: Double
    public var count: Double
  }

  public struct Channel: Sendable, Equatable {
    public var name: String
    public var subscribers: Double
    public var bytesPerSecond: Double
    /// Nil: not known yet.
    public var publicationsPerSecond: Double?
    public var deliveriesPerSecond: Double?
  }

  /// Seconds between the two looks; nil: there was only one.
  public var seconds: Double?
  public var rates: [Row] = []
  public var now: [Row] = []
  public var latencies: [Latency] = []
  /// Limits that were hit meanwhile, or ever where there was one look, those hit most first.
  public var limits: [Row] = []
  public var channels: [Channel] = []
  public var slowest: [TopSnapshot.Client] = []
  public var busiest: [TopSnapshot.Client] = []
  /// What could not be looked at, as sentences.
  public var troubles: [String] = []

  /// - Parameter before: an earlier look; nil: there is none.
  public init(_ before: TopSnapshot?, _ now: TopSnapshot) {
    let elapsed = before.map { max(now.at - $0.at, 0.001) }
    seconds = elapsed
    if let before, let elapsed {
      rates = Self.counters.compactMap { counter in
        Self.growth(counter.metric, before, now).map {
          Row(name: counter.name, value: $0 / elapsed, unit: counter.unit)
        }
      }
    }
    self.now = Self.gauges.compactMap { gauge in
      now.sum(gauge.metric).map { Row(name: gauge.name, value: $0, unit: gauge.unit) }
    }
    latencies = Self.latencies(before, now)
    limits = Self.limits(before, now, elapsed)
    channels = Self.channels(before, now, elapsed)
    (slowest, busiest) = (now.slowest, now.busiest)
    troubles = now.troubles
    if now.unanswered > 0 { troubles.append("gateways that did not answer in time: \(now.unanswered)") }
  }

  // MARK: What is shown

  private static let counters: [(metric: String, name: String, unit: Unit)] = [
    ("fanfare_broker_published_total", "publications", .perSecond),
    ("fanfare_gateway_deliveries_total", "deliveries", .perSecond),
    ("fanfare_log_written_bytes_total", "written to the log", .bytesPerSecond),
    ("fanfare_log_commit_seconds_count", "commits", .perSecond),
    ("fanfare_gateway_sign_ins_total", "sign-ins", .perSecond),
    ("fanfare_broker_recoveries_total", "recoveries", .perSecond),
    ("process_cpu_seconds_total", "processors in use", .count),
  ]

  private static let gauges: [(metric: String, name: String, unit: Unit)] = [
    ("fanfare_gateway_connections_signed_in", "clients", .count),
    ("fanfare_gateway_subscriptions", "subscriptions", .count),
    ("fanfare_broker_channels", "channels", .count),
    ("fanfare_gateway_fanout_queue_bytes", "waits in the fan-out", .bytes),
    ("fanfare_gateway_egress_waiting_bytes", "waits for clients", .bytes),
    ("fanfare_broker_pending_bytes", "waits for the disk", .bytes),
    ("fanfare_broker_memory_bytes", "memory of the broker", .bytes),
    ("process_resident_memory_bytes", "memory of all processes", .bytes),
    ("fanfare_log_refusing", "refusals of the disk", .count),
    ("fanfare_broker_gateways", "gateways", .count),
    ("fanfare_gateway_link_up", "links to the broker", .count),
    ("fanfare_webhook_waiting_events", "events wait for webhooks", .count),
    ("fanfare_webhook_given_up_events", "events given up", .count),
  ]

  /// Counters of limits: the whole metric, or one row for each value of a label.
  private static let limitCounters: [(metric: String, label: String?, name: String)] = [
    ("fanfare_gateway_refusals_total", "cause", "gateway"),
    ("fanfare_app_limits_total", "limit", "app"),
    ("fanfare_broker_limited_total", nil, "broker limits"),
    ("fanfare_broker_over_quota_total", nil, "broker quotas"),
    ("fanfare_broker_keys_refused_total", nil, "broker idempotency keys"),
    ("fanfare_broker_services_refused_total", nil, "broker services"),
    ("fanfare_gateway_slow_disconnects_total", nil, "gateway slow disconnects"),
  ]

  // MARK: Working it out

  /// By how much a counter grew. One that is smaller than before began anew, with its process.
  private static func growth(_ metric: String, _ before: TopSnapshot, _ now: TopSnapshot) -> Double? {
    guard let value = now.sum(metric) else { return nil }
    let earlier = before.sum(metric) ?? 0
    return value >= earlier ? value - earlier : value
  }

  private static func limits(_ before: TopSnapshot?, _ now: TopSnapshot, _ elapsed: Double?) -> [Row] {
    var rows: [Row] = []
    let unit: Unit = elapsed == nil ? .count : .perSecond
    for counter in limitCounters {
      let label = counter.label ?? ""
      let earlier = before?.sums(counter.metric, by: label) ?? [:]
      for (value, count) in now.sums(counter.metric, by: label) {
        let former = earlier[value] ?? 0
        let grown = (count >= former ? count - former : count) / (elapsed ?? 1)
        if grown > 0 {
          rows.append(Row(name: value.isEmpty ? counter.name : "\(counter.name) \(value)", value: grown, unit: unit))
        }
      }
    }
    return rows.sorted { ($1.value, $0.name) < ($0.value, $1.name) }
  }

  /// Times by hop (`fanfare_hop_seconds`).
  private static func latencies(_ before: TopSnapshot?, _ now: TopSnapshot) -> [Latency] {
    let earlier = before.map { buckets(of: $0) } ?? [:]
    var latencies: [Latency] = []
    for (hop, bounds) in buckets(of: now) {
      let window = HistogramWindow(
        bounds.map { bound, count in
          let former = earlier[hop]?[bound] ?? 0
          return (bound, count >= former ? count - former : count)
        })
      guard let median = window.quantile(0.5), let p99 = window.quantile(0.99) else { continue }
      latencies.append(Latency(hop: hop, median: median, p99: p99, count: window.count))
    }
    return latencies.sorted { $0.hop < $1.hop }
  }

  private static func buckets(of snapshot: TopSnapshot) -> [String: [Double: Double]] {
    var found: [String: [Double: Double]] = [:]
    for page in snapshot.pages {
      for sample in page.samples {
        guard let hop = hop(of: sample), let text = sample["le"] else { continue }
        guard let bound = text == "+Inf" ? Double.infinity : Double(text) else { continue }
        found[hop, default: [:]][bound, default: 0] += sample.value
      }
    }
    return found
  }

  /// The hop whose times a bucket counts; nil: the sample is none. A commit is told of beside the hops, whose time it is.
  private static func hop(of sample: MetricsPage.Sample) -> String? {
    if sample.name == "fanfare_log_commit_seconds_bucket" { return "(commit)" }
    return sample.name == "fanfare_hop_seconds_bucket" ? sample["hop"] : nil
  }

  private static func channels(_ before: TopSnapshot?, _ now: TopSnapshot, _ elapsed: Double?) -> [Channel] {
    let earlier = Dictionary(
      (before?.channels ?? []).map { ($0.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
    return now.channels.map { channel in
      var row = Channel(
        name: channel.name, subscribers: channel.subscribers, bytesPerSecond: channel.bytesPerSecond)
      if let elapsed, let offset = channel.offset, let former = earlier[channel.name] ?? nil, offset >= former {
        row.publicationsPerSecond = (offset - former) / elapsed
        row.deliveriesPerSecond = row.publicationsPerSecond.map { $0 * channel.subscribers }
      }
      return row
    }
  }
}
