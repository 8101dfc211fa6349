import Wire
import ZeroMQ

/// The gateway's end of the ZeroMQ pipe to one broker in a process of its own. The backbone thread's alone.
final class BackboneDealer {
  let address: String
  let socket: Socket
  let monitor: SocketMonitor
  var connection = BrokerConnection.away
  private var frames: [[UInt8]] = []

  /// - Parameters:
  ///   - number: tells the endpoint from the gateway's others.
  ///   - isAlone: there are no others.
  init(
    of gateway: UInt64, to endpoint: GatewayEndpoint, number: String, isAlone: Bool, in context: Context
  ) throws(ZeroMQError) {
    var options = Socket.Options()
    options.routingID = LinkIdentity.bytes(of: gateway)
    options.lingerMilliseconds = 1000
    // Bounded by the link's own windows, in bytes: a full pipe here would only hide a message that was counted.
    options.sendHighWaterMark = 0
    options.receiveHighWaterMark = 0
    options.maxMessageBytes = 64 << 20
    // A broker that takes over begins to listen when it does so, and is waited for.
    options.reconnectIntervalMilliseconds = isAlone ? 20 : 10
    options.reconnectIntervalMaxMilliseconds = isAlone ? 500 : 0
    options.giveUpDeadConnections()
    options.curve = endpoint.curve
    address = endpoint.address
    socket = try Socket(context, .dealer, options)
    monitor = try SocketMonitor(
      socket, name: "backbone-\(LinkIdentity.text(of: gateway))-\(number)", in: context)
    try socket.connect(endpoint.address)
  }

  /// Sends a message to the broker. Where no broker is there, it waits in the pipe for the next one, which answers what
  /// it does not know with a reset. A message that the socket refuses is no loss: its request stays among those without
  /// an answer, and the link's next session asks again.
  func send(_ message: LinkMessage) { try? socket.send(multipart: [message.header.bytes, message.body.bytes]) }

  /// Reads what waits, up to `limit` messages.
  ///
  /// - Returns: whether nothing waits any more. Said for certain only where a connection has ended, with whose rest
  ///   somebody waits for that: else false may mean either.
  func read(limit: Int, _ receive: (LinkMessage) -> Void) throws(ZeroMQError) -> Bool {
    for _ in 0..<limit {
      guard let received = try socket.receiveMultipart(into: &frames, maxFrames: 2) else { return true }
      guard received.frames == 2, received.surplus == 0, let header = try? LinkHeader(bytes: frames[0]) else {
        continue
      }
      receive(LinkMessage(header: header, bytes: frames[1]))
    }
    // Where the last message was the last of all, the loop has no reason to have the socket read once more.
    return connection.hasRest ? try !socket.hasInput : false
  }
}
