import Testing

@testable import Bench

@Suite("Redis")
struct RedisDialectTests {
  typealias Feed = PeerFeed<RedisDialect>

  private func message(_ channel: String, _ content: String) -> String {
    "*3\r\n$7\r\nmessage\r\n$\(channel.utf8.count)\r\n\(channel)\r\n$\(content.utf8.count)\r\n\(content)\r\n"
  }

  @Test("A subscriber asks for all its channels in one command")
  func subscribes() throws {
    var feed = try Feed(.subscriber, ["a:b-1", "c"])
    #expect(feed.said() == Array("*3\r\n$9\r\nSUBSCRIBE\r\n$5\r\na:b-1\r\n$1\r\nc\r\n".utf8))
  }

  @Test("A publisher may publish after its first answer, and each publication has one")
  func publishes() throws {
    var feed = try Feed(.publisher)
    #expect(feed.said() == Array("*1\r\n$4\r\nPING\r\n".utf8))
    try feed.take("+PONG\r\n", pieces: 1)
    #expect(feed.confirmed == 1)
    feed.publish("hello", to: "a:b-1")
    #expect(feed.said() == Array("*3\r\n$7\r\nPUBLISH\r\n$5\r\na:b-1\r\n$5\r\nhello\r\n".utf8))
    try feed.take(":12\r\n:0\r\n", pieces: 1)
    #expect(feed.acknowledged == 2)
    #expect(feed.refused == 0)
  }

  @Test("Messages are found whatever the pieces they come in", arguments: pieceSizes)
  func dripFed(pieces: Int) throws {
    var feed = try Feed(.subscriber)
    let long = String(repeating: "z", count: 1000)
    try feed.take(
      message("a:b-1", "early") + "*3\r\n$9\r\nsubscribe\r\n$5\r\na:b-1\r\n:1\r\n" + message("a:b-1", "hello")
        + message("a:b-1", long) + message("a:b-1", "\r\n*3\r\n") + message("", ""), pieces: pieces)
    #expect(feed.delivered == ["early", "hello", long, "\r\n*3\r\n", ""])
    #expect(feed.confirmed == 1)
  }

  @Test(
    "What the bench cannot read ends the run with a sentence",
    arguments: [
      "HTTP/1.1 400 Bad Request\r\n", "*2\r\n$1\r\na\r\n", "*3\r\n:1\r\n", "*3\r\n$7\r\nmessage\r\n$-1\r\n",
      "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nxyz\r\n", "*3\r\n$7\r\nmessage\r\n$9999999999999\r\n", "+OK\r\n",
      "*3\r\n$7\r\nmassage\r\n$1\r\na\r\n$1\r\nx\r\n", "*3\r\n$900000000\r\n", "-ERR max number of clients reached\r\n",
    ])
  func malformed(text: String) throws {
    var feed = try Feed(.subscriber)
    #expect(throws: BenchError.self) { try feed.take(text) }
  }
}
