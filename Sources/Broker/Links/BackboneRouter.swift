import Wire
public import ZeroMQ

/// The broker's end of the ZeroMQ pipe, for gateways in processes of their own. For the backbone thread alone.
///
/// A broker that stands in line for the log opens it beforehand: gateways connect, and what they say waits in it until
/// the broker works.
public final class BackboneRouter {
  let socket: Socket
  /// Where gateways reach the broker, with the port that the system chose where port 0 was configured.
  let endpoint: String
  private var ingress = BackboneInbox()
  private var egress = BackboneOutbox()

  /// Binds the socket. Nil where the only gateway is in this process.
  ///
  /// - Throws: libzmq's error, where the endpoint cannot be bound.
  public init?(_ endpoints: BrokerEndpoints, in context: Context) throws(ZeroMQError) {
    guard let address = endpoints.backbone else { return nil }
    var options = Socket.Options()
    options.lingerMilliseconds = 1000
    options.routerMandatory = true
    options.routerHandover = true
    options.sendHighWaterMark = 1_000_000
    options.receiveHighWaterMark = 100_000
    options.maxMessageBytes = 64 << 20
    options.curve = endpoints.curve
    options.giveUpDeadConnections()
    socket = try Socket(context, .router, options)
    try socket.bind(address)
    endpoint = try socket.lastEndpoint
  }

  /// Reads messages that wait, up to `limit` of them and until they have `bytes` together.
  func read(limit: Int, bytes: Int, _ receive: (LinkMessage, UInt64) -> Void) throws(ZeroMQError) {
    try ingress.read(socket, limit: limit, bytes: bytes, receive)
  }

  func send(_ message: LinkMessage, to gateway: UInt64) { egress.send(message, to: gateway, on: socket) }

  func broadcast(_ body: LinkBody, to targets: [LinkTarget]) throws(ZeroMQError) {
    try egress.broadcast(body, to: targets, on: socket)
  }

  /// Gateways whose pipe refused a message since the last call.
  func takeFailed() -> [UInt64] { egress.takeFailed() }
}
