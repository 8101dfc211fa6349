import Auth
import Foundation
import TestSupport
import Testing

/// The demo through a whole server, with the configuration and the setting that `make serve` uses.
@Suite("The demo, end to end", .ownThread)
struct DemoTests {
  private static let on = ["demo.enabled=true"]

  @Test("Every file is served with its policy, and whoever signs in connects and publishes under that name")
  func signsIn() async throws {
    try await PhoneHall.with(Self.on) { hall in
      let door = DemoDoor(hall: hall)
      let folder = ServerProcess.repository.appendingPathComponent("Sources/Web/demo")
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
        let answer = try door.get("/demo/\(name)")
        let isSame = answer.body == Array(try Data(contentsOf: folder.appendingPathComponent(name)))
        #expect(answer.status == 200 && isSame, "\(name)")
        #expect(answer.head.contains("Content-Security-Policy: default-src 'none'; "), "\(name)")
      }
      #expect(try door.get("/demo/nothing.js").status == 404)
      let apps = try JSON(try door.get("/demo/config").text)["apps"].array.compactMap(\.string)
      #expect(apps == ["clique", "state", "sites", "favorites", "journal", "busy"])

      let own = "Origin: http://127.0.0.1\r\n"
      let answer = try JSON(try door.signIn(#"{"name":"Ada Lovelace"}"#, own).text)
      #expect(answer["user"].string == "ada-lovelace" && answer["expires_in"].int == 900)
      let phone = try Phone(hall.url)
      try await phone.connect(try #require(answer["token"].string))
      try await phone.subscribe("sites:garden")
      try await phone.ask(#""publish":{"channel":"sites:garden","data":{"text":"hello"}}"#)
      #expect(await eventually { !phone.publications("sites:garden").isEmpty })
      #expect(phone.publications("sites:garden").first?["info"]["user"].string == "ada-lovelace")
      for namespace in ["favorites", "journal", "site-choice"] {
        try await phone.subscribeMap("\(namespace):#ada-lovelace")
        await #expect(throws: Phone.Fault.self) {
          try await phone.subscribe("\(namespace):#bob", ",\"type\":1,\"phase\":2")
        }
      }
      #expect(try door.signIn(#"{"name":"a#b"}"#, own).status == 422)
      #expect(try door.signIn(#"{"name":"Ada"}"#, "Origin: http://elsewhere.example\r\n").status == 403)
    }
  }

  @Test("Where the demo is off there is nothing of it, as where nobody has asked for it")
  func off() async throws {
    try await PhoneHall.with { hall in
      let door = DemoDoor(hall: hall)
      for path in ["/demo", "/demo/", "/demo/index.html", "/demo/config", "/demo/clock"] {
        let status = try door.get(path).status
        #expect(status == 404, "\(path)")
      }
      let status = try door.signIn(#"{"name":"Ada"}"#).status
      #expect(status == 404)
      #expect(!hall.server.errorOutput.contains("the demo"))
    }
  }

  @Test("A token of the demo opens nothing where the demo is off, nor after another start, and no other key makes one")
  func tokensElsewhere() async throws {
    try await PhoneHall.with(Self.on) { hall in
      let door = DemoDoor(hall: hall)
      let token = try door.token("Ada")
      #expect(try await !door.refuses(token))
      let strangers = try TokenMinter(hmacSecret: String(repeating: "s", count: 64), issuer: "fanfare-demo")
      let forged = try strangers.connectionToken(user: "ada", expiresIn: 600)
      #expect(try await door.refuses(forged), "the issuer is no secret, the key is")

      try await hall.killAndRestart(["demo.enabled=false"])
      #expect(try await door.refuses(token))
      #expect(try await door.refuses(forged))
      // The server lets in whoever has a token of the configured key.
      #expect(try await !door.refuses(hall.token("ada")))

      try await hall.killAndRestart()
      #expect(try await door.refuses(token), "the key of the start before")
      #expect(try await door.refuses(forged))
      #expect(try await !door.refuses(door.token("Ada")))
    }
  }

  @Test("The busy channel's traffic begins with its first subscriber, can be filtered, and ends with the last")
  func busy() async throws {
    // The broker tells its numbers ten times a second.
    try await PhoneHall.with(Self.on + ["backbone.heartbeat_interval=200ms"]) { hall in
      let numbers = PublicationCount(hall: hall, phone: try await hall.phone(of: "nobody"))
      #expect(try await numbers.isQuiet(), "nobody listens yet")
      let (all, one) = (try await hall.phone(of: "bob"), try await hall.phone(of: "eve"))
      try await all.subscribe("busy:all")
      try await one.subscribe("busy:all", #","tf":{"key":"user","cmp":"eq","val":"ada"}"#)
      #expect(await eventually { all.publications("busy:all").count >= 500 })
      #expect(await eventually { one.publications("busy:all").count >= 20 })
      let followed = one.publications("busy:all")
      #expect(followed.allSatisfy { $0["data"]["from"].string == "ada" })
      let counted = followed.compactMap { $0["data"]["n"].int }
      #expect(zip(counted, counted.dropFirst()).allSatisfy { $0 + 1 == $1 })
      await #expect(throws: Phone.Fault.self) {
        try await all.ask(#""publish":{"channel":"busy:all","data":{}}"#)
      }

      try await all.ask(#""unsubscribe":{"channel":"busy:all"}"#)
      let heard = one.publications("busy:all").count
      #expect(await eventually { one.publications("busy:all").count >= heard + 200 }, "one still listens")
      #expect(try await numbers.grewByMore(), "what the count below would notice")
      try await one.ask(#""unsubscribe":{"channel":"busy:all"}"#)
      #expect(try await numbers.isQuiet(), "nobody listens any more")

      // A window that is closed without a word ends it as well, and the next one that is opened has it again.
      try await all.subscribe("busy:all")
      let before = all.publications("busy:all").count
      #expect(await eventually { all.publications("busy:all").count >= before + 200 })
      all.cut()
      #expect(try await numbers.isQuiet(), "the only listener is gone")
    }
  }
}

/// How much a server publishes beside what this asks it to.
private struct PublicationCount {
  let hall: PhoneHall
  let phone: Phone

  private func published() throws -> Double { try MetricPage(of: hall.server)["fanfare_broker_published_total"] ?? 0 }

  /// Publishes once, and waits until the number shows it: so it is no older than that.
  ///
  /// - Returns: the number before and then.
  private func look() async throws -> (before: Double, now: Double) {
    let before = try published()
    try await phone.ask(#""publish":{"channel":"sites:quiet","data":{}}"#)
    let isShown = try await eventually { try published() > before }
    #expect(isShown)
    return (before, try published())
  }

  /// Whether more is published than that, at some time within a minute.
  func grewByMore() async throws -> Bool {
    try await eventually {
      let (before, now) = try await look()
      return now > before + 1
    }
  }

  /// Whether there come two seconds, within two minutes, in which nothing else is published: of a thousand messages a second
  /// there would be two thousand.
  func isQuiet() async throws -> Bool {
    let clock = ContinuousClock()
    var (begin, expected) = (clock.now, -1.0)
    return try await eventually(within: .seconds(120)) {
      let now = try await look().now
      if now == expected + 1 {
        expected = now
      } else {
        (begin, expected) = (clock.now, now)
      }
      return clock.now - begin >= .seconds(2)
    }
  }
}
