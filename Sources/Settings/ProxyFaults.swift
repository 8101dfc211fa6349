import Wire

/// What is wrong with settings of proxies. Messages show no value of a header: it may be a password.
enum ProxyFaults {
  /// What HTTP itself says, or this server; a client's word on it would end the call or mislead the backend.
  private static let reserved: Set<String> = [
    "connection", "content-length", "content-type", "expect", "host", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  static func ofEndpoint(_ text: String) -> String? {
    if text.isEmpty { return nil }
    if text.hasPrefix("grpc://") {
      return "is \(SettingKey.quote(text)), and gRPC is not spoken here; write the http:// address of the backend"
    }
    let schemes = ["http://", "https://"]
    guard let scheme = schemes.first(where: { text.lowercased().hasPrefix($0) }),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !text.contains("#")
    else {
      return "is \(SettingKey.quote(text)); write an address such as \"http://127.0.0.1:3000/centrifugo/connect\""
    }
    let authority = text.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" }
    if authority.contains("@") {
      return "holds a password, which would show in the log; write it as a header in static_http_headers"
    }
    return authority.isEmpty || authority.first == ":" ? "names no host; write one, such as 127.0.0.1:3000" : nil
  }

  /// - Parameter text: an entry of a list.
  static func ofHeaderName(_ text: String) -> String? {
    guard isName(text) else { return "holds \(SettingKey.quote(text)), which is no name of a header" }
    return fault(of: text)
  }

  /// - Parameter text: an entry of a list.
  static func ofHeaderLine(_ text: String) -> String? {
    guard let line = Settings.Proxies.header(text), isName(line.name) else {
      return "holds an entry that is not a header; write a name, a colon and a value"
    }
    guard line.value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
      return "holds a value of \(line.name) that is not plain ASCII"
    }
    return fault(of: line.name)
  }

  private static func fault(of name: String) -> String? {
    let lower = name.lowercased()
    guard reserved.contains(lower) || lower.hasPrefix("sec-websocket-") else { return nil }
    return "holds \(SettingKey.quote(name)), which belongs to the connection itself; take it out"
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 128
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  // MARK: What goes together

  static func problems(_ settings: Settings, channels: [ChannelDeclaration]) -> [SettingsError.Problem] {
    var problems: [SettingsError.Problem] = []
    func report(_ place: SettingPlace, _ message: String) {
      problems.append(.init(source: place.source, keyPath: place.key, message: message))
    }
    let proxies = settings.proxies
    if proxies.connect.isOn, proxies.connect.timeout >= settings.client.connectTimeout {
      report(
        proxies.connect.$timeout.place,
        "is not shorter than \(settings.client.$connectTimeout), so a client would be sent away before its backend is given up; shorten it"
      )
    }
    if let onFailure = proxies.connect.onFailure, onFailure.wrappedValue == .token,
      let withToken = proxies.connect.withToken, !withToken.wrappedValue
    {
      report(
        onFailure.place,
        "is \"token\", but \(withToken) is false, so tokens count without the backend anyway; set it, or leave this out"
      )
    }
    for channel in channels { check(channel, proxies, report) }
    return problems
  }

  private static func check(
    _ channel: ChannelDeclaration, _ proxies: Settings.Proxies, _ report: (SettingPlace, String) -> Void
  ) {
    let options = channel.options
    for (field, isOn, proxy) in [
      (\ChannelOptions.subscribeProxy, options.subscribeProxy, proxies.subscribe),
      (\ChannelOptions.publishProxy, options.publishProxy, proxies.publish),
      (\ChannelOptions.subRefreshProxy, options.subRefreshProxy, proxies.subRefresh),
    ] where isOn && !proxy.isOn {
      report(
        channel.place(field), "is true, but \(proxy.$endpoint) is not set; write the address of your backend there")
    }
    if options.subscribeProxy, options.followsChannel {
      report(
        channel.place(\.subscribeProxy),
        "is true, and so is follows_channel, by which the other channel decides; keep one of them")
    }
    let someMayPublish =
      options.allowPublishForClient || options.allowPublishForSubscriber || options.allowPublishForAnonymous
    if options.publishProxy, !someMayPublish {
      report(
        channel.place(\.publishProxy),
        "is true, but nobody may publish; add \"allow_publish_for_subscriber\": true, and the backend decides about the rest"
      )
    }
  }
}

extension Settings.Proxies {
  /// A header from an entry of `static_http_headers`; nil where it is none.
  public static func header(_ text: String) -> (name: String, value: String)? {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    var value = text[text.index(after: colon)...]
    while value.first == " " || value.first == "\t" { value.removeFirst() }
    while value.last == " " || value.last == "\t" { value.removeLast() }
    return (String(text[..<colon]), String(value))
  }
}
