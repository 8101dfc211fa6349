import Foundation
import NIOCore
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Requests on the public port", .ownThread)
struct ListenerRequestTests {
  private static func upgrade(method: String = "GET", replacing: [String: String?] = [:], adding: String? = nil)
    -> String
  {
    ListenerRawClient.upgradeRequest(method: method, replacing: replacing, adding: adding.map { [$0] } ?? [])
  }

  private static let refused: [(String, Int)] = [
    ("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", 404), (upgrade(method: "POST"), 405),
    ("DELETE /health HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    (upgrade(replacing: ["Upgrade": nil]), 426),
    (upgrade(replacing: ["Upgrade": "h2c"]), 426),
    (upgrade(replacing: ["Connection": "keep-alive"]), 400),
    (upgrade(replacing: ["Sec-WebSocket-Version": "8"]), 426),
    (upgrade(replacing: ["Sec-WebSocket-Version": nil]), 426),
    (upgrade(replacing: ["Sec-WebSocket-Key": nil]), 400),
    (upgrade(replacing: ["Sec-WebSocket-Key": "short"]), 400),
    (upgrade(replacing: ["Host": nil]), 400),
    (upgrade(adding: "Host: b"), 400),
    (upgrade(adding: "Origin: null"), 403),
    (upgrade(replacing: ["Host": "good.com"], adding: "Origin: https://good.com.evil.com"), 403),
    (upgrade(adding: "Sec-WebSocket-Protocol: a b"), 400),
    (upgrade(adding: "Sec-WebSocket-Protocol: ok, \"q\""), 400),
    (upgrade(adding: "Sec-WebSocket-Protocol: caf\u{E9}"), 400),
    (upgrade(adding: "Content-Length: 5"), 400),
    (upgrade(adding: "Transfer-Encoding: chunked"), 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
    ("GET /health HTTP/1.1\nHost: a\n\n", 400), ("GET /health HTTP/1.1\r\nHost: a\n\r\n", 400),
    ("GET /health HTTP/1.1\r\nHost: a\r\nX: b\r\n folded\r\n\r\n", 400),
    ("GET /health HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n", 400), ("\r\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /health HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", 400), ("GET /health HTTP/1.1\r\n: a\r\n\r\n", 400),
    ("garbage\r\n\r\n", 400), ("GET /health HTTP/2.0\r\nHost: a\r\n\r\n", 400),
    (upgrade() + "x", 400), ("GET /health HTTP/1.1\r\nHost : a\r\n\r\n", 400),
  ]

  /// The status line's number, after which the server must close.
  private func status(of request: String, dripped: Bool = false, on harness: ListenerHarness) throws -> Int {
    let client = try ListenerRawClient(port: harness.port)
    try dripped ? client.drip(Array(request.utf8)) : client.send(request)
    let answer = String(decoding: try client.readToEnd(), as: UTF8.self)
    return Int(answer.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
  }

  @Test("an upgrade is answered with the digest of its key (example of RFC 6455)")
  func upgrade() throws {
    try withListener { harness throws in
      let head = try ListenerRawClient(port: harness.port).upgrade()
      #expect(head.hasPrefix("HTTP/1.1 101 "))
      #expect(head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
      #expect(!head.contains("Sec-WebSocket-Protocol"))
      #expect(try harness.onLoop { $0.connection.format } == .json)
      #expect(try harness.onLoop { $0.connection.remoteAddress } == "127.0.0.1")
    }
  }

  @Test(
    "the wire format follows the subprotocol, or else the query",
    arguments: [
      ("", "centrifuge-protobuf", true, "centrifuge-protobuf"), ("", "centrifuge-json", false, "centrifuge-json"),
      ("", "x, centrifuge-protobuf", true, "centrifuge-protobuf"), ("?cf_protocol=protobuf", nil, true, nil),
      ("?a=b&format=protobuf", nil, true, nil), ("?a=?&format=protobuf", nil, true, nil),
      ("?&format=protobuf&", nil, true, nil), ("?format=protobuf2", nil, false, nil), ("?format=json", nil, false, nil),
      ("", "unknown", false, nil),
      ("?format=protobuf", "centrifuge-json", false, "centrifuge-json"), ("", "", false, nil), ("", " , ", false, nil),
      ("?format=protobuf", "", true, nil), ("", ",centrifuge-protobuf,", true, "centrifuge-protobuf"),
    ] as [(String, String?, Bool, String?)])
  func format(query: String, offered: String?, isProtobuf: Bool, echoed: String?) throws {
    try withListener { harness throws in
      let client = try ListenerRawClient(port: harness.port)
      let head = try client.upgrade(
        path: "/connection/websocket" + query, adding: offered.map { ["Sec-WebSocket-Protocol: \($0)"] } ?? [])
      #expect(head.hasPrefix("HTTP/1.1 101 "))
      #expect(head.contains("Sec-WebSocket-Protocol: \(echoed ?? "-")\r\n") == (echoed != nil))
      #expect(try harness.onLoop { $0.connection.format } == (isProtobuf ? .protobuf : .json))
    }
  }

  @Test("health and the front page are answered, and the connection closes")
  func plainPages() throws {
    try withListener { harness throws in
      let health = try ListenerRawClient(port: harness.port)
      try health.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
      let answer = String(decoding: try health.readToEnd(), as: UTF8.self)
      #expect(answer.hasPrefix("HTTP/1.1 200 "))
      #expect(answer.hasSuffix("\r\n\r\n{\"status\":\"ok\"}"))
      #expect(answer.contains("Connection: close\r\n"))
      let front = try ListenerRawClient(port: harness.port)
      try front.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(String(decoding: try front.readToEnd(), as: UTF8.self).contains("/connection/websocket"))
      let head = try ListenerRawClient(port: harness.port)
      try head.send("HEAD /health HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(String(decoding: try head.readToEnd(), as: UTF8.self).hasSuffix("\r\n\r\n"))
    }
  }

  @Test(
    "a request that is not quite right is refused with the status that says why",
    arguments: refused)
  func refusals(request: String, expected: Int) throws {
    try withListener { harness throws in
      #expect(try status(of: request, on: harness) == expected)
      #expect(harness.sessionCount == 0)
      #expect(harness.listener.counters.rejectedRequests == 1)
    }
  }

  @Test("a head that comes byte by byte is judged like a whole one")
  func dripped() throws {
    try withListener { harness throws in
      #expect(try status(of: "GET /health HTTP/1.1\r\nHost: a\r\n\r\n", dripped: true, on: harness) == 200)
      #expect(
        try status(of: "GET /health HTTP/1.1\r\nX: b\r\n folded\r\n\r\n", dripped: true, on: harness) == 400)
    }
  }

  @Test("a head as long as the limit is read, and a longer one is not, however it is divided")
  func headLimit() throws {
    try withListener({ $0.maxHeaderBytes = 300 }) { harness throws in
      let start = "GET /health HTTP/1.1\r\nHost: a\r\nX: "
      let filled = start + String(repeating: "x", count: 300 - start.utf8.count - 4)
      #expect(try status(of: filled + "\r\n\r\n", on: harness) == 200)
      #expect(try status(of: filled + "x\r\n\r\n", on: harness) == 431)
      #expect(try status(of: "GET /health HTTP/1.1\r\n" + String(repeating: "a: b\r\n", count: 60), on: harness) == 431)
      #expect(try status(of: String(repeating: "x", count: 301), dripped: true, on: harness) == 431)
    }
  }

  @Test("a head that does not come in time is answered 408 and closed (slowloris)")
  func headerTimeout() throws {
    try withListener(
      loops: 1,
      {
        $0.headerTimeoutMilliseconds = 50
        $0.closeGraceMilliseconds = 50
      }
    ) { harness throws in
      #expect(try status(of: "GET /health HTTP/1.1\r\nHost:", on: harness) == 408)
      #expect(try status(of: "", on: harness) == 408)
      let upgraded = try upgradeInTime(harness)
      // Accepted later by the same loop: when its time is over, that of the upgraded one is too.
      #expect(try status(of: "", on: harness) == 408)
      try upgraded.send(ListenerRawClient.text("x"))
      #expect(try upgraded.readFrame()?.payload == [0x78])
      #expect(try harness.wait { harness.listener.counters.openConnections == 1 })
      withExtendedLifetime(upgraded) {}
    }
  }

  /// A WebSocket on a port that gives its clients little time: whoever is late tries again.
  private func upgradeInTime(_ harness: ListenerHarness) throws -> ListenerRawClient {
    var found: ListenerRawClient?
    let isUpgraded = try harness.wait {
      let client = try ListenerRawClient(port: harness.port)
      // A request that is too late may find its connection closed.
      guard let head = try? client.upgrade(), head.hasPrefix("HTTP/1.1 101 ") else { return false }
      found = client
      return true
    }
    #expect(isUpgraded)
    return try #require(found)
  }

  @Test("an origin from the list may connect")
  func allowedOrigin() throws {
    try withListener({ $0.allowedOrigins = ["https://*.example.com"] }) { harness throws in
      let head = try ListenerRawClient(port: harness.port).upgrade(adding: ["Origin: https://app.example.com"])
      #expect(head.hasPrefix("HTTP/1.1 101 "))
    }
  }
}
