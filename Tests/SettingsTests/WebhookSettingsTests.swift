import Settings
import Testing
import Wire

@Suite("Settings: webhooks")
struct WebhookSettingsTests {
  private static let secret = String(repeating: "0123456789abcdef", count: 2)

  private func file(_ webhook: String) -> String {
    #"{"channel":{"namespaces":[{"name":"chat"}]},"webhooks":[\#(webhook)]}"#
  }

  private func valid(_ more: String = "") -> String {
    file(
      #"{"name":"orders","url":"https://example.com/hook","secret":"\#(Self.secret)","events":["publication"]\#(more)}"#
    )
  }

  @Test("A webhook of the file is read, with defaults for what it leaves out")
  func read() throws {
    let settings = try load(valid(#","namespaces":["chat","without_namespace"],"backoff_min":"2s""#))
    let webhook = try #require(settings.webhooks.first)
    #expect(webhook.name == "orders" && webhook.wanted == .publication)
    #expect(webhook.wantedNamespaces == ["chat", ""])
    #expect(webhook.minimumBackoff == .seconds(2) && webhook.maxGivenUpEvents == 10_000)
    #expect(try load(valid()).webhooks.first?.wantedNamespaces == nil)
    #expect(try load(valid(#","namespaces":["*"]"#)).webhooks.first?.wantedNamespaces == nil)
    #expect(try load("{}").webhooks.isEmpty)
  }

  @Test(
    "Environment and flags reach the options of a webhook that the file names, so that secrets need not stand there")
  func overrides() throws {
    let json = file(#"{"name":"orders","url":"https://example.com/hook","events":["publication"]}"#)
    let settings = try load(
      json, environment: ["FANFARE_WEBHOOKS_ORDERS_SECRET": Self.secret],
      overrides: ["webhooks.orders.timeout": "3s"])
    #expect(settings.webhooks.first?.secret == Self.secret && settings.webhooks.first?.timeout == .seconds(3))
    #expect(
      problems(json, overrides: ["webhooks.other.timeout": "3s"]).contains {
        $0.hasPrefix("--set: webhooks.other.timeout: names no option of a webhook that the file has")
      })
  }

  @Test("What a webhook lacks, or what contradicts, is said in a sentence that says what to write")
  func faults() {
    let cases: [(String, String)] = [
      (file("{}"), "webhooks[0]: has no name; add \"name\": \"orders\""),
      (file(#"{"name":"a:b"}"#), "webhooks[0].name: is not a name; write at most 64 letters"),
      (file(#"{"name":"a"}"#), "webhooks.a.url: is not set; write the address"),
      (file(#"{"name":"a"}"#), "webhooks.a.secret: is not set; write at least 32 random bytes"),
      (file(#"{"name":"a"}"#), "webhooks.a.events: is empty, so nothing would be told"),
      (valid(#","events_":1"#), "webhooks.orders.events_: is not an option of a webhook; did you mean \"events\"?"),
      (valid(#","previous_secret":"short""#), "webhooks.orders.previous_secret: has 5 bytes; write at least 32"),
      (valid(#","namespaces":["chats"]"#), "webhooks.orders.namespaces: holds \"chats\", which is not configured"),
      (valid(#","backoff_min":"10m""#), "webhooks.orders.backoff_min: is longer than webhooks.orders.backoff_max"),
      (
        valid(#","max_waiting_bytes":"64KiB""#),
        "webhooks.orders.batch_bytes: is more than webhooks.orders.max_waiting_bytes"
      ),
      (#"{"webhooks":{}}"#, "webhooks: is not a list; write [ { \"name\": \"orders\""),
    ]
    for (json, expected) in cases {
      let found = problems(json)
      #expect(found.contains { $0.contains(expected) }, "\(expected) is not among \(found)")
    }
    let events = problems(
      file(#"{"name":"a","url":"https://e","secret":"\#(Self.secret)","events":["publicaton"]}"#))
    #expect(events.contains { $0.contains("holds \"publicaton\", which is no event; did you mean \"publication\"?") })
  }

  @Test(
    "Events go nowhere where others could read them on the way",
    arguments: [
      "http://example.com/", "ftp://example.com/", "example.com", "https://", "https://user:word@example.com/",
    ])
  func addresses(_ url: String) {
    let webhook = #"{"name":"a","url":"\#(url)","secret":"\#(Self.secret)","events":["connect"]}"#
    #expect(problems(file(webhook)).contains { $0.contains("webhooks.a.url: ") })
  }

  @Test("A receiver beside may be spoken to without TLS")
  func beside() throws {
    let webhook =
      #"{"name":"a","url":"http://10.0.0.7:80/","secret":"\#(Self.secret)","events":["connect"],"allow_private_addresses":true}"#
    #expect(problems(file(webhook)) == ["accepted"])
  }

  @Test("At most 32 webhooks are taken")
  func most() {
    let list = (1...33).map { index in
      #"{"name":"w\#(index)","url":"https://e.org","secret":"\#(Self.secret)","events":["connect"]}"#
    }
    #expect(problems(file(list.joined(separator: ","))).contains { $0.contains("one webhook too many") })
  }

  @Test("A secret is never shown in a problem")
  func secrecy() {
    let found = problems(file(#"{"name":"a","secret":"tell nobody"}"#))
    #expect(!found.joined().contains("tell nobody"))
  }
}
