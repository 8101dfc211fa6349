import CoreMetrics
import Testing

@testable import Metering

@Suite("The registry and its page")
struct RegistryTests {
  let registry = PrometheusRegistry(version: "1.2.3")

  /// The lines of the page about metrics whose names begin so, without what describes them.
  private func lines(_ prefix: String) -> [String] {
    registry.page.split(separator: "\n").map { String($0) }.filter { $0.hasPrefix(prefix) }
  }

  @Test("A counter only goes up, whoever adds to it, and the same label and dimensions are one number")
  func counters() {
    let first = Counter(label: "a_total", dimensions: [("x", "1"), ("y", "2")], factory: registry)
    let again = Counter(label: "a_total", dimensions: [("y", "2"), ("x", "1")], factory: registry)
    let other = Counter(label: "a_total", factory: registry)
    first.increment(by: 2)
    again.increment()
    again.increment(by: -5)
    other.increment(by: 7)
    #expect(lines("a_total") == ["a_total 7", "a_total{x=\"1\",y=\"2\"} 3"])
  }

  @Test("Counting from many threads loses nothing")
  func threads() async {
    let counter = Counter(label: "a_total", factory: registry)
    let timer = CoreMetrics.Timer(label: "b_seconds", factory: registry)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1000 {
            counter.increment()
            timer.recordNanoseconds(500_000_000)
          }
        }
      }
    }
    #expect(lines("a_total") == ["a_total 8000"])
    #expect(lines("b_seconds_sum") == ["b_seconds_sum 4000"])
    #expect(lines("b_seconds_count") == ["b_seconds_count 8000"])
  }

  @Test("A gauge is what was recorded last, a meter goes up and down")
  func gauges() {
    let gauge = Gauge(label: "a_bytes", factory: registry)
    gauge.record(12)
    gauge.record(0.25)
    let meter = Meter(label: "b", factory: registry)
    meter.set(5)
    meter.increment(by: 2.5)
    meter.decrement(by: 1)
    #expect(lines("a_bytes") == ["a_bytes 0.25"])
    #expect(lines("b ") == ["b 6.5"])
    #expect(registry.page.contains("# TYPE a_bytes gauge\n"))
  }

  @Test("A timer is a histogram in seconds, with cumulative buckets")
  func timers() {
    let timer = CoreMetrics.Timer(label: "a_seconds", dimensions: [("x", "1")], factory: registry)
    timer.recordNanoseconds(100_000)
    timer.recordNanoseconds(2_000_000)
    timer.recordNanoseconds(60_000_000_000)
    #expect(registry.page.contains("# TYPE a_seconds histogram\n"))
    let lines = lines("a_seconds")
    #expect(lines.first == "a_seconds_bucket{x=\"1\",le=\"0.0001\"} 1")
    #expect(lines.contains("a_seconds_bucket{x=\"1\",le=\"0.001\"} 1"))
    #expect(lines.contains("a_seconds_bucket{x=\"1\",le=\"0.0025\"} 2"))
    #expect(lines.contains("a_seconds_bucket{x=\"1\",le=\"10\"} 2"))
    #expect(
      lines.suffix(3) == [
        "a_seconds_bucket{x=\"1\",le=\"+Inf\"} 3", "a_seconds_sum{x=\"1\"} 60.0021", "a_seconds_count{x=\"1\"} 3",
      ])
  }

  @Test("A recorder has the bounds of its description, or others, and counts no number that is none")
  func recorders() {
    let entries = Recorder(label: "fanfare_log_commit_entries", factory: registry)
    entries.record(2)
    entries.record(3)
    entries.record(Double.nan)
    entries.record(Double.infinity)
    #expect(lines("fanfare_log_commit_entries_bucket{le=\"2\"}") == ["fanfare_log_commit_entries_bucket{le=\"2\"} 1"])
    #expect(lines("fanfare_log_commit_entries_sum") == ["fanfare_log_commit_entries_sum 5"])
    #expect(lines("fanfare_log_commit_entries_count") == ["fanfare_log_commit_entries_count 2"])
    Recorder(label: "other", factory: registry).record(1_000_000_000)
    #expect(lines("other_bucket").count == MetricTable.anyNumbers.count + 1)
  }

  @Test("What stands in labels cannot leave its line or its quotes, nor be longer than a line should be")
  func escaping() {
    let long = String(repeating: "é", count: 500)
    let dimensions = [("x", "a\"b\\c\nd"), ("long", long)]
    Counter(label: "a_total", dimensions: dimensions, factory: registry).increment()
    let kept = String(repeating: "é", count: MetricText.longestValue)
    #expect(lines("a_total") == ["a_total{long=\"\(kept)\",x=\"a\\\"b\\\\c\\nd\"} 1"])
  }

  @Test("Names of other libraries become names that Prometheus takes, and nothing takes a histogram's own label")
  func names() {
    let dimensions = [("http.method", "GET"), ("1st", "a"), ("__name__", "b"), ("http-method", "POST"), ("le", "c")]
    Counter(label: "http.requests", dimensions: dimensions, factory: registry).increment()
    Counter(label: "2much", factory: registry).increment()
    Counter(label: "", factory: registry).increment()
    #expect(lines("http") == ["http_requests{_1st=\"a\",http_method=\"GET\",label__name__=\"b\"} 1"])
    #expect(lines("_") == ["_ 1", "_2much 1"])
  }

  @Test("A metric has a thousand combinations of labels and no more; the others are counted as dropped")
  func bound() {
    for number in 0..<1010 {
      Counter(label: "a_total", dimensions: [("x", "\(number)")], factory: registry).increment()
    }
    #expect(lines("a_total").count == 1000)
    #expect(lines("fanfare_metrics_dropped_total") == ["fanfare_metrics_dropped_total 10"])
    Counter(label: "a_total", dimensions: [("x", "7")], factory: registry).increment()
    #expect(lines("a_total{x=\"7\"}") == ["a_total{x=\"7\"} 2"])
  }

  @Test("A name is of one kind: what asks for it as another is dropped, and spoils nothing")
  func kinds() {
    let counter = Counter(label: "a", factory: registry)
    counter.increment()
    Gauge(label: "a", factory: registry).record(50)
    Recorder(label: "a", dimensions: [("x", "1")], factory: registry).record(50)
    #expect(lines("a") == ["a 1"])
    #expect(lines("fanfare_metrics_dropped_total") == ["fanfare_metrics_dropped_total 2"])
  }

  @Test("Metrics come by name, each with its help and type before its numbers, and the same twice")
  func order() {
    for name in ["fanfare_gateway_refusals_total", "b_total", "fanfare_app_limits_total", "a_total"] {
      for value in ["z", "m", "a"] { Counter(label: name, dimensions: [("x", value)], factory: registry).increment() }
    }
    let page = registry.page.split(separator: "\n").map { String($0) }.filter { !$0.contains("process_") }
    let typed = page.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] }
    #expect(typed == typed.sorted())
    let place = page.firstIndex { $0.hasPrefix("# HELP fanfare_app_limits_total ") } ?? 0
    #expect(page[place + 1] == "# TYPE fanfare_app_limits_total counter")
    #expect(page[(place + 2)...(place + 4)].map { $0.split(separator: "\"")[1] } == ["a", "m", "z"])
    let again = registry.page.split(separator: "\n").map { String($0) }.filter { !$0.contains("process_") }
    #expect(again == page)
  }

  @Test("The page says which Fanfare and which Swift this is")
  func build() {
    let build = lines("fanfare_build_info")
    #expect(build.count == 1)
    #expect(build[0].hasSuffix(",version=\"1.2.3\"} 1") && build[0].contains("swift=\"6."))
  }

  @Test("Numbers are written so that Prometheus reads them")
  func numbers() {
    let numbers: [(Double, String)] = [
      (0, "0"), (-3, "-3"), (2.5, "2.5"), (1e15, "1000000000000000"), (1e300, "1e+300"), (1e-7, "1e-07"),
      (.nan, "NaN"), (.infinity, "+Inf"), (-.infinity, "-Inf"),
    ]
    for (number, text) in numbers { #expect(MetricText.number(number) == text) }
  }
}

extension PrometheusRegistry {
  /// The page as text.
  var page: String { String(decoding: render(), as: UTF8.self) }
}
