import Foundation
import NIOCore
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Compressed WebSockets on the public port", .ownThread)
struct ListenerCompressionTests {
  private static let client = ListenerRawClient.self
  private static let offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"

  private func connect(_ harness: ListenerHarness, _ offer: String = offer) throws -> (ListenerRawClient, String) {
    let client = try ListenerRawClient(port: harness.port)
    return (client, try client.upgrade(adding: [offer]))
  }

  @Test("who offers it is answered, and its messages go both ways compressed where that helps")
  func echo() throws {
    try withListener({ $0.compression = CompressionOptions(leastBytes: 100) }) { harness throws in
      let (client, head) = try connect(harness)
      #expect(
        head.contains(
          "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n"))
      let long = Array(String(repeating: "how are you, ", count: 40).utf8)
      try client.drip(Self.client.frame(0xC1, DeflateReader.deflate(long)))
      let answer = try #require(try client.readFrame())
      #expect(answer.first == 0xC1)
      #expect(answer.payload.count < 60)
      #expect(DeflateReader.inflate(answer.payload) == long)
      try client.send(Self.client.frame(0xC2, DeflateReader.deflate([1, 2, 3])) + Self.client.text("short"))
      #expect(try client.readFrame() == .init(first: 0x82, payload: [1, 2, 3]))
      #expect(try client.readFrame() == .init(first: 0x81, payload: Array("short".utf8)))
      // Control frames are never compressed.
      try client.send(Self.client.frame(0x89, [UInt8](repeating: 0x41, count: 120)))
      #expect(try client.readFrame() == .init(first: 0x8A, payload: [UInt8](repeating: 0x41, count: 120)))
      #expect(harness.listener.counters.bytesToCompress > harness.listener.counters.bytesCompressed)
      try client.send(Self.client.frame(0x88, [0x03, 0xE8]))
      #expect(try client.readFrame()?.closeCode == 1000)
    }
  }

  @Test("a window that the client limits is kept to")
  func window() throws {
    try withListener({ $0.compression = CompressionOptions(leastBytes: 0) }) { harness throws in
      let (client, head) = try connect(
        harness, "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10")
      #expect(head.contains("; server_max_window_bits=9\r\n"))
      var random = SeededGenerator(seed: 3)
      let message = (0..<5_000).map { _ in UInt8.random(in: 0x61...0x68, using: &random) }
      try client.send(Self.client.frame(0x81, message))
      let answer = try #require(try client.readFrame())
      #expect(answer.first == 0xC1)
      #expect(DeflateReader.inflate(answer.payload, windowBits: 9) == message)
    }
  }

  @Test("nobody is compressed for who does not offer it, offers it wrongly, or where it is off")
  func refused() throws {
    let long = [UInt8](repeating: 0x41, count: 1_000)
    func expectPlain(_ harness: ListenerHarness, _ offer: String) throws {
      let (client, head) = try connect(harness, offer)
      #expect(head.hasPrefix("HTTP/1.1 101 "))
      #expect(!head.contains("Sec-WebSocket-Extensions"))
      try client.send(Self.client.frame(0x81, long))
      #expect(try client.readFrame() == .init(first: 0x81, payload: long))
      try client.send([0xC1])
      #expect(try client.readFrame()?.closeCode == 1002)
    }
    try withListener({ $0.compression = CompressionOptions(leastBytes: 0) }) { harness throws in
      try expectPlain(harness, "X-Other: permessage-deflate")
      try expectPlain(harness, "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=8")
      try expectPlain(harness, "Sec-WebSocket-Extensions: something; else")
      let (_, head) = try connect(harness, "Sec-WebSocket-Extensions: permessage-deflate;")
      #expect(head.hasPrefix("HTTP/1.1 400 "))
    }
    try withListener { harness throws in
      try expectPlain(harness, Self.offer)
      let (_, head) = try connect(harness, "Sec-WebSocket-Extensions: permessage-deflate;")
      #expect(head.hasPrefix("HTTP/1.1 400 "), "what is wrong is wrong, whether anybody wants it or not")
    }
  }

  @Test(
    "a bomb, a message that is no deflate and text that is none are told why, whoever has not signed in yet",
    arguments: [
      (DeflateReader.deflate([UInt8](repeating: 0x41, count: 20 << 20)), 1009), ([0x07], 1007),
      (DeflateReader.deflate([0xC0, 0x80]), 1007),
    ] as [([UInt8], Int)])
  func attacks(payload: [UInt8], code: Int) throws {
    try withListener({
      $0.compression = CompressionOptions(leastBytes: 0)
      $0.maxMessageBytes = 65_536
    }) { harness throws in
      let (client, _) = try connect(harness)
      try client.send(Self.client.frame(0xC1, payload))
      #expect(try client.readFrame()?.closeCode == code)
      #expect(try client.readToEnd().isEmpty)
      #expect(try harness.onLoop { $0.messages.isEmpty })
      // The event loop's other connections are as they were.
      let (other, _) = try connect(harness)
      try other.send(Self.client.frame(0xC1, DeflateReader.deflate(Array("fine".utf8))))
      #expect(try other.readFrame() == .init(first: 0x81, payload: Array("fine".utf8)))
    }
  }
}
