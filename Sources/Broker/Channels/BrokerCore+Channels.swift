import Log
import Wire

/// Which channels the broker holds in memory: who opens one, and when it is forgotten.
///
/// Only subscriptions and publications open a channel that does not exist. Requests that only look (history, presence,
/// a map, unread counts) get an empty answer about such a channel and leave nothing behind.
extension BrokerCore {
  func options(of name: ChannelName) throws(ClientError) -> ChannelOptions {
    guard let options = configuration.namespaces.options(for: name) else {
      throw .unknownChannel.saying("the namespace of channel \"\(name)\" is not configured")
    }
    return options
  }

  /// The channel's state, opened in the log where it was not in use. Whether the requester may have the channel must be
  /// decided before.
  func channel(_ name: ChannelName, in turn: inout Turn) throws(ClientError) -> BrokerChannel {
    if let state = channels[name] { return state }
    let options = try options(of: name)
    let opened = try stores.load(name, options, in: &turn)
    return open(name, options, opened, in: &turn)
  }

  /// The channel's state, for a requester who may bring it into being, within the limits for making channels.
  ///
  /// - Throws: the limit that is reached; ``ClientError/waits`` where the store has to open the channel.
  func channel(
    _ name: ChannelName, _ options: ChannelOptions, madeBy maker: ChannelTable.Maker, in turn: inout Turn
  ) throws(ClientError) -> BrokerChannel {
    if let state = channels[name] { return state }
    try channels.checkMemory(for: maker, options)
    let opened = try stores.load(name, options, in: &turn)
    do throws(ClientError) { try channels.checkMaking(opened, options, by: maker, at: turn.time) } catch {
      stores.giveBack(opened, name, options)
      throw error
    }
    let state = open(name, options, opened, in: &turn)
    channels.noteMade(state, by: maker)
    return state
  }

  /// The channel for a request that only looks. A channel that exists is opened, so that a second look finds it in
  /// memory; one that does not exist is not made.
  ///
  /// - Returns: the state, nil where nothing was ever published on the channel; and the top of the stream.
  func existing(
    _ name: ChannelName, _ options: ChannelOptions, in turn: inout Turn
  ) throws(ClientError) -> (state: BrokerChannel?, top: StreamPosition) {
    if let state = channels[name] { return (state, state.sequencer.top) }
    let opened = try stores.load(name, options, ifExists: true, in: &turn)
    guard opened.exists else { return (nil, opened.position) }
    let state = open(name, options, opened, in: &turn)
    return (state, state.sequencer.top)
  }

  /// The channel that an app looks at while it decides; nil where nothing was ever published on it.
  func existing(_ name: ChannelName, in turn: inout Turn) throws(ClientError) -> BrokerChannel? {
    if let state = channels[name] { return state }
    return try existing(name, try options(of: name), in: &turn).state
  }

  /// Makes the state of a channel that the store has opened. From here on the channel is in use.
  private func open(
    _ name: ChannelName, _ options: ChannelOptions, _ opened: OpenedChannel, in turn: inout Turn
  ) -> BrokerChannel {
    let time = turn.time
    var opened = opened
    #if MUTATIONS
      if mutation == .forgetsDecisions { (opened.idempotencyKeys, opened.recentOrigins) = ([], [:]) }
    #endif
    let state = BrokerChannel(
      name: name, options: options, store: stores.store(of: options), opened: opened,
      namespace: tally.namespace(of: name))
    state.past = ChannelPast(openedTop: opened.position.offset, openedAt: time.wall)
    state.hooks = webhooks?.hooks(of: name, options)
    state.tellsUsers = tellsUsers(of: name, options)
    openMap(of: state, opened.entries, at: time)
    tiePresenceMaps(of: state)
    channels.open(state, holding: opened.idempotencyKeys, at: time)
    refreshOpened(state, in: &turn)
    return state
  }
}
