import HTTPClient
import Testing

@testable import Push

@Suite("Devices of notifications")
struct DeviceTests {
  private func fault(_ make: () throws(InvalidPushDevice) -> Void) -> String {
    do throws(InvalidPushDevice) {
      try make()
      return "none"
    } catch {
      return error.description
    }
  }

  @Test("A device of each kind comes back from its JSON as it was")
  func roundTrip() throws {
    let devices: [PushDevice] = [
      try ExampleBrowser.device(), .fcm(try ExampleDevice.fcm()), .apns(try ExampleDevice.apns()),
      .apns(
        try APNsDevice(token: String(repeating: "AB", count: 40), topic: "com.example.app", environment: .sandbox)),
    ]
    for device in devices { #expect(try PushDevice(json: device.json) == device) }
    #expect(Set(devices.map(\.id)).count == devices.count)
  }

  @Test("What a page sends is a subscription's own JSON with a kind, whatever else stands in it")
  func fromPage() throws {
    let json = """
      {"kind":"web","endpoint":"https://push.example.net/a","expirationTime":null,
       "keys":{"p256dh":"\(ExampleBrowser.p256dh)","auth":"\(ExampleBrowser.auth)=="}}
      """
    #expect(try PushDevice(json: Array(json.utf8)) == ExampleBrowser.device())
  }

  @Test("A device is named by a digest: no log shows its endpoint, token or keys")
  func names() throws {
    let device = try ExampleBrowser.device("https://push.example.net/secret-part")
    #expect(device.id.utf8.count == 32 && "\(device)" == "web \(device.id)")
    let keys = try WebPushSubscription(
      endpoint: "https://push.example.net/secret-part", p256dh: ExampleBrowser.p256dh,
      auth: "AAAAAAAAAAAAAAAAAAAAAA")
    #expect(PushDevice.webPush(keys).id == device.id, "the same endpoint with other keys is the same device")
    #expect(try ExampleBrowser.device("https://push.example.net/other").id != device.id)
  }

  @Test(
    "An endpoint that is not https, or could be read as another host than it names, is refused",
    arguments: [
      "http://push.example.net/a", "ftp://push.example.net/a", "push.example.net/a", "https://", "https:///a",
      "https://user@push.example.net/a", "https://push.example.net:443@10.0.0.1/", "https://push.example.net\\@evil/",
      "https://[::1]/a", "https://push.example.net:/a", "https://push.example.net:0/a",
      "https://push.example.net:70000/a", "https://push.example.net:44a/", "https://push..example.net/",
      "https://push.example.net./", "https://push.ex ample.net/", "https://push.example.net/a\nHost: b",
      "https://push.example.net#@evil/", "https://p\u{fc}sh.example.net/", "https://push%2eexample.net/",
      "https://push.example.net/" + String(repeating: "a", count: 2048),
    ])
  func badEndpoints(_ endpoint: String) {
    let fault = fault { () throws(InvalidPushDevice) in
      _ = try WebPushSubscription(endpoint: endpoint, p256dh: ExampleBrowser.p256dh, auth: ExampleBrowser.auth)
    }
    #expect(fault.contains("endpoint"), "\(fault)")
  }

  @Test("A token names the origin as browsers write it: in lower case, with a port that is not 443")
  func origins() throws {
    let cases = [
      ("https://Push.Example.net/a?b=c", "https://push.example.net"),
      ("https://push.example.net:443/a", "https://push.example.net"),
      ("HTTPS://push.example.net:8443", "https://push.example.net:8443"),
      ("https://127.0.0.1:1/", "https://127.0.0.1:1"),
    ]
    for (endpoint, origin) in cases { #expect(try EndpointAddress(endpoint).origin == origin) }
  }

  @Test("A host stands for itself and the names below it, and for no name that ends alike")
  func hosts() {
    let hosts = HostList(["example.net", "Push.example.com"])
    for host in ["example.net", "a.example.net", "b.a.example.net", "push.example.com"] { #expect(hosts.allows(host)) }
    for host in ["anexample.net", "example.net.evil.org", "example.com", "net", ""] { #expect(!hosts.allows(host)) }
    #expect(HostList([]).allows("anything.example"))
  }

  @Test("Keys that are no point, no secret or no base64url are refused")
  func badKeys() throws {
    let endpoint = "https://push.example.net/a"
    let beside = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw5"
    for key in ["", "AAAA", beside, ExampleBrowser.p256dh + "A", "+" + ExampleBrowser.p256dh.dropFirst()] {
      let fault = fault { () throws(InvalidPushDevice) in
        _ = try WebPushSubscription(endpoint: endpoint, p256dh: key, auth: ExampleBrowser.auth)
      }
      #expect(fault.hasPrefix("p256dh is no key"), "\(key): \(fault)")
    }
    for secret in [
      "", "AAAA", ExampleBrowser.auth + "AA", "!TBZMqHH6r4Tts7J_aSIgg", String(repeating: "A", count: 1000),
    ] {
      let fault = fault { () throws(InvalidPushDevice) in
        _ = try WebPushSubscription(endpoint: endpoint, p256dh: ExampleBrowser.p256dh, auth: secret)
      }
      #expect(fault.hasPrefix("auth is not 16 bytes"), "\(secret): \(fault)")
    }
  }

  @Test("Tokens of another form, and topics and environments that are none, are refused")
  func badTokens() {
    let token = String(repeating: "0a", count: 32)
    for bad in ["", "0a", token + "0", token + "zz", "../" + token, String(repeating: "0a", count: 129)] {
      #expect(throws: InvalidPushDevice.self) { try APNsDevice(token: bad) }
    }
    for bad in ["", "com.example app", "com/example", String(repeating: "a", count: 256)] {
      #expect(throws: InvalidPushDevice.self) { try APNsDevice(token: token, topic: bad) }
    }
    for bad in ["", "short", String(repeating: "a", count: 4097), "a token with spaces", "quoted\"and\\escaped-----"] {
      #expect(throws: InvalidPushDevice.self) { try FCMDevice(token: bad) }
    }
  }

  @Test(
    "JSON that is no device is refused with a sentence",
    arguments: [
      ("", "not JSON"), ("[]", "no JSON object"), ("{}", "no kind"), (#"{"kind":"sms"}"#, "web, apns, fcm"),
      (#"{"kind":"web"}"#, "no keys"), (#"{"kind":"web","keys":{}}"#, "endpoint is missing"),
      (#"{"kind":"fcm","token":7}"#, "token is missing, or is no text"),
      (#"{"kind":"fcm","kind":"fcm"}"#, "has a key twice"),
      (#"{"kind":"apns","token":"00112233445566778899aabbccddeeff","environment":"test"}"#, "neither production"),
    ])
  func badJSON(_ json: String, _ expected: String) {
    let fault = fault { () throws(InvalidPushDevice) in _ = try PushDevice(json: Array(json.utf8)) }
    #expect(fault.contains(expected), "\(fault)")
  }
}
