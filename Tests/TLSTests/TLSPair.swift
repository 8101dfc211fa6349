import NIOCore
import NIOEmbedded
import TLS
import TestSupport

/// A server's and a client's pipeline with a wire between them that a test can cut into pieces.
final class TLSPair {
  /// The last handler of each side: what came out of TLS.
  final class Recorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    var received = ByteBuffer()
    var errors: [TLSError] = []
    var handshakes: [TLSHandshakeCompleted] = []
    var isInactive = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      received.writeBuffer(&bytes)
    }
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      if let error = error as? TLSError { errors.append(error) }
    }
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if let event = event as? TLSHandshakeCompleted { handshakes.append(event) }
    }
    func channelInactive(context: ChannelHandlerContext) { isInactive = true }
    var text: String { String(buffer: received) }
  }

  /// Below TLS. The embedded channel knows no half-close: it would close whole.
  final class Wire: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    var isOutputClosed = false
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      guard mode == .output else { return context.close(mode: mode, promise: promise) }
      isOutputClosed = true
      promise?.succeed(())
    }
  }

  final class Side {
    let wire = Wire()
    let channel: EmbeddedChannel
    let seen = Recorder()
    /// Bytes that this side's handler put on the wire.
    var sentBytes = 0

    init(_ handler: TLSHandler) throws {
      channel = EmbeddedChannel()
      try channel.pipeline.syncOperations.addHandlers([wire, handler, seen])
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    }

    func write(_ text: String, promise: EventLoopPromise<Void>? = nil) {
      channel.writeAndFlush(ByteBuffer(string: text), promise: promise)
    }
  }

  let server: Side
  let client: Side
  var piece: Int

  init(server: Side, client: Side) {
    (self.server, self.client, piece) = (server, client, .max)
  }

  init(
    _ certificate: TestCertificate, trust: TLSContext.Trust? = nil, name: String = "localhost", piece: Int = .max
  ) throws {
    let context = try TLSContext.server(certificate.files)
    let trust = trust ?? .authorities(path: certificate.chainPath)
    server = try Side(context.makeServerHandler())
    client = try Side(TLSContext.client(trust: trust).makeClientHandler(serverName: name))
    self.piece = piece
  }

  /// Carries bytes to and fro until both sides are silent.
  func pump() throws {
    while try carry(from: client, to: server) || carry(from: server, to: client) {}
  }

  private func carry(from: Side, to: Side) throws -> Bool {
    var any = false
    while var bytes = try from.channel.readOutbound(as: ByteBuffer.self) {
      any = true
      from.sentBytes += bytes.readableBytes
      while let part = bytes.readSlice(length: min(piece, max(1, bytes.readableBytes))), part.readableBytes > 0 {
        guard to.channel.isActive else { break }
        to.channel.pipeline.fireChannelRead(part)
        if bytes.readableBytes == 0 { break }
      }
    }
    return any
  }

  func finish() {
    _ = try? server.channel.finish(acceptAlreadyClosed: true)
    _ = try? client.channel.finish(acceptAlreadyClosed: true)
  }
}

extension TestCertificate {
  var files: TLSContext.CertificateFiles { .init(chainPath: chainPath, keyPath: keyPath) }
}
