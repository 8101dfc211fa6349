import Foundation
import Synchronization
import TestSupport
import Testing

/// The page of metrics of a server's port, as lines.
struct MetricPage {
  let lines: [Substring]

  init(of process: FanfareProcess) throws {
    let port = try #require(process.endpoints.admin.flatMap(URL.init(string:))?.port)
    let answer = try HTTPExchange(port: port).ask("GET", "/metrics", "Connection: close\r\n")
    lines = answer.text.split(separator: "\n")
  }

  /// The number of a line; nil: there is none.
  subscript(_ name: String) -> Double? {
    lines.first { $0.hasPrefix(name + " ") }.flatMap { Double($0.dropFirst(name.count + 1)) }
  }

  func count(_ hop: String) -> Double { self["fanfare_hop_seconds_count{hop=\"\(hop)\"}"] ?? 0 }
}

@Suite("Times by hop, end to end", .ownThread)
struct HopTests {
  private static let entering = ["gateway_in", "link_in", "broker", "log"]
  private static let leaving = ["link_out", "gateway_out", "socket_first", "socket_last", "whole"]

  @Test(
    "Each hop of each publication is measured where it is, in one process and across several",
    arguments: [Deployment.Kind.serve, .inproc, .ipc])
  func everyHop(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind, settings: ["metrics.sample_every=1"]) { deployment in
      let ann = try await deployment.client("ann", at: deployment.a)
      let ben = try await deployment.client("ben", at: deployment.b)
      for peer in [ann, ben] { try await peer.subscribe("dur:room") }
      let texts = (0..<20).map { "\($0)" }
      for text in texts { try await ann.publish(text, to: "dur:room") }
      for peer in [ann, ben] { #expect(await eventually { peer.data("dur:room") == texts }) }
      let gateways = Set([ObjectIdentifier(deployment.gateway("a")), ObjectIdentifier(deployment.gateway("b"))]).count
      let (a, b, broker) = (deployment.gateway("a"), deployment.gateway("b"), deployment.broker)
      for hop in Self.entering {
        let process = hop == "gateway_in" ? a : broker
        #expect(try await eventually { try MetricPage(of: process).count(hop) == 20 }, "\(hop)")
      }
      for hop in Self.leaving {
        for process in gateways == 1 ? [a] : [a, b] {
          #expect(try await eventually { try MetricPage(of: process).count(hop) >= 20 }, "\(hop)")
        }
      }
      let page = try MetricPage(of: a)
      let commit = try #require(try MetricPage(of: broker)["fanfare_hop_seconds_sum{hop=\"log\"}"])
      let whole = try #require(page["fanfare_hop_seconds_sum{hop=\"whole\"}"])
      #expect(commit > 0 && whole >= commit / 2, "the commit is a part of the whole")
    }
  }

  @Test("With sample_every 0 nothing is measured, and namespaces, sign-ins and limits are counted all the same")
  func counts() async throws {
    try await Deployment.with(.serve, settings: ["metrics.sample_every=0"]) { deployment in
      let ann = try await deployment.client("ann")
      let ben = try await deployment.client("ben")
      for peer in [ann, ben] { try await peer.subscribe("mem:room") }
      for number in 0..<5 { try await ann.publish("\(number)", to: "mem:room") }
      #expect(await eventually { ben.data("mem:room").count == 5 })
      let stranger = try Peer(deployment.a)
      _ = try? await stranger.connect(token: "no token")
      #expect(
        try await eventually {
          let page = try MetricPage(of: deployment.broker)
          return page["fanfare_namespace_deliveries_total{namespace=\"mem\"}"] == 10
            && page["fanfare_namespace_publications_total{namespace=\"mem\"}"] == 5
            && page["fanfare_namespace_subscriptions{namespace=\"mem\"}"] == 2
            && page["fanfare_namespace_channels{namespace=\"mem\"}"] == 1 && page["fanfare_gateway_subscriptions"] == 2
            && page["fanfare_gateway_sign_ins_refused_total{cause=\"invalid_token\"}"] == 1
        })
      let page = try MetricPage(of: deployment.broker)
      #expect(page["fanfare_namespace_delivered_bytes_total{namespace=\"mem\"}"] ?? 0 > 10 * 20)
      #expect(page.count("whole") == 0 && page.count("gateway_in") == 0)
      #expect(page["fanfare_log_file_bytes{file=\"database\"}"] ?? 0 > 0)
    }
  }
}
