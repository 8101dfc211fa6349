import CLinuxIO
import NIOCore
import TLS
import Wire

/// A client's WebSocket: the last handler of its channel, which reads frames, and the ``Outlet`` through which it is
/// sent some. Bound to its event loop, and deliberately not Sendable.
///
/// Or a stream, which ``packing`` says: the body of an answer that does not end, for clients that have no WebSocket. The
/// way out is the same. Nothing more comes over its socket; commands come by ``take(_:then:)``, from requests of their
/// own. It is closed with a disconnect push and the body's last chunk in place of a Close frame.
///
/// **Two ways out.** As long as nothing waits, a frame is written straight to the descriptor from the event loop, next
/// to the NIO channel: that costs a third less than the channel's own path. What the kernel does not take at once goes
/// through the channel, and until the channel has handed over its last byte (`queuedBytes` is 0 again) everything
/// later goes through it too. So there is one order. The fan-out takes the same short way by itself, and hands the rest
/// of a frame that was cut to ``transmit(_:)``: see ``Outlet``. With TLS nobody but the TLS handler writes, and it has
/// the same two ways: the fan-out hands everything to ``transmit(_:)``.
///
/// **Why the descriptor is never somebody else's.** NIO closes it in one place, on this event loop, and tells the
/// handlers (`channelInactive`) in the same uninterrupted run: between the two, only promises of failed writes call
/// out, and ours gives the descriptor up there. All of our writes happen on this event loop too, so none can stand
/// between the closing and the moment at which `descriptor` becomes -1. Nobody else holds the number.
final class Connection: Outlet, SessionTransport {
  let eventLoop: any EventLoop
  /// Place of the event loop among those that the listener was given.
  let loopIndex: Int
  let format: WireFormat
  let packing: Packing
  /// The client's IP address, without a port: what a trusted proxy says, or the other end of the socket.
  var remoteAddress: String { slot.address?.description ?? "" }
  /// What was kept of the client's request for the backend.
  let forwardedHeaders: [BackendHeader]

  /// Why we closed it; nil while it is open and where the peer ended it.
  private(set) var closeCode: DisconnectCode?
  var closedBy: DisconnectCode? { closeCode }

  enum Phase: UInt8 {
    /// Can transition to: closing, closed.
    case open
    /// Our Close frame is sent or queued, and only the peer's is waited for. Can transition to: closed.
    case closing
    /// The channel is gone, or about to be closed hard. Final.
    case closed
  }

  private(set) var phase = Phase.open
  let channel: any Channel
  private let listener: ListenerContext
  private let slot: ConnectionSlot
  /// The descriptor, for questions to the kernel, with TLS too.
  private let socket: Int32
  /// Nil without TLS.
  private let tls: TLSHandler?
  /// The event loop's part of the budget of all connections, in which what waits here counts.
  private let egress: EgressShare
  /// ``queuedBytes`` as the budget was told last.
  private(set) var accountedBytes = 0
  /// Bytes that wait here and on tapes: where too much waits for all connections, the one with most is closed first.
  var weight: Int { accountedBytes + laggingBytes }
  private var queuedPongBytes = 0
  /// Nil from the end on, which also breaks the cycle between connection and delegate.
  var delegate: (any ConnectionDelegate)?
  var input: ConnectionInput

  init(
    id: UInt64, loopIndex: Int, format: WireFormat, packing: Packing = .frames, channel: any Channel,
    descriptor: Int32, tls: TLSHandler?, listener: ListenerContext, slot: ConnectionSlot,
    forwardedHeaders: [BackendHeader] = [], inflater: Inflater? = nil
  ) {
    self.forwardedHeaders = forwardedHeaders
    self.eventLoop = channel.eventLoop
    self.loopIndex = loopIndex
    self.format = format
    self.packing = packing
    self.channel = channel
    socket = descriptor
    self.tls = tls
    self.listener = listener
    egress = listener.egress[loopIndex]
    self.slot = slot
    input = ConnectionInput(
      maxMessageBytes: listener.configuration.maxMessageBytes, inflater: inflater, isStreamed: packing.isStreamed)
    super.init(id: id, descriptor: tls == nil ? descriptor : -1)
  }

  func attach(_ delegate: any ConnectionDelegate) { self.delegate = delegate }

  // MARK: Sending

  /// Sends one whole plain frame (see ``ServerFrame``) of a message, wrapped as ``packing`` says. Calls no delegate,
  /// whatever happens; a connection that breaks or is too slow is closed soon after.
  func send(_ frame: [UInt8]) {
    guard phase == .open else { return }
    sendWrapped(packing == .frames ? frame : packing.pack(frame, format))
  }

  /// Sends one whole plain frame that the client has not asked for just now. Where more such bytes wait than may, its
  /// reader is too slow.
  func push(_ frame: [UInt8]) {
    guard phase == .open else { return }
    let bytes = packing == .frames ? frame : packing.pack(frame, format)
    if unaskedBytes > 0, bytes.count > listener.configuration.queueLimitBytes - unaskedBytes { return closeSlow() }
    unsafe bytes.withUnsafeBytes { unsafe transmit($0) }
  }

  /// Sends bytes that are as they are to go out.
  private func sendWrapped(_ frame: [UInt8]) {
    guard phase == .open else { return }
    unsafe frame.withUnsafeBytes { unsafe send($0) }
  }

  private func send(_ bytes: UnsafeRawBufferPointer) {
    // One frame is taken in any case: the kernel may have had a part of it, and a frame that is cut off leaves the
    // peer with no way to read even our Close.
    if queuedBytes > 0 && bytes.count > listener.configuration.answerLimitBytes - queuedBytes {
      closeSlow()
    } else {
      unsafe transmit(bytes, isAsked: true)
    }
  }

  /// Sends the bytes behind everything that was sent before, whatever the limits say: they are the rest of a frame, or
  /// counted against the limits already.
  override func transmit(_ bytes: UnsafeRawBufferPointer) {
    if isOpen { unsafe transmit(bytes, isAsked: false) }
  }

  private func transmit(_ bytes: UnsafeRawBufferPointer, isAsked: Bool) {
    if let tls { return unsafe transmit(bytes, isAsked: isAsked, through: tls) }
    var waiting = unsafe bytes
    if descriptor >= 0 {
      let sent = unsafe linuxio_send(descriptor, bytes.baseAddress, bytes.count)
      if sent == bytes.count { return }
      if sent < 0 { return abandon() }
      unsafe waiting = UnsafeRawBufferPointer(rebasing: bytes[sent...])
    }
    unsafe enqueue(waiting, isAsked: isAsked)
  }

  private func transmit(_ bytes: UnsafeRawBufferPointer, isAsked: Bool, through tls: TLSHandler) {
    guard phase != .closed else { return }
    switch unsafe tls.transmit(bytes, on: socket) {
    case .sent: return
    case .waits(let bytes, let written):
      awaitWritten(written, bytes, isAsked: isAsked)
      if queuedBytes > accountedBytes { account() }
    case .failed: abandon()
    }
  }

  private func enqueue(_ bytes: UnsafeRawBufferPointer, isAsked: Bool) {
    let promise = eventLoop.makePromise(of: Void.self)
    awaitWritten(promise.futureResult, bytes.count, isAsked: isAsked)
    channel.writeAndFlush(unsafe ByteBuffer(bytes: bytes), promise: promise)
    // What the kernel took at once is never accounted for.
    if queuedBytes > accountedBytes { account() }
  }

  /// Counts bytes as queued until the channel has written them.
  private func awaitWritten(_ written: EventLoopFuture<Void>, _ bytes: Int, isAsked: Bool) {
    queued(bytes, isAsked: isAsked)
    written.assumeIsolated().whenComplete { [self] result in
      dequeued(bytes, isAsked: isAsked)
      if accountedBytes > queuedBytes { account() }
      switch result {
      case .failure:
        brokenBytes += bytes
        // The channel is about to be inactive, and its descriptor may be closed already: see ``Connection``.
        ended()
      case .success:
        if queuedBytes == 0 { drained() }
      }
    }
  }

  /// Tells the budget what waits here, and the session whether it may ask for more.
  private func account() {
    let change = queuedBytes - accountedBytes
    accountedBytes = queuedBytes
    egress.change(self, by: change)
    let most = egress.isTight ? 0 : listener.configuration.queueLimitBytes
    if askedBytes > most {
      isFull = true
    } else if isFull && askedBytes <= most / 2 {
      isFull = false
      // Later, for somebody may still be in `send`.
      eventLoop.assumeIsolated().execute { [self] in
        if phase == .open { delegate?.relieved() }
      }
    }
  }

  /// More waits for all connections than may, and most of it here. What waits is given back at once, so a Close frame,
  /// which stands behind it, is never sent: the peer sees its connection end, with 1006.
  func closeForBudget() {
    guard phase != .closed else { return }
    if phase == .open { closeCode = .slow }
    listener.counters.countShed()
    closeChannel()
  }

  /// How far the peer has come with what was sent to it.
  var progress: PeerProgress? {
    guard phase == .open else { return nil }
    var unacknowledged = 0
    let taken = unsafe linuxio_acknowledged(socket, &unacknowledged)
    guard let takenBytes = UInt64(exactly: taken) else { return nil }
    return PeerProgress(takenBytes: takenBytes, isWaiting: queuedBytes > 0 || unacknowledged > 0)
  }

  private func drained() {
    queuedPongBytes = 0
    guard phase == .open, let delegate else { return }
    // Later, for the kernel may have taken everything while somebody is still in `send`.
    eventLoop.assumeIsolated().execute { [self] in
      if phase == .open { delegate.drained() }
    }
  }

  /// Answers a ping. A peer that pings and does not read is closed.
  func pong(_ payload: [UInt8]) {
    guard phase == .open else { return }
    let frame = ServerFrame.pong(payload)
    if queuedBytes > 0 {
      queuedPongBytes += frame.count
      if queuedPongBytes > listener.configuration.pongLimitBytes { return closeSlow() }
    }
    sendWrapped(frame)
  }

  /// Sends the head of the answer with which the connection begins.
  func sendResponseHead(_ head: [UInt8]) { sendWrapped(head) }

  // MARK: Closing

  /// Sends a Close frame, waits a little for the peer's, and closes. What was sent before still arrives. Of a stream the
  /// peer's end is waited for.
  func close(_ code: DisconnectCode) {
    beginClosing(code, farewell(code))
    endStream()
  }

  /// What tells the peer why it is closed.
  private func farewell(_ code: DisconnectCode) -> [UInt8] {
    guard packing.isStreamed else { return ServerFrame.close(code: code.code, reason: code.reason) }
    let push = ClientCodec.frame(for: [.push(.disconnect(code))], format: format)
    return packing.pack(push, format) + StreamPacking.lastChunk
  }

  /// A stream's body is over. Nothing of the peer's is waited for but its end.
  private func endStream() {
    if packing.isStreamed && phase == .closing { shutDownOutput() }
  }

  override func closeSlow() {
    guard phase == .open else { return }
    listener.counters.countSlow()
    listener.configuration.refusals.note(.slow, from: remoteAddress)
    beginClosing(
      .slow, farewell(.slow), graceMilliseconds: listener.configuration.slowCloseGraceMilliseconds)
    endStream()
  }

  private func beginClosing(_ code: DisconnectCode?, _ frame: [UInt8], graceMilliseconds: Int64? = nil) {
    guard phase == .open else { return }
    closeCode = code
    phase = .closing
    defer { end() }  // After our Close frame, which may take the short way.
    unsafe frame.withUnsafeBytes { unsafe transmit($0, isAsked: false) }
    guard phase == .closing else { return }
    if input.pauses > 0 { restartReading() }  // Else the peer's Close would never be read.
    let grace = graceMilliseconds ?? listener.configuration.closeGraceMilliseconds
    eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(grace)) { [self] in
      if phase == .closed { return }
      // The Close frame never left this process, or the peer has not read it.
      if code == .slow { listener.configuration.refusals.note(.slowCut, from: remoteAddress) }
      closeChannel()
    }
  }

  /// The peer's frames make no sense any more: says so, and ends our side at once.
  func violated(_ violation: FrameViolation) {
    let frame = ServerFrame.close(code: violation.closeCode, reason: violation.description)
    beginClosing(DisconnectCode(code: violation.closeCode, reason: violation.description), frame)
    if phase == .closing { shutDownOutput() }
  }

  /// The peer's Close frame came: the answer to ours, or the first, which is answered with the same code.
  func peerClosed(code: UInt16?) {
    switch phase {
    case .open:
      beginClosing(nil, ServerFrame.close(code: code))
      // Our Close frame goes out before the socket closes: the end of our side stands behind it in the same queue.
      if phase == .closing { shutDownOutput() }
    case .closing:
      if queuedBytes == 0 { closeChannel() } else { shutDownOutput() }
    case .closed: break
    }
  }

  /// Sends a FIN behind everything that waits, so that the peer reads all of it; then the peer's own FIN closes the
  /// channel. To close hard with unread input makes the kernel send a reset, which can overtake our Close frame.
  private func shutDownOutput() {
    eventLoop.assumeIsolated().execute { [self] in
      if phase == .closing { channel.close(mode: .output, promise: nil) }
    }
  }

  /// After a failed write: nothing can be said to the peer any more.
  override func abandon() {
    ended()
    eventLoop.assumeIsolated().execute { [self] in channel.close(promise: nil) }
  }

  /// The stream's channel is gone: its session takes no more commands.
  func forgetStream(_ session: String) {
    if packing.isStreamed { listener.streams.remove(session) }
  }

  private func closeChannel() {
    ended()
    channel.close(promise: nil)
  }

  /// From here on the descriptor may be closed, and its number somebody else's.
  func ended() {
    phase = .closed
    end()
  }

  // MARK: Limits

  /// Milliseconds for which the client's connection token is not to be checked yet; nil: its address has too many that
  /// wait.
  func signInDelay() -> Int64? { slot.signInDelay() }

  /// From now on the connection counts for somebody, and no longer among those that anybody may open.
  func signedIn() {
    listener.counters.countSignIn()
    slot.signedIn()
  }
}
