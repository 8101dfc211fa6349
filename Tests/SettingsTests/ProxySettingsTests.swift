import Foundation
import Settings
import Testing
import Wire

@Suite("Settings of proxies")
struct ProxySettingsTests {
  @Test("Without an endpoint nothing is asked, and the rest has usual values")
  func standard() throws {
    let proxies = try load("{}").proxies
    #expect(proxies.all.allSatisfy { !$0.isOn })
    #expect(proxies.connect.timeout == .seconds(1) && proxies.connect.onFailure?.wrappedValue == .refuse)
    #expect(proxies.rpc.onFailure == nil && proxies.rpc.withToken == nil && proxies.connect.withToken != nil)
  }

  @Test("Endpoints and headers are read")
  func read() throws {
    let settings = try load(
      #"""
      {"proxies": {"subscribe": {"endpoint": "https://b.example/s?x=1", "timeout": "250ms", "on_failure": "token",
        "http_headers": ["Cookie"], "static_http_headers": ["Authorization: Bearer a:b"]}},
       "channel": {"namespaces": [{"name": "n", "subscribe_proxy_enabled": true}]}}
      """#)
    let proxy = settings.proxies.subscribe
    #expect(proxy.isOn && proxy.timeout == .milliseconds(250) && proxy.onFailure?.wrappedValue == .token)
    let header = try #require(HeaderLine(proxy.staticHTTPHeaders[0]))
    #expect(header.name == "Authorization" && header.value == "Bearer a:b")
    #expect(settings.channels.namespaces["n"]?.subscribeProxy == true)
  }

  @Test(
    "An endpoint that cannot be called is refused",
    arguments: [
      "backend:3000", "grpc://127.0.0.1:12000", "ftp://host/", "http://", "http://:80/", "http://host/a b",
      "http://host/#part", "https://user:secret@host/",
    ])
  func endpoint(_ endpoint: String) {
    let found = problems(#"{"proxies": {"rpc": {"endpoint": "\#(endpoint)"}}}"#)
    #expect(found.count == 1 && found[0].contains("proxies.rpc.endpoint"), "\(found)")
    #expect(!found.joined().contains("secret"))
  }

  @Test(
    "Headers that are the connection's own, and what is no header, are refused without their values",
    arguments: [
      #""http_headers": ["Host"]"#, #""http_headers": ["Sec-WebSocket-Key"]"#, #""http_headers": ["a b"]"#,
      #""http_headers": [""]"#, #""static_http_headers": ["hidden"]"#,
      #""static_http_headers": ["Content-Length: hidden"]"#, #""static_http_headers": ["X: hidden\n"]"#,
    ])
  func headers(_ json: String) {
    let found = problems(#"{"proxies": {"rpc": {\#(json)}}}"#)
    #expect(found.count == 1 && found[0].contains("http_headers"), "\(found)")
    #expect(!found.joined().contains("hidden"))
  }

  @Test(
    "A namespace whose proxy has no address, or nothing to ask about, is a mistake",
    arguments: [
      (#""subscribe_proxy_enabled": true"#, "", "proxies.subscribe.endpoint is not set"),
      (#""sub_refresh_proxy_enabled": true"#, "", "proxies.sub_refresh.endpoint is not set"),
      (#""publish_proxy_enabled": true"#, #""publish": {"endpoint": "http://b/"}"#, "nobody may publish"),
      (
        #""subscribe_proxy_enabled": true, "follows_channel": true"#, #""subscribe": {"endpoint": "http://b/"}"#,
        "follows_channel"
      ),
    ])
  func namespaces(_ options: String, _ proxies: String, _ words: String) {
    let found = problems(
      #"{"proxies": {\#(proxies)}, "channel": {"namespaces": [{"name": "n", \#(options)}]}}"#)
    #expect(found.count == 1 && found[0].contains(words), "\(found)")
  }

  @Test("A connect that is given up after its client, and a token that counts for nothing, are mistakes")
  func connect() {
    let late = problems(#"{"proxies": {"connect": {"endpoint": "http://b/", "timeout": "1m"}}}"#)
    #expect(late.count == 1 && late[0].contains("is not shorter than client.connect_timeout"), "\(late)")
    let token = problems(#"{"proxies": {"connect": {"endpoint": "http://b/", "on_failure": "token"}}}"#)
    #expect(token.count == 1 && token[0].contains("proxies.connect.with_token is false"), "\(token)")
    #expect(
      problems(#"{"proxies": {"connect": {"endpoint": "http://b/", "on_failure": "token", "with_token": true}}}"#)
        == ["accepted"])
  }

  @Test("The configuration in docs/PROXIES.md is one")
  func document() throws {
    let text = try String(contentsOfFile: repositoryFile("docs/PROXIES.md"), encoding: .utf8)
    let block = try #require(text.components(separatedBy: "```json\n").dropFirst().first)
    let json = try #require(block.components(separatedBy: "```").first)
    #expect(problems(json) == ["accepted"])
    #expect(try load(json).proxies.all.count(where: \.isOn) == 4)
  }
}
