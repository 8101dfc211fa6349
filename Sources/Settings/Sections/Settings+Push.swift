import Wire

extension Settings {
  /// The services that bring notifications to devices. One without a key is not used.
  public struct Push: Sendable, Equatable {
    /// Browsers' push services.
    public struct Web: Sendable, Equatable {
      @Setting public var vapidPrivateKey: String
      @Setting public var vapidPrivateKeyFile: String
      @Setting public var subject: String
      @Setting public var page: String
      @Setting public var allowedHosts: [String]
      @Setting public var allowPrivateAddresses: Bool

      public var isOn: Bool { !vapidPrivateKey.isEmpty || !vapidPrivateKeyFile.isEmpty }

      init(_ declare: inout SettingDeclarations) {
        _vapidPrivateKey = declare.text(
          "vapid_private_key", "",
          "Private key by which push services know us, as `fanfare push keys` makes it; with another one all browsers have to subscribe anew.",
          isSecret: true, rule: PushRules.ofPrivateKey)
        _vapidPrivateKeyFile = declare.text(
          "vapid_private_key_file", "", "File with that key; only its owner may read it.")
        _subject = declare.text(
          "subject", "", "How push services reach you: mailto: and an address, or https://.", rule: PushRules.ofSubject)
        _page = declare.text(
          "page", "",
          "The https:// page that a notification opens where it names none; without one Safari shows notifications only through a service worker.",
          rule: PushRules.ofPage)
        _allowedHosts = declare.list(
          "allowed_hosts",
          "Push services that browsers may name, each with the names below it, for example [\"push.services.mozilla.com\"]; empty: all on the Internet.",
          rule: PushRules.ofHost)
        _allowPrivateAddresses = declare.flag(
          "allow_private_addresses", false, "Browsers may name a push service at a private address.")
      }
    }

    public struct APNs: Sendable, Equatable {
      @Setting public var keyFile: String
      @Setting public var keyID: String
      @Setting public var teamID: String
      @Setting public var topics: [String]
      @Setting public var url: String
      @Setting public var sandboxURL: String

      public var isOn: Bool { !keyFile.isEmpty }

      init(_ declare: inout SettingDeclarations) {
        _keyFile = declare.text(
          "key_file", "", "File with the key for APNs (.p8) from Apple; only its owner may read it.")
        _keyID = declare.text("key_id", "", "The key's id, of 10 characters.", rule: PushRules.ofAppleID)
        _teamID = declare.text("team_id", "", "The id of your team with Apple, likewise.", rule: PushRules.ofAppleID)
        _topics = declare.list(
          "topics",
          "Bundle identifiers of your apps; the first is that of devices which name none.", rule: PushRules.ofTopic)
        _url = declare.text(
          "url", "https://api.push.apple.com", "Address of APNs.", rule: PushRules.ofServiceAddress)
        _sandboxURL = declare.text(
          "sandbox_url", "https://api.sandbox.push.apple.com", "Address of APNs for builds from Xcode.",
          rule: PushRules.ofServiceAddress)
      }
    }

    public struct FCM: Sendable, Equatable {
      @Setting public var serviceAccountFile: String
      @Setting public var url: String

      public var isOn: Bool { !serviceAccountFile.isEmpty }

      init(_ declare: inout SettingDeclarations) {
        _serviceAccountFile = declare.text(
          "service_account_file", "",
          "JSON file of a service account that may use Firebase Cloud Messaging; only its owner may read it.")
        _url = declare.text("url", "https://fcm.googleapis.com", "Address of FCM.", rule: PushRules.ofServiceAddress)
      }
    }

    public let web: Web
    public let apns: APNs
    public let fcm: FCM
    @Setting public var timeout: Duration
    @Setting public var maxUnderWay: Int
    @Setting public var maxWaiting: Int
    @Setting public var certificateAuthorities: String
    @Setting public var notifications: Bool
    @Setting public var delay: Duration
    @Setting public var repeatInterval: Duration
    @Setting public var timeToLive: Duration
    @Setting public var giveUpAfter: Duration
    @Setting public var maxDevices: Int
    @Setting public var maxPerPerson: Int
    @Setting public var maxChangesPerMinute: Int
    @Setting public var texts: [NotificationText]

    /// Whether there is a service that can be sent to.
    public var isOn: Bool { web.isOn || apns.isOn || fcm.isOn }

    init(_ declare: inout SettingDeclarations) {
      web = declare.section("web", Web.init)
      apns = declare.section("apns", APNs.init)
      fcm = declare.section("fcm", FCM.init)
      _timeout = declare.duration(
        "timeout", .seconds(20), in: .milliseconds(100) ... .minutes(5),
        "Time for a service to take a notification, the wait for a connection included.")
      _maxUnderWay = declare.integer(
        "max_under_way", 64, in: 1...1000, "Notifications that are under way at once, to each of the three kinds.")
      _maxWaiting = declare.integer(
        "max_waiting", 1024, in: 1...100_000, "Notifications that wait for that, likewise; more are tried later.")
      _certificateAuthorities = declare.text(
        "certificate_authorities", "",
        "PEM file with the authorities that the services' certificates must come from; empty: the system's.")
      _notifications = declare.flag(
        "notifications", false,
        "People's devices register, and are told of what none of them has acknowledged; off: there is only push_send.")
      _delay = declare.duration(
        "delay", .seconds(5), in: .zero ... .hours(1),
        "Time that a person's devices have to acknowledge something before they are notified of it.")
      _repeatInterval = declare.duration(
        "repeat_interval", .seconds(15), in: .zero ... .hours(24),
        "Shortest time between two notifications of one person about the same thing, such as a conversation.")
      _timeToLive = declare.duration(
        "time_to_live", .hours(24), in: .seconds(10) ... .hours(24 * 28),
        "Age at which a notification is worth nothing any more, whether it waits here or at a service.")
      _giveUpAfter = declare.duration(
        "give_up_after", .hours(1), in: .seconds(1) ... .hours(24 * 28),
        "Time after the first attempt at which a notification is given up that a service does not take.")
      _maxDevices = declare.integer(
        "max_devices", 16, in: 1...64,
        "Devices of one person; one more takes the place of the one that registered longest ago.")
      _maxPerPerson = declare.integer(
        "max_per_person", 20, in: 1...10_000, "Notifications that one person is sent in a minute; more wait.")
      _maxChangesPerMinute = declare.integer(
        "max_changes_per_minute", 30, in: 1...60_000,
        "Devices registered and settings changed by one person in a minute, all of which may come at once; more is error 111."
      )
      _texts = declare.objects(
        "texts", with: NotificationText.names,
        "What notifications say, before the built-in English: {sender}, {text} and {count} stand for what they name, and of a topic's texts the first counts of which all is known; `*` is every topic.",
        of: NotificationText.init, fault: NotificationFaults.ofText)
    }
  }
}

/// Finds what settings of notifications do not allow, alone and together.
enum PushRules {
  /// The message never shows the key.
  static func ofPrivateKey(_ text: String) -> String? {
    if text.isEmpty || text.contains("PRIVATE KEY-----") || Base64.url.bytes(text)?.count == 32 { return nil }
    return "is no key on P-256; write its 32 bytes in base64url, or PEM, for example from `fanfare push keys`"
  }

  static func ofSubject(_ text: String) -> String? {
    let isReachable = text.hasPrefix("mailto:") && text.contains("@") || text.hasPrefix("https://")
    if text.isEmpty || isReachable && isPrintable(text) { return nil }
    return "is \(SettingKey.quote(text)); write for example mailto:push@example.com, or an https:// address"
  }

  static func ofPage(_ text: String) -> String? {
    let isPage = text.hasPrefix("https://") && (9...512).contains(text.utf8.count) && isPrintable(text)
    if text.isEmpty || isPage { return nil }
    return "is no address of at most 512 bytes that begins with https://; write for example https://example.com/chat"
  }

  /// - Parameter text: an entry of a list.
  static func ofHost(_ text: String) -> String? {
    let isName = text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
      (1...63).contains(label.utf8.count)
        && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }
    if isName { return nil }
    return "holds \(SettingKey.quote(text)); write a host name, which stands for the names below it too: example.com"
  }

  static func ofAppleID(_ text: String) -> String? {
    let isID = text.utf8.count <= 64 && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    return isID ? nil : "is \(SettingKey.quote(text)); write the letters and digits that Apple shows for it"
  }

  /// - Parameter text: an entry of a list.
  static func ofTopic(_ text: String) -> String? {
    let isTopic =
      (1...255).contains(text.utf8.count)
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_".contains($0)) }
    return isTopic ? nil : "holds \(SettingKey.quote(text)); write a bundle identifier such as com.example.app"
  }

  static func ofServiceAddress(_ text: String) -> String? {
    if text.hasPrefix("https://"), text.utf8.count > 8, isPrintable(text), !text.hasSuffix("/"),
      !text.contains(where: { "?#@".contains($0) })
    {
      return nil
    }
    return "is \(SettingKey.quote(text)); write https:// and a host, without a slash at the end"
  }

  private static func isPrintable(_ text: String) -> Bool {
    text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
  }

  static func problems(_ settings: Settings) -> [SettingsError.Problem] {
    let (web, apns) = (settings.push.web, settings.push.apns)
    var problems: [SettingsError.Problem] = []
    func report<Value>(_ setting: Setting<Value>, _ message: String) {
      problems.append(.init(source: setting.place.source, keyPath: setting.place.key, message: message))
    }
    if !web.vapidPrivateKey.isEmpty, !web.vapidPrivateKeyFile.isEmpty {
      report(web.$vapidPrivateKeyFile, "is set, and so is \(web.$vapidPrivateKey); keep one of them")
    }
    if web.isOn, web.subject.isEmpty {
      report(
        web.$subject,
        "is not set, and push services want to know whom to ask; write for example mailto:push@example.com")
    }
    // A second is what a call has beyond the services' time.
    let (time, admin) = (settings.push.$timeout, settings.admin)
    if settings.push.isOn, admin.enabled, time.wrappedValue + .seconds(1) >= admin.requestTimeout {
      report(
        time,
        "leaves push_send no time to answer: make it shorter than \(admin.$requestTimeout), by more than a second")
    }
    problems += NotificationFaults.problems(settings.push)
    guard apns.isOn else {
      for setting in [apns.$keyID, apns.$teamID] where !setting.wrappedValue.isEmpty {
        report(setting, "is set, but \(apns.$keyFile) is not, so nothing would be sent; write the path of the .p8 file")
      }
      return problems
    }
    for setting in [apns.$keyID, apns.$teamID] where setting.wrappedValue.isEmpty {
      report(setting, "is not set, but \(apns.$keyFile) is; write what Apple shows for it")
    }
    if apns.topics.isEmpty {
      report(apns.$topics, "is empty, but \(apns.$keyFile) is set; write your app's bundle identifier")
    }
    return problems
  }
}
