import Wire
import ZeroMQ

/// Puts messages for gateways on the ROUTER. A body that goes to several of them is given to libzmq once.
struct BackboneOutbox: ~Copyable {
  private var identities: [UInt64: [UInt8]] = [:]
  /// Gateways whose pipe refused a message. The core has to be told, because it counts the message as sent.
  private(set) var failed: [UInt64] = []

  mutating func send(_ message: LinkMessage, to gateway: UInt64, on router: borrowing Socket) {
    send(header: message.header, to: gateway, on: router) { (router) throws(ZeroMQError) in
      try router.send(message.body.bytes)
    }
  }

  mutating func broadcast(_ body: LinkBody, to targets: [LinkTarget], on router: borrowing Socket) throws(ZeroMQError) {
    var shared = try Message(body.bytes)
    for target in targets {
      let copy = try shared.share()
      let header = LinkHeader(kind: body.kind, session: target.session, sequence: target.sequence)
      var message: Message? = consume copy
      send(header: header, to: target.gateway, on: router) { (router) throws(ZeroMQError) in
        if let message = message.take() { try router.send(message) }
      }
    }
  }

  mutating func takeFailed() -> [UInt64] {
    defer { failed.removeAll(keepingCapacity: true) }
    return failed
  }

  private mutating func send(
    header: LinkHeader, to gateway: UInt64, on router: borrowing Socket,
    body: (borrowing Socket) throws(ZeroMQError) -> Void
  ) {
    do throws(ZeroMQError) {
      // With ROUTER_MANDATORY libzmq reports an unknown peer or a full pipe at the first frame, the identity: then
      // nothing was sent.
      try router.send(identity(of: gateway), more: true)
      try router.send(header.bytes, more: true)
      try body(router)
    } catch {
      failed.append(gateway)
    }
  }

  private mutating func identity(of gateway: UInt64) -> [UInt8] {
    if let identity = identities[gateway] { return identity }
    // Gateways come and go with their processes: a broker that runs for a year must not remember all of them.
    if identities.count > 256 { identities = [:] }
    let identity = LinkIdentity.bytes(of: gateway)
    identities[gateway] = identity
    return identity
  }
}
