import Testing

@testable import Settings

@Suite("The settings as people look at them")
struct ListingTests {
  private static func entries(
    _ json: String = "{}", environment: [String: String] = [:], overrides: [String: String] = [:]
  ) throws -> [String: SettingsListing.Entry] {
    let settings = try Settings.load(
      json: Array(json.utf8), name: "f.json", environment: environment, overrides: overrides)
    return Dictionary(uniqueKeysWithValues: settings.listing.entries.map { ($0.key, $0) })
  }

  @Test("Each has its value, where that comes from, its default and its meaning")
  func sources() throws {
    let json = """
      {"client": {"ping_interval": "30s"},
       "channel": {"namespaces": [{"name": "chat", "presence": true}]}}
      """
    let entries = try Self.entries(
      json, environment: ["FANFARE_SERVER_PORT": "8123"], overrides: ["log.level": "debug"])
    let ping = try #require(entries["client.ping_interval"])
    #expect(ping.value == "30s" && ping.source == "f.json:1" && ping.standard == "25s" && !ping.meaning.isEmpty)
    let port = try #require(entries["server.port"])
    #expect(port.value == "8123" && port.source == "environment variable FANFARE_SERVER_PORT")
    let level = try #require(entries["log.level"])
    #expect(level.value == "debug" && level.source == "--set" && level.standard == "info")
    let presence = try #require(entries["channel.namespaces.chat.presence"])
    #expect(presence.value == "true" && presence.source == "f.json:2")
    #expect(entries["channel.namespaces.chat.join_leave"]?.source == "default")
  }

  @Test("Every key is there, and where services are is told as it counts")
  func all() throws {
    let entries = try Self.entries()
    for key in SettingTable.keys { #expect(entries[key.name] != nil, "\(key.name)") }
    #expect(entries["broker.services.commands"]?.value == "ipc://data/services/commands.ipc")
  }

  @Test("No secret is shown, and nothing of it told but that it is there")
  func secrets() throws {
    let secret = String(repeating: "s3cr", count: 10)
    let entries = try Self.entries(overrides: ["token.hmac_secret": secret])
    let entry = try #require(entries["token.hmac_secret"])
    #expect(entry.value == SettingsListing.mask && entry.isSecret)
    #expect(entries["admin.api.key"]?.value == "")
    for key in SettingTable.keys where key.isSecret { #expect(entries[key.name]?.isSecret == true) }
    #expect(!entries.values.contains { $0.value.contains("s3cr") })
  }

  @Test(
    "What stands in an address to sign in is not shown either",
    arguments: [
      ("https://example.com/a", "https://example.com/a"), ("plain text", "plain text"), ("", ""),
      ("https://ann:pw@example.com/a", "https://MASK@example.com/a"), ("http://a@b@c", "http://MASK@c"),
      ("https://example.com/a?token=x@y", "https://example.com/a?MASK"),
      ("https://ann:p,w@x.com/?k=1", "https://MASK@x.com/?MASK"),
      ("a@b.example", "a@b.example"),
    ])
  func addresses(_ text: String, _ shown: String) {
    let expected = shown.replacing("MASK", with: SettingsListing.mask)
    #expect(SettingsListing.withoutCredentials(text) == expected)
  }
}
