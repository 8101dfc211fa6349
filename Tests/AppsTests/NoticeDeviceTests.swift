import Foundation
import Testing
import Wire

@testable import Apps

@Suite("Notifications: devices, quiet hours, secrets")
struct NoticeDeviceTests {
  private let chat = "clique.chat:p1"

  @Test("a device that registers for another person is that person's, and goes with what is deleted")
  func handedOn() throws {
    let scene = NoticeScene()
    try scene.register("ann", "phone")
    try scene.register("bob", "phone")
    #expect(try scene.devices("ann").isEmpty && scene.devices("bob") == ["id-phone"])
    #expect(scene.entries["push.devices:ann"]?["id-phone"] == nil)
    #expect(scene.entries["push.devices:bob"]?["id-phone"] != nil)
    try scene.message("ann", chat)
    try scene.message("bob", chat)
    try scene.advance(5_000)
    #expect(scene.sends.map(\.send.user) == ["bob"])
    try scene.forget("bob")
    #expect(!scene.keys.contains { $0.contains("bob") || $0.contains("phone") })
    #expect(!scene.storedText.contains("phone"))
  }

  @Test("other people's records lose what names a deleted user")
  func names() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.notice("ann", "inbox:#ann,bob", content: .init(title: "x", offset: 1))
    try scene.forget("bob")
    #expect(!scene.storedText.contains("bob"))
    #expect(try scene.devices("ann") == ["id-a"])
  }

  @Test("a service's word that a device is gone does not count where it has registered since")
  func race() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.register("ann", "b")
    let registered = scene.now
    try scene.advance(1_000)
    try scene.register("ann", "a")
    try scene.message("ann", chat)
    try scene.advance(5_000, answers: false)
    let send = try #require(scene.sends.last?.send)
    try scene.answer(send, ["id-a": .forget(since: registered), "id-b": .forget(since: registered)])
    #expect(try scene.devices("ann") == ["id-a"])
    try scene.advance(5_000, answers: false)
    let again = try #require(scene.sends.last?.send)
    #expect(again.devices.map(\.id) == ["id-a"] && again.number > send.number)
    try scene.answer(again, .forget(since: nil))
    #expect(try scene.devices("ann").isEmpty)
    try scene.advance(8 * 86_400_000)
    #expect(!scene.keys.contains("notices/ann"))
  }

  @Test("one device too many takes the place of the one that has registered longest ago")
  func bound() throws {
    let scene = NoticeScene { $0.devices = 2 }
    for token in ["a", "b", "a", "c"] { try scene.register("ann", token) }
    #expect(try scene.devices("ann") == ["id-a", "id-c"])
    #expect(scene.keys == ["devices/ann", "owner/id-a", "owner/id-c"])
    #expect(scene.entries["push.devices:ann"]?.keys.sorted() == ["id-a", "id-c", "settings"])
    try scene.call("ann", "push.unregister", #"{"device":"id-a"}"#)
    try scene.call("ann", "push.unregister", #"{"device":"id-a"}"#)
    try scene.call("ann", "push.unregister", #"{"device":"id-c"}"#)
    #expect(scene.keys.isEmpty && scene.entries["push.devices:ann"]?.isEmpty == true)
  }

  @Test("devices and settings are changed so often in a minute, and what is no device is refused")
  func changes() throws {
    let scene = NoticeScene { $0.changesPerMinute = 3 }
    for _ in 0..<3 { try scene.register("ann", "a") }
    let refusal = scene.refusal("ann", "push.register", #"{"device":{"token":"a"}}"#)
    #expect(refusal?.code == 111 && refusal?.limit == .pushChanges)
    #expect(scene.refusal("ann", "push.settings", #"{"preview":"text"}"#)?.limit == .pushChanges)
    #expect(scene.refusal("ann", "push.settings") == nil, "asking changes nothing")
    #expect(scene.refusal("bob", "push.register", #"{"device":{}}"#)?.code == 107)
    try scene.advance(20_000)
    try scene.register("ann", "a")
  }

  @Test("what was acknowledged before is not written again, however often it is said")
  func repeated() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.call("ann", "push.delivered", #"{"subject":"inbox:#ann","offset":7}"#)
    let before = scene.writes
    for _ in 0..<10 {
      try scene.advance(1_000)
      for offset in [3, 7] {
        try scene.call("ann", "push.delivered", #"{"subject":"inbox:#ann","offset":\#(offset)}"#)
      }
    }
    #expect(scene.writes == before)
    try scene.advance(scene.rules.acknowledgementLifetime / 2)
    try scene.call("ann", "push.delivered", #"{"subject":"inbox:#ann","offset":7}"#)
    #expect(scene.writes == before + 1, "it is remembered for as long again")
    try scene.call("ann", "push.seen", #"{"subject":"inbox:#ann","offset":7}"#)
    #expect(scene.writes == before + 2)
  }

  @Test("answers about devices never hold what services need to reach them")
  func secrets() throws {
    let scene = NoticeScene()
    try scene.register("ann", "tok", #","topics":["state.*"]"#)
    let answer = try scene.call("ann", "push.devices")
    #expect(answer.contains("id-tok") && !answer.contains(#""tok""#))
    let entry = scene.entries["push.devices:ann"]?["id-tok"].map { String(decoding: $0, as: UTF8.self) }
    #expect(entry?.contains(#""token""#) == false)
    try scene.message("ann", chat)
    #expect(try scene.notices("ann") == nil)
  }

  @Test("quiet hours keep notifications back until they end, over midnight too")
  func quiet() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    scene.now = (1_700_000_000_000 / 86_400_000 + 1) * 86_400_000 + 21 * 3_600_000
    try scene.call("ann", "push.settings", #"{"quiet":{"from":"22:00","to":"07:00","zone":60}}"#)
    try scene.message("ann", chat)
    try scene.advance(9 * 3_600_000 - 1)
    #expect(scene.sends.isEmpty)
    #expect(try scene.lines("ann") == [.quiet])
    try scene.advance(1)
    #expect(scene.sends.count == 1)
    try scene.call("ann", "push.settings", #"{"muted_until":\#(scene.now + 3_600_000)}"#)
    try scene.message("ann", "other")
    try scene.advance(60_000)
    #expect(scene.sends.count == 1)
    try scene.call("ann", "push.settings", #"{"muted_until":0,"quiet":null}"#)
    #expect(scene.sends.count == 2, "what waited goes when nothing holds it any more")
  }

  @Test("quiet hours end where the zone's clock says, for every minute of the day")
  func zones() throws {
    let day: Int64 = 86_400_000
    for (from, to) in [(1320, 420), (0, 1), (1439, 0), (480, 960)] {
      for zone in [-720, -90, 0, 345, 840] {
        let hours = try QuietHours(.init(from: from, to: to, zone: .minutes(zone)), at: 0)
        for minute in stride(from: Int64(0), to: 1440, by: 7) {
          let time = 20_000 * day + minute * 60_000 + 59_999
          let local = (Int(minute) + zone + 2880) % 1440
          let isQuiet = from < to ? (from..<to).contains(local) : local >= from || local < to
          let end = hours.end(at: time)
          #expect((end != nil) == isQuiet)
          guard let end else { continue }
          #expect(end > time && end - time <= day && hours.end(at: end) == nil)
          #expect((end / 60_000 + Int64(zone) + 2880) % 1440 == Int64(to))
        }
      }
    }
    let vienna = try QuietHours(.init(from: 1320, to: 420, zone: .name("Europe/Vienna")), at: 0)
    // 2024-07-01 20:30 UTC is 22:30 there, and 07:00 there is 05:00 UTC.
    #expect(vienna.end(at: 1_719_865_800_000) == 1_719_896_400_000)
    #expect(throws: ClientError.self) {
      try QuietHours(.init(from: 0, to: 1, zone: .name("No/Where")), at: 0)
    }
  }

  @Test("a sealed State and a request say only that they are there, whatever the preview")
  func secrecy() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a", #","preview":"text""#)
    for topic in ["state.sealed", "state.ends", "clique.request", "state.revealed", "clique.message"] {
      try scene.message("ann", "s-" + topic, topic: topic)
    }
    try scene.advance(5_000)
    func said(_ topic: String) -> String {
      scene.sends.first { $0.send.collapseKey == "s-" + topic }?.send.devices.first.map { "\($0.title)|\($0.body)" }
        ?? ""
    }
    for topic in ["state.sealed", "state.ends", "clique.request"] {
      #expect(!said(topic).isEmpty && !said(topic).contains("Bob") && !said(topic).contains("secret"), "\(topic)")
    }
    #expect(said("state.revealed").contains("Bob") && !said("state.revealed").contains("secret"))
    #expect(said("clique.message") == "Bob|a secret")
    #expect(scene.sends.first { $0.send.collapseKey == "s-state.sealed" }?.send.data == ["topic": "state.sealed"])
    try scene.call("ann", "push.settings", #"{"request_preview":true}"#)
    try scene.message("ann", "r", topic: "clique.request")
    try scene.advance(5_000)
    #expect(scene.sends.last?.send.devices.first?.title == "Bob wants to write to you")
  }

  @Test("texts come in the device's language, from the one that says most, and values are never read as texts")
  func texts() {
    let texts = NotificationTexts([
      .init(language: "de", topic: "clique.message", title: "{sender}", body: "{count} neue Nachrichten"),
      .init(language: "de", topic: "*", title: "Neuigkeit"),
    ])
    #expect(
      texts.text(of: "clique.message", in: "de-AT", .init(sender: "Bo", count: 2)) == ("Bo", "2 neue Nachrichten"))
    #expect(texts.text(of: "clique.message", in: "DE", .init(count: 1)) == ("Neuigkeit", ""))
    #expect(texts.text(of: "clique.message", in: "fr", .init()) == ("New message", ""))
    #expect(texts.text(of: "x", in: nil, .init(sender: "{text}", text: "t")) == ("{text}", "t"))
    #expect(NotificationTexts.cut(String(repeating: "é", count: 200), 256).utf8.count <= 256)
    #expect(NotificationTexts.filled("a{b}{", .init()) == "a{b}{")
  }

  @Test("what is published on channels is told in the language of each device, with how many there are")
  func channels() throws {
    let scene = NoticeScene { rules in
      rules.texts = NotificationTexts([
        .init(language: "de", topic: "channel.orders", title: "{count} Bestellungen"),
        .init(language: "de", topic: "channel.orders", title: "Bestellung"),
        .init(language: "de", topic: "channel*", title: "Nachricht"),
      ])
    }
    try scene.register("ann", "a", #","language":"de-AT","preview":"text""#)
    try scene.register("ann", "b", #","preview":"nothing""#)
    func publish(_ topic: String, _ subject: String, _ offset: UInt64) throws {
      try scene.notice("ann", subject, topic: topic, content: .init(title: "", offset: offset))
    }
    func said(_ subject: String) -> [String]? {
      scene.sends.last { $0.send.collapseKey == subject }?.send.devices.map(\.title)
    }
    try publish("channel.orders", "orders:#ann", 1)
    try publish("channel.inbox", "inbox:#ann", 1)
    try scene.advance(5_000)
    #expect(said("orders:#ann") == ["Bestellung", "New message"])
    #expect(said("inbox:#ann") == ["Nachricht", "New message"])
    for offset in 2...41 as ClosedRange<UInt64> { try publish("channel.orders", "orders:#ann", offset) }
    try scene.advance(20_000)
    #expect(said("orders:#ann") == ["41 Bestellungen", "41 new messages"], "more than are told apart are counted")
    try scene.call("ann", "push.seen", #"{"subject":"orders:#ann","offset":10}"#)
    try publish("channel.orders", "orders:#ann", 42)
    try scene.advance(20_000)
    #expect(said("orders:#ann") == ["32 Bestellungen", "32 new messages"])
    #expect(scene.sends.last?.send.data["topic"] == "channel.orders")
  }

  @Test("what a backend sends along arrives whole, beside the longest topic and subject")
  func data() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    let data = ["a": String(repeating: "x", count: 500), "b": String(repeating: "\"", count: 250)]
    let (topic, subject) = (String(repeating: "t", count: 64), String(repeating: "s", count: 255))
    try scene.notice("ann", subject, topic: topic, content: .init(title: "T", data: data))
    let sent = try #require(scene.sends.last?.send)
    #expect(sent.data == data.merging(["topic": topic, "subject": subject]) { $1 })
    #expect(PushForm.bytes(of: sent.data) <= 1536)
  }

  @Test("a backend's notice is acknowledged by offset, also before it has arrived; without an offset it goes at once")
  func backend() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.call("ann", "push.delivered", #"{"subject":"inbox:#ann","offset":7}"#)
    try scene.notice("ann", "inbox:#ann", topic: "shop", content: .init(title: "Parcel", offset: 7))
    try scene.advance(10_000)
    #expect(scene.sends.isEmpty)
    try scene.notice("ann", "inbox:#ann", topic: "shop", content: .init(title: "Parcel 8", offset: 8))
    try scene.advance(1_000)
    try scene.notice("ann", "inbox:#ann", topic: "shop", content: .init(title: "Parcel 9", offset: 9))
    try scene.call("ann", "push.delivered", #"{"subject":"inbox:#ann","offset":8}"#)
    try scene.advance(4_999)
    #expect(scene.sends.isEmpty, "the ninth has its own time")
    try scene.advance(1)
    #expect(scene.sends.map(\.send.devices.first?.title) == ["Parcel 9"])
    try scene.call("ann", "push.delivered", #"{"subject":"inbox:#ann"}"#)
    #expect(scene.sends.count == 1)
    try scene.call("ann", "push.seen", #"{"subject":"inbox:#ann","offset":9}"#)
    #expect(scene.sends.last?.send.isWithdrawal == true)
    try scene.answer(try #require(scene.sends.last?.send))
    try scene.notice("ann", "alarm", topic: "shop", content: .init(title: "Now"))
    #expect(scene.sends.last?.send.devices.first?.title == "Now")
  }
}
