import NIOCore
import Wire

/// Requests of clients that have no WebSocket: their streams begin, and their commands find their session.
extension RequestHandler {
  /// The head is there, and nothing is wrong with it.
  func begin(_ request: StreamRequest, context: ChannelHandlerContext) {
    stream = (request, ByteBuffer())
    if let bytes = request.bodyBytes { headGuard.limitBody(to: bytes) }
    if request.expectsContinue && request.bodyBytes != 0 {
      context.writeAndFlush(NIOAny(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
    }
  }

  func readBody(_ bytes: ByteBuffer, context: ChannelHandlerContext) {
    guard let asks = stream?.asks else { return }
    stream?.body.writeImmutableBuffer(bytes)
    if stream?.body.readableBytes ?? 0 > asks.maximumBodyBytes {
      answer(.bodyTooLarge(asks.maximumBodyBytes).shown(to: asks.origin), context: context)
    }
  }

  /// The request is whole.
  func carryOut(_ request: StreamRequest, _ body: ByteBuffer, context: ChannelHandlerContext) {
    switch request.action {
    case .preflight(let allowed): answerAndGoOn(.streamPreflight(allowed: allowed), to: request, context: context)
    case .events(let connect): open(.events, .json, ByteBuffer(bytes: connect), request.origin, context: context)
    case .lines(let format): open(.lines, format, body, request.origin, context: context)
    case .commands(let format): post(body, format, request, context: context)
    }
  }

  // MARK: Streams

  private func open(
    _ packing: Packing, _ format: WireFormat, _ connect: ByteBuffer, _ origin: String?, context: ChannelHandlerContext
  ) {
    listener.counters.countStreamed()
    let head = StreamHead.encoded(packing, format, origin: origin)
    // Without a delegate the channel has ended while the session was made.
    guard let connection = become(format, packing, head: head, context: context), let delegate = connection.delegate
    else { return }
    listener.streams.add(delegate.sessionID, connection)
    connection.take(connect) { _ in }
  }

  // MARK: Commands

  private func post(
    _ body: ByteBuffer, _ format: WireFormat, _ request: StreamRequest, context: ChannelHandlerContext
  ) {
    // From here on nobody waits for the client.
    cancelTimeout()
    let posted: EmulationRequest
    do throws(MalformedInput) {
      posted = try EmulationRequest(Array(body.readableBytesView), format: format)
    } catch {
      return answer(.badRequest(error.description).shown(to: request.origin), context: context)
    }
    let most = listener.configuration.maxMessageBytes
    guard posted.commands.count <= most else {
      return answer(.bodyTooLarge(most).shown(to: request.origin), context: context)
    }
    guard posted.node == listener.configuration.node else {
      return answer(.otherNode.shown(to: request.origin), context: context)
    }
    guard let connection = listener.streams[posted.session] else {
      return answer(.noSession.shown(to: request.origin), context: context)
    }
    let (message, own) = (ByteBuffer(bytes: posted.commands), context.eventLoop)
    let handler = NIOLoopBound((self, context), eventLoop: own)
    // In the order of arrival: an event loop does what it is given one after another.
    connection.eventLoop.execute {
      connection.value.take(message) { outcome in
        own.execute {
          let (handler, context) = handler.value
          // The client may have gone meanwhile.
          if !handler.isAnswered { handler.answer(outcome, to: request, context: context) }
        }
      }
    }
  }

  private func answer(_ outcome: PostOutcome, to request: StreamRequest, context: ChannelHandlerContext) {
    switch outcome {
    case .taken:
      // Whoever knows the session is who signed in with it.
      slot.signedIn()
      answerAndGoOn(.commandsTaken, to: request, context: context)
    case .tooMany: answer(.tooManyCommands.shown(to: request.origin), context: context)
    case .ended: answer(.noSession.shown(to: request.origin), context: context)
    }
  }

  /// Answers, and lets another request follow where that is safe: its beginning is known, and it is the same client's,
  /// whose address was counted. A proxy may send anybody's over one connection.
  private func answerAndGoOn(_ reply: HTTPReply, to request: StreamRequest, context: ChannelHandlerContext) {
    let reply = reply.shown(to: request.origin)
    guard request.keepsAlive, !headGuard.hasExcess, !slot.isProxied, !listener.isDraining, context.channel.isWritable
    else { return answer(reply, context: context) }
    cancelTimeout()
    stream = nil
    isBetweenRequests = true
    headGuard.beginAnother()
    context.writeAndFlush(NIOAny(ByteBuffer(bytes: reply.encoded(keepsAlive: true))), promise: nil)
    awaitRequest(context: context)
  }
}
