import Wire

/// What is wrong with settings of proxies.
enum ProxyFaults {
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
