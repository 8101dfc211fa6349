import Synchronization
import TestSupport
import Testing

@testable import FanfareClient

@Suite("Pictures over a network that breaks", .timeLimit(.minutes(15)), .ownThread)
struct PictureTests {
  /// A server that does with each request, by its number from 0, what a test says, and then closes the connection.
  private final class PictureServer: Sendable {
    private let server: ConnectionServer
    private let asked = Mutex<[ServedRequest]>([])

    init(_ answer: @escaping @Sendable (Int, ServedRequest) -> String) throws {
      server = try ConnectionServer()
      server.start { [self] connection in
        guard let request = connection.request() else { return }
        let number = asked.withLock { asked in
          asked.append(request)
          return asked.count - 1
        }
        connection.write(answer(number, request))
      }
    }

    var requests: [ServedRequest] { asked.withLock { $0 } }
    var lines: [String] {
      requests.map { $0.head.split(separator: " ").prefix(2).joined(separator: " ") }
    }

    func client(_ adjust: (inout RealtimeClient.Options) -> Void = { _ in }) throws -> RealtimeClient {
      var options = RealtimeClient.Options()
      options.backoff = Backoff(minimum: .milliseconds(1), maximum: .milliseconds(2))
      options.timeout = .seconds(300)
      adjust(&options)
      return try RealtimeClient(url: "ws://127.0.0.1:\(server.port)/connection/websocket", token: "t", options: options)
    }

    func stop() { server.stop() }
  }

  private static let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }

  @Test("An upload goes on from what the server has, after an answer that was lost and one that says so")
  func upload() async throws {
    let server = try PictureServer { number, _ in
      switch number {
      case 0: ""  // The connection ends without an answer.
      case 1: "HTTP/1.1 200 OK\r\nUpload-Offset: 65536\r\nContent-Length: 0\r\n\r\n"
      case 2: "HTTP/1.1 409 Conflict\r\nUpload-Offset: 131072\r\nContent-Length: 0\r\n\r\n"
      default: "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
      }
    }
    let id = try await server.client().state.pictures.upload(Self.bytes, id: "p1")
    #expect(id == "p1")
    let path = "/state/pictures?id=p1"
    #expect(server.lines == ["PUT \(path)", "HEAD \(path)", "PUT \(path)", "PUT \(path)"])
    let ranges = server.requests.map { $0.headers["content-range"] }
    #expect(ranges == [nil, nil, "bytes 65536-199999/200000", "bytes 131072-199999/200000"])
    let isRest = server.requests.last?.body == Array(Self.bytes[131_072...])
    #expect(isRest)
    #expect(server.requests.allSatisfy { $0.headers["authorization"] == "Bearer t" })
    server.stop()
  }

  @Test("A download goes on where it was cut off, if the picture is still the same")
  func download() async throws {
    let body = String(repeating: "abcdefgh", count: 1000)
    let server = try PictureServer { number, _ in
      let head = "ETag: \"e\"\r\nContent-Type: image/png\r\n"
      switch number {
      case 0: return "HTTP/1.1 200 OK\r\n\(head)Content-Length: 8000\r\n\r\n\(body.prefix(3000))"
      case 1: return "HTTP/1.1 503 Not now\r\nContent-Length: 0\r\n\r\n"
      default:
        let range = "Content-Range: bytes 3000-7999/8000\r\nContent-Length: 5000\r\n"
        return "HTTP/1.1 206 Partial Content\r\n\(head)\(range)\r\n\(body.dropFirst(3000))"
      }
    }
    let picture = try await server.client().clique.pictures.download("p1")
    let isWhole = picture.bytes == Array(body.utf8)
    #expect(isWhole)
    #expect(picture.type == "image/png" && picture.etag == "\"e\"")
    #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=3000-", "bytes=3000-"])
    #expect(server.requests.last?.headers["if-range"] == "\"e\"")
    server.stop()
  }

  @Test("What does not get any further fails, and so does what is refused or too large, with the server's words")
  func refused() async throws {
    let server = try PictureServer { _, request in
      if request.head.contains("/broken") { return "" }
      if request.head.contains("/large") {
        return "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n\(String(repeating: "x", count: 2000))"
      }
      return "HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\n there is nothing\r\n"
    }
    let pictures = try server.client { $0.maximumPictureBytes = 1000 }.state.pictures
    await #expect(throws: RealtimeError.picture(status: 404, reason: "there is nothing", mayPass: false)) {
      try await pictures.download("p1")
    }
    await #expect(throws: RealtimeError.pictureTooLarge(limit: 1000)) { try await pictures.download("large") }
    let before = server.requests.count
    await #expect {
      try await pictures.download("broken")
    } throws: { error in
      if case .picture(status: 0, _, mayPass: true)? = error as? RealtimeError { true } else { false }
    }
    #expect(server.requests.count == before + 10)
    server.stop()
  }

  @Test("A token that is refused is asked for anew, once")
  func token() async throws {
    let server = try PictureServer { _, request in
      request.headers["authorization"] == "Bearer fresh"
        ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" : "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
    }
    let client = try server.client { $0.tokenProvider = { "fresh" } }
    try await client.state.pictures.discard("p1")
    #expect(server.lines == ["DELETE /state/pictures?id=p1", "DELETE /state/pictures?id=p1"])
    let refused = try server.client { $0.tokenProvider = { "stale" } }
    await #expect(throws: RealtimeError.picture(status: 401, reason: "", mayPass: false)) {
      try await refused.state.pictures.discard("p1")
    }
    #expect(server.requests.count == 4)
    server.stop()
  }
}
