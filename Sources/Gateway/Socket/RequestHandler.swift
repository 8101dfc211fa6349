import Logging
import NIOCore
import NIOHTTP1
import TLS
import Wire
import ZeroMQ

/// Answers the one request of a connection, or turns it into a WebSocket or a stream and leaves. Requests with the commands
/// of a session follow one another on a connection, since a client has many of them.
final class RequestHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart

  let listener: ListenerContext
  let loopIndex: Int
  private let descriptor: Int32
  /// The connection's TLS handler; nil without TLS.
  private let tls: TLSHandler?
  /// Stands before the TLS handler until the handshake is over; nil without TLS.
  private let handshake: HandshakeTurnHandler?
  let slot: ConnectionSlot
  let headGuard: HeadGuard
  private let decoder: ByteToMessageHandler<HTTPRequestDecoder>
  var timeout: Scheduled<Void>?
  private var upgrade: RequestDecision.Upgrade?
  /// What is kept of the request for the backend.
  private var forwardedHeaders: [BackendHeader] = []
  /// What the demo is asked for, and what has come of the body; nil where the request is another.
  private var form: (asks: DemoService.Form, body: ByteBuffer)?
  /// What a client without a WebSocket asks for, and what has come of the body; nil where the request is another.
  var stream: (asks: StreamRequest, body: ByteBuffer)?
  var isAnswered = false
  /// The connection has had a request and its answer, and nobody owes anybody anything.
  var isBetweenRequests = false

  init(
    listener: ListenerContext, loopIndex: Int, descriptor: Int32, tls: TLSHandler?, handshake: HandshakeTurnHandler?,
    slot: ConnectionSlot
  ) {
    self.listener = listener
    self.loopIndex = loopIndex
    self.descriptor = descriptor
    self.tls = tls
    self.handshake = handshake
    self.slot = slot
    headGuard = HeadGuard(maxHeaderBytes: listener.configuration.maxHeaderBytes)
    var limits = NIOHTTPDecoderLimitConfiguration()
    // The guard has counted the head already; these are a second lock on the same door.
    limits.maxHeaderFieldSize = listener.configuration.maxHeaderBytes
    limits.maxHeaderListSize = listener.configuration.maxHeaderBytes
    decoder = ByteToMessageHandler(
      HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits))
  }

  /// Makes the types of a connection's handlers; to be called before any two event loops could need them.
  ///
  /// Two threads that need `ByteToMessageHandler<HTTPDecoder<…>>` for the first time at once can end the process: in
  /// Swift 6.3 one of them, checking that the decoder conforms, follows the superclass of a class that the other has
  /// nearly made, and does not expect that there is none. The first two clients of a server did that, once in some
  /// hundred starts of a busy machine.
  static func makeTypes() {
    _ = ByteToMessageHandler(HTTPRequestDecoder())
  }

  /// The handlers of a connection's HTTP phase, without TLS.
  var pipeline: [any ChannelHandler] { [headGuard, decoder, self] }

  func handlerAdded(context: ChannelHandlerContext) { awaitRequest(context: context) }

  /// The client has a while for a whole request.
  func awaitRequest(context: ChannelHandlerContext) {
    let milliseconds = listener.configuration.headerTimeoutMilliseconds
    timeout = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(milliseconds)) { [self] in
      timeout = nil
      if isAnswered { return }
      if isBetweenRequests && !headGuard.hasBegun { return closeSilently(context: context) }
      answer(.headTooLate.shown(to: stream?.asks.origin), context: context)
    }
  }

  private func closeSilently(context: ChannelHandlerContext) {
    isAnswered = true
    headGuard.isClosed = true
    context.close(promise: nil)
  }

  func handlerRemoved(context: ChannelHandlerContext) { cancelTimeout() }

  /// A timeout that is cancelled is let go as well: cancelled once more, NIO looks through every timer of the loop, of which
  /// each client has one, for what is no longer among them.
  func cancelTimeout() {
    timeout?.cancel()
    timeout = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    isAnswered = true
    cancelTimeout()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isAnswered { return }
    switch unwrapInboundIn(data) {
    case .head(let head): decide(head, context: context)
    case .body(let bytes):
      // The decoder lets no more through than the length that was looked at with the head.
      form?.body.writeImmutableBuffer(bytes)
      readBody(bytes, context: context)
    case .end:
      if let form, let demo = listener.configuration.demo {
        answer(form.asks, Array(form.body.readableBytesView), demo, context: context)
      }
      // The upgrade waits for this part: the decoder would still send it to whoever stood behind it by then.
      if let upgrade { switchProtocols(upgrade, context: context) }
      if let stream { carryOut(stream.asks, stream.body, context: context) }
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is TLSHandshakeCompleted { handshake?.handshakeEnded() }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if isAnswered { return }
    switch error {
    case HeadGuard.Violation.tooLarge: answer(.headTooLarge, context: context)
    case is HeadGuard.Violation, is HTTPParserError:
      answer(.badRequest("this is not a well-formed HTTP/1.1 request"), context: context)
    case TLSError.clientWithoutCertificate:
      listener.refuse(.missingCertificate, from: slot.address)
      end(error, context: context)
    case TLSError.untrustedClient:
      listener.refuse(.refusedCertificate, from: slot.address)
      end(error, context: context)
    default: end(error, context: context)
    }
  }

  /// Ends a connection that no answer can be given.
  private func end(_ error: any Error, context: ChannelHandlerContext) {
    listener.logger.debug(
      "connection ended before its request",
      metadata: ["error": "\(error)", "from": "\(slot.address?.description ?? "")"])
    closeSilently(context: context)
  }

  private func decide(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
    if let cause = identifyClient(head) {
      return answer(HTTPReply(cause), withBody: head.method != .HEAD, context: context)
    }
    slot.handshakeEnded()
    let decision = RequestDecision(
      head, bytesAfterHead: headGuard.bytesAfterHead, path: listener.configuration.path, origins: listener.origins,
      isDraining: listener.isDraining, compresses: listener.compressors != nil,
      pictures: listener.configuration.pictures?.sizes, demo: listener.configuration.demo,
      streamedMessageBytes: listener.configuration.answersStreams ? listener.configuration.maxMessageBytes : nil)
    switch decision {
    case .reply(let reply): answer(reply, withBody: head.method != .HEAD, context: context)
    case .upgrade(let upgrade):
      self.upgrade = upgrade
      keepForwardedHeaders(of: head)
    case .stream(let request):
      keepForwardedHeaders(of: head)
      begin(request, context: context)
    case .pictures(let request): passOn(request, context: context)
    case .demo(let asks): form = (asks, ByteBuffer())
    }
  }

  private func keepForwardedHeaders(of head: HTTPRequestHead) {
    let names = listener.configuration.forwardedHeaders
    if !names.isEmpty { forwardedHeaders = ForwardedHeaders.chosen(names, from: head.headers) }
  }

  private func answer(
    _ form: DemoService.Form, _ body: [UInt8], _ demo: DemoService, context: ChannelHandlerContext
  ) {
    let now = Int64(MonotonicClock.now() / 1_000_000)
    switch form {
    case .signIn: answer(demo.signIn(body, from: slot.address, at: now), context: context)
    case .clock(let token):
      let (handler, eventLoop) = (NIOLoopBound((self, context), eventLoop: context.eventLoop), context.eventLoop)
      let address = slot.address
      Task {
        let reply = await demo.moveClock(body, token: token, from: address, at: now)
        eventLoop.execute {
          let (handler, context) = handler.value
          // The client may be gone by now, or have been told that it was too slow.
          if !handler.isAnswered { handler.answer(reply, context: context) }
        }
      }
    }
  }

  /// A trusted proxy says whose request it is. What it says of a client that is not there any more counts for nothing.
  ///
  /// - Returns: why that client is not let in.
  private func identifyClient(_ head: HTTPRequestHead) -> RefusalCause? {
    guard slot.takesForwardedAddress,
      let client = ForwardedFor.client(in: head.headers["x-forwarded-for"], trusts: listener.gatekeeper.trusts)
    else { return nil }
    let cause = slot.identify(client)
    if let cause { listener.refuse(cause, from: client) }
    return cause
  }

  /// The rest of the request belongs to another handler, behind the same guard and decoder.
  private func passOn(_ request: PictureRequest, context: ChannelHandlerContext) {
    guard let service = listener.configuration.pictures else { return context.close(promise: nil) }
    isAnswered = true
    cancelTimeout()
    let handler = PictureHandler(
      request, service: service, listener: listener, headGuard: headGuard, slot: slot,
      eventLoop: context.eventLoop)
    let operations = context.pipeline.syncOperations
    do {
      try operations.addHandler(handler)
    } catch {
      return context.close(promise: nil)
    }
    operations.removeHandler(self, promise: nil)
  }

  /// Writes the answer and a FIN behind it; what the client still sends is thrown away until it closes too, or until
  /// the grace is over. Closing at once would make the kernel send a reset, which can overtake the answer.
  func answer(_ reply: HTTPReply, withBody: Bool = true, context: ChannelHandlerContext) {
    isAnswered = true
    headGuard.isClosed = true
    if reply.status.code >= 400 { listener.counters.countRejected() }
    cancelTimeout()
    let channel = context.channel
    let grace = reply.grace(listener.configuration.closeGraceMilliseconds)
    timeout = channel.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(grace)) { [self] in
      timeout = nil
      channel.close(promise: nil)
    }
    context.write(NIOAny(ByteBuffer(bytes: reply.encoded(withBody: withBody))), promise: nil)
    if let body = reply.sharedBody(withBody: withBody) { context.write(NIOAny(body), promise: nil) }
    context.flush()
    context.close(mode: .output, promise: nil)
  }

  private func switchProtocols(_ upgrade: RequestDecision.Upgrade, context: ChannelHandlerContext) {
    listener.counters.countUpgraded()
    let compression = compression(of: upgrade)
    become(
      upgrade.format, compression.map { .deflated($0.compressor) } ?? .frames, inflater: compression?.inflater,
      head: Self.response(to: upgrade, compression?.agreement), context: context)
  }

  /// Makes the channel a client's connection, which begins with this head of an answer, and leaves.
  ///
  /// - Returns: nil where the channel has ended.
  @discardableResult
  func become(
    _ format: WireFormat, _ packing: Packing, inflater: Inflater? = nil, head: [UInt8], context: ChannelHandlerContext
  ) -> Connection? {
    isAnswered = true
    cancelTimeout()
    let connection = Connection(
      id: listener.nextConnectionID(), loopIndex: loopIndex, format: format, packing: packing,
      channel: context.channel, descriptor: descriptor, tls: tls, listener: listener, slot: slot,
      forwardedHeaders: forwardedHeaders, inflater: inflater)
    let operations = context.pipeline.syncOperations
    do {
      try operations.addHandler(connection)
    } catch {
      context.close(promise: nil)
      return nil
    }
    connection.sendResponseHead(head)
    connection.attach(listener.sessionFactory(connection))
    operations.removeHandler(headGuard, promise: nil)
    operations.removeHandler(decoder, promise: nil)
    operations.removeHandler(self, promise: nil)
    return connection
  }

  private struct Compression {
    let agreement: DeflateAgreement
    let compressor: Compressor
    let inflater: Inflater
  }

  /// Nil where nothing is compressed, for want of memory too.
  private func compression(of upgrade: RequestDecision.Upgrade) -> Compression? {
    guard let agreement = upgrade.deflate, let compressor = listener.compressors?[agreement.window],
      let inflater = listener.inflater(loopIndex)
    else { return nil }
    return Compression(agreement: agreement, compressor: compressor, inflater: inflater)
  }

  private static func response(to upgrade: RequestDecision.Upgrade, _ deflate: DeflateAgreement?) -> [UInt8] {
    var text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    text += "Sec-WebSocket-Accept: \(RequestDecision.acceptance(of: upgrade.key))\r\n"
    if let subprotocol = upgrade.subprotocol { text += "Sec-WebSocket-Protocol: \(subprotocol)\r\n" }
    if let deflate { text += "Sec-WebSocket-Extensions: \(deflate.answer)\r\n" }
    return Array((text + "\r\n").utf8)
  }
}
