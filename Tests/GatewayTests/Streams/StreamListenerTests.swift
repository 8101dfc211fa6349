import Foundation
import NIOCore
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Streams on the public port", .ownThread)
struct StreamListenerTests {
  private func withStreams(
    loops: Int = 2, _ configure: (inout ListenerConfiguration) -> Void = { _ in },
    _ body: (ListenerHarness) throws -> Void
  ) throws {
    try withListener(
      loops: loops,
      {
        $0.node = "n1"
        configure(&$0)
      }, body)
  }

  private func session(_ harness: ListenerHarness, _ index: Int = 0) throws -> String {
    try harness.onLoop(index) { $0.sessionID }
  }

  // MARK: Streams

  @Test("server-sent events begin with the answer to the connect, and commands come over other connections and loops")
  func events() throws {
    try withStreams { harness throws in
      let client = try StreamClient(harness, connect: #"{"id":1,"connect":{}}"#)
      #expect(client.head.hasPrefix("HTTP/1.1 200 "))
      for header in [
        "Content-Type: text/event-stream", "Transfer-Encoding: chunked", "X-Accel-Buffering: no",
        "Cache-Control: no-cache, no-transform",
      ] {
        #expect(client.head.contains(header + "\r\n"))
      }
      #expect(!client.head.contains("Access-Control"))
      #expect(try client.chunk() == "data: {\"id\":1,\"connect\":{}}\n\n")
      #expect(try harness.onLoop { $0.connection.packing } == .events)
      #expect(try harness.onLoop { $0.connection.remoteAddress } == "127.0.0.1")
      let session = try session(harness)
      for number in 2..<8 {
        // Connections go round robin, so that these are of both loops.
        let request = StreamClient.commands(session, "{\"id\":\(number)}", headers: "Connection: close\r\n")
        #expect(try StreamClient.status(request, harness) == 204)
        #expect(try client.chunk() == "data: {\"id\":\(number)}\n\n")
      }
      #expect(try harness.onLoop { $0.bursts } == 7)
      #expect(harness.listener.counters.openedStreams == 1)
      #expect(harness.listener.counters.upgradedConnections == 0)
    }
  }

  @Test("several replies of one frame are events of their own")
  func severalReplies() throws {
    try withStreams { harness throws in
      let client = try StreamClient(harness, connect: "{\"id\":1}\n{\"id\":2}")
      #expect(try client.chunk() == "data: {\"id\":1}\n\ndata: {\"id\":2}\n\n")
    }
  }

  @Test("HTTP streaming answers in lines, and in Protobuf with what the body's type asks for")
  func lines() throws {
    try withStreams { harness throws in
      let json = try StreamClient(harness, connect: #"{"id":1}"#, lines: .json)
      #expect(json.head.contains("Content-Type: application/x-ndjson\r\n"))
      #expect(try json.chunk() == "{\"id\":1}\n")
      let binary = try StreamClient(harness, connect: "\u{2}\u{8}\u{1}", lines: .protobuf)
      #expect(binary.head.contains("Content-Type: application/octet-stream\r\n"))
      #expect(try binary.chunk() == "\u{2}\u{8}\u{1}")
      #expect(try harness.onLoop(1) { $0.connection.format } == .protobuf)
    }
  }

  @Test("a body in chunks is taken, one for which a word is awaited too, and one that is too long is not")
  func bodies() throws {
    try withStreams({ $0.maxMessageBytes = 300 }) { harness throws in
      let chunked = try ListenerRawClient(port: harness.port)
      try chunked.send(
        "POST /connection/http_stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
      #expect(try chunked.readHead().hasPrefix("HTTP/1.1 200 "))
      let patient = try ListenerRawClient(port: harness.port)
      try patient.send(
        "POST /connection/http_stream HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
      #expect(try patient.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
      try patient.drip(Array("{}".utf8))
      #expect(try patient.readHead().hasPrefix("HTTP/1.1 200 "))
      let long = "POST /connection/http_stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n12d\r\n"
      #expect(try StreamClient.status(long + String(repeating: "x", count: 301), harness) == 413)
      // A message as long as may be is taken, though it is longer as a string.
      let session = try session(harness)
      let quotes = String(repeating: "\"", count: 300)
      let close = "Connection: close\r\n"
      #expect(try StreamClient.status(StreamClient.commands(session, quotes, headers: close), harness) == 204)
      #expect(try StreamClient.status(StreamClient.commands(session, quotes + "x", headers: close), harness) == 413)
    }
  }

  @Test("a page of an allowed origin may, after its preflight, and hears of refusals too")
  func origins() throws {
    try withStreams({ $0.allowedOrigins = ["https://app.example.com"] }) { harness throws in
      let origin = "Origin: https://app.example.com\r\n"
      let allowed = "Access-Control-Allow-Origin: https://app.example.com\r\nVary: Origin\r\n"
      // It is kept to the end: with its connection its session ends.
      let stream = try StreamClient(harness, headers: origin)
      #expect(stream.head.contains(allowed))
      #expect(try StreamClient(harness, headers: "Origin: https://evil.com\r\n").head.hasPrefix("HTTP/1.1 403 "))
      let session = try session(harness)
      let client = try ListenerRawClient(port: harness.port)
      try client.send("OPTIONS /emulation HTTP/1.1\r\nHost: a\r\n\(origin)\r\n")
      let preflight = try client.readHead()
      #expect(preflight.hasPrefix("HTTP/1.1 204 ") && preflight.contains(allowed))
      #expect(preflight.contains("Access-Control-Allow-Headers: Content-Type\r\n"))
      #expect(preflight.contains("Access-Control-Allow-Methods: POST, OPTIONS\r\n"))
      #expect(!preflight.contains("Content-Length") && preflight.contains("Connection: keep-alive\r\n"))
      try client.send(StreamClient.commands(session, "{}", headers: origin))
      let taken = try client.readHead()
      #expect(taken.hasPrefix("HTTP/1.1 204 ") && taken.contains(allowed))
      try client.send(StreamClient.commands("nobody", "{}", headers: origin))
      let refused = String(decoding: try client.readToEnd(), as: UTF8.self)
      #expect(refused.hasPrefix("HTTP/1.1 404 ") && refused.contains(allowed))
      withExtendedLifetime(stream) {}
    }
  }

  // MARK: The end

  @Test("a stream is closed with a disconnect push, the last chunk, and the end of the connection")
  func closing() throws {
    try withStreams { harness throws in
      for (index, lines) in [nil, WireFormat.json].enumerated() {
        let client = try StreamClient(harness, lines: lines)
        _ = try client.chunk()
        let session = try session(harness, index)
        try harness.onLoop(index) { $0.connection.close(.shutdown) }
        let farewell = try client.chunk() ?? ""
        #expect(farewell.contains(#"{"push":{"disconnect":{"code":3001,"reason":"shutdown""#))
        #expect(try client.chunk() == "")
        #expect(try client.chunk() == nil)
        client.raw.shutdownWrite()
        #expect(try harness.wait { try harness.onLoop(index) { $0.timesClosed == 1 } })
        #expect(try harness.onLoop(index) { $0.connection.closedBy } == .shutdown)
        #expect(try StreamClient.status(StreamClient.commands(session, "{}"), harness) == 404)
      }
    }
  }

  @Test("a slow reader is closed with 3008, and the push behind what waited tells it")
  func slowReader() throws {
    try withStreams({ $0.answerLimitBytes = 1_000 }) { harness throws in
      let client = try StreamClient(harness, receiveBufferBytes: 4_096)
      try harness.onLoop { session in
        let frame = ServerFrame.message([UInt8](repeating: 0x31, count: 100_000), format: .json)
        while session.connection.isOpen { session.connection.send(frame) }
      }
      let rest = String(decoding: try client.raw.readToEnd(), as: UTF8.self)
      #expect(rest.hasSuffix("\n\n\r\n0\r\n\r\n"))
      #expect(rest.suffix(120).contains(#"data: {"push":{"disconnect":{"code":3008,"reason":"slow""#))
      #expect(harness.listener.counters.slowConnections == 1)
    }
  }

  @Test("a client that goes is noticed, though its session wants no input; what it sends on the stream is nothing")
  func leaving() throws {
    try withStreams { harness throws in
      let client = try StreamClient(harness)
      try client.raw.send(StreamClient.commands(try session(harness), "{}") + "garbage\r\n\r\n")
      _ = try client.chunk()
      try harness.onLoop { $0.connection.pauseReading() }
      let session = try session(harness)
      client.raw.shutdownWrite()
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed == 1 } })
      #expect(try harness.onLoop { $0.messages.count } == 1)
      #expect(try StreamClient.status(StreamClient.commands(session, "{}"), harness) == 404)
    }
  }

  // MARK: Commands

  @Test("commands over two connections by turns are handled in the order in which they came")
  func order() throws {
    try withStreams { harness throws in
      let client = try StreamClient(harness)
      let session = try session(harness)
      let posters = [try ListenerRawClient(port: harness.port), try ListenerRawClient(port: harness.port)]
      for number in 0..<200 {
        try posters[number % 2].send(StreamClient.commands(session, "{\"id\":\(number)}"))
        #expect(try posters[number % 2].readHead().hasPrefix("HTTP/1.1 204 "))
      }
      let expected = ["{}"] + (0..<200).map { "{\"id\":\($0)}" }
      #expect(try harness.onLoop { $0.messages.map { String(decoding: $0, as: UTF8.self) } } == expected)
      for number in 0...200 { #expect(try client.chunk() == "data: \(expected[number])\n\n") }
      #expect(harness.listener.counters.acceptedConnections == 3)
    }
  }

  @Test(
    "commands for nobody, for another gateway, and nonsense are refused, and disturb no session",
    arguments: [
      (StreamClient.commands("session-0", "{}"), 404), (StreamClient.commands("", "{}"), 404),
      (StreamClient.commands("session", "{}", node: "n2"), 404), (StreamClient.post("/emulation", "nonsense"), 400),
      (StreamClient.post("/emulation", ""), 400), (StreamClient.post("/emulation", #"{"session":"s"}"#), 400),
      (StreamClient.post("/emulation", "\u{1}", headers: "Content-Type: application/octet-stream\r\n"), 400),
    ])
  func refused(request: String, status: Int) throws {
    try withStreams { harness throws in
      let client = try StreamClient(harness)
      _ = try client.chunk()
      #expect(try StreamClient.status(request, harness) == status)
      #expect(try harness.onLoop { $0.messages.count } == 1)
      #expect(try harness.onLoop { $0.connection.isOpen })
    }
  }

  @Test("while a session wants no input its commands wait in order, as many as may, and are answered when taken")
  func paused() throws {
    try withStreams(loops: 1) { harness throws in
      let client = try StreamClient(harness)
      _ = try client.chunk()
      let session = try session(harness)
      try harness.onLoop { $0.connection.pauseReading() }
      var posters: [ListenerRawClient] = []
      for number in 0..<PostedCommands.mostPosts {
        let poster = try ListenerRawClient(port: harness.port)
        try poster.send(StreamClient.commands(session, "{\"id\":\(number)}"))
        posters.append(poster)
        // So that they come in this order.
        #expect(try harness.wait { try harness.onLoop { $0.connection.input.postedCount == number + 1 } })
      }
      #expect(try StreamClient.status(StreamClient.commands(session, "{}"), harness) == 429)
      #expect(try harness.onLoop { $0.messages.count } == 1)
      try harness.onLoop { $0.connection.resumeReading() }
      for number in posters.indices {
        #expect(try posters[number].readHead().hasPrefix("HTTP/1.1 204 "))
        #expect(try client.chunk() == "data: {\"id\":\(number)}\n\n")
      }
    }
  }

  @Test("commands that wait when their session ends are answered that it has ended")
  func endedWhileWaiting() throws {
    try withStreams(loops: 1) { harness throws in
      let client = try StreamClient(harness)
      _ = try client.chunk()
      try harness.onLoop { $0.connection.pauseReading() }
      let poster = try ListenerRawClient(port: harness.port)
      try poster.send(StreamClient.commands(try session(harness), "{}"))
      #expect(try harness.wait { try harness.onLoop { $0.connection.input.postedCount == 1 } })
      try harness.onLoop { $0.connection.close(.shutdown) }
      #expect(StreamClient.status(of: String(decoding: try poster.readToEnd(), as: UTF8.self)) == 404)
      #expect(try harness.onLoop { $0.messages.count } == 1)
    }
  }

  // MARK: Requests that follow one another

  @Test("what comes behind a request before its answer is not read as another (request smuggling)")
  func excess() throws {
    try withStreams { harness throws in
      let client = try StreamClient(harness)
      _ = try client.chunk()
      let request = StreamClient.commands(try session(harness), "{\"id\":1}")
      let poster = try ListenerRawClient(port: harness.port)
      try poster.send(request + request)
      let answer = String(decoding: try poster.readToEnd(), as: UTF8.self)
      #expect(answer.hasPrefix("HTTP/1.1 204 ") && answer.contains("Connection: close\r\n"))
      #expect(answer.components(separatedBy: "HTTP/1.1").count == 2)
      let preflight = "OPTIONS /emulation HTTP/1.1\r\nHost: a\r\n\r\n"
      let other = try ListenerRawClient(port: harness.port)
      try other.send(preflight + request)
      #expect(String(decoding: try other.readToEnd(), as: UTF8.self).contains("Connection: close\r\n"))
      #expect(try client.chunk() == "data: {\"id\":1}\n\n")
      #expect(try harness.onLoop { $0.messages.count } == 2)
    }
  }

  @Test("each request of a connection is judged like a first one, and the last may become a WebSocket")
  func reuse() throws {
    try withStreams { harness throws in
      let client = try StreamClient(harness)
      _ = try client.chunk()
      let request = StreamClient.commands(try session(harness), "{}")
      let poster = try ListenerRawClient(port: harness.port)
      try poster.drip(Array(request.utf8))
      #expect(try poster.readHead().hasPrefix("HTTP/1.1 204 "))
      let upgraded = try poster.upgrade()
      #expect(upgraded.hasPrefix("HTTP/1.1 101 "))
      try poster.send(ListenerRawClient.text("x"))
      #expect(try poster.readFrame()?.payload == [0x78])
      let folded = try ListenerRawClient(port: harness.port)
      try folded.send(request)
      _ = try folded.readHead()
      try folded.send(request.replacingOccurrences(of: "Content-Type:", with: "X: y\r\n Content-Type:"))
      #expect(StreamClient.status(of: String(decoding: try folded.readToEnd(), as: UTF8.self)) == 400)
    }
  }

  @Test("a connection between two requests is closed without a word when its time is over, and a slow body with 408")
  func timeouts() throws {
    try withStreams({
      $0.headerTimeoutMilliseconds = 300
      $0.closeGraceMilliseconds = 50
    }) { harness throws in
      let idle = try harness.wait {
        let poster = try ListenerRawClient(port: harness.port)
        // A busy machine may let the first request's time pass.
        try? poster.send("OPTIONS /emulation HTTP/1.1\r\nHost: a\r\n\r\n")
        guard try poster.readHead().hasPrefix("HTTP/1.1 204 ") else { return false }
        return try poster.readToEnd().isEmpty
      }
      #expect(idle)
      let slow = "POST /emulation HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123"
      #expect(try StreamClient.status(slow, harness) == 408)
      let late = try harness.wait {
        let poster = try ListenerRawClient(port: harness.port)
        try? poster.send("OPTIONS /emulation HTTP/1.1\r\nHost: a\r\n\r\n")
        guard try poster.readHead().hasPrefix("HTTP/1.1 204 ") else { return false }
        try? poster.send("POST /emul")
        return StreamClient.status(of: String(decoding: try poster.readToEnd(), as: UTF8.self)) == 408
      }
      #expect(late)
    }
  }

  @Test("behind a trusted proxy each request is counted for its own client: none follows another on a connection")
  func proxied() throws {
    try withStreams({ $0.trustedProxies = [AddressRange("127.0.0.1")].compactMap { $0 } }) { harness throws in
      let forwarded = "X-Forwarded-For: 192.0.2.7\r\n"
      let client = try StreamClient(harness, headers: forwarded)
      #expect(try client.chunk() == "data: {}\n\n")
      #expect(try harness.onLoop { $0.connection.remoteAddress } == "192.0.2.7")
      let request = StreamClient.commands(try session(harness), "{}", headers: forwarded)
      #expect(try StreamClient.status(request, harness) == 204)
    }
  }
}
