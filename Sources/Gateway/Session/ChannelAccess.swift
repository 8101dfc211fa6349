import Wire

/// What a user may do with a channel by its name and its namespace's options: pure, and the only place that decides it.
///
/// Every way to a channel's contents asks here, the side paths too: where history or presence are allowed for all
/// clients, that does not open `$private` and user-limited channels to people who could not subscribe to them.
struct ChannelAccess {
  let channel: ChannelName
  let options: ChannelOptions
  /// Empty: anonymous.
  let user: String
  /// Whether the connection has a live subscription to the channel, from whichever side.
  let isSubscribed: Bool
  let personalChannelPrefix: String?
  /// What the user may do with the channel that this one belongs to (``ChannelOptions/followsChannel``); nil: it
  /// belongs to none.
  var subject: Subject?

  /// What the user may do with the channel that another belongs to.
  struct Subject {
    var isSubscribed: Bool
    var maySubscribeWithoutToken: Bool
    /// Not on channels of apps: the broker alone knows whom their users may see.
    var maySeePresence = false
  }

  /// Whether the backend says who may subscribe. Who may subscribe to channels with users in their name, to private ones
  /// and to those that follow another is said already.
  var isDecidedByBackend: Bool {
    options.subscribeProxy && options.app == nil && !options.followsChannel && channel.limitedToUsers == nil
      && closedByName == nil
  }

  var maySubscribeWithoutToken: Bool { subscribing.isAllowed }
  /// As if there were no backend to ask.
  var maySubscribeByOptions: Bool { subscribingByOptions.isAllowed }
  var mayPublish: Bool { publishing.isAllowed }
  var mayReadHistory: Bool { readingHistory.isAllowed }
  var maySeePresence: Bool { seeingPresence.isAllowed }

  /// Whoever may publish may change what they published.
  var mayEdit: Bool { options.app != nil ? options.allowEditForAuthor : options.allowEditForAuthor && mayPublish }

  /// A map can be read without subscribing to it by whoever may subscribe.
  var mayReadMap: Bool { isSubscribed || maySubscribeWithoutToken }

  // MARK: Verdicts

  func verdict(on action: ChannelAction) -> AccessVerdict {
    switch action {
    case .subscribe: subscribing
    case .publish: publishing
    case .history: readingHistory
    case .presence: seeingPresence
    }
  }

  /// Whether the user may subscribe without a subscription token and without the backend's word.
  private var subscribing: AccessVerdict { isDecidedByBackend ? .refused(.backend) : subscribingByOptions }

  private var subscribingByOptions: AccessVerdict {
    // The broker asks the app, and refuses whom the app does not admit.
    if options.app != nil { return user.isEmpty ? .refused(.appNeedsUser) : .allowed(.app) }
    if options.followsChannel {
      guard let subject else { return .refused(.noSubject) }
      if options.mapPresence != .none {
        return AccessVerdict(isAllowed: subject.maySeePresence, reason: .presenceOfSubject)
      }
      if subject.isSubscribed { return .allowed(.onSubject) }
      return subject.maySubscribeWithoutToken ? .allowed(.subject) : .refused(.subjectClosed)
    }
    if let closed = closedByName { return .refused(closed) }
    if channel.limitedToUsers != nil { return .allowed(.listed) }
    return user.isEmpty
      ? AccessVerdict(isAllowed: options.allowSubscribeForAnonymous, reason: .option(.subscribeForAnonymous))
      : AccessVerdict(isAllowed: options.allowSubscribeForClient, reason: .option(.subscribeForClient))
  }

  private var publishing: AccessVerdict {
    if options.app != nil { return .refused(.appWrites) }
    if options.mapPresence != .none { return .refused(.presenceMap) }
    return verdict(
      subscriber: options.allowPublishForSubscriber, .publishForSubscriber,
      client: options.allowPublishForClient, .publishForClient,
      anonymous: options.allowPublishForAnonymous, .publishForAnonymous)
  }

  private var readingHistory: AccessVerdict {
    if options.app != nil { return user.isEmpty ? .refused(.appNeedsUser) : .allowed(.app) }
    return verdict(
      subscriber: options.allowHistoryForSubscriber, .historyForSubscriber,
      client: options.allowHistoryForClient, .historyForClient,
      anonymous: options.allowHistoryForAnonymous, .historyForAnonymous)
  }

  private var seeingPresence: AccessVerdict {
    if options.app != nil { return user.isEmpty ? .refused(.appNeedsUser) : .allowed(.app) }
    return verdict(
      subscriber: options.allowPresenceForSubscriber, .presenceForSubscriber,
      client: options.allowPresenceForClient, .presenceForClient,
      anonymous: options.allowPresenceForAnonymous, .presenceForAnonymous)
  }

  @inline(__always)
  private func verdict(
    subscriber: Bool, _ forSubscriber: AccessOption, client: Bool, _ forClient: AccessOption, anonymous: Bool,
    _ forAnonymous: AccessOption
  ) -> AccessVerdict {
    if isSubscribed && subscriber { return .allowed(.option(forSubscriber)) }
    // Whoever is on the channel may write its receipts, subscribed to them or not.
    if options.followsChannel {
      return subscriber && subject?.isSubscribed == true ? .allowed(.onSubject) : .refused(.notOnSubject)
    }
    if !isSubscribed, let closed = closedByName { return .refused(closed) }
    return user.isEmpty
      ? AccessVerdict(isAllowed: anonymous, reason: .option(forAnonymous))
      : AccessVerdict(isAllowed: client, reason: .option(forClient))
  }

  /// Why the name keeps this user out: `$…`, somebody's personal channel, a limit that does not list them; nil: it does
  /// not.
  ///
  /// All names that look like a personal channel are closed, the user's own too (the server subscribes them to it): a
  /// user id may hold `,` or `#`, and then the name alone does not tell whose it is.
  private var closedByName: AccessReason? {
    if channel.isPrivate { return .privateName }
    if let prefix = personalChannelPrefix, channel.string.utf8.starts(with: prefix.utf8) { return .personalChannel }
    guard let listed = channel.limitedToUsers else { return nil }
    guard options.allowUserLimitedChannels else { return .userLimitsOff }
    return !user.isEmpty && listed.contains { $0.hasSameBytes(as: user) } ? nil : .notListed
  }
}

extension SessionRules {
  /// Reads a channel's name and finds its namespace.
  func parse(_ name: String) -> Result<(ChannelName, ChannelOptions), ClientError> {
    do throws(ChannelName.Invalid) {
      let channel = try ChannelName(name, limit: configuration.maximumChannelNameLength)
      guard let options = namespaces.options(for: channel) else {
        let namespace = String(channel.namespace ?? "")
        return .failure(.unknownChannel.saying("the namespace \(excerpt(of: namespace)) is not configured"))
      }
      return .success((channel, options))
    } catch {
      return .failure(.badRequest.saying(error.description))
    }
  }

  /// What a user may do with a channel: for sessions and for whoever asks about them alike.
  ///
  /// - Parameter isSubscribed: whether the connection has a live subscription to a channel.
  func access(
    to channel: ChannelName, _ options: ChannelOptions, user: String, isSubscribed: (ChannelName) -> Bool
  ) -> ChannelAccess {
    var access = ChannelAccess(
      channel: channel, options: options, user: user, isSubscribed: isSubscribed(channel),
      personalChannelPrefix: personalChannelPrefix)
    if options.followsChannel { access.subject = subject(of: channel, user: user, isSubscribed: isSubscribed) }
    return access
  }

  /// What the user may do with the channel that another belongs to. That channel belongs to none itself, so this goes
  /// no further.
  func subject(
    of channel: ChannelName, user: String, isSubscribed: (ChannelName) -> Bool
  ) -> ChannelAccess.Subject? {
    guard case .success((let name, let options)) = parse(channel.rest), !options.followsChannel else { return nil }
    let access = ChannelAccess(
      channel: name, options: options, user: user, isSubscribed: isSubscribed(name),
      personalChannelPrefix: personalChannelPrefix)
    // Who may subscribe to an app's channel only the broker knows: here, those may who are on it.
    return .init(
      isSubscribed: access.isSubscribed,
      maySubscribeWithoutToken: options.app == nil && access.maySubscribeWithoutToken,
      maySeePresence: options.app == nil && access.maySeePresence)
  }
}
