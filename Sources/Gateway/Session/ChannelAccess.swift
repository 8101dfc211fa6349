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
  }

  /// Whether the backend says who may subscribe. Who may subscribe to channels with users in their name, to private ones
  /// and to those that follow another is said already.
  var isDecidedByBackend: Bool {
    options.subscribeProxy && options.app == nil && !options.followsChannel && channel.limitedToUsers == nil
      && isOpenByName
  }

  var maySubscribeWithoutToken: Bool { !isDecidedByBackend && maySubscribeByOptions }

  /// As if there were no backend to ask.
  var maySubscribeByOptions: Bool {
    // The broker asks the app, and refuses whom the app does not admit.
    if options.app != nil { return !user.isEmpty }
    if options.followsChannel { return subject.map { $0.isSubscribed || $0.maySubscribeWithoutToken } ?? false }
    guard isOpenByName else { return false }
    if channel.limitedToUsers != nil { return true }
    return user.isEmpty ? options.allowSubscribeForAnonymous : options.allowSubscribeForClient
  }

  var mayPublish: Bool {
    if options.app != nil { return false }
    return allows(
      subscriber: options.allowPublishForSubscriber, client: options.allowPublishForClient,
      anonymous: options.allowPublishForAnonymous)
  }

  var mayReadHistory: Bool {
    if options.app != nil { return !user.isEmpty }
    return allows(
      subscriber: options.allowHistoryForSubscriber, client: options.allowHistoryForClient,
      anonymous: options.allowHistoryForAnonymous)
  }

  var maySeePresence: Bool {
    if options.app != nil { return !user.isEmpty }
    return allows(
      subscriber: options.allowPresenceForSubscriber, client: options.allowPresenceForClient,
      anonymous: options.allowPresenceForAnonymous)
  }

  /// Whoever may publish may change what they published.
  var mayEdit: Bool { options.app != nil ? options.allowEditForAuthor : options.allowEditForAuthor && mayPublish }

  /// A map can be read without subscribing to it by whoever may subscribe.
  var mayReadMap: Bool { isSubscribed || maySubscribeWithoutToken }

  private func allows(subscriber: Bool, client: Bool, anonymous: Bool) -> Bool {
    if isSubscribed && subscriber { return true }
    // Whoever is on the channel may write its receipts, subscribed to them or not.
    if options.followsChannel { return subscriber && subject?.isSubscribed == true }
    guard isSubscribed || isOpenByName else { return false }
    return user.isEmpty ? anonymous : client
  }

  /// False where the name keeps this user out: `$…`, somebody's personal channel, a limit that does not list them.
  ///
  /// All names that look like a personal channel are closed, the user's own too (the server subscribes them to it): a
  /// user id may hold `,` or `#`, and then the name alone does not tell whose it is.
  private var isOpenByName: Bool {
    if channel.isPrivate { return false }
    if let prefix = personalChannelPrefix, channel.string.utf8.starts(with: prefix.utf8) { return false }
    guard let listed = channel.limitedToUsers else { return true }
    return options.allowUserLimitedChannels && !user.isEmpty && listed.contains { $0.hasSameBytes(as: user) }
  }
}
