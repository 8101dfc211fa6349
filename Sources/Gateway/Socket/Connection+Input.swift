import NIOCore

/// What a connection has read and not handed on, and whether it reads at all.
struct ConnectionInput {
  fileprivate(set) var reader: FrameReader
  /// What came while reading is paused: the rest of a read burst, or, where the peer ends its side, what the kernel
  /// still held. Bounded by `waitingLimitBytes`.
  fileprivate var waiting: ByteBuffer?
  fileprivate let waitingLimitBytes: Int
  fileprivate(set) var pauses: Int32 = 0
  fileprivate var hasDelivered = false
  /// The frames no longer make sense, or there are none; what comes is thrown away until the socket is closed.
  fileprivate var isDeaf: Bool
  /// Of a stream: what came by requests of its own while reading is paused. Bounded by `waitingLimitBytes`, too.
  fileprivate var posted: PostedCommands?
  var postedCount: Int { posted?.count ?? 0 }

  /// - Parameters:
  ///   - inflater: the event loop's; nil: messages are not compressed.
  ///   - isStreamed: no frames come over the socket.
  init(maxMessageBytes: Int, inflater: Inflater? = nil, isStreamed: Bool = false) {
    reader = FrameReader(maxMessageBytes: isStreamed ? 0 : maxMessageBytes, inflater: inflater)
    isDeaf = isStreamed
    posted = isStreamed ? PostedCommands() : nil
    // Four reads of 64 KiB are one burst of the channel; the message that is under way lives in the reader.
    waitingLimitBytes = 4 * 65_536 + maxMessageBytes
  }

  fileprivate mutating func end() {
    isDeaf = true
    waiting = nil
    // Frees what has come of a message: the session may wait long after this for its last answer.
    reader = FrameReader(maxMessageBytes: 0)
  }
}

/// Turns a client's bytes into messages; the only handler of an open plain connection.
extension Connection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if input.isDeaf { return }
    var bytes = unwrapInboundIn(data)
    guard input.waiting != nil else { return read(&bytes) }
    input.waiting?.writeBuffer(&bytes)
    if input.waiting?.readableBytes ?? 0 > input.waitingLimitBytes {
      input.end()
      context.close(promise: nil)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) { completeBurst() }

  func channelInactive(context: ChannelHandlerContext) {
    input.end()
    ended()
    takePosted()
    guard let delegate else { return }
    self.delegate = nil
    forgetStream(delegate.sessionID)
    // Later, for the channel may have died inside a `send` of a fan-out that walks its subscribers.
    eventLoop.assumeIsolated().execute { delegate.closed() }
  }

  /// The channel closes itself on an error of the socket; what TLS finds wrong closes it here.
  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func completeBurst() {
    guard input.hasDelivered else { return }
    input.hasDelivered = false
    delegate?.readCompleted()
  }

  private func read(_ bytes: inout ByteBuffer) {
    do {
      while !input.isDeaf {
        if isReadingPaused {
          if bytes.readableBytes > 0 { input.waiting = bytes }
          return
        }
        guard let event = try input.reader.next(&bytes) else { return }
        handle(event)
      }
    } catch {
      input.isDeaf = true
      violated(error)
    }
  }

  private func handle(_ event: FrameReader.Event) {
    switch event {
    case .message(let message):
      guard isOpen else { return }
      input.hasDelivered = true
      delegate?.received(message)
    case .ping(let payload): pong(payload)
    case .pong: break
    case .close(let code):
      input.isDeaf = true
      peerClosed(code: code)
    }
  }

  // MARK: Commands of a stream

  /// Hands on what would have been one message of a WebSocket. While reading is paused it waits, and so do all that come
  /// behind it.
  ///
  /// - Parameter done: called once, at once or later.
  func take(_ message: ByteBuffer, then done: @escaping (PostOutcome) -> Void) {
    guard isOpen else { return done(.ended) }
    if isReadingPaused || input.posted?.isEmpty == false {
      let hasRoom = input.posted?.append(
        .init(message: message, done: done), limitBytes: input.waitingLimitBytes)
      if hasRoom != true { done(.tooMany) }
      return
    }
    hand(message)
    done(.taken)
  }

  private func hand(_ message: ByteBuffer) {
    delegate?.received(message)
    delegate?.readCompleted()
  }

  private func takePosted() {
    while !isReadingPaused, let post = input.posted?.popFirst() {
      if isOpen { hand(post.message) }
      post.done(isOpen ? .taken : .ended)
    }
  }

  // MARK: Pauses

  /// Stops reading from the socket, so that the peer's sends stall. Counted: as many ``resumeReading()`` undo it. At
  /// most one burst of messages that was already read waits here.
  func pauseReading() {
    input.pauses += 1
    // Of a stream the socket is read on: else nobody would notice that the peer has gone.
    if input.pauses == 1 && phase == .open && !packing.isStreamed { setAutoRead(false) }
  }

  func resumeReading() {
    guard input.pauses > 0 else { return }
    input.pauses -= 1
    if input.pauses == 0 && phase == .open { restartReading() }
  }

  private var isReadingPaused: Bool { input.pauses > 0 && phase == .open }

  func restartReading() {
    // Later, because whoever resumes may be inside a delivery from this very connection.
    eventLoop.assumeIsolated().execute { [self] in
      guard !isReadingPaused, phase != .closed else { return }
      takePosted()
      takeWaitingInput()
      if !isReadingPaused { setAutoRead(true) }
    }
  }

  private func takeWaitingInput() {
    guard var bytes = input.waiting else { return }
    input.waiting = nil
    read(&bytes)
    completeBurst()
  }

  private func setAutoRead(_ on: Bool) {
    // Fails only on a closed channel, where it no longer matters.
    try? channel.syncOptions?.setOption(.autoRead, value: on)
  }
}
