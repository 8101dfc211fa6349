import Settings
import Testing

@Suite("Settings: notifications")
struct PushSettingsTests {
  private static let key = String(repeating: "k", count: 43)

  private func file(_ push: String) -> String { #"{"push":{\#(push)}}"# }

  @Test("Without keys nothing is switched on")
  func off() throws {
    let push = try load("{}").push
    #expect(!push.isOn && !push.web.isOn && !push.apns.isOn && !push.fcm.isOn)
  }

  @Test("Each service is read, with the vendors' addresses where the file names no others")
  func read() throws {
    let push = try load(
      file(
        """
        "timeout":"5s","web":{"vapid_private_key":"\(Self.key)","subject":"mailto:push@example.com",
        "allowed_hosts":["push.services.mozilla.com"]},
        "apns":{"key_file":"apns.p8","key_id":"ABC123DEFG","team_id":"DEF123GHIJ","topics":["com.example.app"]},
        "fcm":{"service_account_file":"fcm.json","url":"https://localhost:8443"}
        """)
    ).push
    #expect(push.isOn && push.web.isOn && push.apns.isOn && push.fcm.isOn && push.timeout == .seconds(5))
    #expect(push.web.allowedHosts == ["push.services.mozilla.com"] && !push.web.allowPrivateAddresses)
    #expect(push.apns.url == "https://api.push.apple.com" && push.apns.sandboxURL.contains("sandbox"))
    #expect(push.fcm.url == "https://localhost:8443")
  }

  @Test("The private key may come from the environment, so that it need not stand in the file")
  func environment() throws {
    let settings = try load(
      file(#""web":{"subject":"https://example.com/contact"}"#),
      environment: ["FANFARE_PUSH_WEB_VAPID_PRIVATE_KEY": Self.key])
    #expect(settings.push.web.vapidPrivateKey == Self.key)
  }

  @Test("What is wrong, or lacks its other half, is said in a sentence that says what to write")
  func faults() {
    let cases: [(String, String)] = [
      (
        #""web":{"vapid_private_key":"short","subject":"mailto:a@b"}"#, "push.web.vapid_private_key: is no key on P-256"
      ),
      (#""web":{"vapid_private_key_file":"vapid.key"}"#, "push.web.subject: is not set, and push services want"),
      (
        #""web":{"vapid_private_key":"\#(Self.key)","vapid_private_key_file":"f","subject":"mailto:a@b"}"#,
        "push.web.vapid_private_key_file: is set, and so is push.web.vapid_private_key; keep one"
      ),
      (
        #""web":{"subject":"push@example.com"}"#, "push.web.subject: is \"push@example.com\"; write for example mailto:"
      ),
      (#""web":{"page":"http://example.com"}"#, "push.web.page: is no address"),
      (
        #""web":{"allowed_hosts":["*.example.com"]}"#,
        "push.web.allowed_hosts: holds \"*.example.com\"; write a host name"
      ),
      (#""web":{"allowed_hosts":["https://example.com"]}"#, "push.web.allowed_hosts: holds"),
      (#""apns":{"key_file":"f"}"#, "push.apns.key_id: is not set, but push.apns.key_file is"),
      (#""apns":{"key_file":"f"}"#, "push.apns.team_id: is not set"),
      (#""apns":{"key_file":"f"}"#, "push.apns.topics: is empty, but push.apns.key_file is set"),
      (#""apns":{"key_id":"ABC"}"#, "push.apns.key_id: is set, but push.apns.key_file is not"),
      (#""apns":{"topics":["a b"]}"#, "push.apns.topics: holds \"a b\"; write a bundle identifier"),
      (#""apns":{"url":"http://localhost"}"#, "push.apns.url: is \"http://localhost\"; write https://"),
      (#""fcm":{"url":"https://localhost/"}"#, "push.fcm.url: is \"https://localhost/\"; write https://"),
      (#""timeout":"1ms""#, "push.timeout:"),
      (#""timeout":"29s","fcm":{"service_account_file":"f"}"#, "push.timeout: leaves push_send no time to answer"),
    ]
    for (push, expected) in cases {
      let found = problems(file(push))
      #expect(found.contains { $0.contains(expected) }, "\(expected) is not among \(found)")
      #expect(!found.joined().contains(Self.key), "a message shows the key")
    }
    let just = #""timeout":"28s","fcm":{"service_account_file":"f"}"#
    #expect(problems(file(just)) == ["accepted"] && problems(file(#""timeout":"29s""#)) == ["accepted"])
  }
}
