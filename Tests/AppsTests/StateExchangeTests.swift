import Apps
import Foundation
import Testing
import Wire

@Suite("State: an exchange between two")
struct StateExchangeTests {
  static let hour: Int64 = 3_600_000

  @Test("a send seals, an answer reveals both in one record, and the end erases everything")
  func wholeLife() throws {
    let scene = StateScene()
    let first = try scene.send("ada", to: "bob", #","caption":"at the sea""#)
    #expect(first["phase"] as? String == "sent")
    #expect(scene.phases("ada", "bob") == "sent/received")
    #expect(!scene.storedText.contains("at the sea"))
    let answer = try scene.send("bob", to: "ada", #","caption":"in the hills""#)
    #expect(answer["phase"] as? String == "revealed")
    #expect(!scene.storedText.contains("at the sea") && !scene.storedText.contains("in the hills"))
    #expect(scene.writesOfLastDecision.filter { $0.hasPrefix("state.thread:") }.count == 1)
    #expect(scene.phases("ada", "bob") == "revealed/revealed")
    #expect(scene.entry("ada", "bob")?["unread"] as? Bool == true)
    let theirs = try #require(scene.entry("ada", "bob")?["theirs"] as? [String: Any])
    let mine = try #require(scene.entry("bob", "ada")?["mine"] as? [String: Any])
    #expect(theirs["caption"] as? String == "in the hills")
    #expect(theirs["front"] as? String == mine["front"] as? String)
    let front = try #require(theirs["front"] as? String)
    #expect(scene.pictureKey(front, for: "ada")?.count == 32)
    #expect(scene.pictureKey(front, for: "ada") == scene.pictureKey(front, for: "bob"))
    #expect(scene.pictureKey(front, for: "eve") == nil)
    #expect(scene.notices("ada") == ["sent", "revealed"])
    #expect(scene.notices("bob") == ["received", "revealed"])

    try scene.call("ada", "state.seen", #"{"with":"bob"}"#)
    #expect(scene.entry("ada", "bob")?["unread"] as? Bool == false)
    try scene.advance(24 * Self.hour)
    #expect(scene.phases("ada", "bob") == "idle/idle")
    #expect(scene.entry("ada", "bob") == nil)
    #expect(scene.pictureKey(front, for: "ada") == nil)
    #expect(scene.discarded.count == 4)
    #expect(scene.scrubs > 0)
    #expect(scene.recordCount == 0)
  }

  @Test("the notification says who, when, until when and how long, and nothing else")
  func notification() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob", #","caption":"x","reply_limit":30000"#)
    let notice = try #require(scene.published.first { $0.channel == "state.events:bob" }?.data)
    #expect(Set(notice.keys) == ["event", "with", "since", "until", "limit"])
    #expect(notice["with"] as? String == "ada")
    #expect(notice["since"] as? Int64 == scene.now)
    #expect(notice["until"] as? Int64 == scene.now + 24 * Self.hour)
    #expect(notice["limit"] as? Int64 == 30_000)
    let entry = try #require(scene.entry("bob", "ada"))
    #expect(Set(entry.keys) == ["with", "phase", "colour", "since", "until", "limit"])
    let mine = try #require(scene.entry("ada", "bob"))
    #expect(Set(mine.keys) == ["with", "phase", "colour", "since", "until"])
  }

  @Test("both send at once: whichever the broker puts second is the answer")
  func bothAtOnce() throws {
    let scene = StateScene()
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    try scene.call("bob", "state.begin", #"{"to":"ada"}"#)
    let (one, two) = (try scene.prepare("ada", to: "bob"), try scene.prepare("bob", to: "ada"))
    #expect(try scene.call("ada", "state.send", one.json)["phase"] as? String == "sent")
    #expect(try scene.call("bob", "state.send", two.json)["phase"] as? String == "revealed")
    #expect(scene.phases("ada", "bob") == "revealed/revealed")
  }

  @Test("a second send while sealed is refused, and the first stays")
  func secondSend() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    #expect(scene.refusal("ada", "state.begin", #"{"to":"bob"}"#) == StateError.sealed)
    let other = try scene.prepare("ada", to: "bob")
    #expect(scene.refusal("ada", "state.send", other.json) == StateError.sealed)
    #expect(scene.phases("ada", "bob") == "sent/received")
  }

  @Test("an answer in the last millisecond reveals, whatever the phone's clock says; one at the deadline does not")
  func lastMoment() throws {
    for (wait, expected) in [
      (24 * Self.hour - 100, "revealed"), (24 * Self.hour - 1, "revealed"), (24 * Self.hour, "sent"),
    ] {
      for runsTimers in [true, false] {
        let scene = StateScene()
        try scene.send("ada", to: "bob")
        let since = scene.now
        try scene.advance(wait - 1000, runsTimers: runsTimers)
        try scene.call("bob", "state.begin", #"{"to":"ada"}"#)
        // The phone thinks that it is yesterday: nothing that it sends has a time in it.
        let answer = try scene.prepare("bob", to: "ada", #","at":1,"now":1"#)
        try scene.advance(since + wait - scene.now, runsTimers: runsTimers)
        #expect(try scene.call("bob", "state.send", answer.json)["phase"] as? String == expected)
        #expect(scene.phase("bob", "ada") == expected)
      }
    }
  }

  @Test("the same send again is answered as the first time, and changes nothing")
  func retries() throws {
    let scene = StateScene()
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    let sending = try scene.prepare("ada", to: "bob", #","key":"k1""#)
    let first = try scene.call("ada", "state.send", sending.json)
    let notices = scene.published.count
    try scene.advance(10 * 60_000)
    // A send is answered as the first time when it is repeated as it was, when another command names the same pictures,
    // and when the exchange has gone on since.
    #expect(try scene.call("ada", "state.send", sending.json) as NSDictionary == first as NSDictionary)
    let plain = sending.json.replacingOccurrences(of: #","key":"k1""#, with: "")
    #expect(try scene.call("ada", "state.send", plain, key: "x") as NSDictionary == first as NSDictionary)
    #expect(scene.published.count == notices)
    try scene.send("bob", to: "ada")
    #expect(try scene.call("ada", "state.send", sending.json) as NSDictionary == first as NSDictionary)
    #expect(scene.phases("ada", "bob") == "revealed/revealed")
    let other = try scene.prepare("ada", to: "bob", #","key":"k1""#)
    #expect(scene.refusal("ada", "state.send", other.json) == .idempotencyConflict)
  }

  @Test("nobody answers: both are told, nobody sees anything, and it is forgotten a day later")
  func expiry() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob", #","caption":"secret""#)
    try scene.advance(24 * Self.hour - 1)
    #expect(scene.phases("ada", "bob") == "sent/received")
    try scene.advance(1)
    #expect(scene.phases("ada", "bob") == "expired/expired")
    #expect(scene.discarded.count == 2)
    #expect(scene.scrubs == 1)
    #expect(scene.vault.released == 0)
    #expect(!scene.storedText.contains("box"))
    #expect(scene.notices("bob") == ["received", "expired"])
    try scene.call("bob", "state.seen", #"{"with":"ada"}"#)
    #expect(scene.phases("ada", "bob") == "expired/idle")
    try scene.advance(24 * Self.hour)
    #expect(scene.recordCount == 0)
    #expect(scene.listedCount == 0)
  }

  @Test("timers that were late do after a restart what they would have done")
  func lateTimers() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    try scene.advance(40 * Self.hour, runsTimers: false)
    #expect(scene.phase("ada", "bob") == "sent")
    try scene.runTimers()
    #expect(scene.phases("ada", "bob") == "expired/expired")
    #expect(scene.entry("ada", "bob")?["until"] as? Int64 == scene.now + 8 * Self.hour)
  }

  @Test("what was revealed is not replaced before the other has looked")
  func unseen() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    try scene.send("bob", to: "ada")
    #expect(scene.refusal("bob", "state.begin", #"{"to":"ada"}"#) == StateError.unseen)
    try scene.call("ada", "state.seen", #"{"with":"bob"}"#)
    try scene.send("bob", to: "ada")
    #expect(scene.phases("ada", "bob") == "received/sent")
    #expect(scene.discarded.count == 4)
  }

  @Test("an answer to what nobody can open any more is a first send")
  func lostKey() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    scene.vault.destroyedHours = [scene.now / Self.hour]
    try scene.advance(Self.hour)
    #expect(try scene.send("bob", to: "ada")["phase"] as? String == "sent")
    #expect(scene.phases("ada", "bob") == "received/sent")
    #expect(scene.discarded.count == 2)
  }

  @Test("a vault that is away refuses for a while and loses nothing")
  func vaultAway() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    try scene.call("bob", "state.begin", #"{"to":"ada"}"#)
    let answer = try scene.prepare("bob", to: "ada")
    scene.vault.isUnavailable = true
    #expect(scene.refusal("bob", "state.send", answer.json)?.temporary == true)
    scene.vault.isUnavailable = false
    #expect(try scene.call("bob", "state.send", answer.json)["phase"] as? String == "revealed")
  }
}
