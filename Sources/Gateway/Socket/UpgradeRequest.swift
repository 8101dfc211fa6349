import Cryptography
import NIOHTTP1
import Wire

/// What to do with a request on the public port: a decision without I/O.
enum RequestDecision: Equatable {
  case reply(HTTPReply)
  case upgrade(Upgrade)
  case pictures(PictureRequest)
  /// A request of the demo's, whose body is still to come.
  case demo(DemoService.Form)
  /// A request of a client that has no WebSocket; where it has a body, that is still to come.
  case stream(StreamRequest)

  struct Upgrade: Equatable {
    var format: WireFormat
    /// Echoed to the client, which offered it.
    var subprotocol: String?
    /// The client's Sec-WebSocket-Key, to be answered with its digest.
    var key: String
    /// Nil: messages are not compressed.
    var deflate: DeflateAgreement?
  }
}

extension RequestDecision {
  /// - Parameters:
  ///   - bytesAfterHead: bytes that came in the same read, behind the head.
  ///   - compresses: messages are compressed for clients that offer it.
  ///   - pictures: the largest of each app; nil where no pictures are taken in.
  ///   - demo: nil where it is off.
  ///   - streamedMessageBytes: the most of one message of clients that have no WebSocket; nil where those are not
  ///     answered.
  init(
    _ head: HTTPRequestHead, bytesAfterHead: Int, path webSocketPath: String, origins: OriginPolicy, isDraining: Bool,
    compresses: Bool = false, pictures: PictureSizes? = nil, demo: DemoService? = nil, streamedMessageBytes: Int? = nil
  ) {
    do {
      let (path, query) = Self.target(head.uri)
      if let pictures, let purpose = PicturePurpose(path: path), let maximumBytes = pictures[purpose] {
        self = try Self.decidePictures(
          head, for: purpose, path: path, query: query, origins: origins, isDraining: isDraining,
          maximumBytes: maximumBytes)
        return
      }
      if let streamedMessageBytes, let asked = StreamRequest.Path(rawValue: String(path)) {
        self = try Self.decideStream(
          head, path: asked, query: query, origins: origins, isDraining: isDraining,
          maximumMessageBytes: streamedMessageBytes)
        return
      }
      if let demo, DemoService.isDemo(path) {
        self = try Self.decideDemo(head, path: path, demo, isDraining: isDraining)
        return
      }
      self = try Self.decide(
        head, path: path, query: query, bytesAfterHead: bytesAfterHead, webSocketPath: webSocketPath, origins: origins,
        isDraining: isDraining, compresses: compresses)
    } catch {
      self = .reply(error.reply)
    }
  }

  private struct Refusal: Error {
    var reply: HTTPReply
    static func badRequest(_ sentence: String) -> Refusal { Refusal(reply: .badRequest(sentence)) }
  }

  /// A request's target, cut at its first `?`; what follows it is empty where there is none. The client chooses how long
  /// it is: this, as what else reads it here, goes by bytes, a tenth of what the same costs by characters.
  private static func target(_ uri: String) -> (path: Substring, query: Substring) {
    guard let mark = uri.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (uri[...], "") }
    return (uri[..<mark], uri[uri.utf8.index(after: mark)...])
  }

  private static func decide(
    _ head: HTTPRequestHead, path: Substring, query: Substring, bytesAfterHead: Int, webSocketPath: String,
    origins: OriginPolicy, isDraining: Bool, compresses: Bool
  ) throws(Refusal) -> RequestDecision {
    try checkFraming(head)
    let host = try checkHost(head)
    switch String(path) {
    case webSocketPath: break
    case "/health", "/":
      guard head.method == .GET || head.method == .HEAD else { return .reply(.methodNotAllowed()) }
      return .reply(path == "/" ? .welcome(webSocketPath: webSocketPath) : .health(isDraining: isDraining))
    default:
      return .reply(WebFileReplies.reply(to: head, path: path) ?? .notFound(webSocketPath: webSocketPath))
    }
    guard head.method == .GET else { return .reply(.methodNotAllowed()) }
    let key = try checkUpgradeHeaders(head)
    if bytesAfterHead > 0 || hasBody(head) {
      throw .badRequest("a WebSocket request has no body; send nothing before the server's answer")
    }
    guard origins.allows(origins: head.headers["origin"], host: host) else { return .reply(.forbiddenOrigin()) }
    if isDraining { return .reply(.draining) }
    let subprotocol = try choose(from: head.headers["sec-websocket-protocol"])
    let offers = try extensions(in: head.headers["sec-websocket-extensions"])
    let asksProtobuf = queryAsksForProtobuf(query)
    return .upgrade(
      Upgrade(
        format: subprotocol == "centrifuge-protobuf" || (subprotocol == nil && asksProtobuf) ? .protobuf : .json,
        subprotocol: subprotocol, key: key, deflate: compresses ? DeflateAgreement(offers) : nil))
  }

  private static func decideDemo(
    _ head: HTTPRequestHead, path: Substring, _ demo: DemoService, isDraining: Bool
  ) throws(Refusal) -> RequestDecision {
    try checkFraming(head)
    switch demo.decide(head, path: path, host: try checkHost(head)) {
    case .reply(let reply): return .reply(reply)
    case .form(let form): return isDraining ? .reply(.draining) : .demo(form)
    }
  }

  private static func decidePictures(
    _ head: HTTPRequestHead, for purpose: PicturePurpose, path: Substring, query: Substring, origins: OriginPolicy,
    isDraining: Bool, maximumBytes: Int
  ) throws(Refusal) -> RequestDecision {
    try checkFraming(head)
    let host = try checkHost(head)
    let origin = head.headers["origin"].first
    guard origins.allows(origins: head.headers["origin"], host: host) else { return .reply(.forbiddenOrigin()) }
    if isDraining { return .reply(.draining.readable(from: origin)) }
    if head.method != .PUT && hasBody(head) { throw .badRequest("only PUT has a body here") }
    do throws(PictureRefusal) {
      return .pictures(
        try PictureRequest(
          head, for: purpose, path: path, query: query, origin: origin, maximumBytes: maximumBytes))
    } catch {
      return .reply(error.reply.readable(from: origin))
    }
  }

  private static func decideStream(
    _ head: HTTPRequestHead, path: StreamRequest.Path, query: Substring, origins: OriginPolicy, isDraining: Bool,
    maximumMessageBytes: Int
  ) throws(Refusal) -> RequestDecision {
    try checkFraming(head)
    let host = try checkHost(head)
    let origin = head.headers["origin"].first
    guard origins.allows(origins: head.headers["origin"], host: host) else { return .reply(.forbiddenOrigin()) }
    if isDraining { return .reply(.draining.shown(to: origin)) }
    do throws(StreamRequest.Refusal) {
      return .stream(
        try StreamRequest(head, path: path, query: query, origin: origin, maximumMessageBytes: maximumMessageBytes))
    } catch {
      return .reply(error.reply.shown(to: origin))
    }
  }

  /// Refuses requests whose end two readers could see at different places: the way in for request smuggling.
  private static func checkFraming(_ head: HTTPRequestHead) throws(Refusal) {
    let lengths = head.headers["content-length"].count
    if lengths > 1 { throw .badRequest("the request has more than one Content-Length header; send one") }
    if lengths > 0 && head.headers.contains(name: "transfer-encoding") {
      throw .badRequest("the request has Content-Length and Transfer-Encoding; send one of them")
    }
  }

  private static func checkHost(_ head: HTTPRequestHead) throws(Refusal) -> String {
    let hosts = head.headers["host"]
    guard hosts.count == 1, let host = hosts.first else { throw .badRequest("the request needs one Host header") }
    return host
  }

  private static func hasBody(_ head: HTTPRequestHead) -> Bool {
    head.headers.contains(name: "transfer-encoding") || !(head.headers["content-length"].allSatisfy { $0 == "0" })
  }

  /// The server's answer to a client's `Sec-WebSocket-Key` (RFC 6455, section 4.2.2).
  static func acceptance(of key: String) -> String {
    Base64.standard.text(Digest.sha1.hash(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }

  /// The key, where the request asks for a WebSocket as RFC 6455, section 4.2.1 wants it.
  private static func checkUpgradeHeaders(_ head: HTTPRequestHead) throws(Refusal) -> String {
    guard head.headers[canonicalForm: "upgrade"].contains(where: { $0.lowercased() == "websocket" }) else {
      throw Refusal(reply: .upgradeRequired("this is a WebSocket endpoint; connect with a Centrifuge SDK"))
    }
    guard head.headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "upgrade" }) else {
      throw .badRequest("the Connection header must say Upgrade; if a proxy stands in between, let it pass this header")
    }
    guard head.version == .http1_1 else { throw .badRequest("a WebSocket needs HTTP/1.1") }
    guard head.headers["sec-websocket-version"] == ["13"] else {
      throw Refusal(reply: .upgradeRequired("only version 13 of the WebSocket protocol is spoken here"))
    }
    let keys = head.headers["sec-websocket-key"]
    guard keys.count == 1, let key = keys.first, isKey(key) else {
      throw .badRequest("the request needs one Sec-WebSocket-Key header that holds 16 bytes in base64")
    }
    return key
  }

  /// 16 bytes in base64: 22 characters and two `=`.
  private static func isKey(_ key: String) -> Bool {
    let bytes = Array(key.utf8)
    return bytes.count == 24 && bytes[22] == UInt8(ascii: "=") && bytes[23] == UInt8(ascii: "=")
      && bytes[..<22].allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
          true
        default: false
        }
      }
  }

  /// The first subprotocol offered that we speak; nil where none is. Empty members count as none: an older SDK for
  /// Python sends an empty header where it means JSON, and RFC 9110, section 5.6.1.2 has recipients ignore them.
  private static func choose(from headers: [String]) throws(Refusal) -> String? {
    var chosen: String?
    for header in headers {
      for part in header.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
        let name = Substring(part).trimmingSpaces()
        guard name.utf8.allSatisfy(isTokenByte) else {
          throw .badRequest(
            "the Sec-WebSocket-Protocol header must be a list of names, for example centrifuge-protobuf")
        }
        if chosen == nil && (name == "centrifuge-protobuf" || name == "centrifuge-json") { chosen = String(name) }
      }
    }
    return chosen
  }

  /// What is offered; what nobody knows here counts as not there.
  private static func extensions(in headers: [String]) throws(Refusal) -> [ExtensionOffer] {
    var offers: [ExtensionOffer] = []
    for header in headers {
      guard let more = ExtensionOffer.list(header) else {
        throw .badRequest(
          "the Sec-WebSocket-Extensions header must be a list of extensions, for example permessage-deflate")
      }
      offers += more
    }
    return offers
  }

  private static func queryAsksForProtobuf(_ query: Substring) -> Bool {
    query.utf8.split(separator: UInt8(ascii: "&")).contains {
      $0.elementsEqual("cf_protocol=protobuf".utf8) || $0.elementsEqual("format=protobuf".utf8)
    }
  }

  /// Whether the byte may stand in a token (RFC 9110, section 5.6.2).
  static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}

extension Substring {
  /// Without the spaces and tabs at both ends (RFC 9110, section 5.6.3), which are bytes, whatever follows them.
  func trimmingSpaces() -> Substring {
    let isVisible: (UInt8) -> Bool = { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    guard let first = utf8.firstIndex(where: isVisible), let last = utf8.lastIndex(where: isVisible) else { return "" }
    return self[first..<utf8.index(after: last)]
  }
}
