public import CoreMetrics
import Synchronization

/// All numbers that the process's parts keep through swift-metrics, and the page on which Prometheus reads them.
///
/// Made once, before any part makes a counter: what was made before counts for nobody. The same label with the same
/// dimensions is one number, whoever asks for it, so that event loops count into one counter. A number stays until the
/// process ends, since a counter that went and came back would look as if the server had been restarted.
public final class PrometheusRegistry: MetricsFactory {
  /// What the page is called in `Content-Type`.
  public static let contentType = "text/plain; version=0.0.4; charset=utf-8"
  /// Combinations of labels that one metric may have. More are not kept, and `fanfare_metrics_dropped_total` counts
  /// them: names come from the code, but what stands in labels may have come from elsewhere.
  static let mostCombinations = 1000

  private struct Family {
    let kind: MetricKind
    /// The cells by their labels, as ``MetricText/labels(_:)`` writes them.
    var cells: [String: any MetricCell]
  }

  private let families: Mutex<[String: Family]>
  private let dropped = CounterCell()
  // Count what is dropped, and are shown nowhere.
  private let spareCounter = CounterCell()
  private let spareGauge = GaugeCell()
  private let spareHistogram = HistogramCell(bounds: [])

  /// A registry that nobody else uses; for the process's own see ``bootstrap(version:)``.
  ///
  /// - Parameter version: of the server, for `fanfare_build_info`.
  public init(version: String) {
    let build = MetricText.labels([("version", version), ("swift", Self.compiler)])
    families = Mutex([
      MetricTable.dropped: Family(kind: .counter, cells: ["": dropped]),
      MetricTable.build: Family(kind: .gauge, cells: [build: GaugeCell(1)]),
    ])
  }

  /// Makes the registry that all of the process counts into. To be called once in a process and first of all.
  public static func bootstrap(version: String) -> PrometheusRegistry {
    let registry = PrometheusRegistry(version: version)
    MetricsSystem.bootstrap(registry)
    return registry
  }

  // MARK: The page

  /// The page, in text exposition format 0.0.4: metrics by name, and each by its labels. What the process takes of the
  /// machine is looked up now.
  public func render() -> [UInt8] {
    var families = families.withLock { $0 }
    for (name, kind, value) in ProcessUsage.now() {
      families[name] = Family(kind: kind, cells: ["": GaugeCell(value)])
    }
    var text = MetricText()
    for (name, family) in families.sorted(by: { $0.key < $1.key }) {
      text.header(name, family.kind, help: MetricTable.byName[name]?.help)
      for (labels, cell) in family.cells.sorted(by: { $0.key < $1.key }) { cell.write(name, labels, to: &text) }
    }
    return text.bytes
  }

  // MARK: MetricsFactory

  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    cell(label, dimensions, or: spareCounter) { _ in CounterCell() }
  }

  public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    if !aggregate { return gauge(label, dimensions) }
    return cell(label, dimensions, or: spareHistogram) { name in
      HistogramCell(bounds: MetricTable.byName[name]?.bounds ?? MetricTable.anyNumbers)
    }
  }

  /// Times are shown in seconds.
  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    cell(label, dimensions, or: spareHistogram) { name in
      HistogramCell(bounds: MetricTable.byName[name]?.bounds ?? MetricTable.seconds)
    }
  }

  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { gauge(label, dimensions) }

  public func destroyCounter(_ handler: any CounterHandler) {}
  public func destroyRecorder(_ handler: any RecorderHandler) {}
  public func destroyTimer(_ handler: any TimerHandler) {}

  private func gauge(_ label: String, _ dimensions: [(String, String)]) -> GaugeCell {
    cell(label, dimensions, or: spareGauge) { _ in GaugeCell() }
  }

  /// The cell of a label and its dimensions: the one that there is, or a new one.
  ///
  /// - Parameter spare: returned where the metric is of another kind, or has as many combinations as it may have.
  private func cell<Cell: MetricCell>(
    _ label: String, _ dimensions: [(String, String)], or spare: Cell, make: (String) -> Cell
  ) -> Cell {
    let name = MetricText.metricName(label)
    let labels = MetricText.labels(dimensions)
    let cell = families.withLock { families -> Cell? in
      let family = families[name] ?? Family(kind: Cell.kind, cells: [:])
      if let cell = family.cells[labels] { return cell as? Cell }
      guard family.kind == Cell.kind, family.cells.count < Self.mostCombinations else { return nil }
      let cell = make(name)
      families[name, default: family].cells[labels] = cell
      return cell
    }
    if let cell { return cell }
    dropped.increment(by: 1)
    return spare
  }

  /// The version of Swift that this was compiled with, as far as conditions can tell.
  private static var compiler: String {
    #if compiler(>=6.5)
      "6.5 or newer"
    #elseif compiler(>=6.4)
      "6.4"
    #elseif compiler(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }
}
