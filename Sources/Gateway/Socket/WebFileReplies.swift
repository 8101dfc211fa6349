import NIOCore
import NIOHTTP1
import Web

/// The answers to requests for the client for browsers (module Web).
enum WebFileReplies {
  private struct Served {
    let file: WebFile
    /// All answers share these bytes: a reader that takes them slowly holds none of its own here, and over TLS no more
    /// than the records that wait for its socket.
    let body: ByteBuffer
  }

  private static let served = Dictionary(
    uniqueKeysWithValues: WebFiles.all.map { ($0.path, Served(file: $0, body: ByteBuffer(string: $0.text))) })

  /// - Returns: nil where no such file is served.
  static func reply(to head: HTTPRequestHead, path: Substring) -> HTTPReply? {
    guard let served = served[String(path)] else { return nil }
    guard head.method == .GET || head.method == .HEAD else { return .methodNotAllowed() }
    let file = served.file
    // Conditions are those of any representation; of ranges there are none, as for HEAD.
    let condition = PictureSelection(head.headers, isHead: true)
    var reply = HTTPReply(status: .ok, contentType: file.contentType, body: "")
    reply.sharedBody = served.body
    reply.headers = [
      // A browser keeps the file, and asks with the tag whether it is still the same: after an update of the server it
      // gets the new client at once.
      ("ETag", file.tag), ("Cache-Control", "no-cache"),
      // Pages of other origins may load it, as from a server of files: it is the same for all, and holds no secrets.
      ("Access-Control-Allow-Origin", "*"),
    ]
    if file.path == "/fanfare.js" { reply.headers.append(("X-TypeScript-Types", "./fanfare.d.ts")) }
    switch condition.answer(total: served.body.readableBytes, tag: file.tag) {
    case .notModified: reply.status = .notModified
    case .changed: return HTTPReply(status: .preconditionFailed, body: "this is not the file of that tag any more\n")
    case .whole, .part, .outside: break
    }
    return reply
  }
}
