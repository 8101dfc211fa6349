import NIOHTTP1

/// What a request to the path of a ``PicturePurpose`` asks, checked as far as its head goes: a decision without I/O.
struct PictureRequest: Equatable {
  enum Action: Equatable {
    /// A browser asks whether its page may send such requests.
    case preflight
    /// - start: where the body begins in the picture (RFC 9110, sections 14.4 and 14.5); nil: the body is the whole
    ///   picture.
    case put(id: String, start: Int?, count: Int, total: Int)
    /// Asks how far an upload has come.
    case progress(id: String)
    /// - withBody: false for HEAD.
    case get(id: String, PictureSelection, withBody: Bool)
    /// The owner does not want an upload, or a picture that was not sent.
    case discard(id: String)
  }

  var purpose: PicturePurpose
  var action: Action
  /// The client's connection token; empty for a preflight.
  var token = ""
  /// Origin of the web page that asks, and that may; nil: no browser asks.
  var origin: String?
  /// The client waits for our word before it sends the picture (RFC 9110, section 10.1.1).
  var expectsContinue = false

  /// What an id may be: letters, digits, `-` and `_`, as many as 16 random bytes make, or more. It names a file.
  static func isID(_ id: some StringProtocol) -> Bool {
    (22...64).contains(id.utf8.count)
      && id.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}

/// A request is refused.
struct PictureRefusal: Error {
  var reply: HTTPReply
}

extension PictureRequest {
  /// - Parameters:
  ///   - path: of the request, which is that of the purpose (``PicturePurpose/init(path:)``).
  ///   - origin: of a page that may ask.
  init(
    _ head: HTTPRequestHead, for purpose: PicturePurpose, path: Substring, query: Substring, origin: String?,
    maximumBytes: Int
  ) throws(PictureRefusal) {
    self.purpose = purpose
    self.origin = origin
    if head.method == .OPTIONS {
      action = .preflight
      return
    }
    if path.utf8.count > purpose.path.utf8.count {
      guard head.method == .GET || head.method == .HEAD else {
        throw PictureRefusal(reply: .pictureMethodNotAllowed("GET, HEAD, OPTIONS"))
      }
      let isHead = head.method == .HEAD
      action = .get(
        id: try Self.id(path.dropFirst(purpose.path.count + 1)), PictureSelection(head.headers, isHead: isHead),
        withBody: !isHead)
    } else {
      let id = try Self.id(query)
      switch head.method {
      case .PUT: action = try Self.upload(id, head.headers, maximumBytes)
      case .HEAD: action = .progress(id: id)
      case .DELETE: action = .discard(id: id)
      default: throw PictureRefusal(reply: .pictureMethodNotAllowed("PUT, HEAD, DELETE, OPTIONS"))
      }
    }
    token = try Self.token(head.headers)
    expectsContinue = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
  }

  /// Whether the answer has a body: that to HEAD has none.
  var wantsBody: Bool {
    switch action {
    case .progress, .get(_, _, withBody: false): false
    case .preflight, .put, .get, .discard: true
    }
  }

  /// `id=…` alone, or an id alone.
  private static func id(_ text: Substring) throws(PictureRefusal) -> String {
    let id = text.hasPrefix("id=") ? text.dropFirst(3) : text
    guard isID(id) else {
      throw PictureRefusal(
        reply: .badRequest("a picture's id is 22 to 64 letters, digits, - or _, for example 32 random hex digits"))
    }
    return String(id)
  }

  private static func token(_ headers: HTTPHeaders) throws(PictureRefusal) -> String {
    let fields = headers["authorization"]
    guard fields.count == 1, let field = fields.first, field.utf8.count > 7,
      field.prefix(7).lowercased() == "bearer "
    else { throw PictureRefusal(reply: .pictureUnauthorized("send Authorization: Bearer and a connection token")) }
    return String(field.dropFirst(7))
  }

  private static func upload(
    _ id: String, _ headers: HTTPHeaders, _ maximumBytes: Int
  ) throws(PictureRefusal) -> Action {
    guard !headers.contains(name: "transfer-encoding"), let length = headers["content-length"].first else {
      throw PictureRefusal(reply: .lengthRequired)
    }
    if headers.contains(name: "content-encoding") {
      throw PictureRefusal(reply: .unsupportedPicture("send the picture as it is, without Content-Encoding"))
    }
    // More digits than any length that is taken: the picture is too large, whatever the number is.
    guard let count = number(length) else { throw PictureRefusal(reply: .pictureTooLarge(maximumBytes)) }
    guard count > 0 else { throw PictureRefusal(reply: .badRequest("the picture is empty")) }
    let ranges = headers["content-range"]
    guard let range = ranges.first else {
      guard count <= maximumBytes else { throw PictureRefusal(reply: .pictureTooLarge(maximumBytes)) }
      return .put(id: id, start: nil, count: count, total: count)
    }
    guard ranges.count == 1, let (first, last, total) = parse(range) else {
      throw PictureRefusal(reply: .badRequest("write Content-Range: bytes first-last/total, all three as numbers"))
    }
    guard total <= maximumBytes else { throw PictureRefusal(reply: .pictureTooLarge(maximumBytes)) }
    guard first <= last, last < total else { throw PictureRefusal(reply: .rangeNotSatisfiable) }
    guard count == last - first + 1 else {
      throw PictureRefusal(reply: .badRequest("Content-Length and Content-Range do not fit each other"))
    }
    return .put(id: id, start: first, count: count, total: total)
  }

  /// `bytes first-last/total`.
  private static func parse(_ range: String) -> (first: Int, last: Int, total: Int)? {
    guard range.prefix(6).lowercased() == "bytes " else { return nil }
    let parts = range.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let total = number(parts[1]) else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = number(ends[0]), let last = number(ends[1]) else { return nil }
    return (first, last, total)
  }

  /// Digits alone, and not too many of them.
  private static func number(_ text: some StringProtocol) -> Int? {
    guard (1...12).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }
}
