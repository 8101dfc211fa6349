internal import NIOCore
internal import Wire

/// How the protocol is called in a WebSocket's handshake.
enum ClientProtocol {
  static let name = "centrifuge-protobuf"
}

/// One connection that carries the protocol, the first half of what differs between systems: ``Network`` makes them.
///
/// One is made for each attempt to connect. Bound to an event loop, and deliberately not Sendable.
protocol Transport: AnyObject {
  /// Begins to open the connection. What happens is told to `receive`, on the event loop, until ``close()``. Called
  /// once.
  func open(_ receive: @escaping (TransportEvent) -> Void)
  /// Before the connection is open, and after its end, it is dropped.
  func send(_ command: ClientCommand)
  /// Ends the connection. Nothing is told after that.
  func close()
}

/// One request over HTTP and its answer, the second half.
protocol HTTPExchanging: Sendable {
  /// - Parameter maximumBytes: of the answer's body.
  /// - Throws: ``RealtimeError/pictureTooLarge(limit:)``; any other error says that no answer came.
  func exchange(_ request: HTTPExchange, maximumBytes: Int) async throws -> HTTPAnswer
}

/// What is asked over HTTP.
struct HTTPExchange: Sendable {
  var method: String
  var endpoint: Endpoint
  var headers: [(name: String, value: String)] = []
  var body: [UInt8] = []
}

/// What was answered, as far as it came.
struct HTTPAnswer: Sendable {
  var status: Int
  /// By their names in lower case.
  var headers: [String: String]
  var body: [UInt8]
  /// False where the connection ended within the body.
  var isWhole = true
}
