import NIOHTTP1
import Wire

/// The answers to requests of clients that have no WebSocket.
extension HTTPReply {
  /// This answer with the headers without which a browser would not show it to the web page that asked.
  func shown(to origin: String?) -> HTTPReply {
    guard let origin else { return self }
    var reply = self
    reply.headers += [("Access-Control-Allow-Origin", origin), ("Vary", "Origin")]
    return reply
  }

  static func streamPreflight(allowed: String) -> HTTPReply {
    HTTPReply(
      status: .noContent,
      headers: [
        ("Access-Control-Allow-Methods", allowed), ("Access-Control-Allow-Headers", "Content-Type"),
        ("Access-Control-Max-Age", "7200"),
      ], body: "")
  }

  /// The commands are with their session.
  static let commandsTaken = HTTPReply(status: .noContent, body: "")

  // MARK: Refusals

  static let streamNeedsHTTP11 = HTTPReply(
    status: .httpVersionNotSupported,
    body: "streams need HTTP/1.1; where a proxy stands in between, have it speak that (nginx: proxy_http_version 1.1)\n"
  )

  static func bodyTooLarge(_ maximumBytes: Int) -> HTTPReply {
    HTTPReply(
      status: .payloadTooLarge,
      body: "at most \(maximumBytes) bytes are taken here; send commands in several requests\n")
  }

  static let otherNode = HTTPReply(
    status: .notFound,
    body: """
      the session is on another gateway; have the load balancer send a client's requests to the gateway that has its \
      stream

      """)

  static let noSession = HTTPReply(
    status: .notFound, body: "there is no such session, or it has ended; open a stream and connect again\n")

  static let tooManyCommands = HTTPReply(
    status: .tooManyRequests, body: "as many commands of this session wait as may; send fewer, or send them later\n")
}

/// The head of an answer that does not end.
enum StreamHead {
  static func encoded(_ packing: Packing, _ format: WireFormat, origin: String?) -> [UInt8] {
    let type: String
    switch (packing, format) {
    case (.events, _): type = "text/event-stream"
    case (_, .json): type = "application/x-ndjson"
    case (_, .protobuf): type = "application/octet-stream"
    }
    var text = "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n"
    // A proxy that gathers the answer, or compresses it, would hold messages back.
    text += "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n"
    if let origin { text += "Access-Control-Allow-Origin: \(origin)\r\nVary: Origin\r\n" }
    text += "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    return Array(text.utf8)
  }
}
