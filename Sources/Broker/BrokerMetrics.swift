import Metrics
import Wire

/// The broker's counters as swift-metrics: whichever backend the process has set up exports them.
struct BrokerMetrics {
  private let published = Counter(label: "fanfare_broker_published_total")
  /// Publications by namespace, those of them on whose channels something was published.
  private var publications: [String: (publications: Counter, channels: Gauge)] = [:]
  private var limits: [String: Counter] = [:]
  private let delivered = Counter(label: "fanfare_broker_delivered_total")
  private let refused = Counter(label: "fanfare_broker_refused_total")
  private let duplicates = Counter(label: "fanfare_broker_duplicates_avoided_total")
  private let recoveriesWhole = Counter(label: "fanfare_broker_recoveries_total", dimensions: [("result", "whole")])
  private let recoveriesNotWhole = Counter(
    label: "fanfare_broker_recoveries_total", dimensions: [("result", "not_whole")])
  private let gaps = Counter(label: "fanfare_link_gaps_total")
  private let resets = Counter(label: "fanfare_link_resets_total")
  private let deferred = Counter(label: "fanfare_link_deferred_total")
  private let refilled = Counter(label: "fanfare_link_channels_refilled_total")
  private let lost = Counter(label: "fanfare_link_channels_lost_total")
  private let forgotten = Counter(label: "fanfare_link_gateways_forgotten_total")
  private let callsOverLimit = Counter(label: "fanfare_app_calls_over_limit_total")
  private let appLimits = AppLimit.allCases.map { limit in
    (limit, Counter(label: "fanfare_app_limits_total", dimensions: [("limit", limit.name)]))
  }
  private let keysRefused = Counter(label: "fanfare_broker_keys_refused_total")
  private let overQuota = Counter(label: "fanfare_broker_over_quota_total")
  private let limited = Counter(label: "fanfare_broker_limited_total")
  private let servicesRefused = Counter(label: "fanfare_broker_services_refused_total")
  private let orders = Counter(label: "fanfare_broker_orders_total")
  private let ordersLate = Counter(label: "fanfare_broker_orders_late_total")
  private let revocations = Counter(label: "fanfare_broker_revocations_total")
  private let relaysSent = Counter(label: "fanfare_broker_app_relays_sent_total")
  private let relaysReceived = Counter(label: "fanfare_broker_app_relays_received_total")
  private let relaysRefused = Counter(label: "fanfare_broker_app_relays_refused_total")
  private let ordersUnderWay = Gauge(label: "fanfare_broker_orders_under_way")
  private let revocationsInForce = Gauge(label: "fanfare_broker_revocations_in_force")
  private let memory = Gauge(label: "fanfare_broker_memory_bytes")
  private let memoryLimit = Gauge(label: "fanfare_broker_memory_limit_bytes")
  private let gateways = Gauge(label: "fanfare_broker_gateways")
  private let channels = Gauge(label: "fanfare_broker_channels")
  private let pending = Gauge(label: "fanfare_broker_pending_bytes")

  private var webhooks = WebhookMetrics()
  private var notices: NoticeMetrics?

  /// - Parameter memoryLimit: bytes, as `broker.memory_bytes` says.
  init(memoryLimit: Int) { self.memoryLimit.record(memoryLimit) }

  mutating func update(from old: BrokerCounters, to new: BrokerCounters, pendingBytes: Int) {
    published.increment(by: new.published - old.published)
    delivered.increment(by: new.delivered - old.delivered)
    refused.increment(by: new.refused - old.refused)
    duplicates.increment(by: new.duplicatesAvoided - old.duplicatesAvoided)
    recoveriesWhole.increment(by: new.recoveriesWhole - old.recoveriesWhole)
    recoveriesNotWhole.increment(by: new.recoveriesNotWhole - old.recoveriesNotWhole)
    gaps.increment(by: new.linkGaps - old.linkGaps)
    resets.increment(by: new.linkResets - old.linkResets)
    deferred.increment(by: new.requestsDeferred - old.requestsDeferred)
    refilled.increment(by: new.channelsRefilled - old.channelsRefilled)
    lost.increment(by: new.channelsLost - old.channelsLost)
    forgotten.increment(by: new.gatewaysForgotten - old.gatewaysForgotten)
    callsOverLimit.increment(by: new.callsOverLimit - old.callsOverLimit)
    if new.appLimits != old.appLimits {
      for (limit, counter) in appLimits {
        let (before, now) = (old.appLimits[limit] ?? 0, new.appLimits[limit] ?? 0)
        if now > before { counter.increment(by: now - before) }
      }
    }
    keysRefused.increment(by: new.keysRefused - old.keysRefused)
    overQuota.increment(by: new.overQuota - old.overQuota)
    limited.increment(by: new.limited - old.limited)
    if new.limits != old.limits { tellLimits(from: old.limits, to: new.limits) }
    servicesRefused.increment(by: new.servicesRefused - old.servicesRefused)
    orders.increment(by: new.orders - old.orders)
    ordersLate.increment(by: new.ordersLate - old.ordersLate)
    revocations.increment(by: new.revocations - old.revocations)
    relaysSent.increment(by: new.relaysSent - old.relaysSent)
    relaysReceived.increment(by: new.relaysReceived - old.relaysReceived)
    relaysRefused.increment(by: new.relaysRefused - old.relaysRefused)
    pending.record(pendingBytes)
  }

  private mutating func tellLimits(from old: [String: UInt64], to new: [String: UInt64]) {
    for (limit, count) in new {
      let counter =
        limits[limit] ?? Counter(label: "fanfare_broker_limits_total", dimensions: [("limit", limit)])
      limits[limit] = counter
      counter.increment(by: count - (old[limit] ?? 0))
    }
  }

  /// - Parameter statuses: of all webhooks.
  mutating func update(_ statuses: [WebhookStatus]) { webhooks.update(statuses) }

  mutating func update(_ status: NoticeStatus) {
    var own = notices ?? NoticeMetrics()
    own.update(status)
    notices = own
  }

  /// Tells what was published since the last call, and the channels of each namespace.
  mutating func update(_ namespaces: some Sequence<NamespaceTally>) {
    for namespace in namespaces {
      let told = publications[namespace.name] ?? Self.metrics(of: namespace.name)
      publications[namespace.name] = told
      told.channels.record(namespace.channels)
      told.publications.increment(by: namespace.published - namespace.reported)
      namespace.reported = namespace.published
    }
  }

  private static func metrics(of namespace: String) -> (publications: Counter, channels: Gauge) {
    // A label that is empty is none to Prometheus. No namespace has this name, for parentheses stand in none.
    let name = namespace.isEmpty ? "(none)" : namespace
    let labels = [("namespace", name)]
    return (
      Counter(label: "fanfare_namespace_publications_total", dimensions: labels),
      Gauge(label: "fanfare_namespace_channels", dimensions: labels)
    )
  }

  /// - Parameters:
  ///   - gateways: how many the broker has a link to.
  ///   - orders: how many orders some gateway has not confirmed, revocations among them.
  ///   - revocations: how many are in force.
  func update(memoryBytes: Int, channels: Int, gateways: Int, orders: Int, revocations: Int) {
    memory.record(memoryBytes)
    self.channels.record(channels)
    self.gateways.record(gateways)
    ordersUnderWay.record(orders)
    revocationsInForce.record(revocations)
  }
}
