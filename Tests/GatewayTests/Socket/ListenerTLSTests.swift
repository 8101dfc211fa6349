import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TLS
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("The public port with TLS", .ownThread)
struct ListenerTLSTests {
  /// Collects what the server sends.
  private final class Collector: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    let bytes = Mutex<[UInt8]>([])
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let new = unwrapInboundIn(data)
      bytes.withLock { $0 += Array(new.readableBytesView) }
    }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    func contains(_ text: String) -> Bool {
      bytes.withLock { String(decoding: $0, as: UTF8.self).contains(text) }
    }
  }

  private func withTLSListener(
    loops: Int = 2, _ configure: (inout ListenerConfiguration) -> Void = { _ in },
    _ body: (ListenerHarness, _ connect: () throws -> ((any Channel), Collector)) throws -> Void
  ) throws {
    let certificate = try TestCertificate()
    let server = try TLSContext.server(.init(chainPath: certificate.chainPath, keyPath: certificate.keyPath))
    let client = try TLSContext.client(trust: .authorities(path: certificate.chainPath))
    try withListener(
      loops: loops,
      {
        $0.tls = server
        configure(&$0)
      }
    ) { harness throws in
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      defer { try? group.syncShutdownGracefully() }
      try body(harness) {
        let collector = Collector()
        let channel = try ClientBootstrap(group: group)
          .channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
              try channel.pipeline.syncOperations.addHandlers([
                client.makeClientHandler(serverName: "localhost"), collector,
              ])
            }
          }
          .connect(host: "127.0.0.1", port: harness.port).wait()
        return (channel, collector)
      }
    }
  }

  @Test("a WebSocket opens, echoes, and gets a close with its reason")
  func webSocket() throws {
    try withTLSListener { harness, connect throws in
      let (channel, collector) = try connect()
      try channel.writeAndFlush(ByteBuffer(string: ListenerRawClient.upgradeRequest())).wait()
      #expect(try harness.wait { collector.contains("HTTP/1.1 101 ") })
      try channel.writeAndFlush(ByteBuffer(bytes: ListenerRawClient.text("hello over TLS"))).wait()
      #expect(try harness.wait { collector.contains("hello over TLS") })
      #expect(try harness.wait { try harness.onLoop { $0.connection.queuedBytes } == 0 })
      try harness.onLoop { $0.connection.close(.shutdown) }
      #expect(try harness.wait { collector.contains("shutdown") })
      try channel.writeAndFlush(ByteBuffer(bytes: ListenerRawClient.frame(0x88, [0x0B, 0xB9]))).wait()
      try channel.closeFuture.wait()
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed } == 1 })
    }
  }

  @Test("a plain answer arrives whole before the connection ends")
  func health() throws {
    try withTLSListener { _, connect throws in
      let (channel, collector) = try connect()
      try channel.writeAndFlush(ByteBuffer(string: "GET /health HTTP/1.1\r\nHost: a\r\n\r\n")).wait()
      try channel.closeFuture.wait()
      #expect(collector.contains("{\"status\":\"ok\"}"))
    }
  }

  @Test("a client that speaks no TLS, or nothing at all, is closed")
  func noTLS() throws {
    try withTLSListener({
      $0.headerTimeoutMilliseconds = 50
      $0.closeGraceMilliseconds = 50
    }) { harness, _ throws in
      let plain = try ListenerRawClient(port: harness.port)
      try plain.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try !String(decoding: plain.readToEnd(), as: UTF8.self).contains("HTTP"))
      let silent = try ListenerRawClient(port: harness.port)
      #expect(try silent.readToEnd().isEmpty)
      #expect(try harness.wait { harness.listener.counters.openConnections == 0 })
    }
  }

  @Test("a slow reader is closed over TLS too: bytes count until the kernel has them")
  func slowReader() throws {
    try withTLSListener({
      $0.queueLimitBytes = 100_000
      $0.slowCloseGraceMilliseconds = 50
    }) { harness, connect throws in
      let (channel, collector) = try connect()
      try channel.writeAndFlush(ByteBuffer(string: ListenerRawClient.upgradeRequest())).wait()
      #expect(try harness.wait { collector.contains("HTTP/1.1 101 ") })
      try channel.setOption(.autoRead, value: false).wait()
      let frame = ServerFrame.message([UInt8](repeating: 0x2A, count: 10_000), format: .protobuf)
      var sent = 0
      while try harness.onLoop(0, { $0.connection.isOpen }), sent < 10_000 {
        try harness.onLoop { $0.connection.send(frame) }
        sent += 1
      }
      #expect(sent < 10_000)
      #expect(try harness.onLoop { $0.connection.closeCode } == .slow)
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed } == 1 })
    }
  }

  // MARK: Handshakes under way

  private static let storm = "127.0.0.66"

  private static func limits(_ all: Int, ofAddress: Int = .max) -> AdmissionLimits {
    var limits = AdmissionLimits.none
    (limits.all.tlsHandshakes, limits.address.tlsHandshakes) = (all, ofAddress)
    limits.countsLoopback = true
    return limits
  }

  /// Begins a handshake and goes no further: what a record begins with.
  private func stall(_ harness: ListenerHarness) throws -> ListenerRawClient {
    let client = try ListenerRawClient(port: harness.port, from: Self.storm)
    try client.send([0x16, 0x03, 0x01, 0x02])
    return client
  }

  private func isServed(_ harness: ListenerHarness, _ client: (any Channel, Collector)) throws -> Bool {
    client.0.writeAndFlush(ByteBuffer(string: ListenerRawClient.upgradeRequest()), promise: nil)
    return try harness.wait { client.1.contains("HTTP/1.1 101 ") }
  }

  @Test("as many TLS handshakes as may are under way; one more waits, is noted, and is served when one of them ends")
  func handshakeWaits() throws {
    try withTLSListener(loops: 1, { $0.admission = Self.limits(2) }) { harness, connect throws in
      var held = [try stall(harness), try stall(harness)]
      let third = try stall(harness)
      #expect(try harness.wait { harness.refusals.count(.tlsHandshakes) == 1 })
      let honest = try connect()
      honest.0.writeAndFlush(ByteBuffer(string: ListenerRawClient.upgradeRequest()), promise: nil)
      #expect(try harness.wait { harness.refusals.count(.tlsHandshakes) == 2 })
      #expect(harness.sessionCount == 0)
      // Addresses take turns, so the honest one is not behind all that waits from the other; and who ends in line
      // leaves no place behind.
      withExtendedLifetime(third) {}
      held.removeAll()
      #expect(try harness.wait { honest.1.contains("HTTP/1.1 101 ") })
      #expect(harness.listener.counters.refusedConnections == 0)
    }
  }

  @Test("an address that begins handshakes and ends none has its share; all from elsewhere are served meanwhile")
  func handshakeShare() throws {
    try withTLSListener(loops: 1, { $0.admission = Self.limits(64, ofAddress: 3) }) { harness, connect throws in
      let held = try (0..<20).map { _ in try stall(harness) }
      #expect(try harness.wait { harness.refusals.count(.addressTLSHandshakes) >= 10 })
      for _ in 0..<10 {
        let client = try connect()
        #expect(try isServed(harness, client))
      }
      #expect(held.count == 20 && harness.refusals.count(.tlsHandshakes) == 0)
    }
  }

  @Test("of many who come at once, few may be under way, and all of them get in")
  func storm() throws {
    try withTLSListener({ $0.admission = Self.limits(4) }) { harness, connect throws in
      let clients = try (0..<60).map { _ in try connect() }
      for client in clients {
        client.0.writeAndFlush(ByteBuffer(string: ListenerRawClient.upgradeRequest()), promise: nil)
      }
      #expect(try harness.wait { clients.allSatisfy { $0.1.contains("HTTP/1.1 101 ") } })
      #expect(try harness.wait { harness.sessionCount == 60 })
      #expect(harness.listener.counters.rejectedRequests == 0)
    }
  }

  @Test("who waits for a turn for longer than a request may take is closed, like whoever takes so long")
  func handshakeTooLate() throws {
    try withTLSListener(
      loops: 1,
      {
        $0.admission = Self.limits(1)
        $0.headerTimeoutMilliseconds = 50
        $0.closeGraceMilliseconds = 50
      }
    ) { harness, _ throws in
      let clients = try (0..<8).map { _ in try stall(harness) }
      #expect(try harness.wait { harness.listener.counters.acceptedConnections == 8 })
      #expect(try harness.wait { harness.listener.counters.openConnections == 0 })
      withExtendedLifetime(clients) {}
    }
  }
}
