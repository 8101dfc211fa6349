import CoreMetrics
import Foundation
import TestSupport
import Testing

@testable import Metering

/// What Prometheus's own program says of the page and of the files that go with it.
@Suite("promtool", .skipUnlessStrict(.promtool, isThere: PrometheusTools.areThere), .ownThread)
struct PromtoolTests {
  @Test("A page with every metric is one that Prometheus takes, and keeps its rules for names")
  func page() async throws {
    let registry = PrometheusRegistry(version: "1.2.3")
    for metric in MetricTable.all where !metric.name.hasPrefix("process_") && metric.name != MetricTable.build {
      let values = ["plain", "with \"quotes\" and \\ and\nlines", "ü"]
      for value in metric.labels.isEmpty ? [""] : values {
        make(metric, metric.labels.map { ($0, value) }, in: registry)
      }
    }
    try await withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("page.txt")
      try Data(registry.render()).write(to: file)
      let program = try #require(PrometheusTools.path(of: "promtool"))
      let said = try await Command(named: "sh", ["-c", "'\(program.path)' check metrics < '\(file.path)'"])
        .run(deadline: Promtool.deadline)
      #expect(said.status == 0, "\(said.output)")
      #expect(said.output.trimmingCharacters(in: .whitespacesAndNewlines) == "")
    }
  }

  private func make(_ metric: MetricDescription, _ dimensions: [(String, String)], in registry: PrometheusRegistry) {
    switch metric.kind {
    case .counter: Counter(label: metric.name, dimensions: dimensions, factory: registry).increment(by: 3)
    case .gauge: Gauge(label: metric.name, dimensions: dimensions, factory: registry).record(0.5)
    case .histogram: Recorder(label: metric.name, dimensions: dimensions, factory: registry).record(0.02)
    }
  }

  @Test("The configuration and the alerts are ones that Prometheus takes")
  func configuration() async throws {
    let said = try await Promtool.run(["check", "config", Repository.path("config/prometheus.yml")])
    #expect(said.status == 0, "\(said.output)")
    #expect(said.output.contains("alerts.yml"))
  }

  @Test("Each kind of alert fires when it should, and is silent on a quiet server")
  func alerts() async throws {
    try await withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("alerts.yml")
      try Data(Self.scenes.utf8).write(to: file)
      let said = try await Promtool.run(["test", "rules", file.path])
      #expect(said.status == 0, "\(said.output)")
    }
  }

  /// One alert, what fires it, when, and with which labels beside the severity.
  private struct Scene {
    var alert: String
    var severity = "warn"
    /// Series and their values, a value each minute.
    var series: [(name: String, values: String)]
    /// The minute in which the alert fires.
    var minute = 15
    var labels = "instance=\"a\""
  }

  private static let firing: [Scene] = [
    Scene(
      alert: "FanfareDown", severity: "page", series: [("up{job=\"fanfare\"}", "1 0x20")], labels: "job=\"fanfare\""),
    Scene(
      alert: "FanfareBrokerAway", severity: "page", series: [("fanfare_gateway_link_up{instance=\"a\"}", "1 0x20")]),
    Scene(
      alert: "FanfareDiskRefused", severity: "page",
      series: [("fanfare_log_refusing{instance=\"a\",cause=\"room\"}", "0 1x20")],
      labels: "cause=\"room\",instance=\"a\""),
    Scene(alert: "FanfareLinkGaps", series: [("fanfare_gateway_link_gaps_total{instance=\"a\"}", "0x10 1x10")]),
    Scene(alert: "FanfareLinkGaps", series: [("fanfare_link_gaps_total{instance=\"a\"}", "0x10 1x10")]),
    Scene(
      alert: "FanfareSlowDisconnectsRise",
      series: [("fanfare_gateway_slow_disconnects_total{instance=\"a\"}", "0x300 60+60x60")], minute: 340),
    Scene(
      alert: "FanfareCommitsSlow",
      series: [
        ("fanfare_log_commit_seconds_bucket{instance=\"a\",le=\"0.1\"}", "0+90x20"),
        ("fanfare_log_commit_seconds_bucket{instance=\"a\",le=\"0.25\"}", "0+100x20"),
        ("fanfare_log_commit_seconds_bucket{instance=\"a\",le=\"+Inf\"}", "0+100x20"),
      ]),
    Scene(
      alert: "FanfarePublicationsSlow",
      series: [
        ("fanfare_hop_seconds_bucket{instance=\"a\",hop=\"whole\",le=\"1\"}", "0+90x20"),
        ("fanfare_hop_seconds_bucket{instance=\"a\",hop=\"whole\",le=\"2.5\"}", "0+100x20"),
        ("fanfare_hop_seconds_bucket{instance=\"a\",hop=\"whole\",le=\"+Inf\"}", "0+100x20"),
      ]),
    Scene(
      alert: "FanfareLogNotFolded",
      series: [("fanfare_log_file_bytes{instance=\"a\",file=\"wal\"}", "600000000x20")],
      labels: "file=\"wal\",instance=\"a\""),
    Scene(
      alert: "FanfareMemoryNearLimit",
      series: [
        ("fanfare_broker_memory_bytes{instance=\"a\"}", "90x20"),
        ("fanfare_broker_memory_limit_bytes{instance=\"a\"}", "100x20"),
      ]),
    Scene(
      alert: "FanfareOpenFilesNearLimit",
      series: [
        ("process_open_fds{instance=\"a\",job=\"fanfare\"}", "900x20"),
        ("process_max_fds{instance=\"a\",job=\"fanfare\"}", "1000x20"),
      ], labels: "instance=\"a\",job=\"fanfare\""),
    Scene(
      alert: "FanfareWebhookBehind",
      series: [("fanfare_webhook_oldest_time_seconds{instance=\"a\",webhook=\"w\"}", "1x40")], minute: 30,
      labels: "instance=\"a\",webhook=\"w\""),
    Scene(
      alert: "FanfareWebhookGaveUp",
      series: [("fanfare_webhook_given_up_total{instance=\"a\",webhook=\"w\"}", "0x10 3x10")],
      labels: "instance=\"a\",webhook=\"w\""),
    Scene(
      alert: "FanfareRefusals",
      series: [("fanfare_gateway_refusals_total{instance=\"a\",cause=\"address_rate\"}", "0+1200x20")],
      labels: "cause=\"address_rate\",instance=\"a\""),
  ]

  /// Values of a server on which all is well.
  private static let quiet: [(name: String, values: String)] = [
    ("up{job=\"fanfare\"}", "1x20"), ("fanfare_gateway_link_up{instance=\"a\"}", "1x20"),
    ("fanfare_log_refusing{instance=\"a\",cause=\"disk\"}", "0x20"),
    ("fanfare_gateway_link_gaps_total{instance=\"a\"}", "4x20"), ("fanfare_link_gaps_total{instance=\"a\"}", "4x20"),
    ("fanfare_gateway_slow_disconnects_total{instance=\"a\"}", "0+3x20"),
    ("fanfare_log_commit_seconds_bucket{instance=\"a\",le=\"0.1\"}", "0+100x20"),
    ("fanfare_log_commit_seconds_bucket{instance=\"a\",le=\"+Inf\"}", "0+100x20"),
    ("fanfare_hop_seconds_bucket{instance=\"a\",hop=\"whole\",le=\"1\"}", "0+100x20"),
    ("fanfare_hop_seconds_bucket{instance=\"a\",hop=\"whole\",le=\"+Inf\"}", "0+100x20"),
    ("fanfare_log_file_bytes{instance=\"a\",file=\"wal\"}", "16000000x20"),
    ("fanfare_broker_memory_bytes{instance=\"a\"}", "50x20"),
    ("fanfare_broker_memory_limit_bytes{instance=\"a\"}", "100x20"),
    ("process_open_fds{instance=\"a\",job=\"fanfare\"}", "200x20"),
    ("process_max_fds{instance=\"a\",job=\"fanfare\"}", "1000x20"),
    ("fanfare_gateway_refusals_total{instance=\"a\",cause=\"address_rate\"}", "0+12x20"),
    ("fanfare_webhook_oldest_time_seconds{instance=\"a\",webhook=\"w\"}", "0x20"),
    ("fanfare_webhook_given_up_total{instance=\"a\",webhook=\"w\"}", "4x20"),
  ]

  /// The file that `promtool test rules` runs. JSON is YAML, so nothing has to be quoted by hand.
  private static var scenes: String {
    var tests: [[String: Any]] = firing.map { scene in
      let query = "ALERTS{alertname=\"\(scene.alert)\",alertstate=\"firing\"}"
      let labels = "alertname=\"\(scene.alert)\",alertstate=\"firing\",severity=\"\(scene.severity)\",\(scene.labels)"
      let sample: [String: Any] = ["labels": "ALERTS{\(labels)}", "value": 1]
      return test(scene.series, query, [sample], minute: scene.minute)
    }
    for alert in Set(firing.map(\.alert)).sorted() {
      tests.append(test(quiet, "ALERTS{alertname=\"\(alert)\"}", [], minute: 15))
    }
    let file: [String: Any] = [
      "rule_files": [Repository.path("config/alerts.yml")], "evaluation_interval": "1m", "tests": tests,
    ]
    let json = try? JSONSerialization.data(withJSONObject: file, options: [.sortedKeys, .withoutEscapingSlashes])
    return String(decoding: json ?? Data(), as: UTF8.self)
  }

  private static func test(
    _ series: [(name: String, values: String)], _ query: String, _ samples: [[String: Any]], minute: Int
  ) -> [String: Any] {
    [
      "interval": "1m", "input_series": series.map { ["series": $0.name, "values": $0.values] },
      "promql_expr_test": [["expr": query, "eval_time": "\(minute)m", "exp_samples": samples]],
    ]
  }
}

enum Promtool {
  static let deadline = Duration.seconds(60)

  static func run(_ arguments: [String]) async throws -> Command.Outcome {
    let program = try #require(PrometheusTools.path(of: "promtool"))
    return try await Command(program, arguments).run(deadline: deadline)
  }
}
