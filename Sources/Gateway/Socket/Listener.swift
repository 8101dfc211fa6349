import CLinuxIO
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import TLS

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The public port: accepts sockets, spreads them over the event loops, and turns them into ``Connection``s.
///
/// We accept rather than NIO, so that we know the descriptor: the fan-out writes to it (see ``Connection``).
final class Listener: Sendable {
  private let context: ListenerContext
  private let thread: AcceptThread
  private let arrivals: [Arrivals]

  /// Opens the port and accepts from now on.
  ///
  /// - Parameters:
  ///   - eventLoops: of a `MultiThreadedEventLoopGroup`; connections go round robin, and a connection's `loopIndex`
  ///     counts in this array.
  ///   - isAtRest: whether nobody is served on an event loop just now; called there.
  ///   - sessionFactory: called on a connection's event loop when it has become a WebSocket.
  /// - Throws: ``ListenerError``, whose description tells the operator what to change.
  static func start(
    _ configuration: ListenerConfiguration, on eventLoops: [any EventLoop],
    logger: Logger = Logger(label: "fanfare.listener"),
    isAtRest: @escaping @Sendable (_ loop: Int) -> Bool = { _ in true },
    sessionFactory: @escaping SessionFactory
  ) throws(ListenerError) -> Listener {
    guard !eventLoops.isEmpty else { throw .noEventLoops }
    RequestHandler.makeTypes()
    let context = ListenerContext(
      configuration: configuration, eventLoops: eventLoops, logger: logger, sessionFactory: sessionFactory)
    let socket = try ListeningSocket(
      host: configuration.host, port: configuration.port, backlog: configuration.backlog)
    let turns = RoundRobin(count: eventLoops.count)
    let arrivals = eventLoops.enumerated().map { index, eventLoop in
      Arrivals(on: eventLoop, isAtRest: { isAtRest(index) }) {
        Self.open($0, $1, on: eventLoop, index: index, context: context)
      }
    }
    let thread = try AcceptThread(socket: socket, context: context) { arrivals[turns.next()].add($0, $1) }
    try thread.start()
    eventLoops[0].scheduleRepeatedTask(initialDelay: .minutes(1), delay: .minutes(1)) { _ in
      configuration.refusals.tellMinute()
    }
    if let pictures = configuration.pictures {
      // This task ends with the event loop.
      eventLoops[0].scheduleRepeatedTask(initialDelay: .minutes(10), delay: .minutes(10)) { _ in pictures.sweep() }
    }
    return Listener(context: context, thread: thread, arrivals: arrivals)
  }

  private init(context: ListenerContext, thread: AcceptThread, arrivals: [Arrivals]) {
    self.context = context
    self.thread = thread
    self.arrivals = arrivals
  }

  deinit {
    thread.stop()
    for line in arrivals { line.end() }
  }

  /// The port that clients connect to, also where the configuration says 0.
  var boundPort: Int { thread.port }

  var counters: ListenerCounters { context.counters }

  /// Bytes that wait for all connections: accepted, and not taken by the kernel.
  var waitingEgressBytes: Int { context.egress.waitingBytes }

  /// Sends away whoever has not become a WebSocket yet, with 503, and says at `/health` that the server ends. Accepts go
  /// on for that: a connection that nobody accepts would hang until the server has ended.
  func beginDraining() { context.beginDraining() }

  /// Accepts no more; whoever has not become a WebSocket yet is answered 503. The connections that exist are closed by
  /// their owners. Returns when the accept thread has ended; any number of calls. The port is free when the listener
  /// is released.
  func stopAccepting() {
    context.beginDraining()
    thread.stop()
  }

  /// Bytes that are read of one connection before the event loop looks at the next: with hundreds that pour at once,
  /// all the others wait for the sum.
  private static let largestReadBytes = 16_384

  private static func open(
    _ descriptor: Int32, _ slot: ConnectionSlot, on eventLoop: any EventLoop, index: Int, context: ListenerContext
  ) {
    ClientBootstrap(group: eventLoop)
      .channelOption(
        .recvAllocator,
        // A channel keeps its last receive buffer: small ones make idle connections cheap, and they grow on demand.
        value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: Self.largestReadBytes)
      )
      .channelOption(.maxMessagesPerRead, value: 1)
      .channelInitializer { channel in
        channel.closeFuture.whenComplete { _ in slot.giveBack() }
        return channel.eventLoop.makeCompletedFuture {
          let turn = context.handshakes.map { HandshakeTurnHandler($0[index], slot: slot) }
          let tls = try context.configuration.tls?.makeServerHandler(context.tlsLoop(index))
          let request = RequestHandler(
            listener: context, loopIndex: index, descriptor: descriptor, tls: tls, handshake: turn, slot: slot)
          let operations = channel.pipeline.syncOperations
          if slot.isProxied && context.configuration.expectsProxyHeader {
            try operations.addHandler(ProxyHeaderHandler(slot, listener: context))
          }
          if let tls, let turn { try operations.addHandlers([turn, tls]) }
          try operations.addHandlers(request.pipeline)
        }
      }
      .withConnectedSocket(descriptor)
      .whenFailure { error in
        context.logger.debug("an accepted socket could not be set up", metadata: ["error": "\(error)"])
      }
  }
}
