import HTTPClient
import Testing
import Wire

@testable import Push

@Suite("Messages of notifications, and what services are given of them")
struct PayloadTests {
  private static let token = "fid:" + String(repeating: "x", count: 150)

  private static func message(
    _ title: String = "Ada", _ body: String = "Hello", isWithdrawal: Bool = false, isUpdate: Bool = false,
    hasSound: Bool = true
  ) throws -> PushMessage {
    try PushMessage(
      title: title, body: body, data: ["channel": "chat:7", "offset": "4711"], badge: 3, timeToLive: 60,
      collapseKey: "chat:7", isWithdrawal: isWithdrawal, isUpdate: isUpdate, hasSound: hasSound)
  }

  @Test("A browser gets the declarative form, which Safari shows by itself, and others the same without it")
  func webPush() throws {
    let json = try object(
      try PushPayload.webPush(try Self.message(), tag: "tag", link: "https://example.com/chat"))
    #expect(json.text("web_push") == "8030" && json.text("mutable") == "true" && json.text("app_badge") == "3")
    #expect(json.text("notification.title") == "Ada" && json.text("notification.body") == "Hello")
    #expect(json.text("notification.navigate") == "https://example.com/chat")
    #expect(json.text("notification.tag") == "tag" && json.text("notification.silent") == "false")
    #expect(json.text("notification.data.offset") == "4711")
    let plain = try object(try PushPayload.webPush(try Self.message(hasSound: false), tag: nil, link: nil))
    #expect(!plain.has("web_push") && plain.text("notification.title") == "Ada")
    #expect(plain.text("notification.silent") == "true" && plain.text("notification.tag") == nil)
  }

  @Test("APNs gets an alert with badge, sound and group, and data beside it")
  func apns() throws {
    let json = try object(try PushPayload.apns(try Self.message(), tag: "tag"))
    #expect(json.text("aps.alert.title") == "Ada" && json.text("aps.alert.body") == "Hello")
    #expect(json.text("aps.badge") == "3" && json.text("aps.sound") == "default")
    #expect(json.text("aps.thread-id") == "tag" && json.text("data.channel") == "chat:7")
    let silent = try object(try PushPayload.apns(try Self.message(hasSound: false), tag: nil))
    #expect(silent.text("aps.sound") == nil && silent.text("aps.alert.title") == "Ada")
  }

  @Test("FCM gets texts once, and a part for each kind of system")
  func fcm() throws {
    let json = try object(
      try PushPayload.fcm(try Self.message(), token: Self.token, .init(tag: "tag", waiting: "tag"), now: 1000))
    #expect(json.text("message.token") == Self.token && json.text("message.notification.body") == "Hello")
    #expect(json.text("message.data.offset") == "4711")
    #expect(json.text("message.android.priority") == "HIGH" && json.text("message.android.ttl") == "60s")
    #expect(json.text("message.android.collapse_key") == "tag")
    #expect(json.text("message.android.notification.notification_count") == "3")
    #expect(json.text("message.apns.payload.aps.badge") == "3")
    let headers = try #require(json["message"]?.object?["apns"]?.object?["headers"]?.object)
    #expect(headers.text("apns-expiration") == "1060" && headers.text("apns-priority") == "10")
    #expect(json.text("message.webpush.headers.Topic") == "tag" && json.text("message.webpush.headers.TTL") == "60")
  }

  @Test("A withdrawal shows nothing anywhere: it names what goes, and says the badge")
  func withdrawals() throws {
    let message = try Self.message(isWithdrawal: true)
    let web = try object(try PushPayload.webPush(message, tag: "tag", link: "https://example.com"))
    #expect(web.text("withdraw") == "tag" && web.text("app_badge") == "3")
    #expect(!web.has("web_push") && !web.has("notification") && web.text("data.channel") == "chat:7")
    let apns = try object(try PushPayload.apns(message, tag: "tag"))
    #expect(apns.text("aps.content-available") == "1" && apns["aps"]?.object?.members.count == 1)
    #expect(apns.text("withdraw") == "tag" && apns.text("badge") == "3")
    let fcm = try object(try PushPayload.fcm(message, token: Self.token, .init(tag: "tag", waiting: "tag"), now: 0))
    #expect(fcm.text("message.notification") == nil && fcm.text("message.android.notification") == nil)
    #expect(fcm.text("message.data.withdraw") == "tag" && fcm.text("message.data.badge") == "3")
    #expect(fcm.text("message.apns.payload.aps.content-available") == "1")
    #expect(APNsSender.priority(message) == "5")
  }

  @Test("An update is for the app alone: it names what it replaces, says what is left, and takes no other's place")
  func updates() throws {
    let message = try Self.message(isUpdate: true, hasSound: false)
    #expect(message.waitingKey != message.collapseKey && message.isForApp)
    let web = try object(try PushPayload.webPush(message, tag: "tag", link: "https://example.com"))
    #expect(web.text("update") == "tag" && web.text("app_badge") == "3" && !web.has("web_push"))
    #expect(web.text("notification.tag") == "tag" && web.text("notification.silent") == "true")
    #expect(web.text("notification.title") == "Ada" && web.text("notification.navigate") == "https://example.com")
    let apns = try object(try PushPayload.apns(message, tag: "tag"))
    #expect(apns.text("aps.content-available") == "1" && apns["aps"]?.object?.members.count == 1)
    #expect(apns.text("update") == "tag" && apns.text("title") == "Ada" && apns.text("body") == "Hello")
    #expect(apns.text("badge") == "3" && apns.text("data.channel") == "chat:7")
    let names = PushPayload.FCMNames(tag: "tag", waiting: "other")
    let fcm = try object(try PushPayload.fcm(message, token: Self.token, names, now: 0))
    #expect(fcm.text("message.notification") == nil && fcm.text("message.android.notification") == nil)
    #expect(fcm.text("message.data.update") == "tag" && fcm.text("message.data.badge") == "3")
    #expect(fcm.text("message.data.update_title") == "Ada" && fcm.text("message.data.update_body") == "Hello")
    #expect(fcm.text("message.android.collapse_key") == nil && fcm.text("message.webpush.headers.Topic") == "other")
    #expect(fcm.text("message.apns.payload.aps.content-available") == "1")
    #expect(APNsSender.priority(message) == "5")
    let long = try PushMessage(
      title: String(repeating: "a", count: 9000), body: String(repeating: "b", count: 9000), collapseKey: "k",
      isUpdate: true)
    #expect(try PushPayload.webPush(long, tag: "t", link: nil).count <= PushPayload.webPushBytes)
    #expect(try PushPayload.apns(long, tag: "t").count <= PushPayload.apnsBytes)
    let bytes = try PushPayload.fcm(long, token: Self.token, names, now: 0).count
    #expect(bytes <= PushPayload.fcmBytes + Self.token.utf8.count)
  }

  @Test(
    "Texts of any length and kind fit: they are cut between letters, with an ellipsis, and as little as need be",
    arguments: ["a", "é", "👩‍👩‍👧‍👦", "\"", "\u{1}", "\\", "漢", "e\u{301}"])
  func fits(_ letter: String) throws {
    for (titles, bodies) in [(1, 10_000), (10_000, 1), (10_000, 10_000), (1, 3900)] {
      let message = try Self.message(
        String(repeating: letter, count: titles), String(repeating: letter, count: bodies))
      let payloads: [(String, [UInt8], Int)] = [
        (
          "notification", try PushPayload.webPush(message, tag: "t", link: "https://example.com"),
          PushPayload.webPushBytes
        ),
        ("aps.alert", try PushPayload.apns(message, tag: "t"), PushPayload.apnsBytes),
        (
          "message.notification",
          try PushPayload.fcm(message, token: Self.token, .init(tag: "t", waiting: "t"), now: 0),
          PushPayload.fcmBytes + Self.token.utf8.count
        ),
      ]
      for (path, bytes, limit) in payloads {
        #expect(bytes.count <= limit)
        let json = try object(bytes)
        let (title, body) = (json.text("\(path).title") ?? "", json.text("\(path).body") ?? "")
        for (text, whole) in [(title, titles), (body, bodies)] where !text.isEmpty {
          let letters = text.count - (text.hasSuffix("…") ? 1 : 0)
          #expect(text == String(repeating: letter, count: letters) + (text.hasSuffix("…") ? "…" : ""))
          #expect(letters == whole || text.hasSuffix("…"))
        }
        if title.hasSuffix("…") || body.hasSuffix("…") {
          #expect(limit - bytes.count < JSONText.quoted(letter).utf8.count + ShortenedText.ellipsis.utf8.count)
        }
      }
    }
  }

  @Test("A text that fits to the byte is whole; with one byte more it is cut")
  func exactly() throws {
    let empty = try PushPayload.apns(try Self.message("", ""), tag: nil).count
    let room = PushPayload.apnsBytes - empty
    let whole = String(repeating: "b", count: room)
    #expect(try object(try PushPayload.apns(try Self.message("", whole), tag: nil)).text("aps.alert.body") == whole)
    let cut = try PushPayload.apns(try Self.message("", whole + "b"), tag: nil)
    #expect(cut.count == PushPayload.apnsBytes && String(decoding: cut, as: UTF8.self).contains("bbb…\""))
  }

  @Test("A letter of a million accents is cut to nothing, and quickly")
  func accents() throws {
    let letter = "e" + String(repeating: "\u{301}", count: 1_000_000)
    let payload = try PushPayload.apns(try Self.message("Ada", letter), tag: nil)
    #expect(try object(payload).text("aps.alert.body") == "…")
  }

  @Test("Spaces before the ellipsis are left out, and where there is no room for it there is no text")
  func shortened() {
    #expect(ShortenedText.beginning(of: "one two", bytes: 7) == "one two")
    #expect(ShortenedText.beginning(of: "one two", bytes: 6) == "one…")
    #expect(ShortenedText.beginning(of: "four", bytes: 3) == "…")
    #expect(ShortenedText.beginning(of: "four", bytes: 2) == nil)
    #expect(ShortenedText.beginning(of: "", bytes: 0) == "" && ShortenedText.beginning(of: "", bytes: -1) == nil)
  }

  @Test("The largest data, link and names that a message takes leave room for a text with every service")
  func largest() throws {
    let value = String(repeating: "d", count: PushMessage.dataBytes - #"{"n":""}"#.utf8.count)
    let link = "https://example.com/" + String(repeating: "l", count: PushMessage.linkBytes - 20)
    let message = try PushMessage(
      title: "Ada", body: String(repeating: "b", count: 5000), data: ["n": value], badge: 1_000_000, collapseKey: "k",
      link: link)
    let tag = String(repeating: "t", count: 32)
    #expect(try object(try PushPayload.webPush(message, tag: tag, link: link)).text("notification.title") == "Ada")
    #expect(try object(try PushPayload.apns(message, tag: tag)).text("aps.alert.title") == "Ada")
    let fcm = try object(
      try PushPayload.fcm(message, token: Self.token, .init(tag: tag, waiting: tag), now: 1_700_000_000))
    #expect(fcm.text("message.notification.title") == "Ada")
  }

  @Test("Messages that no service would take are refused with a sentence")
  func invalid() throws {
    func fault(_ make: () throws(PushMessage.Invalid) -> PushMessage) -> String {
      do throws(PushMessage.Invalid) { return "\(try make().title)" } catch { return error.description }
    }
    for name in ["from", "google_x", "GCM", "withdraw", "collapse_key", "message_type"] {
      let said = fault { () throws(PushMessage.Invalid) in try PushMessage(title: "", data: [name: ""]) }
      #expect(said.contains("reserved"), "\(said)")
    }
    for name in ["", "a b", "a.b", "é", String(repeating: "a", count: 65)] {
      let said = fault { () throws(PushMessage.Invalid) in try PushMessage(title: "", data: [name: ""]) }
      #expect(said.contains("letters"), "\(said)")
    }
    let data = ["a": String(repeating: "\u{1}", count: 256)]
    #expect(
      fault { () throws(PushMessage.Invalid) in try PushMessage(title: "", data: data) }.contains("bytes as JSON"))
    for badge in [-1, 1_000_001] {
      #expect(fault { () throws(PushMessage.Invalid) in try PushMessage(title: "", badge: badge) }.contains("badge"))
    }
    for link in ["http://example.com", "https://", "javascript:alert(1)", "https://a\"b", "https://a b"] {
      #expect(fault { () throws(PushMessage.Invalid) in try PushMessage(title: "", link: link) }.contains("link"))
    }
    #expect(
      fault { () throws(PushMessage.Invalid) in try PushMessage(title: "", isWithdrawal: true) }.contains("withdrawal"))
  }

  @Test("A time to live is cut to what services keep")
  func timeToLive() throws {
    #expect(try PushMessage(title: "", timeToLive: -1).timeToLive == 0)
    #expect(try PushMessage(title: "", timeToLive: .max).timeToLive == 28 * 86_400)
  }
}
