import Foundation
import Synchronization
import TestSupport
import Testing

/// Decisions that a real backend makes over HTTP, for clients of a whole server.
@Suite("Proxies end to end", .ownThread)
struct ProxyTests {
  /// A server all of whose questions go to a backend, and the namespaces `dur` (the backend decides) and `mem` (it does
  /// not).
  private func withBackend(
    _ settings: [String] = [], _ body: (Deployment, Backend) async throws -> Void
  ) async throws {
    let backend = try Backend()
    defer { backend.stop() }
    var all: [String] = []
    for event in ["connect", "refresh", "subscribe", "publish", "sub_refresh", "rpc"] {
      all += ["proxies.\(event).endpoint=\(backend.url(event))", "proxies.\(event).timeout=50s"]
    }
    for event in ["subscribe", "publish", "sub_refresh"] {
      all.append("channel.namespaces.dur.\(event)_proxy_enabled=true")
    }
    try await Deployment.with(.serve, settings: all + settings) { try await body($0, backend) }
  }

  private func code(_ body: () async throws -> Void) async throws -> Int? {
    do {
      try await body()
      return nil
    } catch let fault as Phone.Fault { return fault.code }
  }

  @Test("Centrifugo's documented replies decide, and the requests have its fields")
  func documented() async throws {
    try await withBackend { server, backend in
      backend.answer("connect", .json(#"{"result": {"user": "56"}}"#))
      backend.answer("subscribe", .json(#"{"result": {}}"#))
      backend.answer("publish", .json(#"{"result": {}}"#))
      backend.answer("rpc", .json(#"{"result": {"data": {"answer": "2019"}}}"#))
      let phone = try Phone(server.a)
      let connected = try await phone.ask(#""connect":{"data":{"k":1},"name":"js"}"#)["connect"]
      let connect = try #require(backend.requests("connect").first)
      #expect(connect.body["client"].string == connected["client"].string)
      #expect(connect.body["transport"].string == "websocket" && connect.body["protocol"].string == "json")
      #expect(connect.body["encoding"].string == "json" && connect.body["data"]["k"].int == 1)
      #expect(connect.head.contains("content-type: application/json") && connect.head[0].hasPrefix("post /connect "))

      try await phone.subscribe("dur:index")
      #expect(backend.requests("subscribe").map { $0.body["channel"].string } == ["dur:index"])
      #expect(backend.requests("subscribe").first?.body["user"].string == "56")

      try await phone.ask(#""publish":{"channel":"dur:index","data":{"input":"hello"}}"#)
      #expect(backend.requests("publish").first?.body["data"]["input"].string == "hello")
      #expect(await eventually { phone.publications("dur:index").first?["data"]["input"].string == "hello" })

      #expect(try await phone.call("getCurrentPrice", #"{"params":{"object_id":12}}"#)["answer"].string == "2019")
      let rpc = try #require(backend.requests("rpc").first)
      #expect(rpc.body["method"].string == "getCurrentPrice" && rpc.body["data"]["params"]["object_id"].int == 12)

      // What the backend is not asked about goes its way without it.
      try await phone.subscribe("mem:other")
      #expect(backend.requests("subscribe").count == 1)
    }
  }

  @Test("Its errors and disconnects reach the client as they are, and what it writes is published instead")
  func refusals() async throws {
    try await withBackend { server, backend in
      backend.answer("connect", .json(#"{"disconnect": {"code": 4501, "reason": "unauthorized"}}"#))
      let stranger = try Phone(server.a)
      await #expect(throws: (any Error).self) { try await stranger.ask(#""connect":{}"#) }
      #expect(await eventually { stranger.closing?.code == 4501 })
      #expect(stranger.closing?.reason == "unauthorized")

      // With a token the connect proxy is not asked.
      let ada = try Phone(server.a)
      try await ada.connect(try server.token("ada"))
      #expect(backend.requests("connect").count == 1)
      backend.answer("subscribe", .json(#"{"error": {"code": 403, "message": "permission denied"}}"#))
      #expect(try await code { try await ada.subscribe("dur:a") } == 403)
      backend.answer("rpc", .json(#"{"error": {"code": 1000, "message": "custom error"}}"#))
      #expect(try await code { try await ada.call("anything") } == 1000)
      backend.answer("subscribe", .json(#"{"result": {"data": {"rules": 1}}}"#))
      #expect(try await ada.subscribe("dur:a")["data"]["rules"].int == 1)
      backend.answer("publish", .json(#"{"result": {"data": {"text": "****"}}}"#))
      try await ada.ask(#""publish":{"channel":"dur:a","data":{"text":"rude"}}"#)
      #expect(await eventually { ada.publications("dur:a").first?["data"]["text"].string == "****" })
    }
  }

  @Test("Who is suspended is kept out also where the backend lets them in, and comes in again when that is lifted")
  func suspended() async throws {
    try await withBackend(["admin.api.key=a-key-that-only-this-test-has"]) { server, backend in
      let port = try #require(server.broker.endpoints.admin.flatMap(URL.init(string:))?.port)
      func call(_ method: String) throws {
        let body = #"{"user":"56"}"#
        let key = "X-API-Key: a-key-that-only-this-test-has\r\n"
        let headers = "\(key)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n"
        let answer = try HTTPExchange(port: port).ask("POST", "/api/\(method)", headers, Array(body.utf8))
        #expect(answer.text == #"{"result":{}}"#)
      }
      backend.answer("connect", .json(#"{"result": {"user": "56"}}"#))
      let phone = try Phone(server.a)
      try await phone.ask(#""connect":{}"#)
      try call("user_suspend")
      #expect(await eventually { phone.closing != nil })
      let again = try Phone(server.a)
      await #expect(throws: (any Error).self) { try await again.ask(#""connect":{}"#) }
      try call("user_unsuspend")
      #expect(await eventually { (try? await Phone(server.a).ask(#""connect":{}"#)) != nil })
    }
  }

  @Test("A burst of publishes keeps its order through the backend")
  func order() async throws {
    try await withBackend { server, backend in
      backend.answer("publish", .json(#"{"result": {}}"#))
      backend.answer("subscribe", .json(#"{"result": {}}"#))
      let ada = try Phone(server.a)
      try await ada.connect(try server.token("ada"))
      try await ada.subscribe("dur:a")
      try await ada.pipeline((0..<50).map { "\"publish\":{\"channel\":\"dur:a\",\"data\":\($0)}" })
      #expect(await eventually { ada.publications("dur:a").count == 50 })
      #expect(ada.publications("dur:a").compactMap { $0["data"].int } == Array(0..<50))
      #expect(backend.requests("publish").compactMap { $0.body["data"].int } == Array(0..<50))
    }
  }

  @Test("Headers on the list are passed on, others are not, and static ones go with each call")
  func headers() async throws {
    let secret = "proxies.connect.static_http_headers=X-Key: k1"
    try await withBackend(["proxies.connect.http_headers=Cookie,X-Request-Id", secret]) { server, backend in
      backend.answer("connect", .json(#"{"result": {"user": "56"}}"#))
      let answered = Mutex(false)
      let peer = try WebSocketPeer(
        server.a, headers: ["Cookie: session=1", "X-Request-Id: 7", "X-Other: secret"]
      ) { _ in answered.withLock { $0 = true } }
      peer.send(#"{"id":1,"connect":{}}"#)
      #expect(await eventually { answered.withLock { $0 } })
      let head = try #require(backend.requests("connect").first).head
      #expect(head.contains("cookie: session=1") && head.contains("x-request-id: 7") && head.contains("x-key: k1"))
      #expect(!head.contains { $0.hasPrefix("x-other") })
    }
  }

  @Test("A connection and a subscription go on as long as the backend says so, and end when it says that")
  func refreshes() async throws {
    try await withBackend { server, backend in
      let now = Int(Date().timeIntervalSince1970)
      backend.answer("connect", .json(#"{"result": {"user": "56", "expire_at": \#(now + 10)}}"#))
      backend.answer("subscribe", .json(#"{"result": {"expire_at": \#(now + 10)}}"#))
      backend.answer("refresh", .json(#"{"result": {"expire_at": \#(now + 3600)}}"#))
      backend.answer("sub_refresh", .json(#"{"result": {"expired": true}}"#))
      let phone = try Phone(server.a)
      let connected = try await phone.ask(#""connect":{}"#)["connect"]
      #expect(connected["expires"].isNull && connected["ttl"].isNull)
      try await phone.subscribe("dur:a")
      #expect(await eventually { !backend.requests("refresh").isEmpty })
      #expect(backend.requests("refresh").first?.body["user"].string == "56")
      #expect(await eventually { phone.pushes.contains { $0["unsubscribe"]["code"].int == 2501 } })
      #expect(backend.requests("sub_refresh").first?.body["channel"].string == "dur:a")
      #expect(phone.closing == nil)

      backend.answer("refresh", .json(#"{"result": {"expired": true}}"#))
      let end = Int(Date().timeIntervalSince1970) + 10
      backend.answer("connect", .json(#"{"result": {"user": "57", "expire_at": \#(end)}}"#))
      let other = try Phone(server.a)
      try await other.ask(#""connect":{}"#)
      #expect(await eventually { other.closing?.code == 3005 })
    }
  }

  @Test("A backend that hangs, floods, fails or talks nonsense refuses for now, or leaves it to the namespace")
  func bad() async throws {
    let settings = [
      "proxies.connect.timeout=300ms", "proxies.subscribe.timeout=300ms", "proxies.subscribe.on_failure=token",
      "proxies.rpc.timeout=300ms", "proxies.rpc.breaker_failures=0", "proxies.max_reply_bytes=4KiB",
    ]
    try await withBackend(settings) { server, backend in
      let ada = try Phone(server.a)
      try await ada.connect(try server.token("ada"))
      for (index, answer) in [
        Backend.Answer.hang, .flood(100_000), .status(500), .json("<html>"), .json("{}"), .status(302),
      ].enumerated() {
        backend.answer("connect", answer)
        backend.answer("subscribe", answer)
        backend.answer("rpc", answer)
        let stranger = try Phone(server.a)
        #expect(try await code { try await stranger.ask(#""connect":{}"#) } == 100, "\(answer)")
        #expect(try await code { try await ada.call("anything") } == 100, "\(answer)")
        // The namespace allows it: the backend's absence is not felt.
        try await ada.subscribe("dur:c\(index)")
      }
    }
  }

  @Test("A backend that does not answer is left alone, and asked again when its time is over")
  func breaker() async throws {
    let settings = [
      "proxies.rpc.timeout=100ms", "proxies.rpc.breaker_failures=2", "proxies.rpc.breaker_open_time=100ms",
    ]
    try await withBackend(settings) { server, backend in
      backend.answer("rpc", .hang)
      let ada = try Phone(server.a)
      try await ada.connect(try server.token("ada"))
      for _ in 0..<2 { #expect(try await code { try await ada.call("anything") } == 100) }
      #expect(
        await eventually { server.broker.errorOutput.contains("the backend does not answer, and is left alone") })
      backend.answer("rpc", .json(#"{"result": {"data": 1}}"#))
      #expect(try await eventually { try await self.code { try await ada.call("anything") } == nil })
      #expect(await eventually { server.broker.errorOutput.contains("the backend answers again") })
    }
  }

  @Test("A thousand connects that hang at the backend keep nobody from being served who has a token")
  func manyHanging() async throws {
    try await withBackend(["proxies.connect.timeout=1m", "proxies.connect.max_calls=500", "proxies.max_connections=8"])
    { server, backend in
      backend.answer("connect", .hang)
      backend.answer("rpc", .json(#"{"result": {"data": 1}}"#))
      let port = try #require(URL(string: server.a)?.port)
      let waiting = try (0..<1000).map { _ in
        let client = try ByteClient(port: port)
        try client.upgrade()
        try client.send(message: Array(#"{"id":1,"connect":{}}"#.utf8))
        return client
      }
      #expect(await eventually { backend.requests("connect").count == 8 })
      let (ada, bob) = (try Phone(server.a), try Phone(server.a))
      try await ada.connect(try server.token("ada"))
      try await bob.connect(try server.token("bob"))
      try await bob.subscribe("mem:a")
      for number in 0..<100 { try await ada.ask("\"publish\":{\"channel\":\"mem:a\",\"data\":\(number)}") }
      #expect(await eventually { bob.publications("mem:a").count == 100 })
      #expect(try await ada.call("anything").int == 1)
      // What is beyond the bound was told to come back, and the others still wait.
      let refused = try waiting[999].nextMessage()
      #expect(String(decoding: refused, as: UTF8.self).contains("\"code\":111"))
      for client in waiting { client.close() }
    }
  }
}
