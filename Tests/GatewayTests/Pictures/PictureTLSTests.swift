import NIOCore
import NIOPosix
import Synchronization
import TLS
import TestSupport
import Testing

@testable import Gateway

@Suite("Pictures over HTTPS", .ownThread)
struct PictureTLSTests {
  /// Sends a request once it may, and collects what the server sends until it closes.
  private final class Exchange: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let request: [UInt8]
    private let answer = Mutex<[UInt8]>([])

    init(_ request: [UInt8]) { self.request = request }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      guard event is TLSHandshakeCompleted else { return }
      context.writeAndFlush(NIOAny(ByteBuffer(bytes: request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let new = unwrapInboundIn(data)
      answer.withLock { $0 += Array(new.readableBytesView) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    var bytes: [UInt8] { answer.withLock { $0 } }
  }

  @Test("a picture of the largest size goes in and comes out")
  func largest() async throws {
    let certificate = try TestCertificate()
    let server = try TLSContext.server(.init(chainPath: certificate.chainPath, keyPath: certificate.keyPath))
    let client = try TLSContext.client(trust: .authorities(path: certificate.chainPath))
    try await withPictures(listener: { $0.tls = server }) { scene throws in
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      defer { try? group.syncShutdownGracefully() }
      func ask(_ request: [UInt8]) throws -> [UInt8] {
        let exchange = Exchange(request)
        let channel = try ClientBootstrap(group: group)
          .channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
              try channel.pipeline.syncOperations.addHandlers([
                client.makeClientHandler(serverName: "localhost"), exchange,
              ])
            }
          }
          .connect(host: "127.0.0.1", port: scene.harness.port).wait()
        try channel.closeFuture.wait()
        return exchange.bytes
      }
      let picture = PictureScene.picture(8 << 20)
      let head = PictureScene.head(
        "PUT", "/state/pictures?id=\(PictureScene.id)", ["Content-Length: \(picture.count)"])
      let answer = String(decoding: try ask(Array(head.utf8) + picture), as: UTF8.self)
      #expect(answer.hasPrefix("HTTP/1.1 201 "))
      scene.broker.show(to: "ada")
      let got = try ask(Array(PictureScene.head("GET", "/state/pictures/\(PictureScene.id)").utf8))
      let isSame = Array(got.suffix(picture.count)) == picture
      #expect(isSame)
    }
  }
}
