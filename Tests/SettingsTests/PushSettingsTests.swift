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

  private static let on = #""notifications":true,"fcm":{"service_account_file":"f"}"#

  @Test("Notifications are off, and once they are on have their times, limits and texts")
  func notifications() throws {
    let off = try load("{}").push
    #expect(!off.notifications && off.delay == .seconds(5) && off.texts.isEmpty && off.maxDevices == 16)
    let text = #"{"language":"de-AT","topic":"clique.*","title":"{sender} ({count})","body":"{text}"}"#
    let general = #"{"language":"de","title":"Neues"}"#
    let push = try load(
      file(#"\#(Self.on),"delay":"3s","repeat_interval":"1m","max_per_person":5,"texts":[\#(text),\#(general)]"#)
    ).push
    #expect(push.notifications && push.delay == .seconds(3) && push.repeatInterval == .seconds(60))
    #expect(push.maxPerPerson == 5 && push.timeToLive == .seconds(86_400) && push.giveUpAfter == .seconds(3600))
    #expect(push.texts.map(\.language) == ["de-AT", "de"] && push.texts.map(\.topic) == ["clique.*", "*"])
    #expect(push.texts.map(\.title) == ["{sender} ({count})", "Neues"] && push.texts.map(\.body) == ["{text}", ""])
  }

  @Test("What notifications cannot be sent with is refused with a sentence")
  func notificationProblems() {
    func text(_ members: String) -> String { #"\#(Self.on),"texts":[{\#(members)}]"# }
    let cases: [(push: String, expected: String)] = [
      (#""notifications":true"#, "push.notifications: is true, but no service has a key"),
      (#"\#(Self.on),"delay":"10s","time_to_live":"10s""#, "push.delay: is not shorter than push.time_to_live"),
      (#"\#(Self.on),"repeat_interval":"24h""#, "push.repeat_interval: is not shorter than push.time_to_live"),
      (text(#""title":"T""#), "push.texts: holds a text whose language is \"\"; write a tag"),
      (text(#""language":"de_AT","title":"T""#), "push.texts: holds a text whose language is \"de_AT\""),
      (text(#""language":"de","topic":"a b","title":"T""#), "push.texts: holds a text whose topic is \"a b\""),
      (text(#""language":"de""#), "push.texts: holds a text for \"*\" in \"de\" without a title"),
      (text(#""language":"de","title":"{name} {da""#), "with \"{name}\", which stands for nothing; write {sender}"),
      (
        text(#""language":"de","title":"T","body":"\#(String(repeating: "x", count: 1025))""#),
        "push.texts: holds a text for \"*\" in \"de\" that is too long"
      ),
      (
        text(#""language":"de","title":"T","text":"x""#),
        "is a list in which \"text\" is \"x\"; write a list of objects"
      ),
    ]
    for (push, expected) in cases {
      let found = problems(file(push))
      #expect(found.contains { $0.contains(expected) }, "\(expected) is not among \(found)")
    }
    let many = Array(repeating: #"{"language":"de","title":"T"}"#, count: 1001).joined(separator: ",")
    #expect(problems(file(#""texts":[\#(many)]"#)).contains { $0.contains("holds 1001 texts; write at most 1000") })
    #expect(problems(file(#"\#(Self.on),"texts":[{"language":"de","title":"{ {} {sender}"}]"#)) == ["accepted"])
  }

  @Test("A namespace whose publications people are notified of needs notifications, people in names, and a history")
  func namespaces() {
    func config(_ options: String, push: String = Self.on) -> String {
      #"{"push":{\#(push)},"channel":{"namespaces":[{"name":"inbox","push":true\#(options)}]}}"#
    }
    let people = #","allow_user_limited_channels":true"#
    let kept = #","history_size":10,"history_ttl":"1h""#
    let cases: [(file: String, expected: String)] = [
      (config(people + kept, push: ""), "channel.namespaces.inbox.push: is true, but push.notifications is not"),
      (config(kept), "channel.namespaces.inbox.push: is true, but allow_user_limited_channels is not"),
      (config(people), "channel.namespaces.inbox.push: is true, but nothing is kept"),
      (config(people + #","kind":"map""#), "channel.namespaces.inbox.push: is true on maps"),
    ]
    for (file, expected) in cases {
      let found = problems(file)
      #expect(found.contains { $0.contains(expected) }, "\(expected) is not among \(found)")
    }
    #expect(problems(config(people + kept)) == ["accepted"])
  }
}
