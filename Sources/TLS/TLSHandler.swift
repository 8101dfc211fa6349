public import NIOCore

/// Fired as a user event when the handshake has ended well. Until then, writes wait.
public struct TLSHandshakeCompleted: Sendable, Equatable {
  /// What ALPN agreed on; nil for nothing.
  public var applicationProtocol: String?
}

/// Encrypts one connection: the first handler of its pipeline, made by a ``TLSContext``.
///
/// - Errors come as ``TLSError`` through the pipeline, and then the channel is closed.
/// - A peer that closes the socket without the TLS goodbye is reported as ``TLSError/truncated`` before the channel
///   becomes inactive; one that says goodbye is answered in kind, and the channel is closed.
/// - How long a handshake may take is for the owner to say: until it ends, the channel is silent.
public final class TLSHandler: ChannelDuplexHandler {
  public typealias InboundIn = ByteBuffer
  public typealias InboundOut = ByteBuffer
  public typealias OutboundIn = ByteBuffer
  public typealias OutboundOut = ByteBuffer

  /// Bytes that may be written before the handshake has ended.
  public static let waitingLimitBytes = 262_144

  /// Bytes of TLS's own that may wait for a peer which does not read: a handshake with a long chain, and some more.
  private static let answerLimitBytes = 131_072

  private enum State {
    /// Not active yet. Can transition to: handshaking, closed.
    case idle
    /// Can transition to: open, closed.
    case handshaking
    /// Can transition to: outputClosed, closed.
    case open
    /// Our goodbye is said, the peer may still send. Can transition to: closed.
    case outputClosed
    /// Final.
    case closed
  }

  let session: TLSSession
  private var state = State.idle
  private var hasPeerSaidGoodbye = false
  /// Written and not flushed yet, or not encrypted yet because the handshake goes on.
  private var waiting: CircularBuffer<(ByteBuffer, EventLoopPromise<Void>?)> = []
  private var waitingBytes = 0
  private var flushableCount = 0
  private var answerBytes = 0
  /// What a half-close asked during the handshake waits for.
  private var pendingOutputClose: (isAsked: Bool, promise: EventLoopPromise<Void>?) = (false, nil)

  init(_ session: TLSSession) { self.session = session }

  public func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { begin(context) }
  }

  public func handlerRemoved(context: ChannelHandlerContext) {
    state = .closed
    failWaiting(TLSError.closed)
  }

  public func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  public func channelInactive(context: ChannelHandlerContext) {
    let wasUnderWay = state == .handshaking || state == .open || state == .outputClosed
    state = .closed
    failWaiting(TLSError.closed)
    if wasUnderWay && !hasPeerSaidGoodbye { context.fireErrorCaught(TLSError.truncated) }
    context.fireChannelInactive()
  }

  // MARK: From the network

  public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if state == .closed { return }
    var bytes = unwrapInboundIn(data)
    guard session.receive(&bytes) else { return fail(.failed(detail: "out of memory"), context) }
    if state == .idle { begin(context) } else if state == .handshaking { proceed(context) }
    if state == .open || state == .outputClosed { readPlaintext(context) }
  }

  private func begin(_ context: ChannelHandlerContext) {
    guard state == .idle else { return }
    state = .handshaking
    proceed(context)
  }

  private func proceed(_ context: ChannelHandlerContext) {
    let step = session.handshake()
    flushOutput(context)
    switch step {
    case .needsInput: break
    case .done:
      state = .open
      context.fireUserInboundEventTriggered(
        TLSHandshakeCompleted(applicationProtocol: session.applicationProtocol))
      encryptFlushed(context)
      if state == .open && pendingOutputClose.isAsked { closeOutput(context, promise: pendingOutputClose.promise) }
    case .closed: fail(.handshakeFailed(detail: "the peer closed"), context)
    case .failed(let error): fail(error, context)
    }
  }

  private func readPlaintext(_ context: ChannelHandlerContext) {
    while state == .open || state == .outputClosed {
      let (step, plain) = session.read(context.channel.allocator)
      switch step {
      case .done: if let plain { context.fireChannelRead(wrapInboundOut(plain)) }
      case .needsInput: return flushOutput(context)  // For example the answer to a change of keys.
      case .closed:
        hasPeerSaidGoodbye = true
        return close(context: context, mode: .all, promise: nil)
      case .failed(let error): return fail(error, context)
      }
    }
  }

  /// Sends what OpenSSL has to say for itself. A peer can ask for such an answer (a change of keys) again and again
  /// without reading any: what waits is bounded, and more ends the connection.
  private func flushOutput(_ context: ChannelHandlerContext) {
    guard let output = session.takeOutput(context.channel.allocator) else { return }
    let count = output.readableBytes
    answerBytes += count
    let promise = context.eventLoop.makePromise(of: Void.self)
    promise.futureResult.assumeIsolated().whenComplete { [self] _ in answerBytes -= count }
    context.writeAndFlush(wrapOutboundOut(output), promise: promise)
    if answerBytes > Self.answerLimitBytes { fail(.failed(detail: "the peer does not read our answers"), context) }
  }

  /// The alert that OpenSSL has written still goes out, then the channel closes.
  private func fail(_ error: TLSError, _ context: ChannelHandlerContext) {
    if state == .closed { return }
    state = .closed
    flushOutput(context)
    failWaiting(error)
    context.fireErrorCaught(error)
    context.close(promise: nil)
  }

  // MARK: From the application

  public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard state != .closed, state != .outputClosed, !pendingOutputClose.isAsked else {
      promise?.fail(TLSError.closed)
      return
    }
    let bytes = unwrapOutboundIn(data)
    waiting.append((bytes, promise))
    waitingBytes += bytes.readableBytes
    if state != .open && waitingBytes > Self.waitingLimitBytes {
      fail(.tooMuchWaiting(limitBytes: Self.waitingLimitBytes), context)
    }
  }

  public func flush(context: ChannelHandlerContext) {
    flushableCount = waiting.count
    if state == .open { encryptFlushed(context) }
  }

  /// A write's promise goes with the last byte of its ciphertext, so that whoever counts what is under way counts right.
  private func encryptFlushed(_ context: ChannelHandlerContext) {
    while flushableCount > 0, state == .open, let (bytes, promise) = waiting.popFirst() {
      flushableCount -= 1
      waitingBytes -= bytes.readableBytes
      if case .failed(let error) = session.write(bytes) {
        promise?.fail(error)
        return fail(error, context)
      }
      if let output = session.takeOutput(context.channel.allocator) {
        context.write(wrapOutboundOut(output), promise: promise)
      } else {
        promise?.succeed(())
      }
    }
    context.flush()
  }

  private func failWaiting(_ error: TLSError) {
    let failed = waiting
    waiting = []
    (waitingBytes, flushableCount) = (0, 0)
    for (_, promise) in failed { promise?.fail(error) }
    let closing = pendingOutputClose.promise
    pendingOutputClose = (false, nil)
    closing?.fail(error)
  }

  // MARK: Closing

  public func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    switch mode {
    case .output:
      switch state {
      case .open: closeOutput(context, promise: promise)
      case .idle, .handshaking:
        if pendingOutputClose.isAsked { promise?.fail(TLSError.closed) } else { pendingOutputClose = (true, promise) }
      case .outputClosed, .closed: promise?.fail(TLSError.closed)
      }
    case .all:
      let isOpen = state == .open
      if isOpen { sayGoodbye(context) }
      state = .closed
      failWaiting(.closed)
      context.close(mode: .all, promise: promise)
    case .input: context.close(mode: .input, promise: promise)
    }
  }

  /// A goodbye and a FIN behind everything that was flushed; the peer may go on.
  private func closeOutput(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
    pendingOutputClose = (false, nil)
    sayGoodbye(context)
    state = .outputClosed
    context.close(mode: .output, promise: promise)
  }

  private func sayGoodbye(_ context: ChannelHandlerContext) {
    session.sayGoodbye()
    flushOutput(context)
  }
}

@available(*, unavailable)
extension TLSHandler: Sendable {}
