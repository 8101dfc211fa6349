import Wire

/// What is wrong with settings of shared polls.
enum PollFaults {
  static func problems(_ settings: Settings, channels: [ChannelDeclaration]) -> [SettingsError.Problem] {
    var problems: [SettingsError.Problem] = []
    func report(_ place: SettingPlace, _ message: String) {
      problems.append(.init(source: place.source, keyPath: place.key, message: message))
    }
    let polls = settings.sharedPoll
    if !polls.hmacSecret.isEmpty, !polls.hmacSecretFile.isEmpty {
      report(polls.$hmacSecretFile.place, "is set, and so is \(polls.$hmacSecret); keep one of them")
    }
    if !polls.hmacPreviousSecret.isEmpty, !polls.hasSecret {
      report(
        polls.$hmacPreviousSecret.place,
        "is set, but \(polls.$hmacSecret) is not, so there is none that came after it; write the newer one there")
    }
    if polls.hmacPreviousSecretUntil > 0, polls.hmacPreviousSecret.isEmpty {
      report(
        polls.$hmacPreviousSecretUntil.place, "is set, but \(polls.$hmacPreviousSecret) is not; leave it out")
    }
    for channel in channels where channel.options.kind == .sharedPoll { check(channel, settings, report) }
    return problems
  }

  private static func check(
    _ channel: ChannelDeclaration, _ settings: Settings, _ report: (SettingPlace, String) -> Void
  ) {
    let kind = channel.place(\.kind)
    let proxy = settings.proxies.sharedPollRefresh
    if !proxy.isOn {
      report(kind, "is \"shared_poll\", but \(proxy.$endpoint) is not set; write the address of your backend there")
    }
    if !settings.sharedPoll.hasSecret {
      report(
        kind,
        "is \"shared_poll\", but \(settings.sharedPoll.$hmacSecret) is not set, so nobody could track a key; write a secret that your backend knows too"
      )
    }
    for field in meaningless(channel.options) {
      report(channel.place(field), "is set, but of a shared poll nothing is published or kept here; leave it out")
    }
  }

  /// Options that are about publications, histories and who is there.
  private static func meaningless(_ options: ChannelOptions) -> [PartialKeyPath<ChannelOptions>] {
    let given: [(PartialKeyPath<ChannelOptions>, Bool)] = [
      (\.presence, options.presence), (\.joinLeave, options.joinLeave), (\.historySize, options.historySize > 0),
      (\.forcePositioning, options.forcePositioning),
      (\.allowPublishForSubscriber, options.allowPublishForSubscriber),
      (\.allowPublishForClient, options.allowPublishForClient),
      (\.allowPublishForAnonymous, options.allowPublishForAnonymous),
      (\.allowHistoryForSubscriber, options.allowHistoryForSubscriber),
      (\.allowHistoryForClient, options.allowHistoryForClient),
      (\.allowHistoryForAnonymous, options.allowHistoryForAnonymous),
      (\.allowPresenceForSubscriber, options.allowPresenceForSubscriber),
      (\.allowPresenceForClient, options.allowPresenceForClient),
      (\.allowPresenceForAnonymous, options.allowPresenceForAnonymous), (\.allowDelta, options.allowDelta),
      (\.lane, options.lane != .publications),
      (\.publishIntervalMilliseconds, options.publishIntervalMilliseconds > 0),
      (\.followsChannel, options.followsChannel), (\.push, options.push),
    ]
    return given.filter(\.1).map(\.0)
  }
}
