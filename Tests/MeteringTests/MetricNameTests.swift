import Foundation
import Testing

@testable import Metering

@Suite("The metrics' names")
struct MetricNameTests {
  /// A metric that a source makes.
  private struct Made: Hashable {
    var name: String
    var kind: MetricKind
  }

  /// What a text of Swift makes with swift-metrics under names of ours.
  private static func made(in text: String) -> [Made] {
    let makes = /\b(Counter|Gauge|Meter|Recorder|Timer)\(\s*label: "(fanfare_\w+)"/.wordBoundaryKind(.simple)
    return text.matches(of: makes).map { match in
      let kind: MetricKind =
        switch match.1 {
        case "Counter": .counter
        case "Gauge", "Meter": .gauge
        default: .histogram
        }
      return Made(name: String(match.2), kind: kind)
    }
  }

  private static func madeBySources() throws -> Set<Made> {
    var made: Set<Made> = []
    for path in Repository.swiftFiles(in: "Sources") { made.formUnion(Self.made(in: try Repository.text(path))) }
    return made
  }

  @Test("Every metric that the sources make is described, as what it is")
  func described() throws {
    let described = Set(MetricTable.all.map { Made(name: $0.name, kind: $0.kind) })
    let made = try Self.madeBySources()
    let missing = made.subtracting(described).map(\.name).sorted()
    #expect(missing == [], "describe them in Sources/Metering/MetricTable.swift")
    #expect(made.count > 50)
  }

  @Test("Every description is of a metric that there is")
  func there() throws {
    let made = Set(try Self.madeBySources().map(\.name))
    let here: Set<String> = [MetricTable.dropped, MetricTable.build]
    let missing = MetricTable.all.map(\.name).filter {
      !made.contains($0) && !here.contains($0) && !$0.hasPrefix("process_")
    }
    #expect(missing == [])
    #expect(Set(MetricTable.all.map(\.name)).count == MetricTable.all.count)
  }

  @Test("A metric is found in every spelling, and what belongs to others is not")
  func checker() {
    let text = """
      let a = Counter(label: "fanfare_a_total")
      let b = Gauge(
        label: "fanfare_b_bytes", dimensions: [("x", "y")])
      let c = Timer(label: "fanfare_c_seconds"), d = Counter(label: "http_requests_total")
      Logger(label: "fanfare_log")
      """
    #expect(
      Self.made(in: text) == [
        Made(name: "fanfare_a_total", kind: .counter), Made(name: "fanfare_b_bytes", kind: .gauge),
        Made(name: "fanfare_c_seconds", kind: .histogram),
      ])
  }

  /// Endings that belong to one kind: Prometheus's own rules.
  @Test("Counters end in _total and nothing else does; units are whole ones and stand last", arguments: MetricTable.all)
  func conventions(_ metric: MetricDescription) {
    #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter))
    #expect(metric.name.wholeMatch(of: /(fanfare|process)(_[a-z]+)+/) != nil)
    let words = metric.name.split(separator: "_")
    for unit in ["ms", "milliseconds", "microseconds", "kb", "kilobytes", "mb", "percent", "ratio"] {
      #expect(!words.contains(Substring(unit)))
    }
    for ending in ["_bucket", "_sum", "_count"] { #expect(!metric.name.hasSuffix(ending)) }
    for unit in ["seconds", "bytes"] {
      guard let place = words.firstIndex(of: Substring(unit)) else { continue }
      #expect(place == words.count - 1 || words[(place + 1)...] == ["total"])
    }
    #expect(metric.help.hasSuffix(".") && !metric.help.contains("\n") && !metric.help.contains("|"))
    if let bounds = metric.bounds {
      #expect(metric.kind == .histogram && bounds == bounds.sorted() && Set(bounds).count == bounds.count)
    }
  }

  // MARK: Who uses the names

  /// Names of ours in a text, without what histograms append to theirs.
  private static func used(in text: String) -> Set<String> {
    let histograms = Set(MetricTable.all.filter { $0.kind == .histogram }.map(\.name))
    return Set(
      text.matches(of: /\b(fanfare|process)_\w+/.wordBoundaryKind(.simple)).map { match in
        let name = String(match.0)
        let base = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) }
        return base.flatMap { histograms.contains($0) ? $0 : nil } ?? name
      })
  }

  @Test(
    "The alerts and the dashboard use metrics that there are", arguments: ["config/alerts.yml", "config/grafana.json"])
  func users(_ path: String) throws {
    let used = Self.used(in: try Repository.text(path))
    #expect(used.subtracting(MetricTable.all.map(\.name)).sorted() == [], "\(path)")
    #expect(used.count >= 15)
  }

  @Test("A name that no metric has is found, and a histogram's own endings are not taken for names")
  func usersChecker() {
    let text = "rate(fanfare_log_commit_seconds_bucket[5m]) / process_open_fds > fanfare_nothing_count"
    #expect(Self.used(in: text) == ["fanfare_log_commit_seconds", "process_open_fds", "fanfare_nothing_count"])
  }

  @Test("Every alert says what it is about and what to do")
  func alerts() throws {
    let alerts = try Repository.text("config/alerts.yml").components(separatedBy: "- alert: ").dropFirst()
    #expect(alerts.count >= 10)
    for alert in alerts {
      let name = alert.prefix { $0 != "\n" }
      for key in ["expr:", "severity:", "summary: \"", "action: \""] { #expect(alert.contains(key), "\(name)") }
    }
  }

  @Test("The dashboard is JSON, and each of its panels has a title, a place and something to show")
  func dashboard() throws {
    let json = try JSONSerialization.jsonObject(with: Data(Repository.text("config/grafana.json").utf8))
    let panels = try #require((json as? [String: Any])?["panels"] as? [[String: Any]])
    #expect(panels.count == 17)
    for panel in panels {
      let targets = panel["targets"] as? [[String: Any]] ?? []
      #expect(!targets.isEmpty && targets.allSatisfy { ($0["expr"] as? String)?.isEmpty == false })
      #expect((panel["title"] as? String)?.isEmpty == false && panel["gridPos"] is [String: Any])
    }
    #expect(Set(panels.compactMap { $0["id"] as? Int }).count == panels.count)
  }

  // MARK: The document

  private static let document = "docs/OPERATIONS.md"

  @Test("docs/OPERATIONS.md lists the metrics as the table describes them")
  func reference() throws {
    var lines = try Repository.text(Self.document).components(separatedBy: "\n")
    let begin = try #require(lines.firstIndex(of: MetricTable.markdown[0]))
    let end = lines[begin...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex
    if ProcessInfo.processInfo.environment["UPDATE_REFERENCE"] != nil {
      lines.replaceSubrange(begin..<end, with: MetricTable.markdown)
      return try Repository.write(lines.joined(separator: "\n"), to: Self.document)
    }
    #expect(Array(lines[begin..<end]) == MetricTable.markdown, "run this test with UPDATE_REFERENCE=1 to write them")
  }

  @Test("A metric that a document quotes is one that there is", arguments: ["docs/OPERATIONS.md", "CHANGELOG.md"])
  func quoted(_ path: String) throws {
    let spans = try Repository.text(path).matches(of: /`(fanfare_\w+)`/).map { String($0.1) }
    #expect(Set(spans).subtracting(MetricTable.all.map(\.name)).sorted() == [])
  }
}
