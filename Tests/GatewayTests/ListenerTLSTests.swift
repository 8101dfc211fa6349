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
    _ configure: (inout ListenerConfiguration) -> Void = { _ in },
    _ body: (ListenerHarness, _ connect: () throws -> ((any Channel), Collector)) throws -> Void
  ) throws {
    let certificate = try ListenerCertificate()
    let server = try TLSContext.server(.init(chainPath: certificate.chainPath, keyPath: certificate.keyPath))
    let client = try TLSContext.client(trust: .authorities(path: certificate.chainPath))
    try withListener({
      $0.tls = server
      configure(&$0)
    }) { harness throws in
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
      #expect(try harness.wait { try harness.onLoop { $0.closed } == 1 })
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
      #expect(try harness.wait { try harness.onLoop { $0.closed } == 1 })
    }
  }
}
