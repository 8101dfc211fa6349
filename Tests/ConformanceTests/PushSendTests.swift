import Foundation
import Push
import TestSupport
import Testing

/// `push_send` of a real server, over HTTP and from the command line, to services that check everything.
@Suite("Notifications that a backend has sent", .ownThread)
struct PushSendTests {
  private static let key = "key-of-the-server-api-for-notifications"

  /// Posts a body, or reads a page where that is empty, and prints the answer. No proxy: the server is on this machine,
  /// whatever the environment names.
  private static let asking = """
    import sys, urllib.request as u
    request = u.Request(sys.argv[1], sys.argv[2].encode() or None, {"X-API-Key": sys.argv[3]})
    print(u.build_opener(u.ProxyHandler({})).open(request, timeout=120).read().decode())
    """

  private static func configuration(_ push: String) -> String {
    #"{"admin":{"api":{"key":"\#(key)"}},"push":\#(push)}"#
  }

  private func ask(_ path: String, _ body: String = "", of server: ServerProcess) async throws -> String {
    let interpreter = try await PythonEnvironment.shared.interpreter()
    let outcome = try await Command(interpreter, ["-c", Self.asking, server.endpoints.admin + path, body, Self.key])
      .run(deadline: .seconds(120))
    #expect(outcome.status == 0, "\(outcome.output)")
    return outcome.output
  }

  private func send(_ body: String, to server: ServerProcess) async throws -> [String: Any] {
    let answer = try await ask("/api/push_send", body, of: server)
    return try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any] ?? [:]
  }

  private func body(_ devices: [PushDevice], _ more: String = "") -> String {
    let list = devices.map { String(decoding: $0.json, as: UTF8.self) }.joined(separator: ",")
    return #"{"devices":[\#(list)],"title":"Ada","body":"Hello"\#(more)}"#
  }

  private func devices(of answer: [String: Any]) -> [[String: Any]] {
    (answer["result"] as? [String: Any])?["devices"] as? [[String: Any]] ?? []
  }

  @Test("One call reaches browsers, APNs and FCM, and says of each device in its place what became of it")
  func outcomes() async throws {
    let gone = #"{"reason":"Unregistered","timestamp":1700000000000}"#
    let servers = try await PushServers([
      "/push/busy": .init(status: 429, headers: ["retry-after": "17"]), "/push/no": .init(status: 400),
      "/push/gone": .init(status: 410), PushServers.apnsToken(2): .init(status: 410, body: gone),
    ])
    defer { servers.stop() }
    let devices = [
      try servers.browser("/push/busy"), try PushServers.apns(1), try servers.browser("/push/gone"),
      try PushServers.fcm(1), try PushServers.apns(2), try servers.browser(), try servers.browser("/push/no"),
    ]
    try await withServer(Self.configuration(try servers.settings())) { server in
      let answer = try await send(
        body(devices, #","data":{"channel":"chat:7"},"badge":3,"collapse_key":"chat:7","ttl":60"#), to: server)
      let told = self.devices(of: answer)
      #expect(told.compactMap { $0["id"] as? String } == devices.map(\.id), "\(answer)")
      #expect(
        told.compactMap { $0["outcome"] as? String } == [
          "later", "taken", "forget", "taken", "forget", "taken", "refused",
        ], "\(answer)")
      try #require(told.count == devices.count)
      #expect(told[0]["after"] as? Int == 17 && told[4]["since"] as? Int == 1_700_000_000_000)
      #expect(told.allSatisfy { ($0["reason"] == nil) == ($0["outcome"] as? String == "taken") })
      #expect(servers.broken == [] && servers.requests(of: "apns").count == 2)
      let shown = try #require(servers.requests(of: "web").first { $0.device == "/push/a" })
      #expect(shown.value("notification.body") == "Hello" && shown.value("app_badge") == "3")

      let page = try await ask("/metrics", of: server)
      #expect(page.contains(#"fanfare_push_sent_total{kind="web",outcome="forget"} 1"#), "\(page.suffix(2000))")

      try await fromTheCommandLine(server, servers)
    }
  }

  private func fromTheCommandLine(_ server: ServerProcess, _ servers: PushServers) async throws {
    let file = server.directory.appendingPathComponent("device.json")
    try Data(try servers.browser("/push/mine").json).write(to: file)
    let outcome = try await Command(
      ServerProcess.executable(),
      [
        "push", "send", "--device-file", file.path, "--title", "A try", "--endpoint", server.endpoints.commands,
      ]
    ).run(deadline: .seconds(120))
    #expect(outcome.status == 0 && outcome.output.contains(#""outcome":"taken""#), "\(outcome.output)")
    #expect(servers.requests(of: "web").contains { $0.value("notification.title") == "A try" })
  }

  @Test("A device without a configured service is refused with the setting; one that cannot be read is error 107")
  func refusals() async throws {
    let servers = try await PushServers()
    defer { servers.stop() }
    try await withServer(Self.configuration(try servers.settings(["web"]))) { server in
      let answer = try await send(body([try PushServers.apns(1), try servers.browser()]), to: server)
      let told = devices(of: answer)
      #expect(told.compactMap { $0["outcome"] as? String } == ["refused", "taken"], "\(answer)")
      #expect((told.first?["reason"] as? String)?.contains("push.apns.key_file") == true, "\(answer)")

      let unreadable = try await send(#"{"devices":[{"kind":"pager"}],"title":"Ada"}"#, to: server)
      let error = unreadable["error"] as? [String: Any]
      #expect(error?["code"] as? Int == 107, "\(unreadable)")
      #expect((error?["message"] as? String)?.hasPrefix("devices[0]: ") == true, "\(unreadable)")
      #expect(servers.requests.count == 1 && servers.broken == [])
    }
  }
}
