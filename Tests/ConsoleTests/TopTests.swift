import Testing
import Wire

@testable import Console

@Suite("fanfare top")
struct TopTests {
  private static func page(published: Int, delivered: Int, refused: Int, fast: Int, slow: Int) -> MetricsPage {
    MetricsPage(
      """
      # HELP fanfare_broker_published_total Publications that were delivered.
      # TYPE fanfare_broker_published_total counter
      fanfare_broker_published_total \(published)
      fanfare_gateway_deliveries_total \(delivered)
      fanfare_gateway_connections_signed_in 1200
      fanfare_gateway_egress_waiting_bytes 2097152
      fanfare_gateway_refusals_total{cause="slow"} \(refused)
      fanfare_gateway_refusals_total{cause="server_full"} 3
      fanfare_hop_seconds_bucket{hop="broker",le="0.001"} \(fast)
      fanfare_hop_seconds_bucket{hop="broker",le="0.01"} \(fast + slow)
      fanfare_hop_seconds_bucket{hop="broker",le="+Inf"} \(fast + slow)
      fanfare_hop_seconds_count{hop="broker"} \(fast + slow)
      """)
  }

  private static func snapshot(_ at: Double, _ page: MetricsPage, offset: Int) throws -> TopSnapshot {
    var snapshot = TopSnapshot(at: at, pages: [page])
    snapshot.add(
      top: try JSONValue(
        parsing: Array(
          """
          {"channels":[{"channel":"chat:7","subscribers":100,"bytes_per_second":51200,"offset":\(offset)},
          {"channel":"chat:\\u001b[2J","subscribers":1,"bytes_per_second":10}],
          "slowest":[{"client":"c1","user":"ann","address":"10.0.0.1","waiting_bytes":70000,"subscriptions":2}],
          "busiest":[{"client":"c2","user":"","address":"10.0.0.2","waiting_bytes":0,"subscriptions":99}],
          "unanswered":1}
          """.utf8)))
    return snapshot
  }

  private static func frame() throws -> TopFrame {
    TopFrame(
      try snapshot(10, page(published: 1000, delivered: 5000, refused: 1, fast: 0, slow: 0), offset: 40),
      try snapshot(12, page(published: 1500, delivered: 105_000, refused: 5, fast: 90, slow: 10), offset: 60))
  }

  @Test("rates are what grew between two looks, and a counter that began anew counts from nothing")
  func rates() throws {
    let frame = try Self.frame()
    #expect(frame.seconds == 2)
    #expect(frame.rates.first == .init(name: "publications", value: 250, unit: .perSecond))
    #expect(frame.rates.dropFirst().first == .init(name: "deliveries", value: 50_000, unit: .perSecond))
    #expect(frame.limits == [.init(name: "gateway slow", value: 2, unit: .perSecond)])
    #expect(frame.channels.first?.publicationsPerSecond == 10 && frame.channels.first?.deliveriesPerSecond == 1000)
    #expect(frame.channels.last?.publicationsPerSecond == nil)
    let restarted = TopFrame(
      try Self.snapshot(0, Self.page(published: 1000, delivered: 9, refused: 0, fast: 0, slow: 0), offset: 9),
      try Self.snapshot(1, Self.page(published: 30, delivered: 9, refused: 0, fast: 0, slow: 0), offset: 1))
    #expect(restarted.rates.first?.value == 30)
    #expect(restarted.channels.first?.publicationsPerSecond == nil)
  }

  @Test("latencies are read of the histogram of hops, and of commits")
  func latencies() throws {
    let latency = try #require(try Self.frame().latencies.first)
    #expect(latency.hop == "broker" && latency.count == 100)
    #expect(abs(latency.median - 0.001 * 50 / 90) < 1e-9)
    #expect(abs(latency.p99 - 0.0091) < 1e-9)
    let commits = MetricsPage(
      """
      fanfare_log_commit_seconds_bucket{le="0.01"} 4
      fanfare_log_commit_seconds_bucket{le="+Inf"} 4
      """)
    #expect(TopFrame(nil, TopSnapshot(at: 0, pages: [commits])).latencies.map(\.hop) == ["(commit)"])
    #expect(HistogramWindow([(0.1, 0), (.infinity, 0)]).quantile(0.5) == nil)
    #expect(HistogramWindow([(0.1, 0), (.infinity, 5)]).quantile(0.5) == 0.1)
  }

  @Test("one look shows what is now, and limits that were ever hit")
  func oneLook() throws {
    let frame = TopFrame(
      nil, try Self.snapshot(5, Self.page(published: 7, delivered: 7, refused: 2, fast: 0, slow: 0), offset: 1))
    #expect(frame.seconds == nil && frame.rates.isEmpty)
    #expect(frame.now.map(\.name) == ["clients", "waits for clients"])
    #expect(frame.limits.map(\.name) == ["gateway server_full", "gateway slow"])
    #expect(frame.limits.map(\.unit) == [.count, .count])
  }

  private static let wide = """
    fanfare top: the last 2.0 s
    ! gateways that did not answer in time: 1

    PER SECOND                                        NOW
             250  publications                               1 200  clients
          50 000  deliveries                               2.0 MiB  waits for clients

    LATENCY BY HOP           P50          P99      MEASURED
    broker                556 us       9.1 ms           100

    HOTTEST CHANNELS    BYTES/S    SUBS   PUBS/S  DELIVERIES/S
                       50.0 KiB     100     10.0         1 000  chat:7
                           10 B       1        -             -  chat:?[2J

    SLOWEST CLIENTS                                   BUSIEST CLIENTS
        68.4 KiB  ann 10.0.0.1 c1                          99 subs  (anonymous) 10.0.0.2 c2

    LIMITS HIT
             2.0  gateway slow
    """

  @Test("a frame is drawn as it always was, and a name cannot move the cursor")
  func golden() throws {
    let lines = TopScreen(width: 100).lines(try Self.frame())
    #expect(lines.joined(separator: "\n") == Self.wide, "\(lines.joined(separator: "\n"))")
  }

  @Test("a narrow terminal has the tables below one another, and no line or frame is larger than the terminal")
  func sizes() throws {
    let frame = try Self.frame()
    let narrow = TopScreen(width: 50, height: 9).lines(frame)
    #expect(
      narrow == [
        "fanfare top: the last 2.0 s", "! gateways that did not answer in time: 1", "", "PER SECOND",
        "         250  publications", "      50 000  deliveries", "", "NOW", "       1 200  clients",
      ])
    for width in stride(from: 40, through: 200, by: 7) {
      for height in [1, 2, 10, 100] {
        let lines = TopScreen(width: width, height: height).lines(frame)
        #expect(lines.count <= height && lines.allSatisfy { $0.count <= width })
      }
    }
  }

  @Test("numbers are written as people read them")
  func numbers() {
    #expect([0, 999, 1000, 1_234_567, -4321].map(TopScreen.count) == ["0", "999", "1 000", "1 234 567", "-4 321"])
    #expect([0, 1.25, 99.94, 100, .infinity].map(TopScreen.decimal) == ["0.0", "1.3", "99.9", "100", "-"])
    #expect([0, 1023, 1024, 3 * 1024 * 1024].map(TopScreen.bytes) == ["0 B", "1 023 B", "1.0 KiB", "3.0 MiB"])
    #expect([0.0000123, 0.0456, 7].map(TopScreen.time) == ["12.3 us", "45.6 ms", "7.0 s"])
  }

  @Test("JSON has every number as it is")
  func json() throws {
    let object = try #require(try JSONValue(parsing: Self.frame().json).object)
    #expect(object["seconds"]?.text == "2")
    let rates = try #require(object["rates"]?.array?.first?.object)
    #expect(rates["name"]?.string == "publications" && rates["value"]?.text == "250")
    #expect(rates["unit"]?.string == "per_second")
    #expect(object["channels"]?.array?.first?.object?["deliveries_per_second"]?.text == "1000")
    #expect(object["slowest"]?.array?.first?.object?["waiting_bytes"]?.text == "70000")
  }
}

@Suite("Pages of metrics, and answers as outlines")
struct PageTests {
  @Test("labels are read with what is escaped in them, and lines that are no samples are passed over")
  func labels() {
    let page = MetricsPage(
      """
      a{x="1",y="q\\"uote, }"} 2.5
      b 1e3 1700000000
      c{x="open
      d nothing
      e{} +Inf
      """)
    #expect(page.samples.map(\.name) == ["a", "b", "e"])
    #expect(page.samples.first?["y"] == #"q"uote, }"# && page.samples.first?["x"] == "1")
    #expect(page.sum("b") == 1000 && page.sum("e") == .infinity && page.sum("nowhere") == nil)
  }

  @Test("names that clients chose cannot move the cursor nor hide text, also by controls of eight bits")
  func visible() {
    #expect("a\u{1B}[2Jb".visible == "a?[2Jb")
    #expect("a\u{9B}2Jb\u{7F}".visible == "a?2Jb?")
    #expect("user\u{202E}txt\r\n".visible == "user?txt??")
    #expect("Zoë 😀 日本".visible == "Zoë 😀 日本")
  }

  @Test("an outline has a line for each value")
  func outline() throws {
    let value = try JSONValue(
      parsing: Array(#"{"broker":{"set_at":"f:1","on":true,"none":[]},"list":[{"a":1,"b":"x\u0007"},2]}"#.utf8))
    #expect(
      Outline.lines(of: value) == [
        "broker:", "  set at: f:1", "  on: yes", "  none: none", "list:", "  - a: 1", "    b: x?", "  - 2",
      ])
  }
}
