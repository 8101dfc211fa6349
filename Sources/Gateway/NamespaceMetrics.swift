import Metrics

/// What a gateway tells of each namespace. Labels are names of configured namespaces, and nothing that clients send.
struct NamespaceMetrics {
  private struct Told {
    let deliveries: Counter
    let bytes: Counter
    let subscriptions: Gauge
    var numbers = DeliveryNumbers()

    init(_ namespace: String) {
      // A label that is empty is none to Prometheus. No namespace has this name, for parentheses stand in none.
      let labels = [("namespace", namespace.isEmpty ? "(none)" : namespace)]
      deliveries = Counter(label: "fanfare_namespace_deliveries_total", dimensions: labels)
      bytes = Counter(label: "fanfare_namespace_delivered_bytes_total", dimensions: labels)
      subscriptions = Gauge(label: "fanfare_namespace_subscriptions", dimensions: labels)
    }
  }

  private var told: [String: Told] = [:]

  /// Tells what has changed since the last call.
  ///
  /// - Returns: the subscriptions of all namespaces.
  mutating func update(_ loops: [DeliveryTallies]) -> Int {
    var sums: [String: DeliveryNumbers] = [:]
    for tally in loops.flatMap(\.all) { sums[tally.namespace, default: DeliveryNumbers()] += tally.numbers }
    for (namespace, numbers) in sums {
      var before = told[namespace] ?? Told(namespace)
      before.deliveries.increment(by: numbers.deliveries - before.numbers.deliveries)
      before.bytes.increment(by: numbers.bytes - before.numbers.bytes)
      before.subscriptions.record(numbers.subscriptions)
      before.numbers = numbers
      told[namespace] = before
    }
    return sums.values.reduce(0) { $0 + $1.subscriptions }
  }
}
