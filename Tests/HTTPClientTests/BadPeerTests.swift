import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

@Suite("Calls of those who answer badly, or may not be called", .ownThread)
struct BadPeerTests {
  private let small = HTTPClient.Limits(replyBytes: 1000, allowsPrivateAddresses: true)

  @Test("A reply of as many bytes as it may have comes whole, and one byte more is too large")
  func limit() async throws {
    let server = try ScriptedServer.answering { line, request in
      let count = Int(String(decoding: request.body, as: UTF8.self)) ?? 0
      line.answer(200, String(repeating: "x", count: count))
    }
    try await withServer(server) { server in
      try await withClient(small) { client in
        let reply = try await client.reply(to: .post(server.url, "1000"))
        #expect(reply.body.count == 1000)
        #expect(await client.error(of: .post(server.url, "1001")) == .tooLarge(limit: 1000))
      }
    }
  }

  @Test("A reply that does not end is cut off", arguments: ["Transfer-Encoding: chunked\r\n", ""])
  func endless(header: String) async throws {
    let chunk = header.isEmpty ? String(repeating: "x", count: 100) : "64\r\n\(String(repeating: "x", count: 100))\r\n"
    let server = try ScriptedServer { line in
      _ = line.request()
      line.write("HTTP/1.1 200 OK\r\n\(header)\r\n")
      while line.write(chunk) {}
    }
    try await withServer(server) { server in
      try await withClient(small) { client in
        #expect(await client.error(of: .post(server.url)) == .tooLarge(limit: 1000))
      }
    }
  }

  @Test(
    "Headers that do not end are cut off",
    arguments: ["X-A: \(String(repeating: "x", count: 100))\r\n", String(repeating: "x", count: 1000)])
  func endlessHeaders(piece: String) async throws {
    let server = try ScriptedServer { line in
      _ = line.request()
      line.write("HTTP/1.1 200 OK\r\nX-B: ")
      while line.write(piece) {}
    }
    try await withServer(server) { server in
      try await withClient(small) { client in
        #expect(await client.error(of: .post(server.url)) == .tooLarge(limit: 1000))
      }
    }
  }

  @Test("Replies that only announce others are cut off")
  func endlessInterim() async throws {
    let server = try ScriptedServer { line in
      _ = line.request()
      while line.write("HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n") {}
    }
    try await withServer(server) { server in
      try await withClient(small) { client in
        #expect(await client.error(of: .post(server.url)) == .tooLarge(limit: 1000))
      }
    }
  }

  enum Hang: String, CaseIterable {
    case beforeReading, beforeTheReply, withinTheHeaders, withinTheBody, byteByByte
  }

  @Test("A server that hangs costs the time of the call and no more", arguments: Hang.allCases)
  func hang(hang: Hang) async throws {
    let server = try ScriptedServer { line in
      if hang != .beforeReading { _ = line.request() }
      switch hang {
      case .beforeReading, .beforeTheReply: break
      case .withinTheHeaders: line.write("HTTP/1.1 200 OK\r\nX-A")
      case .withinTheBody: line.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
      case .byteByByte:
        line.write("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
        var waiting = pollfd(fd: line.descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&waiting, 1, 20) == 0, line.write("x") {}
      }
      line.waitForEnd()
    }
    try await withServer(server) { server in
      try await withClient(small) { client in
        #expect(await client.error(of: .post(server.url, milliseconds: 300)) == .timedOut)
        // What was under way is gone, and not kept for another call.
        #expect(await eventually { server.openNow == 0 })
      }
    }
  }

  @Test("A call without any time is over at once")
  func noTime() async throws {
    try await withClient { client in
      #expect(await client.error(of: .post("http://127.0.0.1:1/", milliseconds: 0)) == .timedOut)
      #expect(await client.error(of: .post("http://127.0.0.1:1/", milliseconds: -5)) == .timedOut)
    }
  }

  @Test(
    "A reply that ends too early is none",
    arguments: [
      "", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "not HTTP at all\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n",
    ])
  func cutShort(bytes: String) async throws {
    let server = try ScriptedServer { line in
      _ = line.request()
      line.write(bytes)
    }
    try await withServer(server) { server in
      try await withClient(small) { client in
        let error = await client.error(of: .post(server.url))
        guard case .unreachable(let reason)? = error else {
          Issue.record("\(bytes.debugDescription): \(String(describing: error))")
          return
        }
        #expect(!reason.isEmpty && !reason.contains("\n"))
      }
    }
  }

  @Test("What comes after a reply's stated length is no part of it, nor of the next reply")
  func tooMuch() async throws {
    let server = try ScriptedServer.answering { line, _ in
      line.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 500 Smuggled\r\nContent-Length: 0\r\n\r\n")
    }
    try await withServer(server) { server in
      try await withClient(small) { client in
        for _ in 0..<3 {
          let reply = try await client.reply(to: .post(server.url))
          #expect(reply.status == 200)
          #expect(String(decoding: reply.body, as: UTF8.self) == "abc")
        }
      }
    }
  }

  @Test("Where nobody listens, the call ends with the reason")
  func nobody() async throws {
    let server = try ScriptedServer { _ in }
    let url = server.url
    server.stop()
    try await withClient { client in
      guard case .unreachable(let reason)? = await client.error(of: .post(url)) else {
        Issue.record("a closed port was reached")
        return
      }
      #expect(reason.contains("connect"))
    }
  }

  @Test(
    "Private addresses are not called, whether they are written down or resolved",
    arguments: ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
  func privateAddress(host: String) async throws {
    let server = try ScriptedServer.answering { line, _ in line.answer(200) }
    try await withServer(server) { server in
      try await withClient(.init()) { client in
        let error = await client.error(of: .post("http://\(host):\(server.port)/hook"))
        guard case .refusedAddress(let address)? = error else {
          Issue.record("\(host): \(String(describing: error))")
          return
        }
        #expect(address.contains("loopback") || address.contains("unspecified"), "\(address)")
      }
      #expect(server.connections == 0)
    }
  }

  @Test("A name that stands for this machine is called where that is allowed")
  func allowedName() async throws {
    let server = try ScriptedServer.answering { line, _ in line.answer(200) }
    try await withServer(server) { server in
      try await withClient {
        #expect(await $0.status(of: .post("http://localhost:\(server.port)/hook")) == 200)
      }
    }
  }

  @Test("A proxy that the environment names is not used")
  func environmentProxy() async throws {
    let proxy = try ScriptedServer.answering { line, _ in line.answer(200, "from the proxy") }
    let server = try ScriptedServer.answering { line, _ in line.answer(200, "from the server") }
    setenv("http_proxy", "http://127.0.0.1:\(proxy.port)", 1)
    setenv("ALL_PROXY", "http://127.0.0.1:\(proxy.port)", 1)
    defer {
      unsetenv("http_proxy")
      unsetenv("ALL_PROXY")
    }
    try await withServer(proxy) { proxy in
      try await withServer(server) { server in
        try await withClient { client in
          let reply = try await client.reply(to: .post(server.url))
          #expect(String(decoding: reply.body, as: UTF8.self) == "from the server")
        }
      }
      #expect(proxy.connections == 0)
    }
  }

  @Test("What cannot be sent is refused before anybody is called")
  func badCalls() async throws {
    try await withClient { client in
      for url in ["", "ftp://127.0.0.1/", "file:///etc/passwd", "http://a b/"] {
        guard case .badURL? = await client.error(of: .post(url)) else {
          Issue.record("\(url) was called")
          continue
        }
      }
    }
  }
}
