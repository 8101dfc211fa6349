import Foundation
import NIOCore
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("WebSockets on the public port", .ownThread)
struct ListenerWebSocketTests {
  private static let client = ListenerRawClient.self

  private func connect(_ harness: ListenerHarness) throws -> ListenerRawClient {
    let client = try ListenerRawClient(port: harness.port)
    try client.upgrade()
    return client
  }

  @Test("a whole conversation, byte by byte from the request line on, is answered like any other")
  func drip() throws {
    try withListener { harness throws in
      let client = try ListenerRawClient(port: harness.port)
      try client.drip(Array(Self.client.upgradeRequest().utf8))
      #expect(try client.readHead().hasPrefix("HTTP/1.1 101 "))
      try client.drip(Self.client.text("hello") + Self.client.frame(0x89, [7]) + Self.client.frame(0x02, [1, 2]))
      try client.drip(Self.client.frame(0x80, [3]) + Self.client.frame(0x88, [0x03, 0xE8]))
      #expect(try client.readFrame() == .init(first: 0x81, payload: Array("hello".utf8)))
      #expect(try client.readFrame() == .init(first: 0x8A, payload: [7]))
      #expect(try client.readFrame() == .init(first: 0x82, payload: [1, 2, 3]))
      #expect(try client.readFrame() == .init(first: 0x88, payload: [0x03, 0xE8]))
      #expect(try client.readToEnd().isEmpty)
      client.shutdownWrite()
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed } == 1 })
    }
  }

  @Test("a burst of messages ends with one call, so that replies can go out together")
  func burst() throws {
    try withListener(onMessage: { _, _ in }) { harness throws in
      let client = try connect(harness)
      try client.send(Self.client.text("a") + Self.client.text("b") + Self.client.text("c"))
      #expect(try harness.wait { try harness.onLoop { $0.messages.count } == 3 })
      #expect(try harness.onLoop { $0.bursts } == 1)
    }
  }

  @Test(
    "a peer that breaks the protocol is told the code, then closed, and is heard no more",
    arguments: [
      (client.frame(0x81, [0x41], masked: false), 1002), ([0xC1, 0x80], 1002), ([0x8B, 0x80], 1002),
      (client.frame(0x09, []), 1002), (client.frame(0x89, [UInt8](repeating: 0, count: 126)), 1002),
      (client.frame(0x80, [1]), 1002), (client.frame(0x01, [0x41]) + client.frame(0x81, [0x41]), 1002),
      (client.frame(0x88, [1]), 1002), (client.frame(0x88, [0x03, 0xED]), 1002),
      (client.frame(0x81, [0xC0, 0xAF]), 1007),
      (client.frame(0x01, [0xE2]) + client.frame(0x80, [0x41]), 1007), (client.frame(0x88, [0x03, 0xE8, 0xFF]), 1007),
      (client.frame(0x82, [UInt8](repeating: 0, count: 1_001)), 1009),
      ([0x82, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1009),
      ([0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0], 1009),
    ] as [([UInt8], Int)])
  func violations(bytes: [UInt8], code: Int) throws {
    try withListener({ $0.maxMessageBytes = 1_000 }) { harness throws in
      let client = try connect(harness)
      try client.send(bytes + Self.client.text("after"))
      #expect(try client.readFrame()?.closeCode == code)
      #expect(try client.readFrame() == nil)
      client.shutdownWrite()
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed } == 1 })
      #expect(try harness.onLoop { $0.messages }.isEmpty)
      // The server is alive.
      let other = try connect(harness)
      try other.send(Self.client.text("x"))
      #expect(try other.readFrame()?.payload == [0x78])
    }
  }

  @Test("a close is answered with its own code, or with none where it has none")
  func closeHandshake() throws {
    try withListener { harness throws in
      let first = try connect(harness)
      try first.send(Self.client.frame(0x88, [0x0F, 0xA0, 0x62, 0x79, 0x65]))
      #expect(try first.readFrame() == .init(first: 0x88, payload: [0x0F, 0xA0]))
      #expect(try first.readFrame() == nil)
      let second = try connect(harness)
      try second.send(Self.client.frame(0x88, []))
      #expect(try second.readFrame() == .init(first: 0x88, payload: []))
      #expect(try second.readFrame() == nil)
    }
  }

  @Test("a close of ours carries code and reason behind everything sent before, and waits for the peer's answer")
  func serverCloses() throws {
    try withListener { harness throws in
      let client = try connect(harness)
      try harness.onLoop { session in
        session.connection.send(ServerFrame.message([0x61], format: .json))
        session.connection.close(.shutdown)
        session.connection.send(ServerFrame.message([0x62], format: .json))
        session.connection.close(.slow)
      }
      #expect(try client.readFrame()?.payload == [0x61])
      let close = try client.readFrame()
      #expect(close?.closeCode == 3001)
      #expect(close?.payload.dropFirst(2).elementsEqual("shutdown".utf8) == true)
      #expect(try harness.onLoop { $0.connection.isOpen } == false)
      #expect(try harness.onLoop { $0.connection.closeCode } == .shutdown)
      try client.send(Self.client.text("late") + Self.client.frame(0x88, [0x0B, 0xB9]))
      #expect(try client.readFrame() == nil)
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed } == 1 })
      #expect(try harness.onLoop { $0.messages }.isEmpty)
    }
  }

  @Test("a peer that never answers our close is closed after the grace")
  func closeGrace() throws {
    try withListener({ $0.closeGraceMilliseconds = 50 }) { harness throws in
      let client = try connect(harness)
      try harness.onLoop { $0.connection.close(.stale) }
      #expect(try client.readFrame()?.closeCode == 3502)
      #expect(try client.readFrame() == nil)
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed } == 1 })
    }
  }

  @Test("a peer that vanishes is reported once, and its place is free again")
  func vanish() throws {
    try withListener { harness throws in
      var client: ListenerRawClient? = try connect(harness)
      #expect(try harness.wait { harness.listener.counters.openConnections == 1 })
      withExtendedLifetime(client) {}
      client = nil
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed } == 1 })
      #expect(try harness.wait { harness.listener.counters.openConnections == 0 })
      #expect(try harness.onLoop { $0.connection.isOpen } == false)
    }
  }

  @Test("a session that pauses gets nothing until it resumes, and then everything in order")
  func pause() throws {
    try withListener(onMessage: { session, message in if message == [0x61] { session.connection.pauseReading() } }) {
      harness throws in
      let client = try connect(harness)
      try client.send(Self.client.text("a") + Self.client.text("b"))
      #expect(try harness.wait { try harness.onLoop { $0.messages.count } == 1 })
      try client.send(Self.client.text("c"))
      try harness.onLoop { $0.connection.pauseReading() }
      try harness.onLoop { $0.connection.resumeReading() }
      #expect(try harness.onLoop { $0.messages.count } == 1)
      try harness.onLoop { $0.connection.resumeReading() }
      #expect(try harness.wait { try harness.onLoop { $0.messages } == [[0x61], [0x62], [0x63]] })
    }
  }

  @Test("a paused session stops its peer's sends in the kernel, however much the peer has to say")
  func backpressure() throws {
    try withListener({ $0.maxMessageBytes = 1 << 20 }, onMessage: { session, _ in session.connection.pauseReading() }) {
      harness throws in
      let client = try connect(harness)
      try client.send(Self.client.text("a"))
      #expect(try harness.wait { try harness.onLoop { $0.messages.count } == 1 })
      let flags = fcntl(client.fd, F_GETFL)
      _ = fcntl(client.fd, F_SETFL, flags | O_NONBLOCK)
      let chunk = [UInt8](repeating: 0, count: 65_536)
      let frame = Self.client.frame(0x82, chunk)
      // Loopback's socket buffers hold a few MiB; a server that read on would take all of these 64.
      var sent = 0
      stalled: for _ in 0..<1_024 {
        var rest = frame[...]
        while !rest.isEmpty {
          let n = rest.withUnsafeBytes { send(client.fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
          if n <= 0 { break stalled }
          rest = rest.dropFirst(n)
          sent += n
        }
      }
      #expect(sent < 1_024 * 65_536)
      #expect(try harness.onLoop { $0.messages.count } == 1)
    }
  }

  @Test("a peer that ends its side while paused does not leave its bytes in our memory")
  func endWhilePaused() throws {
    try withListener(onMessage: { session, _ in session.connection.pauseReading() }) { harness throws in
      let client = try connect(harness)
      try client.send(Self.client.text("a"))
      #expect(try harness.wait { try harness.onLoop { $0.messages.count } == 1 })
      try client.send(Self.client.frame(0x82, [UInt8](repeating: 0, count: 60_000)))
      client.shutdownWrite()
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed } == 1 })
    }
  }
}
