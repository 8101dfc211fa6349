import Logging
import NIOCore
import Wire

/// Reads the PROXY protocol's header before anything else of a connection, TLS included, and leaves.
///
/// It stands only in connections of trusted proxies. A connection that begins with anything else is closed: to take it
/// for a client without a header would let whoever gets past the proxy say nothing and be believed.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let slot: ConnectionSlot
  private let listener: ListenerContext
  private var header = ProxyHeader()
  private var isOver = false

  init(_ slot: ConnectionSlot, listener: ListenerContext) {
    self.slot = slot
    self.listener = listener
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isOver { return }
    var input = unwrapInboundIn(data)
    do throws(ProxyHeader.Malformed) {
      while let byte = input.readInteger(as: UInt8.self) {
        guard case .whole(let client) = try header.read(byte) else { continue }
        isOver = true
        return pass(client, input, context)
      }
    } catch {
      isOver = true
      listener.refuse(.proxyHeader, from: slot.address)
      listener.logger.debug("no PROXY protocol header", metadata: ["reason": "\(error)"])
      context.close(promise: nil)
    }
  }

  private func pass(_ client: IPAddress?, _ rest: ByteBuffer, _ context: ChannelHandlerContext) {
    // The header may name another trusted proxy: then the request says whose connection it is (`X-Forwarded-For`).
    if let client, !listener.gatekeeper.trusts(client), let cause = slot.identify(client) {
      listener.refuse(cause, from: client)
      return context.close(promise: nil)
    }
    if rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }
}
