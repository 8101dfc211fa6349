import Log
import Wire

/// Which channels the broker holds in memory: who opens one, and when it is forgotten.
///
/// Only what needs a channel opens it: a subscription and a publication. Whoever only looks (history, presence, a map, what
/// is unread) gets what is there, and of a channel that does not exist an empty answer: asking leaves nothing behind.
extension BrokerCore {
  func options(of name: ChannelName) throws(ClientError) -> ChannelOptions {
    guard let options = configuration.namespaces.options(for: name) else {
      throw .unknownChannel.saying("the namespace of channel \"\(name)\" is not configured")
    }
    return options
  }

  /// The channel's state, opened in the log where it was not in use. Whoever may be refused must be admitted before.
  func channel(_ name: ChannelName, in turn: inout Turn) throws(ClientError) -> ChannelState {
    if let state = channels[name] { return state }
    let options = try options(of: name)
    let opened = try stores.load(name, options, in: &turn)
    return open(name, options, opened, in: &turn)
  }

  /// The same for a client, who may make so many.
  func channel(
    _ name: ChannelName, _ options: ChannelOptions, madeBy maker: ChannelTable.Maker, in turn: inout Turn
  ) throws(ClientError) -> ChannelState {
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

  /// For those who only look: opens what exists, so that a second look finds it in memory, and nothing else.
  ///
  /// - Returns: the state, nil where nothing was ever published on the channel; and the top of the stream.
  func existing(
    _ name: ChannelName, _ options: ChannelOptions, in turn: inout Turn
  ) throws(ClientError) -> (state: ChannelState?, top: StreamPosition) {
    if let state = channels[name] { return (state, state.sequencer.top) }
    let opened = try stores.load(name, options, ifExists: true, in: &turn)
    guard opened.exists else { return (nil, opened.position) }
    let state = open(name, options, opened, in: &turn)
    return (state, state.sequencer.top)
  }

  /// The same for what an app looks at while it decides.
  func existing(_ name: ChannelName, in turn: inout Turn) throws(ClientError) -> ChannelState? {
    if let state = channels[name] { return state }
    return try existing(name, try options(of: name), in: &turn).state
  }

  /// From here on the channel is in use.
  private func open(
    _ name: ChannelName, _ options: ChannelOptions, _ opened: OpenedChannel, in turn: inout Turn
  ) -> ChannelState {
    let time = turn.time
    var opened = opened
    #if MUTATIONS
      if mutation == .forgetsDecisions { (opened.idempotencyKeys, opened.recentOrigins) = ([], [:]) }
    #endif
    let state = ChannelState(name: name, options: options, store: stores.store(of: options), opened: opened)
    openMap(of: state, opened.entries, at: time)
    channels.open(state, holding: opened.idempotencyKeys, at: time)
    refreshOpened(state, in: &turn)
    return state
  }
}
