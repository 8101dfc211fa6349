import NIOHTTP1
import Wire

/// What a client asks whose network lets no WebSocket through: to hear the server by an answer that does not end, or to
/// have commands carried out by a request of their own. Checked as far as its head goes: a decision without I/O.
///
///     path                      GET              POST                      OPTIONS       others
///     /connection/sse           events (1)       405                       a preflight   405
///     /connection/http_stream   405              replies in a row (1)      a preflight   405
///     /emulation                405              204, or why not           a preflight   405
///
/// (1) HTTP/1.1 alone: 505 otherwise.
struct StreamRequest: Equatable {
  enum Action: Equatable {
    /// A browser asks whether its page may send such requests.
    case preflight(allowed: String)
    /// Server-sent events, from this connect command on.
    case events(connect: [UInt8])
    /// HTTP streaming, from the connect command on that the body has.
    case lines(WireFormat)
    /// The body has commands of a session (``EmulationRequest``).
    case commands(WireFormat)
  }

  var action: Action
  /// Origin of the web page that asks, and that may; nil: no browser asks.
  var origin: String?
  /// The most bytes that the body may have.
  var maximumBodyBytes = 0
  /// How long the body is; nil: its end is told where it comes.
  var bodyBytes: Int?
  /// The client would have another request follow on the same connection.
  var keepsAlive = false
  /// The client waits for our word before it sends the body (RFC 9110, section 10.1.1).
  var expectsContinue = false

  enum Path: String {
    case events = "/connection/sse"
    case lines = "/connection/http_stream"
    case commands = "/emulation"

    var methods: String { self == .events ? "GET, OPTIONS" : "POST, OPTIONS" }
  }
}

extension StreamRequest {
  struct Refusal: Error {
    var reply: HTTPReply
  }

  /// - Parameters:
  ///   - origin: of a page that may ask.
  ///   - maximumMessageBytes: of one message, were it a WebSocket's.
  init(
    _ head: HTTPRequestHead, path: Path, query: Substring, origin: String?, maximumMessageBytes: Int
  ) throws(Refusal) {
    action = try Self.action(head, path, query, maximumMessageBytes)
    self.origin = origin
    switch action {
    case .preflight, .events: break
    case .lines: maximumBodyBytes = maximumMessageBytes
    // As a string, each byte of JSON takes two at most: it holds no control characters but newlines. The rest is for
    // the names of session and gateway.
    case .commands(.json): maximumBodyBytes = 2 * maximumMessageBytes + 1024
    case .commands(.protobuf): maximumBodyBytes = maximumMessageBytes + 1024
    }
    if head.headers.contains(name: "content-encoding") {
      throw Refusal(
        reply: HTTPReply(status: .unsupportedMediaType, body: "send the body as it is, without Content-Encoding\n"))
    }
    expectsContinue = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    guard !head.headers.contains(name: "transfer-encoding") else {
      if maximumBodyBytes == 0 { throw Self.unexpectedBody }
      return
    }
    // The decoder has checked that it is a number, though not that it is one that anybody can count to.
    let length = head.headers["content-length"].first.map { Int(clamping: UInt($0) ?? .max) } ?? 0
    guard length <= maximumBodyBytes else {
      throw maximumBodyBytes == 0 ? Self.unexpectedBody : Refusal(reply: .bodyTooLarge(maximumBodyBytes))
    }
    bodyBytes = length
    keepsAlive = head.version == .http1_1 && head.isKeepAlive
  }

  private static let unexpectedBody = Refusal(reply: .badRequest("this request has no body"))

  private static func action(
    _ head: HTTPRequestHead, _ path: Path, _ query: Substring, _ maximumMessageBytes: Int
  ) throws(Refusal) -> Action {
    switch (path, head.method) {
    case (_, .OPTIONS): return .preflight(allowed: path.methods)
    case (.events, .GET):
      try checkVersion(head)
      return .events(connect: try connectCommand(query, maximumMessageBytes))
    case (.lines, .POST):
      try checkVersion(head)
      return .lines(format(head))
    case (.commands, .POST): return .commands(format(head))
    default:
      throw Refusal(
        reply: HTTPReply(
          status: .methodNotAllowed, headers: [("Allow", path.methods)], body: "allowed here: \(path.methods)\n"))
    }
  }

  /// An answer of which nobody knows the length comes in chunks, which HTTP/1.0 does not have.
  private static func checkVersion(_ head: HTTPRequestHead) throws(Refusal) {
    if head.version != .http1_1 { throw Refusal(reply: .streamNeedsHTTP11) }
  }

  private static func format(_ head: HTTPRequestHead) -> WireFormat {
    let type = head.headers["content-type"].first?.split(separator: ";").first ?? ""
    return type.trimmingSpaces().lowercased() == "application/octet-stream" ? .protobuf : .json
  }

  private static func connectCommand(_ query: Substring, _ most: Int) throws(Refusal) -> [UInt8] {
    let name = "cf_connect="
    let values = query.utf8.split(separator: UInt8(ascii: "&")).filter { $0.starts(with: name.utf8) }
    guard values.count == 1, let value = values.first else {
      throw Refusal(reply: .badRequest("the query needs one cf_connect with the connect command, in URL encoding"))
    }
    guard let command = FormEncoding.decoded(value.dropFirst(name.utf8.count)), !command.isEmpty else {
      throw Refusal(reply: .badRequest("cf_connect must be the connect command in URL encoding"))
    }
    guard command.count <= most else { throw Refusal(reply: .bodyTooLarge(most)) }
    return command
  }
}

/// The encoding of forms in queries (URL Standard, section 5.1): `+` is a space, and `%` stands before two hexadecimal
/// digits.
enum FormEncoding {
  /// Nil where a `%` stands before anything else.
  static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var iterator = text.makeIterator()
    while let byte = iterator.next() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = iterator.next().flatMap(value(ofHexadecimal:)),
          let low = iterator.next().flatMap(value(ofHexadecimal:))
        else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return bytes
  }

  private static func value(ofHexadecimal byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
