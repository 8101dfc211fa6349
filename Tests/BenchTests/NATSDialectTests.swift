import Testing

@testable import Bench

@Suite("NATS")
struct NATSDialectTests {
  typealias Feed = PeerFeed<NATSDialect>

  /// A feed that has got as far as the PONG that confirms.
  private func open(_ role: Role = .subscriber, pieces: Int = .max) throws -> Feed {
    var feed = try Feed(role)
    #expect(feed.said().isEmpty)
    try feed.take("INFO {\"server_id\":\"x\",\"max_payload\":1048576} \r\n", pieces: pieces)
    return feed
  }

  @Test("A subscriber greets after INFO, asks for its subjects, and counts as subscribed after the PONG")
  func subscribes() throws {
    var feed = try open()
    let said = String(decoding: feed.said(), as: UTF8.self)
    #expect(said.hasPrefix("CONNECT {\"verbose\":false,\"pedantic\":false"))
    #expect(said.hasSuffix("}\r\nSUB a:b-1 1\r\nPING\r\n"))
    #expect(feed.confirmed == 0)
    try feed.take("PONG\r\n")
    #expect(feed.confirmed == 1)
  }

  @Test("A publisher may publish after the PONG")
  func publisherConfirms() throws {
    var feed = try open(.publisher)
    #expect(String(decoding: feed.said(), as: UTF8.self).hasSuffix("}\r\nPING\r\n"))
    try feed.take("PONG\r\n")
    #expect(feed.confirmed == 1)
    feed.publish("hello", to: "a:b-1")
    #expect(feed.said() == Array("PUB a:b-1 5\r\nhello\r\n".utf8))
  }

  @Test("Messages are found whatever the pieces they come in", arguments: pieceSizes)
  func dripFed(pieces: Int) throws {
    var feed = try open(pieces: pieces)
    _ = feed.said()
    try feed.take(
      "PONG\r\nMSG a:b-1 1 5\r\nhello\r\nPING\r\nMSG a:b-1 1 reply.to 12\r\nwith\r\nline\r\n\r\n+OK\r\nMSG a 1 0\r\n\r\n",
      pieces: pieces)
    // What is shorter than any message waits for more.
    try feed.take("PING\r\n", pieces: pieces)
    #expect(feed.delivered == ["hello", "with\r\nline\r\n", ""])
    #expect(feed.confirmed == 1)
    #expect(feed.said() == Array("PONG\r\nPONG\r\n".utf8))
  }

  @Test(
    "What is no NATS ends the run with a sentence",
    arguments: [
      "HELLO WORLD\r\n", "MSG a:b-1 1 x\r\nhello\r\n", "MSG a:b-1 1 5\r\nhelloworld\r\n", "MSG a:b-1 1 99999999999\r\n",
      "MSG a:b-1 1 5\nhello\r\n", "MSG a:b-1 1 900000000\r\n", "\r\n\r\n\r\n\r\n",
    ])
  func malformed(text: String) throws {
    var feed = try open()
    #expect(throws: BenchError.self) { try feed.take(text) }
  }

  @Test("An error of the server is told in its words")
  func refused() throws {
    var feed = try open()
    let error = #expect(throws: BenchError.self) { try feed.take("-ERR 'Authorization Violation'\r\n") }
    #expect(error?.description.contains("'Authorization Violation'") == true)
  }

  @Test("A group whose name would be a wildcard is refused before anything is sent")
  func wildcards() throws {
    let scenario = try Scenario.forPeers(group: "all*")
    #expect(throws: BenchError.self) {
      _ = try NATSDialect(target: .loopback("nats", "ws://127.0.0.1:1/"), scenario: scenario)
    }
  }
}
