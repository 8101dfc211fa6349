internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOWebSocket
internal import Wire

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Protobuf over WebSocket, on NIO.
final class WebSocketTransport: Transport {
  struct Configuration: Sendable {
    var endpoint: Endpoint
    var headers: [(String, String)]
    var timeout: TimeAmount
    /// Largest message taken from the server, in bytes.
    var maximumMessageBytes: Int
    /// Used for `wss:` alone.
    var tls: TLSMaker
  }

  private enum State {
    case idle
    case opening
    case open(any Channel)
    case closed
  }

  private let configuration: Configuration
  private let eventLoop: any EventLoop
  private var state = State.idle
  private var receive: ((TransportEvent) -> Void)?

  init(_ configuration: Configuration, on eventLoop: any EventLoop) {
    self.configuration = configuration
    self.eventLoop = eventLoop
  }

  /// Closes the connection of a client that nobody holds any more.
  deinit {
    if case .open(let channel) = state { channel.close(promise: nil) }
  }

  func open(_ receive: @escaping (TransportEvent) -> Void) {
    guard case .idle = state else { preconditionFailure("a transport is opened once; make another one") }
    state = .opening
    self.receive = receive
    let configuration = configuration
    // One channel is made for each address of the host, and one of them wins: only that one is upgraded.
    let upgrade = ClientBootstrap(group: eventLoop)
      .connectTimeout(configuration.timeout)
      .channelOption(.socketOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          guard configuration.endpoint.isSecure else { return }
          try channel.pipeline.syncOperations.addHandler(configuration.tls(configuration.endpoint.host))
        }
      }
      .connect(host: configuration.endpoint.host, port: configuration.endpoint.port)
      .flatMapThrowing { try Self.upgrade($0, configuration) }
      .flatMap { (outcome: EventLoopFuture<UpgradeOutcome>) in outcome }
    upgrade.assumeIsolated().whenComplete { [weak self] result in
      guard let self else {
        if case .success(.webSocket(let channel)) = result { channel.close(promise: nil) }
        return
      }
      self.opened(result)
    }
  }

  func send(_ command: ClientCommand) {
    guard case .open(let channel) = state else { return }
    let frame = NIOWebSocket.WebSocketFrame(
      fin: true, opcode: .binary, maskKey: .random(),
      data: ByteBuffer(bytes: CommandEncoder.encode(command)))
    channel.writeAndFlush(frame, promise: nil)
  }

  func close() {
    receive = nil
    if case .open(let channel) = state {
      var reason = channel.allocator.buffer(capacity: 2)
      reason.write(webSocketErrorCode: .normalClosure)
      channel.write(
        NIOWebSocket.WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: reason), promise: nil
      )
      channel.flush()
      channel.close(promise: nil)
    }
    state = .closed
  }

  private func opened(_ result: Result<UpgradeOutcome, any Error>) {
    guard case .opening = state else {
      if case .success(.webSocket(let channel)) = result { channel.close(promise: nil) }
      return
    }
    switch result {
    case .success(.webSocket(let channel)):
      state = .open(channel)
      let handler = MessageHandler(maximumMessageBytes: configuration.maximumMessageBytes) { [weak self] event in
        self?.tell(event)
      }
      do {
        try channel.pipeline.syncOperations.addHandler(handler)
        tell(.opened)
      } catch {
        tell(.failed("\(error)"))
      }
    case .success(.refused(let status)): tell(.refused(status: status))
    case .success(.otherSubprotocol): tell(.malformed("the server does not speak \(ClientProtocol.name)"))
    case .failure(let error): tell(.failed("cannot connect: \(Self.sentence(for: error))"))
    }
  }

  private func tell(_ event: TransportEvent) { receive?(event) }
}

/// What came of the request for a WebSocket.
enum UpgradeOutcome: Sendable {
  case webSocket(any Channel)
  case refused(status: UInt)
  case otherSubprotocol
}

extension WebSocketTransport {
  /// Sends the upgrade request once the channel is active.
  private static func upgrade(
    _ channel: any Channel, _ configuration: Configuration
  ) throws -> EventLoopFuture<UpgradeOutcome> {
    let upgrader = NIOTypedWebSocketClientUpgrader<UpgradeOutcome>(
      maxFrameSize: min(configuration.maximumMessageBytes, Int(UInt32.max)), enableAutomaticErrorHandling: false
    ) { channel, response in
      guard response.headers[canonicalForm: "sec-websocket-protocol"] == [ClientProtocol.name[...]] else {
        return channel.close().map { .otherSubprotocol }
      }
      return channel.eventLoop.makeSucceededFuture(.webSocket(channel))
    }
    var headers = HTTPHeaders([
      ("host", configuration.endpoint.authority), ("sec-websocket-protocol", ClientProtocol.name),
      ("content-length", "0"),
    ])
    headers.add(contentsOf: configuration.headers)
    let request = HTTPRequestHead(
      version: .http1_1, method: .GET, uri: configuration.endpoint.target, headers: headers)
    let typed = NIOTypedHTTPClientUpgradeConfiguration(upgradeRequestHead: request, upgraders: [upgrader]) { channel in
      let status = channel.eventLoop.makePromise(of: UpgradeOutcome.self)
      return channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(RefusalHandler(status))
      }.flatMap { status.futureResult }
    }
    var pipeline = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: typed)
    pipeline.leftOverBytesStrategy = .forwardBytes
    return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: pipeline)
  }
}

/// Reads the status of an answer that is not an upgrade, and closes.
private final class RefusalHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  private let status: EventLoopPromise<UpgradeOutcome>

  init(_ status: EventLoopPromise<UpgradeOutcome>) { self.status = status }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data) {
      status.succeed(.refused(status: UInt(clamping: head.status.code)))
      context.close(promise: nil)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    status.fail(ChannelError.eof)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    status.fail(error)
    context.close(promise: nil)
  }
}

extension WebSocketTransport {
  /// A sentence for people about a connection error: NIO's own description names its types, not the trouble.
  static func sentence(for error: any Error) -> String {
    guard let failure = error as? NIOConnectionError else { return "\(error)" }
    let place = "\(failure.host):\(failure.port)"
    if let refusal = failure.connectionErrors.first?.error as? IOError {
      let advice = refusal.errnoCode == ECONNREFUSED ? "; is the server running there?" : ""
      return "\(place): \(unsafe String(cString: strerror(refusal.errnoCode)))\(advice)"
    }
    if let reason = failure.connectionErrors.first?.error { return "\(place): \(reason)" }
    return "\(place): the name cannot be resolved; check its spelling"
  }
}
