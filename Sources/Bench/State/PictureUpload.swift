import Dispatch
import Glibc
import Synchronization

/// Uploads pictures over HTTP, as phones do before they send them.
enum PictureUpload {
  struct Picture: Sendable {
    var user: String
    var id: String
  }

  /// Uploads under way at the same time.
  private static let parallel = 16

  /// Nobody looks at it: its first bytes say JPEG, and that is all.
  private static let content: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 0x4A, count: 252)

  /// Returns when all are on the server's disk.
  ///
  /// - Parameter secret: signs each user's token.
  static func upload(_ pictures: [Picture], toPort port: Int, secret: String) throws(BenchError) {
    let now = Glibc.time(nil)
    var tokens: [String: String] = [:]
    for user in Set(pictures.map(\.user)) {
      tokens[user] = CentrifugeDialect.makeToken(user: user, secret: secret, now: now)
    }
    let known = tokens
    let next = Atomic<Int>(0)
    let failure = Mutex<BenchError?>(nil)
    DispatchQueue.concurrentPerform(iterations: min(parallel, max(1, pictures.count))) { _ in
      while true {
        let place = next.add(1, ordering: .relaxed).oldValue
        guard place < pictures.count, failure.withLock({ $0 == nil }) else { return }
        do throws(BenchError) {
          try upload(pictures[place], toPort: port, token: known[pictures[place].user] ?? "")
        } catch {
          failure.withLock { $0 = $0 ?? error }
        }
      }
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  private static func upload(_ picture: Picture, toPort port: Int, token: String) throws(BenchError) {
    let head =
      "PUT /state/pictures?id=\(picture.id) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nAuthorization: Bearer \(token)\r\n"
      + "Content-Type: image/jpeg\r\nContent-Length: \(content.count)\r\nConnection: close\r\n\r\n"
    let reply = try LoopbackPort.exchange(Array(head.utf8) + content, port: port)
    let line = String(decoding: reply.prefix { $0 != 13 && $0 != 10 }, as: UTF8.self)
    guard line.hasPrefix("HTTP/1.1 201") else {
      throw BenchError(
        "the server did not take a picture of \(picture.user): \(line.isEmpty ? "it said nothing" : line)")
    }
  }
}
