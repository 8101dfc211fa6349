internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Makes the TLS handler of a connection to that host.
typealias TLSMaker = @Sendable (String) throws -> any ChannelHandler

/// Requests over HTTP/1.1, each on a connection of its own: a picture takes longer than opening one.
struct NIOHTTP: HTTPExchanging {
  let group: any EventLoopGroup
  /// For connecting.
  let timeout: TimeAmount
  /// The longest in which nothing may move.
  let idleTime: TimeAmount
  let tls: TLSMaker

  func exchange(_ request: HTTPExchange, maximumBytes: Int) async throws -> HTTPAnswer {
    let eventLoop = group.next()
    let answer = eventLoop.makePromise(of: HTTPAnswer.self)
    let (endpoint, idleTime, tls) = (request.endpoint, idleTime, tls)
    let connection = ClientBootstrap(group: eventLoop)
      .connectTimeout(timeout)
      .channelOption(.socketOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if endpoint.isSecure { try pipeline.addHandler(tls(endpoint.host)) }
          try pipeline.addHandler(IdleStateHandler(allTimeout: idleTime))
          try pipeline.addHTTPClientHandlers()
        }
      }
      .connect(host: endpoint.host, port: endpoint.port)
    connection.whenComplete { result in
      switch result {
      case .success(let channel):
        let handler = AnswerHandler(answer, maximumBytes: maximumBytes)
        do { try channel.pipeline.syncOperations.addHandler(handler) } catch { return answer.fail(error) }
        Self.write(request, to: channel)
      case .failure(let error): answer.fail(error)
      }
    }
    return try await withTaskCancellationHandler {
      try await answer.futureResult.get()
    } onCancel: {
      connection.whenSuccess { $0.close(promise: nil) }
    }
  }

  private static func write(_ request: HTTPExchange, to channel: any Channel) {
    var headers = HTTPHeaders([
      ("host", request.endpoint.authority), ("connection", "close"), ("content-length", "\(request.body.count)"),
    ])
    for (name, value) in request.headers { headers.replaceOrAdd(name: name, value: value) }
    let head = HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: request.method), uri: request.endpoint.target, headers: headers)
    channel.write(HTTPClientRequestPart.head(head), promise: nil)
    // In pieces, so that a slow connection is seen to move.
    var rest = request.body[...]
    while !rest.isEmpty {
      let piece = rest.prefix(65_536)
      channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: piece))), promise: nil)
      rest = rest.dropFirst(piece.count)
    }
    channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
  }
}

/// Gathers an answer, and closes.
private final class AnswerHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  private let promise: EventLoopPromise<HTTPAnswer>
  private let maximumBytes: Int
  private var answer: HTTPAnswer?
  private var hasEnded = false

  init(_ promise: EventLoopPromise<HTTPAnswer>, maximumBytes: Int) {
    self.promise = promise
    self.maximumBytes = maximumBytes
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      let headers = head.headers.map { ($0.name.lowercased(), $0.value) }
      answer = HTTPAnswer(
        status: Int(head.status.code), headers: Dictionary(headers, uniquingKeysWith: { first, _ in first }), body: [])
    case .body(let bytes):
      answer?.body.append(contentsOf: bytes.readableBytesView)
      if let count = answer?.body.count, count > maximumBytes {
        end(context, .failure(RealtimeError.pictureTooLarge(limit: maximumBytes)))
      }
    case .end:
      if let answer { end(context, .success(answer)) }
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is IdleStateHandler.IdleStateEvent { lose(context, RealtimeError.timedOut) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    lose(context, ChannelError.eof)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { lose(context, error) }

  /// What has come of the body stays: the rest can be asked for.
  private func lose(_ context: ChannelHandlerContext, _ error: any Error) {
    guard var answer else { return end(context, .failure(error)) }
    answer.isWhole = false
    end(context, .success(answer))
  }

  private func end(_ context: ChannelHandlerContext, _ result: Result<HTTPAnswer, any Error>) {
    guard !hasEnded else { return }
    hasEnded = true
    promise.completeWith(result)
    context.close(promise: nil)
  }
}
