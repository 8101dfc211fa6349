import Foundation
import Glibc
import TestSupport
import Testing

/// The web console of a real server, over bare HTTP.
@Suite("The console, end to end", .ownThread)
struct ConsoleTests {
  private static let guarded = [
    ("GET", "/console/session"), ("GET", "/console/settings"), ("GET", "/console/live"),
    ("GET", "/console/tail?channel=mem:room"), ("POST", "/console/api/info"), ("POST", "/console/sign-out"),
  ]

  @Test("With the password one does what the server API does, as the caller console, until one signs out")
  func session() async throws {
    try await Deployment.with(.serve) { deployment in
      var visitor = try ConsoleVisitor(deployment.broker)
      #expect(try visitor.ask("GET", "/console/").status == 200)
      for (method, path) in Self.guarded { #expect(try visitor.ask(method, path).status == 401, "\(path)") }
      let none = try visitor.signIn("anything at all")
      #expect(none.status == 403 && none.text.contains("fanfare console password"), "\(none.text)")

      visitor = try await .signedIn(deployment, to: deployment.broker, in: "broker")
      let about = try JSON(try visitor.ask("GET", "/console/session").text)
      #expect(about["expires_in"].int ?? 0 > 1700 && about["can"].array.count == 3)
      let ann = try await deployment.client("ann")
      try await ann.subscribe("mem:room")
      let published = try visitor.call("publish", #"{"channel":"mem:room","data":"from the console"}"#)
      #expect(published["result"]["offset"].int == 1)
      #expect(await eventually { ann.data("mem:room") == ["from the console"] })
      #expect(try visitor.call("history_remove", #"{"channel":"mem:room"}"#)["error"].isNull)
      #expect(await eventually { deployment.broker.errorOutput.contains("audit=deletion by=console") })
      // What people in the apps wrote to each other is not among what it may do.
      #expect(try visitor.call("user_export", #"{"user":"ann"}"#)["error"]["code"].int == 103)
      #expect(try visitor.call("history", #"{"channel":"clique.chat:a,b","limit":1}"#)["error"]["code"].int == 103)

      #expect(try visitor.ask("POST", "/console/sign-out").status == 204)
      for (method, path) in Self.guarded { #expect(try visitor.ask(method, path).status == 401, "\(path)") }
      #expect(deployment.broker.errorOutput.contains("audit=console_signed_in"))
    }
  }

  @Test("A wrong password opens nothing and can be tried a few times; a new one ends the sessions of the old")
  func passwords() async throws {
    try await Deployment.with(.serve) { deployment in
      let visitor = try await ConsoleVisitor.signedIn(deployment, to: deployment.broker, in: "broker")
      let other = try await ConsoleVisitor.makePassword(deployment, in: "broker")
      #expect(try await eventually { try visitor.ask("GET", "/console/session").status == 401 })
      var stranger = try ConsoleVisitor(deployment.broker)
      var statuses: [Int] = []
      for number in 0..<30 where statuses.last != 429 { statuses.append(try stranger.signIn("wrong \(number)").status) }
      // The sign-in before counts, too; more come back every ten seconds.
      #expect(statuses.first == 403 && statuses.last == 429 && stranger.cookie.isEmpty, "\(statuses)")
      let said = deployment.broker.errorOutput
      #expect(said.contains("audit=console_refused cause=password") && !said.contains("wrong 0"))
      #expect(!said.contains(other))
      let kept = deployment.directory.appendingPathComponent("broker/console-password.hash")
      #expect(try String(contentsOf: kept, encoding: .utf8).hasPrefix("scrypt$"))
    }
  }

  @Test("Requests that another site has a browser make fail, with the right cookie and in every variant")
  func forged() async throws {
    try await Deployment.with(.serve) { deployment in
      let visitor = try await ConsoleVisitor.signedIn(deployment, to: deployment.broker, in: "broker")
      let header = "x-fanfare-console: 1\r\n"
      let variants = [
        "", "Origin: http://127.0.0.1\r\nSec-Fetch-Site: same-origin\r\n", header + "Origin: http://evil.example\r\n",
        header + "Origin: http://127.0.0.1:81\r\n", header + "Origin: null\r\n",
        header + "Sec-Fetch-Site: cross-site\r\n", header + "Sec-Fetch-Site: same-site\r\n",
        header + "Origin: http://127.0.0.1\r\nSec-Fetch-Site: cross-site\r\n",
      ]
      let body = #"{"channel":"mem:room","data":1}"#
      for variant in variants {
        for (method, path) in Self.guarded {
          #expect(try visitor.ask(method, path, "", headers: variant).status == 403, "\(path) with \(variant)")
        }
        #expect(try visitor.ask("POST", "/console/api/publish", body, headers: variant).status == 403)
      }
      // Neither published nor signed out.
      #expect(try visitor.call("history", #"{"channel":"mem:room","limit":1}"#)["result"]["offset"].int == 0)
      var other = try ConsoleVisitor(deployment.broker)
      #expect(try other.signIn("any", headers: "Origin: http://evil.example\r\n").status == 403)
      #expect(try other.signIn("any", headers: "Sec-Fetch-Site: cross-site\r\n").status == 403)
      // A browser asks before another site's script may send the header, and is not told that it may.
      let asked = try HTTPExchange(port: visitor.port).ask(
        "OPTIONS", "/console/api/publish",
        "Connection: close\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n")
      #expect(asked.status == 405 && !asked.head.lowercased().contains("access-control-allow"))
    }
  }

  @Test("A session ends after its time, and what it watches ends with it")
  func expiry() async throws {
    try await Deployment.with(.serve, settings: ["console.session_lifetime=2s"]) { deployment in
      let visitor = try await ConsoleVisitor.signedIn(deployment, to: deployment.broker, in: "broker")
      let (live, tail) = (
        try visitor.stream("/console/live"), try visitor.stream("/console/tail?channel=mem:room")
      )
      #expect(await live.ends())
      #expect(await tail.ends())
      #expect(try visitor.ask("GET", "/console/session").status == 401)
    }
  }

  @Test("The live view gives a frame a second, worked out once for all who watch, and none when nobody does")
  func live() async throws {
    try await Deployment.with(.serve) { deployment in
      let visitor = try await ConsoleVisitor.signedIn(deployment, to: deployment.broker, in: "broker")
      func frames() throws -> Double { try MetricPage(of: deployment.broker)["fanfare_console_frames_total"] ?? 0 }
      #expect(try frames() == 0)
      let ann = try await deployment.client("ann")
      try await ann.subscribe("mem:room")
      var watching: [EventStream]? = try (0..<3).map { _ in try visitor.stream("/console/live") }
      for stream in watching ?? [] {
        #expect(await stream.comesTo { $0.components(separatedBy: "\"seconds\":").count > 3 })
        #expect(stream.text.contains("text/event-stream"))
      }
      let last = try JSON(try #require(watching?.first?.events.last))
      #expect(last["now"].array.contains { $0["name"].string == "clients" && $0["value"].int == 1 })
      #expect(last["channels"].array.contains { $0["channel"].string == "mem:room" })
      // Three who watch cost no more frames than one.
      let most = (watching ?? []).map(\.events.count).max() ?? 0
      #expect(try frames() <= Double(2 * most))
      watching = nil
      var (before, same) = (-1.0, 0)
      let isOver = try await eventually {
        let now = try frames()
        same = now == before ? same + 1 : 0
        before = now
        return same >= 300
      }
      #expect(isOver)
    }
  }

  @Test("A tail samples and filters what is published, and a user's text is nothing but JSON")
  func tail() async throws {
    try await Deployment.with(.serve) { deployment in
      let visitor = try await ConsoleVisitor.signedIn(deployment, to: deployment.broker, in: "broker")
      let (ann, ben) = (try await deployment.client("ann"), try await deployment.client("ben"))
      let filter = "%7B%22key%22%3A%22user%22%2C%22cmp%22%3A%22eq%22%2C%22val%22%3A%22ann%22%7D"
      let all = try visitor.stream("/console/tail?channel=mem:room")
      let one = try visitor.stream("/console/tail?channel=mem:room&filter=\(filter)")
      // The first line tells that it is open.
      for stream in [all, one] { #expect(await stream.comesTo { $0.contains("\r\n:\n\n") }) }
      let hostile = #"<script>alert(1)</script><img src=x onerror=alert(2)>"#
      for number in 0..<300 { try await ben.publish("\(number)", to: "mem:room") }
      try await ann.publish(hostile, to: "mem:room")

      #expect(await one.comesTo { _ in one.events.contains { $0.contains("onerror") } })
      let found = try #require(one.events.first { $0.contains("onerror") })
      #expect(try JSON(found)["data"].string == hostile && JSON(found)["offset"].int == 301)
      #expect(try JSON(found)["info"]["user"].string == "ann")
      #expect(!one.events.contains { $0.contains(#""user":"ben""#) })
      func total(_ stream: EventStream, _ field: String) -> Int {
        stream.events.compactMap { try? JSON($0)[field].int }.reduce(0, +)
      }
      func shown(_ stream: EventStream) -> Int { stream.events.count { $0.contains("\"offset\":") } }
      #expect(await one.comesTo { _ in total(one, "filtered") == 300 })
      #expect(await all.comesTo { _ in shown(all) + total(all, "skipped") == 301 })
      for stream in [all, one] {
        let head = stream.text.prefix(2000).lowercased()
        #expect(head.contains("content-type: text/event-stream") && head.contains("x-content-type-options: nosniff"))
        #expect(head.contains("content-security-policy: default-src 'none'; script-src 'self';"))
      }
      let history = try visitor.ask("POST", "/console/api/history", #"{"channel":"mem:room","limit":1,"reverse":true}"#)
      let head = history.head.lowercased()
      #expect(head.contains("content-type: application/json") && head.contains("x-content-type-options: nosniff"))
      #expect(try JSON(history.text)["result"]["publications"][0]["data"].string == hostile)
    }
  }

  @Test("Settings say where each comes from, and no secret is among them")
  func settings() async throws {
    try await Deployment.with(.serve, settings: ["admin.api.key=a-key-that-only-this-test-has"]) { deployment in
      let visitor = try await ConsoleVisitor.signedIn(deployment, to: deployment.broker, in: "broker")
      let answer = try visitor.ask("GET", "/console/settings")
      #expect(!answer.text.contains(Deployment.secret) && !answer.text.contains("only-this-test"))
      let settings = try JSON(answer.text)["settings"].array
      func setting(_ key: String) throws -> JSON { try #require(settings.first { $0["key"].string == key }) }
      let secret = try setting("token.hmac_secret")
      #expect(secret["secret"].bool && secret["source"].string == "--set" && secret["value"].string != "")
      let presence = try setting("channel.namespaces.mem.presence")
      #expect(presence["value"].string == "true" && presence["default"].string == "false")
      #expect(presence["source"].string?.contains(".json:") == true)
      #expect(try setting("why.keep")["source"].string == "default")
      #expect(settings.count > 200)
    }
  }

  @Test("A gateway by itself shows its own numbers and settings; without console.enabled there is nothing of it")
  func roles() async throws {
    try await Deployment.with(.ipc) { deployment in
      try await deployment.startGateway("c", settings: ["console.enabled=false"])
      let none = try ConsoleVisitor(deployment.gateway("c"))
      for path in ["/console", "/console/", "/console/session"] { #expect(try none.ask("GET", path).status == 404) }
      let visitor = try await ConsoleVisitor.signedIn(deployment, to: deployment.gateway("a"), in: "a")
      let about = try JSON(try visitor.ask("GET", "/console/session").text)
      #expect(about["can"].array.compactMap(\.string) == ["live"] && about["methods"].array.isEmpty)
      #expect(try visitor.ask("POST", "/console/api/info", "{}").status == 404)
      #expect(await (try visitor.stream("/console/live")).comesTo { $0.contains("links to the broker") })
    }
  }

  @Test("On a terminal the first start makes a password and shows it there once, and never in the log")
  func terminal() async throws {
    try await withTemporaryFolder { folder in
      let data = folder.appendingPathComponent("data")
      func start() throws -> (terminal: PseudoTerminal, server: ChildProcess) {
        let terminal = try PseudoTerminal()
        let server = try ChildProcess(
          ServerProcess.executable(),
          [
            "serve", "--set", "data.directory=\(data.path)", "--set", "server.port=0", "--set", "admin.port=0",
            "--set", "server.host=127.0.0.1",
          ], environment: ChildProcess.fanfareEnvironment, errors: URL(fileURLWithPath: terminal.path))
        return (terminal, server)
      }
      let password = /this once: ([0-9a-z]{4}(?:-[0-9a-z]{4}){5})\s/
      let first = try start()
      #expect(await eventually { first.terminal.look().contains(password) || !first.server.isRunning })
      let made = try #require(first.terminal.shown.firstMatch(of: password)).1
      #expect(first.terminal.shown.contains("/console/"))
      #expect(first.terminal.shown.split(separator: made).count == 2)
      first.server.signal(SIGTERM)
      #expect(await eventually { !first.server.isRunning })
      let second = try start()
      #expect(await eventually { second.terminal.look().contains("/console/") || !second.server.isRunning })
      second.server.signal(SIGTERM)
      #expect(await eventually { !second.server.isRunning })
      #expect(!second.terminal.look().contains(password))
      let kept = try String(contentsOf: data.appendingPathComponent("console-password.hash"), encoding: .utf8)
      #expect(!kept.contains(made))
    }
  }
}
