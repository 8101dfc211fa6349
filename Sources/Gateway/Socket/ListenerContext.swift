import Logging
import NIOCore
import Synchronization
import TLS
import Wire

/// What all connections of one listener share.
final class ListenerContext: Sendable {
  let configuration: ListenerConfiguration
  let origins: OriginPolicy
  let counters = ListenerCounters()
  let egress: EgressBudget
  let gatekeeper: Gatekeeper
  let streams = StreamTable()
  /// Nil without TLS.
  let handshakes: HandshakeGate?
  let logger: Logger
  let sessionFactory: SessionFactory
  private let draining = Atomic<Bool>(false)
  private let tlsLoops: [NIOLoopBoundBox<TLSLoop?>]
  /// Nil: messages are not compressed.
  let compressors: Compressors?
  private let inflaters: [NIOLoopBoundBox<Inflater?>]

  /// One sequence for all listeners of the process.
  private static let lastConnectionID = Atomic<UInt64>(0)

  init(
    configuration: ListenerConfiguration, eventLoops: [any EventLoop], logger: Logger,
    sessionFactory: @escaping SessionFactory
  ) {
    self.configuration = configuration
    egress =
      configuration.egress
      ?? EgressBudget(
        limitBytes: configuration.egressLimitBytes, eventLoops: eventLoops, refusals: configuration.refusals)
    origins = OriginPolicy(allowedOrigins: configuration.allowedOrigins)
    var admission = configuration.admission
    admission.all.connections = min(admission.all.connections, configuration.maxConnections)
    gatekeeper = Gatekeeper(admission, proxies: configuration.trustedProxies)
    handshakes =
      configuration.tls == nil
      ? nil : HandshakeGate(admission, eventLoops: eventLoops, refusals: configuration.refusals)
    self.logger = logger
    self.sessionFactory = sessionFactory
    tlsLoops = eventLoops.map { NIOLoopBoundBox.makeEmptyBox(valueType: TLSLoop.self, eventLoop: $0) }
    compressors = configuration.compression.map { [counters] in Compressors($0, counters: counters) }
    inflaters = eventLoops.map { NIOLoopBoundBox.makeEmptyBox(valueType: Inflater.self, eventLoop: $0) }
  }

  /// What the TLS connections of an event loop share; call it there.
  func tlsLoop(_ index: Int) -> TLSLoop {
    if let loop = tlsLoops[index].value { return loop }
    let loop = TLSLoop()
    tlsLoops[index].value = loop
    return loop
  }

  /// What the compressed messages of an event loop's clients go through; call it there. Nil where memory is out.
  func inflater(_ index: Int) -> Inflater? {
    if let inflater = inflaters[index].value { return inflater }
    let inflater = Inflater()
    inflaters[index].value = inflater
    return inflater
  }

  /// No new sessions: the accept thread has ended, and who is still in the HTTP phase is sent elsewhere.
  var isDraining: Bool { draining.load(ordering: .relaxed) }

  func beginDraining() { draining.store(true, ordering: .relaxed) }

  func refuse(_ cause: RefusalCause, from address: IPAddress?) {
    counters.countRefused()
    configuration.refusals.note(cause, from: address?.description ?? "")
  }

  func nextConnectionID() -> UInt64 { Self.lastConnectionID.add(1, ordering: .relaxed).newValue }
}
