import Auth
import NIOHTTP1
import Wire

/// The answers to requests for pictures, and the headers with which a browser shows them to a web page (CORS).
extension HTTPReply {
  /// This answer with the headers without which a browser would not show it to the web page that asked.
  func readable(from origin: String?) -> HTTPReply {
    guard let origin else { return self }
    var reply = self
    reply.headers += [
      ("Access-Control-Allow-Origin", origin),
      ("Access-Control-Expose-Headers", "Upload-Offset, ETag, Accept-Ranges, Content-Range, Content-Length"),
      ("Vary", "Origin"),
    ]
    return reply
  }

  /// The answer to a preflight.
  static let picturePreflight = HTTPReply(
    status: .ok,
    headers: [
      ("Access-Control-Allow-Methods", "PUT, HEAD, GET, DELETE"),
      (
        "Access-Control-Allow-Headers",
        "Authorization, Content-Range, Content-Type, Range, If-Range, If-None-Match, If-Match"
      ),
      ("Access-Control-Max-Age", "7200"),
    ], body: "")

  static func pictureProgress(_ offset: Int) -> HTTPReply {
    HTTPReply(status: .ok, headers: [uploadOffset(offset), ("Cache-Control", "no-store")], body: "")
  }

  /// The bytes that came are kept; more are to come.
  static func pictureContinues(_ offset: Int) -> HTTPReply {
    HTTPReply(
      status: .accepted, contentType: "application/json", headers: [uploadOffset(offset)],
      body: "{\"offset\":\(offset)}")
  }

  static func pictureTaken(id: String, _ total: Int) -> HTTPReply {
    HTTPReply(
      status: .created, contentType: "application/json", headers: [uploadOffset(total)],
      body: "{\"id\":\"\(id)\",\"bytes\":\(total)}")
  }

  /// The picture is discarded, or there was none.
  static let pictureDiscarded = HTTPReply(status: .ok, contentType: "application/json", body: "{}")

  private static func uploadOffset(_ offset: Int) -> (name: String, value: String) { ("Upload-Offset", "\(offset)") }

  // MARK: Refusals

  static func pictureUnauthorized(_ sentence: String) -> HTTPReply {
    HTTPReply(status: .unauthorized, headers: [("WWW-Authenticate", "Bearer")], body: sentence + "\n")
  }

  static func pictureMethodNotAllowed(_ allowed: String) -> HTTPReply {
    HTTPReply(status: .methodNotAllowed, headers: [("Allow", allowed)], body: "allowed here: \(allowed)\n")
  }

  static let lengthRequired = HTTPReply(
    status: .lengthRequired, body: "say how long the picture is, with Content-Length\n")

  static func pictureTooLarge(_ maximumBytes: Int) -> HTTPReply {
    HTTPReply(status: .payloadTooLarge, body: "a picture has at most \(maximumBytes) bytes; make it smaller\n")
  }

  static func unsupportedPicture(_ sentence: String) -> HTTPReply {
    HTTPReply(status: .unsupportedMediaType, body: sentence + "\n")
  }

  static let rangeNotSatisfiable = HTTPReply(
    status: .rangeNotSatisfiable, body: "the range does not lie within the picture\n")

  /// A download's range begins behind the picture's end.
  static func pictureRangeOutside(_ total: Int) -> HTTPReply {
    HTTPReply(
      status: .rangeNotSatisfiable, headers: [("Content-Range", "bytes */\(total)")],
      body: "the picture has \(total) bytes; ask for some of them\n")
  }

  static let pictureChanged = HTTPReply(
    status: .preconditionFailed, body: "this is not the picture of that tag; fetch it anew\n")

  static func pictureConflict(_ sentence: String, offset: Int? = nil) -> HTTPReply {
    HTTPReply(status: .conflict, headers: offset.map { [uploadOffset($0)] } ?? [], body: sentence + "\n")
  }

  static let pictureTimedOut = HTTPReply(
    status: .requestTimeout, body: "the picture came too slowly; ask with HEAD how much is here and go on\n")

  static let pictureNotFound = HTTPReply(
    status: .notFound, body: "there is no picture here that you can see; it may be sealed, or gone\n")

  static let pictureUnavailable = HTTPReply(
    status: .serviceUnavailable, headers: [("Retry-After", "2")],
    body: "this is not possible at the moment; try again\n")

  static let pictureBusy = HTTPReply(
    status: .tooManyRequests, headers: [("Retry-After", "2")],
    body: "as many of your pictures are under way as are allowed; wait for one of them\n")

  static let pictureFailed = HTTPReply(
    status: .internalServerError, body: "this did not work, and it is not your fault; try again later\n")

  init(_ fault: PictureFault) {
    switch fault {
    case .offset(let offset):
      self = .pictureConflict("this does not continue what is here; go on at Upload-Offset", offset: offset)
    case .otherSize: self = .pictureConflict("the picture of this id has another size; upload under another id")
    case .taken: self = .pictureConflict("this id is in use; upload under another one")
    case .busy, .superseded:
      self = .pictureConflict("another connection goes on with this upload; ask with HEAD where it stands")
    case .notTaken: self = .unsupportedPicture("pictures here are JPEG, PNG or WebP; convert it before you send it")
    case .refused(let sentence):
      self = HTTPReply(status: .unprocessableEntity, body: sentence + "; an upload anew needs a new id\n")
    case .unsupportedType: self = .unsupportedPicture("this is no JPEG, HEIC, PNG or WebP picture")
    case .empty: self = .badRequest("the picture is empty")
    case .missing: self = .pictureNotFound
    case .full: self = HTTPReply(status: .insufficientStorage, body: "the server's disk is full; try again later\n")
    case .unavailable: self = .pictureUnavailable
    case .damaged, .system: self = .pictureFailed
    }
  }

  init(_ error: TokenError) {
    switch error {
    case .expired: self = .pictureUnauthorized("the token has expired; get a new one")
    case .invalid: self = .pictureUnauthorized("the token is not valid; get a new one")
    case .unavailable: self = .pictureUnavailable
    }
  }

  /// - Parameter error: the broker's.
  init(picture error: ClientError) {
    switch error.code {
    case ClientError.limitExceeded.code: self = HTTPReply(status: .tooManyRequests, body: error.message + "\n")
    case 436: self = .pictureNotFound
    case 435: self = .pictureConflict(error.message)
    case 437: self = .pictureConflict(error.message)
    case ClientError.tooManyRequests.code: self = HTTPReply(status: .tooManyRequests, body: error.message + "\n")
    default: self = error.temporary ? .pictureUnavailable : .pictureFailed
    }
  }
}
