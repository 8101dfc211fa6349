import CoreMetrics
import Synchronization

/// What Prometheus may do with a metric's numbers.
public enum MetricKind: String, Sendable, CaseIterable {
  /// Only ever goes up, and begins at 0 with each process.
  case counter
  case gauge
  /// How many values fell below each of some bounds, how many there were, and their sum.
  case histogram
}

/// The number of one combination of labels. A cell is found once, when its counter or gauge is made; from then on
/// whoever changes it touches nothing but its atomics.
protocol MetricCell: AnyObject, Sendable {
  static var kind: MetricKind { get }

  /// Appends the lines of this cell.
  ///
  /// - Parameter labels: as ``MetricText/labels(_:)`` writes them.
  func write(_ name: String, _ labels: String, to text: inout MetricText)
}

/// A counter: a change is one atomic addition.
final class CounterCell: CounterHandler, MetricCell {
  static let kind = MetricKind.counter
  private let count = Atomic<Int64>(0)

  var value: Int64 { count.load(ordering: .relaxed) }

  /// A counter never goes down, so a negative amount counts as nothing.
  func increment(by amount: Int64) {
    if amount > 0 { count.wrappingAdd(amount, ordering: .relaxed) }
  }

  func reset() { count.store(0, ordering: .relaxed) }

  func write(_ name: String, _ labels: String, to text: inout MetricText) {
    text.line(name, labels, String(value))
  }
}

/// A gauge: the last number that was recorded.
final class GaugeCell: RecorderHandler, MeterHandler, MetricCell {
  static let kind = MetricKind.gauge
  private let number = AtomicDouble()

  init() {}

  init(_ value: Double) { number.set(value) }

  var value: Double { number.value }

  func record(_ value: Int64) { number.set(Double(value)) }
  func record(_ value: Double) { number.set(value) }
  func set(_ value: Int64) { number.set(Double(value)) }
  func set(_ value: Double) { number.set(value) }
  func increment(by amount: Double) { number.add(amount) }
  func decrement(by amount: Double) { number.add(-amount) }

  func write(_ name: String, _ labels: String, to text: inout MetricText) {
    text.line(name, labels, MetricText.number(value))
  }
}

/// A histogram, of numbers or of times in seconds.
final class HistogramCell: RecorderHandler, TimerHandler, MetricCell {
  static let kind = MetricKind.histogram
  private let bounds: [Double]
  /// How many values lie at or below each bound and above the one before it; the last: above all bounds.
  private let counts: [CounterCell]
  private let sum = AtomicDouble()

  /// - Parameter bounds: upper bounds of the buckets, rising, without the infinite one.
  init(bounds: [Double]) {
    self.bounds = bounds
    counts = (0...bounds.count).map { _ in CounterCell() }
  }

  func record(_ value: Int64) { record(Double(value)) }

  /// A number that is none, or infinite, is not counted: the sum would be lost for good.
  func record(_ value: Double) {
    guard value.isFinite else { return }
    var place = 0
    while place < bounds.count, value > bounds[place] { place += 1 }
    counts[place].increment(by: 1)
    sum.add(value)
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

  /// The buckets are cumulative, and the count is that of the last one, so that the two agree whatever is recorded
  /// meanwhile.
  func write(_ name: String, _ labels: String, to text: inout MetricText) {
    let prefix = labels.isEmpty ? "" : labels + ","
    var total: Int64 = 0
    for (bound, count) in zip(bounds + [.infinity], counts) {
      total += count.value
      text.line(name + "_bucket", "\(prefix)le=\"\(MetricText.number(bound))\"", String(total))
    }
    text.line(name + "_sum", labels, MetricText.number(sum.value))
    text.line(name + "_count", labels, String(total))
  }
}

/// A number with a fraction that several threads change: its bits in an atomic.
private struct AtomicDouble: ~Copyable {
  private let bits = Atomic<UInt64>(0)

  var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

  func add(_ amount: Double) {
    var before = bits.load(ordering: .relaxed)
    while true {
      let after = (Double(bitPattern: before) + amount).bitPattern
      let (isExchanged, found) = bits.weakCompareExchange(expected: before, desired: after, ordering: .relaxed)
      if isExchanged { return }
      before = found
    }
  }
}
