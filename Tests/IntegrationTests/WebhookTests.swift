import Foundation
import Synchronization
import TestSupport
import Testing

/// Webhooks of a real server, with a real receiver.
@Suite("Webhooks", .ownThread)
struct WebhookTests {
  private static let secret = String(repeating: "0123456789abcdef", count: 4)

  private static func configuration(_ url: String, _ events: String, _ more: String = "") -> String {
    """
    {"channel":{"namespaces":[
       {"name":"dur","durability":"durable","history_size":10,"history_ttl":"1h","allow_subscribe_for_client":true,
        "allow_publish_for_client":true},
       {"name":"mem","allow_subscribe_for_client":true,"allow_publish_for_client":true}]},
     "token":{"hmac_secret":"\(secret)"},
     "client":{"limits":{"publications_per_second":0,"commands_per_second":0,"bytes_per_second":0},
               "user_limits":{"publications_per_second":0,"commands_per_second":0,"bytes_per_second":0}},
     "broker":{"vacated_after":"100ms"},
     "webhooks":[{"name":"hook","url":"\(url)","secret":"\(secret)","events":[\(events)],
       "allow_private_addresses":true,"backoff_min":"50ms","backoff_max":"50ms"\(more)}]}
    """
  }

  /// The numbers that publications on a channel carry, in the order in which they came.
  private static func numbers(_ receiver: HookReceiver, on channel: String) -> [Int] {
    receiver.events.filter { $0["channel"] as? String == channel }.compactMap { $0["data"] as? Int }
  }

  /// The numbers in the order in which each came first.
  private static func firsts(_ numbers: [Int]) -> [Int] {
    var seen: Set<Int> = []
    return numbers.filter { seen.insert($0).inserted }
  }

  private func publish(_ numbers: ClosedRange<Int>, on channel: String, to server: ServerProcess) async throws {
    let service = Service(server.endpoints.commands)
    let ids = numbers.map { service.send("publish", #"{"channel":"\#(channel)"}"#, payload: "\($0)") }
    let last = try #require(ids.last)
    #expect(await eventually(within: .seconds(180)) { service.answer(last) != nil })
    #expect(ids.allSatisfy { service.answer($0)?.isError == false })
  }

  @Test("A client's life is told in its order: connect, occupied, subscribe, publication, disconnect, vacated")
  func life() async throws {
    let receiver = try HookReceiver()
    defer { receiver.stop() }
    let events =
      #""connect","disconnect","subscribe","channel_occupied","channel_vacated","publication""#
    try await withServer(Self.configuration(receiver.url, events)) { server in
      let token = try await Command(
        ServerProcess.executable(), ["token", "ada", "--set", "token.hmac_secret=\(Self.secret)"]
      ).run(deadline: .seconds(60)).output.trimmingCharacters(in: .whitespacesAndNewlines)
      let peer = try Peer(server.endpoints.websocket)
      try await peer.connect(token: token)
      try await peer.subscribe("dur:a")
      try await peer.publish("hello", to: "dur:a")
      peer.socket.cut()
      #expect(await eventually { receiver.events.count >= 6 })
      let types = receiver.events.compactMap { $0["type"] as? String }
      #expect(Set(types).count == 6 && types.count == 6, "\(types)")
      #expect(types.first == "connect" && types.last == "channel_vacated")
      let disconnect = try #require(types.firstIndex(of: "disconnect"))
      let publication = try #require(types.firstIndex(of: "publication"))
      #expect(try #require(types.firstIndex(of: "subscribe")) < publication && publication < disconnect)
      let users = receiver.events.filter { $0["client"] != nil }.compactMap { $0["user"] as? String }
      #expect(users == ["ada", "ada", "ada"])
      #expect(Set(receiver.events.compactMap { $0["id"] as? String }).count == 6)
    }
  }

  @Test("While the receiver is down, ten thousand publications are acknowledged, and all reach it later in their order")
  func down() async throws {
    let receiver = try HookReceiver { _ in .status(503) }
    defer { receiver.stop() }
    try await withServer(Self.configuration(receiver.url, #""publication""#, #","batch_events":1000"#)) { server in
      // All are acknowledged before the receiver takes a single one.
      try await publish(1...10_000, on: "dur:a", to: server)
      #expect(await eventually { !receiver.requests.isEmpty } && receiver.takenEvents.isEmpty)
      receiver.answers { _ in .status(200) }
      #expect(await eventually(within: .seconds(180)) { receiver.takenEvents.count >= 10_000 })
      let numbers = Self.firsts(receiver.takenEvents.compactMap { $0["data"] as? Int })
      let isWhole = numbers == Array(1...10_000)
      #expect(isWhole, "\(numbers.count) came")
    }
  }

  @Test("A receiver that hangs, fails and lies by turns gets everything in the end, in order per channel")
  func badReceiver() async throws {
    let receiver = try HookReceiver { place in
      switch place % 7 {
      case 0: .status(500)
      case 1: .silence
      case 2: .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
      case 3: .status(302, headers: ["Location: http://127.0.0.1:1/"])
      case 4: .status(400)
      default: .status(200)
      }
    }
    defer { receiver.stop() }
    let more = #","batch_events":40,"timeout":"300ms""#
    try await withServer(Self.configuration(receiver.url, #""publication""#, more)) { server in
      try await publish(1...200, on: "dur:a", to: server)
      try await publish(1...200, on: "mem:b", to: server)
      #expect(
        await eventually(within: .seconds(180)) {
          Self.firsts(Self.numbers(receiver, on: "mem:b")).count == 200
        })
      for channel in ["dur:a", "mem:b"] {
        #expect(Self.firsts(Self.numbers(receiver, on: channel)) == Array(1...200))
      }
    }
  }

  @Test(
    "Killed in the middle, the server tells each acknowledged publication at least once, in order", arguments: 1...3)
  func killed(_ round: Int) async throws {
    let receiver = try HookReceiver { place in place % 3 == 1 ? .status(500) : .status(200) }
    defer { receiver.stop() }
    let configuration = Self.configuration(receiver.url, #""publication""#, #","batch_events":7"#)
    try await withTemporaryFolder { folder in
      let first = try await ServerProcess(in: folder, configuration: configuration)
      let service = Service(first.endpoints.commands)
      let ids = (1...2000).map { service.send("publish", #"{"channel":"dur:a"}"#, payload: "\($0)") }
      // The process is killed when some publications are acknowledged and some events are out.
      #expect(
        await eventually {
          ids.contains { service.answer($0) != nil } && receiver.requests.count > 4 * round
        })
      await first.kill()
      let acknowledged = ids.indices.filter { service.answer(ids[$0])?.isError == false }.map { $0 + 1 }
      let second = try await ServerProcess(in: folder, configuration: configuration)
      try await publish(5000...5000, on: "dur:a", to: second)
      #expect(
        await eventually(within: .seconds(180)) { Self.numbers(receiver, on: "dur:a").contains(5000) })
      let numbers = Self.firsts(Self.numbers(receiver, on: "dur:a"))
      #expect(numbers == numbers.sorted(), "events of a channel come in its order")
      #expect(Set(acknowledged).isSubset(of: Set(numbers)), "what was acknowledged is told")
      #expect(await second.terminate() == 0)
    }
  }

  @Test("What was given up is listed and sent again from the command line and over HTTP")
  func givenUp() async throws {
    let receiver = try HookReceiver { _ in .status(500) }
    defer { receiver.stop() }
    let more = #","give_up_after":"1s","batch_events":1"#
    try await withServer(
      Self.configuration(receiver.url, #""publication""#, more),
      arguments: ["--set", "admin.api.key=\(Self.secret)"]
    ) { server in
      try await publish(1...2, on: "dur:a", to: server)
      func run(_ arguments: [String]) async throws -> String {
        let endpoint = ["--endpoint", server.endpoints.commands]
        return try await Command(ServerProcess.executable(), ["webhooks"] + arguments + endpoint)
          .run(deadline: .seconds(60)).output
      }
      #expect(
        await eventually(within: .seconds(60)) { (try? await run(["list"]).contains(#""given_up":2"#)) ?? false })
      let listed = try await run(["given-up", "hook"])
      #expect(listed.contains("the receiver answered 500") && listed.contains(#""left":0"#), "\(listed)")
      receiver.answers { _ in .status(200) }
      #expect(try await run(["resend", "hook", "--limit", "1"]).contains(#"{"resent":1,"left":1}"#))
      let port = try #require(URL(string: server.endpoints.admin)?.port)
      let body = Array(#"{"name":"hook"}"#.utf8)
      let head =
        "X-API-Key: \(Self.secret)\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: \(body.count)\r\n"
      let answer = try HTTPExchange(port: port).ask("POST", "/api/webhook_resend", head, body)
      #expect(answer.status == 200 && answer.text.contains(#"{"result":{"resent":1,"left":0}}"#), "\(answer.text)")
      #expect(
        await eventually { (try? await run(["list"]).contains(#""waiting":0,"#)) ?? false })
      #expect(Set(Self.numbers(receiver, on: "dur:a")) == [1, 2])
      // The broker reports its counters at intervals, so the page comes after what it counts.
      #expect(
        await eventually {
          let page = try? HTTPExchange(port: port).ask("GET", "/metrics", "Connection: close\r\n").text
          return page?.contains(#"fanfare_webhook_given_up_total{webhook="hook"} 2"#) ?? false
        })
    }
  }
}
