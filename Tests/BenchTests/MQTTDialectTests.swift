import Testing

@testable import Bench

@Suite("MQTT")
struct MQTTDialectTests {
  typealias Feed = PeerFeed<MQTTDialect>

  private static let accepted: [UInt8] = [0x20, 2, 0, 0]

  private func publication(_ topic: String, _ content: [UInt8]) -> [UInt8] {
    let length = 2 + topic.utf8.count + content.count
    var head: [UInt8] = [0x30]
    if length < 128 {
      head.append(UInt8(length))
    } else {
      head += [UInt8(length & 0x7F | 0x80), UInt8(length >> 7)]
    }
    return head + [0, UInt8(topic.utf8.count)] + Array(topic.utf8) + content
  }

  @Test("A client connects with version 3.1.1, a clean session, no keep-alive and a name of its own")
  func connects() throws {
    var feed = try Feed(.subscriber)
    #expect(feed.said() == [0x10, 14, 0, 4] + Array("MQTT".utf8) + [4, 2, 0, 0, 0, 2] + Array("s7".utf8))
  }

  @Test("A subscriber asks for its topics once it is connected, and counts as subscribed after the SUBACK")
  func subscribes() throws {
    var feed = try Feed(.subscriber, ["a:b-1", "c"])
    _ = feed.said()
    try feed.take(Self.accepted)
    #expect(
      feed.said() == [0x82, 14, 0, 1, 0, 5] + Array("a:b-1".utf8) + [0, 0, 1] + Array("c".utf8) + [0])
    #expect(feed.confirmed == 0)
    try feed.take([0x90, 4, 0, 1, 0, 0])
    #expect(feed.confirmed == 2)
  }

  @Test("A publisher may publish once it is connected; a long length takes two bytes")
  func publishes() throws {
    var feed = try Feed(.publisher)
    _ = feed.said()
    try feed.take(Self.accepted)
    #expect(feed.confirmed == 1)
    let content = String(repeating: "x", count: 128)
    feed.publish(content, to: "a:b-1")
    #expect(feed.said() == publication("a:b-1", Array(content.utf8)))
  }

  @Test("Publications are found whatever the pieces they come in", arguments: pieceSizes)
  func dripFed(pieces: Int) throws {
    var feed = try Feed(.subscriber)
    let long = String(repeating: "y", count: 300)
    try feed.take(
      Self.accepted + [0x90, 3, 0, 1, 0] + publication("a:b-1", Array("hello".utf8))
        + publication("a:b-1", Array(long.utf8)) + [0xD0, 0] + publication("", []), pieces: pieces)
    #expect(feed.delivered == ["hello", long, ""])
    #expect(feed.confirmed == 1)
  }

  @Test(
    "What is no MQTT of ours ends the run with a sentence",
    arguments: [
      [0x20, 2, 0, 5], [0x20, 1, 0], [0x90, 3, 0, 1, 0x80], [0x90, 2, 0, 1], [0x30, 0x80, 0x80, 0x80, 0x80],
      [0x30, 0xFF, 0xFF, 0xFF, 0x7F], [0x30, 4, 0, 9, 1, 1], [0x30, 1, 0], [0x32, 6, 0, 1, 0x61, 0, 1, 2], [0xF0, 0],
    ] as [[UInt8]])
  func malformed(bytes: [UInt8]) throws {
    var feed = try Feed(.subscriber)
    #expect(throws: BenchError.self) { try feed.take(bytes) }
  }
}
