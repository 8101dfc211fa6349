import Testing

@testable import Bench

@Suite("ZMTP")
struct ZMTPDialectTests {
  typealias Feed = PeerFeed<ZMTPDialect>

  private static let greeting: [UInt8] =
    [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 1] + Array("NULL".utf8) + [UInt8](repeating: 0, count: 48)

  private static let ready = command("READY", [11] + Array("Socket-Type".utf8) + [0, 0, 0, 4] + Array("XPUB".utf8))

  private static func command(_ name: String, _ data: [UInt8]) -> [UInt8] {
    [4, UInt8(1 + name.utf8.count + data.count), UInt8(name.utf8.count)] + Array(name.utf8) + data
  }

  private static func message(_ topic: String, _ content: String) -> [UInt8] {
    let count = content.utf8.count
    let head: [UInt8] =
      count < 256 ? [0, UInt8(count)] : [2, 0, 0, 0, 0, 0, 0, UInt8(count >> 8), UInt8(count & 0xFF)]
    return [1, UInt8(topic.utf8.count)] + Array(topic.utf8) + head + Array(content.utf8)
  }

  @Test("The greeting has 64 bytes, version 3.0 and the NULL mechanism")
  func greets() throws {
    var feed = try Feed(.subscriber)
    let said = feed.said()
    #expect(said.count == 64)
    #expect(said.starts(with: [0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 3, 0] + Array("NULL".utf8)))
  }

  @Test("A subscriber asks for its topics, and counts as subscribed once the PING behind them is answered")
  func subscribes() throws {
    var feed = try Feed(.subscriber, ["a:b-1", "c"])
    _ = feed.said()
    try feed.take(Self.greeting)
    #expect(feed.said() == Self.command("READY", [11] + Array("Socket-Type".utf8) + [0, 0, 0, 3] + Array("SUB".utf8)))
    try feed.take(Self.ready)
    #expect(
      feed.said() == [0, 7, 1] + Array("a:b-1".utf8) + [0, 0, 3, 1] + Array("c".utf8) + [0]
        + Self.command("PING", [0, 0]))
    #expect(feed.confirmed == 0)
    try feed.take(Self.command("PONG", []))
    #expect(feed.confirmed == 2)
  }

  @Test("A publisher may publish once the other side has asked for messages")
  func publishes() throws {
    var feed = try Feed(.publisher)
    try feed.take(Self.greeting + Self.command("READY", []))
    #expect(feed.confirmed == 0)
    try feed.take([0, 1, 1])
    #expect(feed.confirmed == 1)
    _ = feed.said()
    let long = String(repeating: "x", count: 300)
    feed.publish("hello", to: "a:b-1")
    feed.publish(long, to: "a:b-1")
    #expect(feed.said() == Self.message("a:b-1\0", "hello") + Self.message("a:b-1\0", long))
  }

  @Test("Messages are found whatever the pieces they come in", arguments: pieceSizes)
  func dripFed(pieces: Int) throws {
    var feed = try Feed(.subscriber)
    let long = String(repeating: "y", count: 300)
    try feed.take(
      Self.greeting + Self.ready + Self.message("a:b-1", "early") + Self.command("PONG", [])
        + Self.message("a:b-1", "hello") + Self.message("a:b-1", long) + Self.message("", ""), pieces: pieces)
    #expect(feed.delivered == ["early", "hello", long, ""])
    #expect(feed.confirmed == 1)
  }

  @Test("A PING is answered with its context")
  func pings() throws {
    var feed = try Feed(.subscriber)
    try feed.take(Self.greeting + Self.ready)
    _ = feed.said()
    try feed.take(Self.command("PING", [0, 10, 0x61, 0x62]), pieces: 1)
    #expect(feed.said() == Self.command("PONG", [0x61, 0x62]))
  }

  @Test(
    "What is no ZMTP 3 ends the run with a sentence",
    arguments: [
      Array("HTTP/1.1 400 Bad Request".utf8), [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 1],
      Array(greeting.prefix(12)) + Array("CURVE".utf8) + [UInt8](repeating: 0, count: 47),
      greeting + [0x80, 0], greeting + message("a", "b"), greeting + ready + [0, 1, 1], greeting + ready + ready,
      greeting + ready + [1, 1, 97, 1, 1, 98, 0, 0], greeting + ready + [1, 1, 97, 4, 0],
      greeting + ready + [2, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
      greeting + command("ERROR", [2, 110, 111]),
      greeting + command("HELLO", []), greeting + ready + command("PING", [0]),
    ])
  func malformed(bytes: [UInt8]) throws {
    var feed = try Feed(.subscriber)
    #expect(throws: BenchError.self) { try feed.take(bytes) }
  }
}
