internal import NIOCore
internal import NIOWebSocket

/// Turns WebSocket frames into replies, answers the WebSocket's own pings, and tells how the connection ended.
final class MessageHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let maximumMessageBytes: Int
  private let tell: (TransportEvent) -> Void
  /// Data frames of a message that is not whole yet.
  private var fragments: ByteBuffer?
  private var hasEnded = false

  /// - Parameter tell: called on the channel's event loop; `closed`, `malformed` and `tooLarge` end the messages.
  init(maximumMessageBytes: Int, tell: @escaping (TransportEvent) -> Void) {
    self.maximumMessageBytes = maximumMessageBytes
    self.tell = tell
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !hasEnded else { return }
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .binary where fragments == nil, .continuation where fragments != nil: append(frame, context)
    case .ping:
      let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
      context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
    case .pong: break
    case .connectionClose: closed(frame.unmaskedData, context)
    default: end(.malformed("the server sent a frame that does not belong there"), context)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    end(.closed(code: nil, reason: ""), context)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case NIOWebSocketError.invalidFrameLength: end(.tooLarge, context)
    case is NIOWebSocketError: end(.malformed("\(error)"), context)
    default: end(.failed("\(error)"), context)
    }
  }

  private func append(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
    var data = frame.unmaskedData
    if var whole = fragments {
      fragments = nil  // Else the append would copy what is there.
      guard whole.readableBytes + data.readableBytes <= maximumMessageBytes else { return end(.tooLarge, context) }
      whole.writeBuffer(&data)
      data = whole
    }
    guard frame.fin else {
      fragments = data
      return
    }
    do {
      for reply in try ReplyDecoder.decode(Array(data.readableBytesView)) {
        tell(.received(reply))
        if hasEnded { return }
      }
    } catch {
      end(.malformed("the server sent what is not the protocol: \(error)"), context)
    }
  }

  /// A Close frame's payload: two bytes of code, then the reason in UTF-8.
  private func closed(_ payload: ByteBuffer, _ context: ChannelHandlerContext) {
    var payload = payload
    let echo = WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: payload)
    context.writeAndFlush(wrapOutboundOut(echo), promise: nil)
    let code = payload.readInteger(as: UInt16.self)
    end(.closed(code: code, reason: payload.readString(length: payload.readableBytes) ?? ""), context)
  }

  private func end(_ event: TransportEvent, _ context: ChannelHandlerContext) {
    guard !hasEnded else { return }
    hasEnded = true
    context.close(promise: nil)
    tell(event)
  }
}
