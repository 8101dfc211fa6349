import NIOCore
import Wire

/// The event loops' lines for TLS handshakes: each has its part of the limits.
final class HandshakeGate: Sendable {
  private let loops: [NIOLoopBoundBox<HandshakeTurns?>]
  private let limits: HandshakeLine.Limits
  private let countsLoopback: Bool
  private let refusals: Refusals

  init(_ limits: AdmissionLimits, eventLoops: [any EventLoop], refusals: Refusals) {
    loops = eventLoops.map { NIOLoopBoundBox.makeEmptyBox(valueType: HandshakeTurns.self, eventLoop: $0) }
    func part(_ number: Int) -> Int { number == .max ? number : max(1, (number - 1) / eventLoops.count + 1) }
    self.limits = .init(all: part(limits.all.tlsHandshakes), address: part(limits.address.tlsHandshakes))
    countsLoopback = limits.countsLoopback
    self.refusals = refusals
  }

  /// The line of the event loop with that index; call it on that event loop.
  subscript(loop: Int) -> HandshakeTurns {
    if let turns = loops[loop].value { return turns }
    let turns = HandshakeTurns(
      limits, countsLoopback: countsLoopback, on: loops[loop].eventLoop, refusals: refusals)
    loops[loop].value = turns
    return turns
  }
}

/// The TLS handshakes of one event loop. Bound to it, and deliberately not Sendable.
final class HandshakeTurns {
  private var line: HandshakeLine
  private var waiting: [UInt64: HandshakeTurnHandler] = [:]
  private let countsLoopback: Bool
  private let eventLoop: any EventLoop
  private let refusals: Refusals
  private var lastID: UInt64 = 0
  private var isArmed = false

  /// How long until the next few begin. A task that is due at once would run before the event loop looks at its
  /// sockets.
  private static let pause = TimeAmount.microseconds(50)

  init(_ limits: HandshakeLine.Limits, countsLoopback: Bool, on eventLoop: any EventLoop, refusals: Refusals) {
    line = HandshakeLine(limits)
    self.countsLoopback = countsLoopback
    self.eventLoop = eventLoop
    self.refusals = refusals
  }

  /// The client's first bytes are there.
  fileprivate func enter(_ handler: HandshakeTurnHandler, from client: IPAddress?) {
    lastID += 1
    handler.id = lastID
    waiting[lastID] = handler
    let counted = client.flatMap { countsLoopback || !$0.isLoopback ? $0 : nil }
    if let cause = line.arrive(lastID, from: counted) { refusals.note(cause, from: client?.description ?? "") }
    beginNext()
  }

  fileprivate func end(_ id: UInt64) {
    waiting[id] = nil
    line.end(id)
    beginNext()
  }

  private func beginNext() {
    while let id = line.next() { waiting.removeValue(forKey: id)?.begin() }
    guard line.wantsTurn, !isArmed else { return }
    isArmed = true
    eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { [self] in
      isArmed = false
      line.turned()
      beginNext()
    }
  }
}

/// Keeps a client's first bytes from TLS until it is its turn. It stands before the TLS handler, and leaves when the
/// handshake is over.
final class HandshakeTurnHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum Phase {
    /// The client has said nothing. Can transition to: waiting, over.
    case silent
    /// The client waits for its turn; `bytes` came in the same read as its first. The socket is not read meanwhile.
    /// Can transition to: underWay, over.
    case waiting(bytes: ByteBuffer, isReadHeld: Bool)
    /// Can transition to: over.
    case underWay
    case over
  }

  private let turns: HandshakeTurns
  private let slot: ConnectionSlot
  private var phase = Phase.silent
  private var context: ChannelHandlerContext?
  fileprivate var id: UInt64 = 0

  init(_ turns: HandshakeTurns, slot: ConnectionSlot) {
    self.turns = turns
    self.slot = slot
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    leave()
    self.context = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    leave()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch phase {
    case .underWay, .over: context.fireChannelRead(data)
    case .waiting(var bytes, let isReadHeld):
      var more = unwrapInboundIn(data)
      phase = .over  // So that the growing buffer has one owner and is not copied.
      bytes.writeBuffer(&more)
      phase = .waiting(bytes: bytes, isReadHeld: isReadHeld)
    case .silent:
      phase = .waiting(bytes: unwrapInboundIn(data), isReadHeld: false)
      turns.enter(self, from: slot.client)
    }
  }

  func read(context: ChannelHandlerContext) {
    guard case .waiting(let bytes, _) = phase else { return context.read() }
    phase = .waiting(bytes: bytes, isReadHeld: true)
  }

  /// Begins the handshake, because it is this client's turn: TLS gets the bytes that waited.
  fileprivate func begin() {
    guard case .waiting(let first, let isReadHeld) = phase, let context else { return }
    phase = .underWay
    context.fireChannelRead(wrapInboundOut(first))
    context.fireChannelReadComplete()
    if isReadHeld { context.read() }
  }

  /// The handshake ended well.
  func handshakeEnded() {
    leave()
    context?.pipeline.syncOperations.removeHandler(self, promise: nil)
  }

  private func leave() {
    switch phase {
    case .waiting, .underWay:
      phase = .over
      turns.end(id)
    case .silent, .over: phase = .over
    }
  }
}
