import Foundation
import TestSupport
import Testing

/// A test server whose clock is moved forward, so that the demo shows a day pass.
@Suite("The demo's clock, end to end", .ownThread)
struct DemoClockTests {
  private static let hour: Int64 = 3_600_000
  private static let day = 24 * hour
  /// Nothing but the clock wakes the broker within half a minute.
  private static let settings = [
    "demo.enabled=true", "demo.clock=true", "backbone.heartbeat_interval=1m", "broker.gateway_timeout=10m",
    "state.record_limit=10m", "state.upload_grace=1h",
  ]
  private static let soon = Duration.seconds(20)

  @Test(
    "A State is sent, the clock goes forward by 24 hours and a minute: it has expired for both, and then it is gone")
  func aDay() async throws {
    try await PhoneHall.with(Self.settings) { hall in
      let door = DemoDoor(hall: hall)
      let (ada, bob) = (try await DemoVisitor("Ada", hall), try await DemoVisitor("Bob", hall))
      let sent = try await ada.send(to: "bob")
      #expect(await ada.isIn("sent", with: "bob"))
      #expect(await bob.isIn("received", with: "ada"))
      #expect((sent["until"].int ?? 0) - (sent["since"].int ?? 0) == Int(Self.day))

      let first = try JSON(try door.advance(Self.day, ada.token).text)
      #expect(first["offset"].int == Int(Self.day))
      let second = try JSON(try door.advance(60_000, bob.token).text)
      #expect(second["offset"].int == Int(Self.day) + 60_000)
      #expect((second["now"].int ?? 0) > (sent["until"].int ?? .max))
      #expect(await ada.isIn("expired", with: "bob", within: Self.soon))
      #expect(await bob.isIn("expired", with: "ada", within: Self.soon))
      #expect(try bob.status(of: ada) == [404, 404] && ada.status(of: ada) == [404, 404])

      // A day later nothing is left of it.
      #expect(try door.advance(Self.day + 60_000, ada.token).status == 200)
      #expect(await ada.isIn(nil, with: "bob", within: Self.soon))
      #expect(await bob.isIn(nil, with: "ada", within: Self.soon))
      let (offset, now) = try door.clock()
      #expect(offset == Int(2 * Self.day) + 120_000)
      #expect(now - offset <= Int(Date().timeIntervalSince1970 * 1000) + 1)
      #expect(try JSON(try door.get("/demo/config").text)["offset"].int == offset)

      // Tokens do not end by it: nobody was sent away, and the same token opens a connection. Keys are there for what is
      // sealed now.
      #expect(ada.phone.closing == nil && bob.phone.closing == nil)
      try await Phone(hall.url).connect(ada.token)
      let (again, other) = (try await DemoVisitor("Ada", hall), try await DemoVisitor("Bob", hall))
      try await other.send(to: "ada")
      #expect(await again.isIn("received", with: "bob"))
      try await again.send(to: "bob")
      #expect(await other.isIn("revealed", with: "ada"))
      #expect(try other.status(of: again) == [200, 200])
    }
  }

  @Test("Nobody moves it who is not signed in on this demo's own page, nor further than it goes")
  func refused() async throws {
    try await PhoneHall.with(Self.settings) { hall in
      let door = DemoDoor(hall: hall)
      let token = try door.token("Ada")
      let foreign = "Origin: http://elsewhere.example\r\n"
      #expect(try door.advance(1, nil).status == 401)
      #expect(try door.advance(1, hall.token("ada")).status == 401, "a token that is none of the demo's")
      #expect(try door.advance(1, token + "x").status == 401)
      #expect(try door.advance(1, token, foreign).status == 403)
      #expect(try door.advance(1, token, "Sec-Fetch-Site: cross-site\r\n").status == 403)
      for milliseconds in [0, -1, 48 * Self.hour + 1] {
        let answer = try door.advance(milliseconds, token)
        let message = try JSON(answer.text)["message"].string
        #expect(answer.status == 422 && message?.contains("48 hours") == true)
      }
      #expect(try door.clock().offset == 0)
      for _ in 0..<30 { #expect(try door.advance(2 * Self.day, token).status == 200) }
      #expect(try door.advance(1, token).status == 422, "60 days are the most")
      #expect(try door.clock().offset == Int(60 * Self.day))
    }
  }

  @Test("Where the clock or the demo is off nothing moves, and data of people are not a test server's")
  func off() async throws {
    try await PhoneHall.with(["demo.enabled=true"]) { hall in
      let door = DemoDoor(hall: hall)
      #expect(try door.advance(1, door.token("Ada")).status == 404)
      #expect(try door.get("/demo/clock").status == 404)
      let config = try JSON(try door.get("/demo/config").text)
      #expect(!config["clock"].bool && config["offset"].isNull)

      try await hall.killAndRestart(["demo.enabled=false"])
      #expect(try door.advance(1, nil).status == 404 && door.get("/demo/clock").status == 404)

      // The folder holds data that were made while nobody could move the clock.
      let refusal = try await #require(throws: Failure.self) { try await hall.killAndRestart(["demo.clock=true"]) }
      #expect(refusal.description.contains("data.directory to another folder"), "\(refusal)")
      try await hall.killAndRestart()
      #expect(!hall.server.errorOutput.contains("test server"))
    }
  }

  @Test("A restart begins with the machine's clock, destroys nothing and goes on; what was made ahead can be answered")
  func restart() async throws {
    try await PhoneHall.with(Self.settings) { hall in
      let door = DemoDoor(hall: hall)
      var (ada, bob) = (try await DemoVisitor("Ada", hall), try await DemoVisitor("Bob", hall))
      try await ada.send(to: "bob")
      #expect(try door.advance(12 * Self.hour, ada.token).status == 200)
      let (cleo, dan) = (try await DemoVisitor("Cleo", hall), try await DemoVisitor("Dan", hall))
      try await cleo.send(to: "dan")
      for isMovable in [true, false] {
        try await hall.killAndRestart(isMovable ? [] : ["demo.clock=false"])
        let log = hall.server.errorOutput
        #expect(log.contains("a test server whose clock was moved") && !log.contains("fanfare clock confirm"))
        (ada, bob) = (try await DemoVisitor("Ada", hall), try await DemoVisitor("Bob", hall))
        #expect(ada.thread("bob")["phase"].string == "sent" && bob.thread("ada")["phase"].string == "received")
        #expect(try door.get("/demo/clock").status == (isMovable ? 200 : 404))
        if isMovable { #expect(try door.clock().offset == 0) }
      }
      let (later, other) = (try await DemoVisitor("Dan", hall), try await DemoVisitor("Cleo", hall))
      #expect(later.thread("cleo")["phase"].string == "received")
      try await later.send(to: "cleo")
      #expect(await later.isIn("revealed", with: "cleo"))
      #expect(try later.status(of: cleo) == [200, 200] && other.status(of: later) == [200, 200])
      #expect(cleo.user == other.user && dan.user == later.user)
      // What was sealed by the machine's clock is answered, too.
      try await bob.send(to: "ada")
      #expect(await ada.isIn("revealed", with: "bob"))
    }
  }
}
