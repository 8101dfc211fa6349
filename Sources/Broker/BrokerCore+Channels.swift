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

  /// The channel's state where it is in use.
  func inUse(_ name: ChannelName) -> ChannelState? {
    if let recentChannel, recentChannel.name == name { return recentChannel }
    guard let state = channels[name] else { return nil }
    recentChannel = state
    return state
  }

  /// The channel's state, opened in the log where it was not in use. Whoever may be refused must be admitted before.
  func channel(_ name: ChannelName, in turn: inout Turn) throws(ClientError) -> ChannelState {
    if let state = inUse(name) { return state }
    let options = try options(of: name)
    let opened = try load(name, options, in: &turn)
    return open(name, options, opened, in: &turn)
  }

  /// The same for a client, who may make so many.
  func channel(
    _ name: ChannelName, _ options: ChannelOptions, madeBy maker: Maker, in turn: inout Turn
  ) throws(ClientError) -> ChannelState {
    if let state = inUse(name) { return state }
    try checkMemory(for: maker, options)
    let opened = try load(name, options, in: &turn)
    do throws(ClientError) { try checkMaking(opened, options, by: maker, at: turn.time) } catch {
      if !room.giveBack(opened, name) { store(of: options).release(name) }
      throw error
    }
    let state = open(name, options, opened, in: &turn)
    noteMade(state, by: maker)
    return state
  }

  /// For those who only look: opens what exists, so that a second look finds it in memory, and nothing else.
  ///
  /// - Returns: the state, nil where nothing was ever published on the channel; and the top of the stream.
  func existing(
    _ name: ChannelName, _ options: ChannelOptions, in turn: inout Turn
  ) throws(ClientError) -> (state: ChannelState?, top: StreamPosition) {
    if let state = inUse(name) { return (state, state.sequencer.top) }
    let opened = try load(name, options, ifExists: true, in: &turn)
    guard opened.exists else { return (nil, opened.position) }
    let state = open(name, options, opened, in: &turn)
    return (state, state.sequencer.top)
  }

  /// The same for what an app looks at while it decides.
  func existing(_ name: ChannelName, in turn: inout Turn) throws(ClientError) -> ChannelState? {
    if let state = inUse(name) { return state }
    return try existing(name, try options(of: name), in: &turn).state
  }

  private func store(of options: ChannelOptions) -> any LogStore {
    options.durability == .memory ? memory : disk
  }

  /// What the store knows of a channel that is not in use. While one loads it, all others wait for that.
  private func load(
    _ name: ChannelName, _ options: ChannelOptions, ifExists: Bool = false, in turn: inout Turn
  ) throws(ClientError) -> OpenedChannel {
    let withEntries = options.kind == .map && options.mapMode == .persistent
    let question = LogQuestion.open(name, options.durability, withEntries: withEntries, ifExists: ifExists)
    return try load(question, of: store(of: options), in: &turn)
  }

  /// - Parameter question: opens a channel.
  func load(_ question: LogQuestion, of store: any LogStore, in turn: inout Turn) throws(ClientError) -> OpenedChannel {
    guard case .open(let name, _, _, let ifExists) = question else {
      preconditionFailure("a channel is loaded with the question that opens it")
    }
    if let opened = room.takeOpened(name, ifExists: ifExists) { return opened }
    if let other = room.opening(name) {
      turn.missing.append(other)
      throw .waits
    }
    guard case .opened(let opened) = try ask(question, of: store, in: &turn) else {
      preconditionFailure("a store opens a channel that it is asked to open")
    }
    return opened
  }

  /// From here on the channel is in use.
  private func open(
    _ name: ChannelName, _ options: ChannelOptions, _ opened: OpenedChannel, in turn: inout Turn
  ) -> ChannelState {
    let time = turn.time
    var opened = opened
    #if DEBUG
      if mutation == .forgetsDecisions { (opened.idempotencyKeys, opened.recentOrigins) = ([], [:]) }
    #endif
    let state = ChannelState(name: name, options: options, store: store(of: options), opened: opened)
    openMap(of: state, opened.entries, at: time)
    channels[name] = state
    for record in opened.idempotencyKeys { hold(record, upon: nil, of: nil, in: state, at: time) }
    mapBytes += state.map?.bytes ?? 0
    state.rate = TokenLevel(configuration.channelRate)
    if options.durability == .memory { state.owner = accounts?.owner(of: name) }
    noteEnds(of: state)
    noteIdle(state, at: time)
    recentChannel = state
    refreshOpened(state, in: &turn)
    return state
  }

  // MARK: Idempotency keys

  /// - Parameter ticket: nil where the log has the publication already.
  func hold(
    _ record: IdempotencyRecord, upon ticket: UInt64?, of owner: String?, in state: ChannelState, at time: BrokerTime
  ) {
    let owner = owner.flatMap { $0.isEmpty ? nil : IdentifierKey($0) }
    state.idempotency.hold(record, upon: ticket, of: owner, until: time.deadline(ofWall: record.expires))
    keyShares.add(owner)
    if state.idempotency.count == 1, let end = state.idempotency.nextEnd { keyEnds.set(state.name, at: end) }
  }

  /// - Throws: where the channel, the publisher or the broker holds as many keys as are allowed.
  func checkKeys(_ owner: String?, in state: ChannelState) throws(ClientError) {
    let limits = configuration.idempotencyKeys
    let isFull =
      state.idempotency.count >= limits.ofChannel || keyShares.total >= limits.inAll
      || keyShares.count(of: owner) >= limits.ofUser
    guard isFull else { return }
    counters.keysRefused += 1
    note(.idempotencyKeys, from: owner ?? "a service")
    throw .tooManyRequests.saying(
      "too many idempotency keys are held for the time that they are remembered; publish more slowly, or without a key")
  }

  func forgetKeys(at time: BrokerTime) {
    var left = Self.forgottenPerTurn
    while left > 0, let name = keyEnds.next(upTo: time.monotonic) {
      guard let state = channels[name] else { continue }
      while left > 0, let ended = state.idempotency.endNext(upTo: time.monotonic) {
        left -= 1
        keyShares.remove(ended.owner)
      }
      if let end = state.idempotency.nextEnd { keyEnds.set(name, at: end) }
    }
  }

  // MARK: The end of a channel in memory

  /// Starts the clock after which a channel without subscribers is forgotten.
  func noteIdle(_ state: ChannelState, at time: BrokerTime) {
    guard state.interest.isEmpty && state.members.isEmpty && state.idleSince == nil else { return }
    state.idleSince = time.monotonic
    queueAsIdle(state, at: time.monotonic)
  }

  /// A channel that subscribers come to and leave all the time stands in the queue once, from when it was idle first.
  private func queueAsIdle(_ state: ChannelState, at time: Int64) {
    if state.isHidden || state.isQueuedAsIdle { return }
    state.isQueuedAsIdle = true
    idle.add(state.name, at: time)
  }

  func forgetIdleChannels(at time: BrokerTime) {
    let limit = time.monotonic - configuration.idleChannelTimeout
    for _ in 0..<Self.forgottenPerTurn {
      guard let name = idle.next(upTo: limit) else { return }
      guard let state = channels[name] else { continue }
      state.isQueuedAsIdle = false
      guard let since = state.idleSince else { continue }
      if since > limit {
        queueAsIdle(state, at: since)
      } else if !room.isReading(name), state.canBeForgotten || isForgettableMap(state, at: time) {
        forget(state)
      } else {
        state.idleSince = time.monotonic
        queueAsIdle(state, at: time.monotonic)
      }
    }
  }

  /// Channels and keys that one turn forgets, so that a million that fall idle together hold up nobody's messages.
  static let forgottenPerTurn = 2000

  /// When more of them are to be forgotten, where one turn was not enough.
  func nextForgetting(at time: BrokerTime) -> Int64? {
    let isBehind =
      idle.nextTime.map { $0 <= time.monotonic - configuration.idleChannelTimeout } ?? false
      || keyEnds.nextTime.map { $0 <= time.monotonic } ?? false
    return isBehind ? time.monotonic + 5 : nil
  }

  /// A map in memory alone that nobody wrote or watched for long is taken for abandoned.
  private func isForgettableMap(_ state: ChannelState, at time: BrokerTime) -> Bool {
    guard let map = state.map, state.options.mapMode != .persistent, state.isAtRest, state.idempotency.isEmpty else {
      return false
    }
    return time.monotonic - map.lastWrite >= configuration.idleMapLifetime
  }

  func forget(_ state: ChannelState) {
    channels[state.name] = nil
    mapBytes -= state.map?.bytes ?? 0
    giveBackEntries(of: state)
    if recentChannel === state { recentChannel = nil }
    mapEnds.remove(state.name)
    keyEnds.remove(state.name)
    state.idempotency.forEachOwner { keyShares.remove($0) }
    state.store.release(state.name)
  }

  /// Tables that a flood has made large are made small again.
  func giveBackMemory() {
    channels.giveBackMemory()
    pending.giveBackMemory()
    followers.giveBackMemory()
    keyShares.giveBackMemory()
    for link in links.sorted { link.channels.giveBackMemory() }
  }
}

/// How many idempotency keys each publisher has under way.
struct KeyShares {
  private(set) var total = 0
  private var byOwner: [IdentifierKey: Int] = [:]

  /// - Parameter owner: nil: a key of nobody's share.
  mutating func add(_ owner: IdentifierKey?) {
    total += 1
    if let owner { byOwner[owner, default: 0] += 1 }
  }

  mutating func remove(_ owner: IdentifierKey?) {
    total -= 1
    guard let owner, let count = byOwner[owner] else { return }
    byOwner[owner] = count > 1 ? count - 1 : nil
  }

  func count(of owner: String?) -> Int {
    guard let owner, !owner.isEmpty else { return 0 }
    return byOwner[IdentifierKey(owner)] ?? 0
  }

  mutating func giveBackMemory() { byOwner.giveBackMemory() }
}
