import NIOCore

/// Turns a client's bytes into events on its ``Connection``; the only handler of an open plain connection.
final class WebSocketHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let connection: Connection
  private(set) var reader: FrameReader
  /// What came while reading is paused: the rest of a read burst, or, where the peer ends its side, what the kernel
  /// still held. Bounded by `waitingLimitBytes`.
  private var waiting: ByteBuffer?
  private let waitingLimitBytes: Int
  private var hasDelivered = false
  /// The frames no longer make sense; what comes is thrown away until the socket is closed.
  private var isDeaf = false

  init(connection: Connection, maxMessageBytes: Int) {
    self.connection = connection
    reader = FrameReader(maxMessageBytes: maxMessageBytes)
    // Four reads of 64 KiB are one burst of the channel; the message that is under way lives in the reader.
    waitingLimitBytes = 4 * 65_536 + maxMessageBytes
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isDeaf { return }
    var input = unwrapInboundIn(data)
    if waiting != nil {
      waiting?.writeBuffer(&input)
      if (waiting?.readableBytes ?? 0) > waitingLimitBytes {
        isDeaf = true
        waiting = nil
        context.close(promise: nil)
      }
    } else {
      take(&input)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) { completeBurst() }

  func channelInactive(context: ChannelHandlerContext) {
    isDeaf = true
    waiting = nil
    connection.channelBecameInactive()
  }

  /// The channel closes itself on an error of the socket; what TLS finds wrong closes it here.
  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  /// Reading was resumed.
  func takeWaitingInput() {
    guard var input = waiting else { return }
    waiting = nil
    take(&input)
    completeBurst()
  }

  private func completeBurst() {
    guard hasDelivered else { return }
    hasDelivered = false
    connection.deliverReadComplete()
  }

  private func take(_ input: inout ByteBuffer) {
    do {
      while !isDeaf {
        if connection.isReadingPaused {
          if input.readableBytes > 0 { waiting = input }
          return
        }
        guard let event = try reader.next(&input) else { return }
        perform(event)
      }
    } catch {
      isDeaf = true
      connection.violated(error)
    }
  }

  private func perform(_ event: FrameReader.Event) {
    switch event {
    case .message(let message):
      guard connection.isOpen else { return }
      hasDelivered = true
      connection.deliver(message)
    case .ping(let payload): connection.pong(payload)
    case .pong: break
    case .close(let code):
      isDeaf = true
      connection.peerClosed(code: code)
    }
  }
}
