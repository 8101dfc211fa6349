import Testing

@testable import Bench

@Suite("nchan")
struct NchanDialectTests {
  private typealias Feed = PeerFeed<NchanDialect>

  private func answer(_ status: String, _ body: String) -> String {
    "HTTP/1.1 \(status)\r\nServer: nginx/1.22.1\r\nContent-Type: text/plain\r\nContent-Length: \(body.utf8.count)\r\n"
      + "Connection: keep-alive\r\n\r\n\(body)"
  }

  @Test("A subscriber's channel stands in the path of its WebSocket, which confirms by being there")
  func subscribes() throws {
    var feed = try Feed(.subscriber, url: "ws://127.0.0.1:4000/sub/")
    #expect(feed.dialect.path(feed.state) == "/sub/a:b-1")
    #expect(feed.state.isConfirmed)
    #expect(feed.said().isEmpty)
    try feed.take("hello")
    #expect(feed.delivered == ["hello"])
  }

  @Test("Any answer to its first request lets a publisher publish", arguments: pieceSizes)
  func publishes(pieces: Int) throws {
    var feed = try Feed(.publisher)
    #expect(feed.dialect.path(feed.state) == nil)
    #expect(feed.said() == Array("GET /pub/ready HTTP/1.1\r\nHost: 127.0.0.1:4000\r\n\r\n".utf8))
    try feed.take(answer("404 Not Found", ""), pieces: pieces)
    #expect(feed.confirmed == 1)
    feed.publish("hello", to: "a:b-1")
    #expect(
      feed.said() == Array("POST /pub/a:b-1 HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nContent-Length: 5\r\n\r\nhello".utf8))
    try feed.take(
      answer("201 Created", "queued messages: 0\r\n\r\n") + answer("202 Accepted", "") + answer("507 Full", "no"),
      pieces: pieces)
    #expect(feed.acknowledged == 3)
    #expect(feed.refused == 1)
    #expect(feed.confirmed == 1)
  }

  @Test(
    "What is no HTTP answer ends the run with a sentence",
    arguments: [
      "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 2xx Something\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
    ])
  func malformed(text: String) throws {
    var feed = try Feed(.publisher)
    #expect(throws: BenchError.self) { try feed.take(text) }
  }

  @Test("A head without an end is not gathered for ever")
  func endless() throws {
    var feed = try Feed(.publisher)
    #expect(throws: BenchError.self) {
      try feed.take("HTTP/1.1 200 OK\r\n" + String(repeating: "X-Y: z\r\n", count: 10_000))
    }
  }

  @Test("A group whose name cannot stand in a path is refused before anything is sent")
  func names() throws {
    let scenario = try Scenario.forPeers(group: "a/b")
    #expect(throws: BenchError.self) {
      _ = try NchanDialect(target: .loopback("nchan", "ws://127.0.0.1:1/sub/"), scenario: scenario)
    }
  }
}
