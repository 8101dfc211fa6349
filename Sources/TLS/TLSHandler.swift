import CLinuxIO
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
/// - The handler sets no deadline for the handshake, so its owner must: until the handshake ends, the channel is
///   silent.
///
/// **Two ways out.** What comes down the pipeline is encrypted and goes on through the channel. ``transmit(_:on:)``
/// writes straight to the descriptor as long as the channel has nothing of ours under way (`underWay` is 0), and
/// through the channel else. Records are made in the order in which they are handed to either, and the kernel gets them
/// in that order: what is encrypted cannot be taken back, nor sent behind what was encrypted later.
public final class TLSHandler: ChannelDuplexHandler {
  public typealias InboundIn = ByteBuffer
  public typealias InboundOut = ByteBuffer
  public typealias OutboundIn = ByteBuffer
  public typealias OutboundOut = ByteBuffer

  /// Bytes that may be written before the handshake has ended.
  public static let waitingLimitBytes = 262_144

  /// Bytes of plaintext that are encrypted at once: four full records for one system call.
  static let pieceBytes = 4 * TLSRecords.largestTextBytes

  /// Bytes of TLS's own messages that may wait for a peer which does not read: a handshake with a long chain, and some
  /// more.
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
  /// Plaintext that was written and not flushed yet, or not encrypted yet because the handshake goes on.
  private var waiting: [(ByteBuffer, EventLoopPromise<Void>?)] = []
  private var waitingBytes = 0
  private var flushableCount = 0
  private var answerBytes = 0
  /// How many writes of ciphertext the channel has taken and not yet passed to the kernel whole.
  private var underWay = 0
  /// Set while the handler is in the pipeline.
  private var context: ChannelHandlerContext?
  /// Whether a half-close was asked for during the handshake, which carries it out when it ends, and the promise of it.
  private var pendingOutputClose: (isAsked: Bool, promise: EventLoopPromise<Void>?) = (false, nil)

  init(_ session: TLSSession) { self.session = session }

  /// An open connection without a pipeline or a peer, whose keys everybody knows: to count what a record costs.
  package init(countingOn loop: TLSLoop) {
    session = TLSSession(countingOn: loop)
    state = .open
  }

  public func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    if context.channel.isActive { begin(context) }
  }

  public func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
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
    session.receive(&bytes)
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
      case .done:
        // Flushed before the plaintext goes up the pipeline: its reader may write on other connections, and they
        // encrypt into the same output, which is the event loop's.
        flushOutput(context)
        if let plain, state != .closed { context.fireChannelRead(wrapInboundOut(plain)) }
      case .needsInput: return flushOutput(context)  // For example the answer to a change of keys.
      case .closed:
        hasPeerSaidGoodbye = true
        return close(context: context, mode: .all, promise: nil)
      case .failed(let error): return fail(error, context)
      }
    }
  }

  /// Sends TLS's own messages (handshake, alerts, changes of keys) that stand in the output. A peer can ask for such an
  /// answer (a change of keys) again and again without reading any: what waits is bounded, and more ends the
  /// connection.
  private func flushOutput(_ context: ChannelHandlerContext) {
    guard let output = session.loop.takeOutput(context.channel.allocator) else { return }
    let count = output.readableBytes
    answerBytes += count
    let promise = context.eventLoop.makePromise(of: Void.self)
    promise.futureResult.assumeIsolated().whenComplete { [self] _ in answerBytes -= count }
    pass(output, promise, context)
    context.flush()
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

  /// Encrypts the writes that were flushed. A write's promise goes with the last byte of its ciphertext, so that a
  /// caller who counts by promises what is under way counts right.
  private func encryptFlushed(_ context: ChannelHandlerContext) {
    while flushableCount > 0, state == .open, !waiting.isEmpty {
      let (bytes, promise) = waiting.removeFirst()
      flushableCount -= 1
      waitingBytes -= bytes.readableBytes
      do throws(TLSError) {
        _ = try unsafe bytes.withUnsafeReadableBytes { bytes throws(TLSError) in
          try unsafe encrypt(bytes, promise, context)
        }
      } catch {
        promise?.fail(error)
        return fail(error, context)
      }
    }
    context.flush()
  }

  /// Encrypts the bytes piece by piece, and hands them to the channel.
  ///
  /// - Returns: how many bytes of ciphertext that makes.
  private func encrypt(
    _ bytes: UnsafeRawBufferPointer, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
  ) throws(TLSError) -> Int {
    var (place, count) = (0, 0)
    repeat {
      let end = min(place + Self.pieceBytes, bytes.count)
      if case .failed(let error) = unsafe session.write(UnsafeRawBufferPointer(rebasing: bytes[place..<end])) {
        session.loop.dropOutput()
        throw error
      }
      place = end
      let isLast = place == bytes.count
      if let output = session.loop.takeOutput(context.channel.allocator) {
        count += output.readableBytes
        pass(output, isLast ? promise : nil, context)
      } else if isLast {
        promise?.succeed(())
      }
    } while place < bytes.count
    return count
  }

  /// Hands ciphertext to the channel, and counts it as under way until the kernel has it.
  private func pass(_ output: ByteBuffer, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
    let promise = promise ?? context.eventLoop.makePromise()
    underWay += 1
    promise.futureResult.assumeIsolated().whenComplete { [self] _ in underWay -= 1 }
    context.write(wrapOutboundOut(output), promise: promise)
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

  // MARK: Straight to the descriptor

  /// What became of bytes that were handed to ``transmit(_:on:)``.
  public enum Transmission {
    /// The kernel has all of it.
    case sent
    /// So many bytes of ciphertext wait in the channel, and have gone when the future succeeds.
    case waits(bytes: Int, written: EventLoopFuture<Void>)
    /// Nothing can be sent on this connection any more; its owner is to close it.
    case failed
  }

  /// Encrypts the bytes behind everything that was sent before, and sends them at once where nothing waits. Before it
  /// returns, it calls nobody back, whatever happens; only promises of writes that came down the pipeline may complete.
  ///
  /// - Parameter descriptor: that of the channel's socket, which is open as long as the channel is active.
  public func transmit(_ bytes: UnsafeRawBufferPointer, on descriptor: Int32) -> Transmission {
    guard state == .open, waiting.isEmpty else { return .failed }
    unsafe assert(session.loop.output.isEmpty, "who writes takes the output")
    var place = 0
    while underWay == 0 && place < bytes.count {
      let end = min(place + Self.pieceBytes, bytes.count)
      guard unsafe session.write(UnsafeRawBufferPointer(rebasing: bytes[place..<end])) == .done else { return drop() }
      place = end
      let output = unsafe session.loop.output
      let sent = unsafe linuxio_send(descriptor, output.baseAddress, output.count)
      if sent < 0 { return drop() }
      if sent < output.count { return unsafe wait(after: sent, bytes[place...]) }
      session.loop.dropOutput()
    }
    return unsafe place == bytes.count ? .sent : wait(after: 0, bytes[place...])
  }

  private func drop() -> Transmission {
    session.loop.dropOutput()
    return .failed
  }

  /// Hands to the channel what the kernel did not take, and encrypts the rest behind it.
  ///
  /// - Parameters:
  ///   - sent: bytes of the output that the kernel has.
  ///   - rest: plaintext that is not encrypted yet.
  private func wait(after sent: Int, _ rest: Slice<UnsafeRawBufferPointer>) -> Transmission {
    guard let context else { return drop() }
    let promise = context.eventLoop.makePromise(of: Void.self)
    let cut = session.loop.takeOutput(context.channel.allocator, after: sent)
    var count = cut?.readableBytes ?? 0
    if let cut { pass(cut, unsafe rest.isEmpty ? promise : nil, context) }
    if unsafe !rest.isEmpty {
      do throws(TLSError) {
        count += try unsafe encrypt(UnsafeRawBufferPointer(rebasing: rest), promise, context)
      } catch {
        promise.fail(error)
        return .failed
      }
    }
    context.flush()
    return .waits(bytes: count, written: promise.futureResult)
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

  /// Sends a goodbye and a FIN behind everything that was flushed; the peer may go on sending.
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
