import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestSupport

@testable import TLS

/// A server that greets whoever has shaken hands, and closes: for another implementation's client, `openssl s_client`.
final class GreetingServer {
  static let greeting = "greetings over TLS"

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let channel: any Channel
  private let seen = Seen()

  /// What went wrong on connections so far.
  var errors: [TLSError] { seen.errors.withLock(\.self) }

  /// Of each handshake that has ended well, whether the connection went on without OpenSSL's state.
  var takenOver: [Bool] { seen.takenOver.withLock(\.self) }

  /// - Parameter closes: whether it closes after the greeting.
  init(_ context: TLSContext, closes: Bool = true) throws {
    channel = try ServerBootstrap(group: group)
      .childChannelInitializer { [seen] channel in
        channel.eventLoop.makeCompletedFuture {
          let handler = try context.makeServerHandler()
          try channel.pipeline.syncOperations.addHandlers([handler, Greeter(seen, handler.session, closes: closes)])
        }
      }
      .bind(host: "127.0.0.1", port: 0).wait()
  }

  deinit { try? group.syncShutdownGracefully() }

  var port: Int { channel.localAddress?.port ?? 0 }

  /// Connects with `s_client`, and returns all that it says.
  func connect(_ arguments: [String], input: String = "", waits: Bool = true) throws -> String {
    try TestCertificate.openssl(
      ["s_client", "-connect", "127.0.0.1:\(port)"] + (waits ? ["-ign_eof"] : []) + arguments, input: input)
  }

  private final class Seen: Sendable {
    let errors = Mutex<[TLSError]>([])
    let takenOver = Mutex<[Bool]>([])
  }

  /// Says its word when the handshake has ended, and closes.
  private final class Greeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let seen: Seen
    private let closes: Bool

    private let session: TLSSession

    init(_ seen: Seen, _ session: TLSSession, closes: Bool) {
      self.seen = seen
      self.session = session
      self.closes = closes
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      guard event is TLSHandshakeCompleted else { return }
      seen.takenOver.withLock { $0.append(session.isTakenOver) }
      context.writeAndFlush(NIOAny(ByteBuffer(string: "\(GreetingServer.greeting)\n")), promise: nil)
      if closes { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      if let error = error as? TLSError { seen.errors.withLock { $0.append(error) } }
      context.close(promise: nil)
    }
  }
}
