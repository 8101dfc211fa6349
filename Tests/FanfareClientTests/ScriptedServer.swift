import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization
import Wire

/// A server on a free port that answers each command as a test says.
final class ScriptedServer: Sendable {
  /// What to do with a command: replies to send, or a code to close with.
  enum Answer: Sendable {
    case replies([ClientReply])
    case close(DisconnectCode)
    /// Ends the TCP connection without a Close frame.
    case drop
  }

  let url: String
  private let listener: any Channel
  private let accepted = Accepted()

  /// - Parameters:
  ///   - subprotocol: what the server says it speaks.
  ///   - answer: called with the number of the connection, from 1, and each command.
  init(
    subprotocol: String = "centrifuge-protobuf",
    answer: @escaping @Sendable (Int, ClientCommand) -> Answer
  ) async throws {
    let accepted = accepted
    listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        let number = accepted.add(channel)
        let upgrader = NIOWebSocketServerUpgrader(
          shouldUpgrade: { channel, _ in
            channel.eventLoop.makeSucceededFuture(HTTPHeaders([("sec-websocket-protocol", subprotocol)]))
          },
          upgradePipelineHandler: { channel, _ in
            channel.eventLoop.makeCompletedFuture {
              try channel.pipeline.syncOperations.addHandler(ScriptHandler { answer(number, $0) })
            }
          })
        return channel.pipeline.configureHTTPServerPipeline(
          withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
      }
      .bind(host: "127.0.0.1", port: 0).get()
    url = "ws://127.0.0.1:\(listener.localAddress?.port ?? 0)/connection/websocket"
  }

  func stop() async {
    try? await listener.close().get()
    for channel in accepted.all { try? await channel.close().get() }
  }
}

private final class Accepted: Sendable {
  private let channels = Mutex<[any Channel]>([])

  /// The connection's number.
  func add(_ channel: any Channel) -> Int {
    channels.withLock {
      $0.append(channel)
      return $0.count
    }
  }

  var all: [any Channel] { channels.withLock { $0 } }
}

private final class ScriptHandler: ChannelInboundHandler {
  typealias InboundIn = NIOWebSocket.WebSocketFrame
  typealias OutboundOut = NIOWebSocket.WebSocketFrame

  private let answer: (ClientCommand) -> ScriptedServer.Answer

  init(_ answer: @escaping (ClientCommand) -> ScriptedServer.Answer) { self.answer = answer }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    guard frame.opcode == .binary else { return }
    let bytes = Array(frame.unmaskedData.readableBytesView)
    for command in (try? ClientCodec.decode(bytes, format: .protobuf)) ?? [] {
      switch answer(command) {
      case .replies(let replies):
        let payload = ByteBuffer(bytes: ClientCodec.encode(replies, format: .protobuf))
        context.writeAndFlush(wrapOutboundOut(.init(fin: true, opcode: .binary, data: payload)), promise: nil)
      case .close(let code):
        var payload = ByteBuffer(integer: code.code)
        payload.writeString(code.reason)
        context.writeAndFlush(wrapOutboundOut(.init(fin: true, opcode: .connectionClose, data: payload)), promise: nil)
      case .drop: context.close(promise: nil)
      }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
