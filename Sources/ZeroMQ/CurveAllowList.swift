/// Decides which CURVE clients may connect to the servers of one context (ZeroMQ RFC 27, ZAP).
///
/// libzmq asks the list during each handshake, and the connection waits for the answer. There can be one per context.
///
/// Build the list before the servers, as the first participant, so that it is closed last: where no list answers,
/// libzmq
/// lets every client in.
public final class CurveAllowList: BackboneParticipant {
  /// A set of clients, as a server refers to it. Only a list makes one: a server that asks for clients to be checked
  /// cannot be built while nothing would check them.
  public struct Domain: Sendable {
    let name: String
  }

  private static let version: [UInt8] = Array("1.0".utf8)
  private static let curve: [UInt8] = Array("CURVE".utf8)

  private let router: Socket
  private let limit: Int
  private var frames: [[UInt8]] = []
  /// Names by key, by domain. Keys are binary and domains bytes, as libzmq's requests spell them.
  private let clients: [[UInt8]: [[UInt8]: String]]

  /// - Parameter clients: who may connect, by domain: a name of your choice, not empty.
  public convenience init(
    _ clients: [String: Set<Curve.PublicKey>], in context: Context, on loop: BackboneLoop
  ) throws(ZeroMQError) {
    let named = clients.mapValues { keys in Dictionary(uniqueKeysWithValues: keys.map { ($0, "") }) }
    try self.init(named: named, in: context, on: loop)
  }

  /// - Parameter clients: who may connect, by domain, and under which name what they send is known (``Message/user``).
  public init(
    named clients: [String: [Curve.PublicKey: String]], in context: Context, on loop: BackboneLoop
  ) throws(ZeroMQError) {
    var binary: [[UInt8]: [[UInt8]: String]] = [:]
    for (domain, keys) in clients {
      binary[Array(domain.utf8)] = Dictionary(uniqueKeysWithValues: keys.map { ($0.key.binary, $0.value) })
    }
    self.clients = binary
    limit = loop.messagesPerRound
    router = try Socket(context, .router)
    try router.bind("inproc://zeromq.zap.01")
    loop.watch(router, for: self) { list, _ in list.answer() }
  }

  /// What a server's `Curve.Role` takes. A name that the list does not have lets nobody in.
  public func domain(_ name: String) -> Domain {
    Domain(name: name)
  }

  /// Answers those who wait for the list, while its loop does not run yet. On the loop's thread.
  public func answer() {
    for _ in 0..<limit {
      // Nobody but libzmq itself can ask. If the answer cannot be sent, the handshake times out: nobody gets in.
      guard (try? router.receiveMultipart(into: &frames)) != nil else { return }
      if let reply = reply(to: frames) { try? router.send(multipart: reply) }
    }
  }

  /// Request: identity, "", version, request ID, domain, address, routing ID, mechanism, then the client's key.
  /// Reply: identity, "", version, request ID, status, its text, user, metadata.
  private func reply(to request: [[UInt8]]) -> [[UInt8]]? {
    guard request.count >= 8, request[2] == Self.version else { return nil }
    let name = request.count == 9 && request[7] == Self.curve ? clients[request[4]]?[request[8]] : nil
    let (status, text) = name != nil ? ("200", "OK") : ("400", "This client's key is not allowed here")
    let user = Array((name ?? "").utf8)
    return [request[0], [], Self.version, request[3], Array(status.utf8), Array(text.utf8), user, []]
  }

  public func tick(now: UInt64) -> UInt64? { nil }

  public func close() {}
}
