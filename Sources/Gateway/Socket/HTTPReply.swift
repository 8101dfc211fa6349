import NIOCore
import NIOHTTP1
import Wire

/// A whole answer of ours to a plain request. Nearly every one ends its connection: clients that want more open a
/// WebSocket.
struct HTTPReply: Sendable, Equatable {
  var status: HTTPResponseStatus
  var contentType = "text/plain; charset=utf-8"
  var headers: [(name: String, value: String)] = []
  /// What the person at the other end should do, as a sentence.
  var body: String
  /// A body that many answers share, in place of ``body``.
  var sharedBody: ByteBuffer?

  static func == (a: HTTPReply, b: HTTPReply) -> Bool {
    a.status == b.status && a.contentType == b.contentType && a.body == b.body
      && a.headers.elementsEqual(b.headers, by: ==) && a.sharedBody == b.sharedBody
  }

  private var bodyBytes: Int { sharedBody?.readableBytes ?? body.utf8.count }

  /// Milliseconds that a client is given to take the answer: `grace`, and a second more for each 8,000 bytes of the body.
  func grace(_ grace: Int64) -> Int64 { grace + Int64(bodyBytes / 8) }

  /// The shared body, where it follows the head.
  func sharedBody(withBody: Bool) -> ByteBuffer? { withBody && status != .notModified ? sharedBody : nil }

  /// The head, and the body unless it is shared.
  ///
  /// - Parameters:
  ///   - withBody: false for HEAD.
  ///   - keepsAlive: the connection may have another request.
  func encoded(withBody: Bool = true, keepsAlive: Bool = false) -> [UInt8] {
    var text = "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n"
    // An answer without content has no length either (RFC 9110, section 8.6).
    if status != .noContent { text += "Content-Type: \(contentType)\r\nContent-Length: \(bodyBytes)\r\n" }
    for header in headers { text += "\(header.name): \(header.value)\r\n" }
    text += "X-Content-Type-Options: nosniff\r\nConnection: \(keepsAlive ? "keep-alive" : "close")\r\n\r\n"
    if withBody && sharedBody == nil { text += body }
    return Array(text.utf8)
  }

  static func badRequest(_ sentence: String) -> HTTPReply { HTTPReply(status: .badRequest, body: sentence + "\n") }

  static func upgradeRequired(_ sentence: String) -> HTTPReply {
    HTTPReply(
      status: .upgradeRequired, headers: [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")],
      body: sentence + "\n")
  }

  static func methodNotAllowed() -> HTTPReply {
    HTTPReply(
      status: .methodNotAllowed, headers: [("Allow", "GET")],
      body: "only GET is answered here; open a WebSocket with a GET request\n")
  }

  static func notFound(webSocketPath: String) -> HTTPReply {
    HTTPReply(status: .notFound, body: "there is nothing here; open a WebSocket at \(webSocketPath)\n")
  }

  static func forbiddenOrigin() -> HTTPReply {
    HTTPReply(
      status: .forbidden,
      body: "this web page's origin may not connect; add it to allowed_origins in the server's configuration\n")
  }

  static let headTooLarge = HTTPReply(
    status: .requestHeaderFieldsTooLarge,
    body: "the request's headers are larger than this server accepts; send fewer or shorter ones\n")

  static let headTooLate = HTTPReply(
    status: .requestTimeout, body: "the request did not come in time; send all of its headers at once\n")

  static let full = HTTPReply(
    status: .serviceUnavailable, headers: [("Retry-After", "5")],
    body: "as many connections are open as this server allows; try again later\n")

  static let fullForAddress = HTTPReply(
    status: .tooManyRequests, headers: [("Retry-After", "5")],
    body: "your address has as many connections as this server allows, or opens them too fast; try again later\n")

  static let draining = HTTPReply(
    status: .serviceUnavailable, headers: [("Retry-After", "1")],
    body: "this server is shutting down; connect again to reach another one\n")

  static func health(isDraining: Bool) -> HTTPReply {
    HTTPReply(
      status: isDraining ? .serviceUnavailable : .ok, contentType: "application/json",
      headers: [("Cache-Control", "no-store")], body: isDraining ? #"{"status":"draining"}"# : #"{"status":"ok"}"#)
  }

  static func welcome(webSocketPath: String) -> HTTPReply {
    HTTPReply(
      status: .ok,
      body: """
        This is Fanfare, a realtime server. It speaks the Centrifuge client protocol.
        Open a WebSocket at \(webSocketPath), with any Centrifuge SDK.

        """)
  }
}

extension HTTPReply {
  /// The answer to a client for whom there is no place.
  init(_ cause: RefusalCause) {
    switch cause {
    case .addressConnections, .addressUnsigned, .addressHandshakes, .addressRate: self = .fullForAddress
    default: self = .full
    }
  }
}
