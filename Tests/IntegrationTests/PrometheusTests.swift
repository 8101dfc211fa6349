import Foundation
import TestSupport
import Testing

@Suite(
  "A real Prometheus", .skipUnlessStrict(.promtool, isThere: PrometheusTools.areThere), .ownThread)
struct PrometheusTests {
  private static let settings = ["metrics.sample_every=1", "admin.api.key=a-key-that-only-this-test-has"]

  /// What Prometheus answers is what the server's page says, once both have what the load has done.
  @Test("It reads a server under load, and answers queries with the values that the server has")
  func scraping() async throws {
    try await Deployment.with(.serve, settings: Self.settings) { deployment in
      let port = try #require(deployment.broker.endpoints.admin.flatMap(URL.init(string:))?.port)
      let prometheus = try await PrometheusServer(
        in: deployment.directory, targets: ["127.0.0.1:\(port)"])
      do {
        try await load(deployment, prometheus)
      } catch {
        await prometheus.end()
        throw error
      }
      await prometheus.end()
    }
  }

  private func load(_ deployment: Deployment, _ prometheus: PrometheusServer) async throws {
    let ann = try await deployment.client("ann")
    let ben = try await deployment.client("ben")
    for peer in [ann, ben] { for channel in ["mem:room", "dur:room"] { try await peer.subscribe(channel) } }
    #expect(try await eventually { try prometheus.value(of: "up{job=\"fanfare\"}") == 1 })
    for number in 0..<200 {
      try await ann.publish("\(number)", to: number % 2 == 0 ? "mem:room" : "dur:room")
    }
    #expect(await eventually { ben.data("mem:room").count == 100 && ben.data("dur:room").count == 100 })
    let expected: [(query: String, value: Double)] = [
      ("fanfare_broker_published_total", 200),
      ("fanfare_namespace_publications_total{namespace=\"dur\"}", 100),
      ("fanfare_namespace_deliveries_total{namespace=\"mem\"}", 200),
      ("sum(fanfare_namespace_deliveries_total)", 400),
      ("fanfare_namespace_subscriptions{namespace=\"dur\"}", 2),
      ("fanfare_hop_seconds_count{hop=\"whole\"}", 200),
      ("fanfare_hop_seconds_count{hop=\"log\"}", 200),
      ("fanfare_gateway_connections", 2),
    ]
    for (query, value) in expected {
      var last: Double?
      let isSame = try await eventually {
        last = try prometheus.value(of: query)
        return last == value
      }
      #expect(isSame, "\(query) is \(String(describing: last)) and not \(value)")
    }
    // The queries of the dashboard and of the alerts have an answer, too.
    let quantile = "histogram_quantile(0.99, sum by (le, hop) (fanfare_hop_seconds_bucket{hop=\"log\"}))"
    let slowest = try #require(try prometheus.value(of: quantile))
    #expect(slowest > 0 && slowest <= 10)
    let bytes = "fanfare_namespace_delivered_bytes_total{namespace=\"mem\"}"
    let shown = try #require(try prometheus.value(of: bytes))
    #expect(try MetricPage(of: deployment.broker)[bytes] == shown)
    let commits = try #require(try prometheus.value(of: "fanfare_log_commit_bytes_count"))
    #expect(commits > 0)
  }
}
