import Log
import Wire

/// The channels in use: which of them are idle, whose keys and entries end next, and what all of them take in memory.
final class ChannelTable {
  let configuration: BrokerConfiguration
  let tally: BrokerTally
  /// What the memory store counts of its channels and users; nil where it does not count.
  let accounts: MemoryStore?
  private var states: [ChannelName: BrokerChannel] = [:]
  /// The channels once more, without gaps, so that a walk can look at some and go on later (``ChannelWalk``).
  private(set) var order: [BrokerChannel] = []
  /// The channel that was looked up last, because one command looks up the same one several times.
  private var recent: BrokerChannel?
  /// Channels without subscribers, in the order in which they fell idle, each once.
  private var idle = DueQueue<ChannelName>()
  /// Channels that hold idempotency keys, by the monotonic time at which their first key ends.
  private var keyEnds = DueIndex<ChannelName>()
  private(set) var keyShares = KeyShares()
  /// Map channels with entries that end, by the time of the first end, in milliseconds since 1970.
  private var mapEnds = DueIndex<ChannelName>()
  /// Memory that the entries of maps take, roughly.
  private(set) var mapBytes = 0
  private var fellIdle: Set<ChannelName> = []
  /// How fast each user makes new channels.
  var makers: TokenBuckets<IdentifierKey>

  init(_ configuration: BrokerConfiguration, _ accounts: MemoryStore?, _ tally: BrokerTally) {
    self.configuration = configuration
    self.accounts = accounts
    self.tally = tally
    makers = TokenBuckets(configuration.creationRate, capacity: 100_000)
  }

  /// Nil where the channel is not in use.
  subscript(name: ChannelName) -> BrokerChannel? {
    if let recent, recent.name == name { return recent }
    guard let state = states[name] else { return nil }
    recent = state
    return state
  }

  var count: Int { states.count }
  var isEmpty: Bool { states.isEmpty }
  /// Room that the table has, which must not stay large after a flood of channels. For tests.
  var capacity: Int { states.capacity }
  /// How many times are waited for: of idle channels, of channels with keys, of maps with entries that end. For tests.
  var waitingTimes: (idle: Int, keys: Int, entries: Int) { (idle.count, keyEnds.count, mapEnds.count) }

  /// Sorted, so that a simulation with the same seed runs the same way.
  var sorted: [BrokerChannel] { sorted { _ in true } }

  /// Those that are wanted, sorted: to sort all costs many times what the look at each does.
  func sorted(where isWanted: (BrokerChannel) -> Bool) -> [BrokerChannel] {
    states.values.filter(isWanted).sorted { $0.name < $1.name }
  }

  /// Channels that somebody is subscribed to.
  func active(prefix: String, limit: Int) -> [ChannelName] {
    let active = states.values.lazy.filter { !$0.interest.isEmpty || !$0.members.isEmpty }.map(\.name)
    let matching = active.filter { prefix.isEmpty || $0.string.utf8.starts(with: prefix.utf8) }
    return Array(matching.sorted().prefix(limit))
  }

  // MARK: Beginning and end

  /// Adds a channel, which is in use from here on.
  ///
  /// - Parameter keys: the idempotency keys that the store remembers of it.
  func open(_ state: BrokerChannel, holding keys: [IdempotencyRecord], at time: BrokerTime) {
    states[state.name] = state
    state.place = order.count
    order.append(state)
    state.namespace?.channels += 1
    for record in keys { remember(record, upon: nil, of: nil, in: state, at: time) }
    mapBytes += state.map?.bytes ?? 0
    state.rate = TokenLevel(configuration.channelRate)
    if state.options.durability == .memory { state.owner = accounts?.owner(of: state.name) }
    noteEnds(of: state)
    noteIdle(state, at: time)
    recent = state
  }

  /// Starts the time after which a channel is forgotten, if nobody is subscribed or present.
  func noteIdle(_ state: BrokerChannel, at time: BrokerTime) {
    guard state.interest.isEmpty && state.members.isEmpty && state.idleSince == nil else { return }
    state.idleSince = time.monotonic
    if state.hooks?.watchesOccupancy == true { fellIdle.insert(state.name) }
    queueAsIdle(state, at: time.monotonic)
  }

  /// Channels that have lost their last subscriber since the last call, of those that webhooks want to know of.
  func takeFellIdle() -> Set<ChannelName> {
    if fellIdle.isEmpty { return [] }
    defer { fellIdle = [] }
    return fellIdle
  }

  /// Puts a channel into the queue of idle channels. A channel that subscribers join and leave all the time stands
  /// there once, with the time when it was first idle.
  private func queueAsIdle(_ state: BrokerChannel, at time: Int64) {
    if state.isHidden || state.isQueuedAsIdle { return }
    state.isQueuedAsIdle = true
    idle.add(state.name, at: time)
  }

  /// Forgets channels that have been idle for long enough.
  ///
  /// - Parameter isReading: whether a store is being asked about a channel, which must then stay.
  func forgetIdle(at time: BrokerTime, unless isReading: (ChannelName) -> Bool) {
    let limit = time.monotonic - configuration.idleChannelTimeout
    for _ in 0..<Self.forgottenPerTurn {
      guard let name = idle.next(upTo: limit) else { return }
      guard let state = states[name] else { continue }
      state.isQueuedAsIdle = false
      guard let since = state.idleSince else { continue }
      if since > limit {
        queueAsIdle(state, at: since)
      } else if !isReading(name), state.canBeForgotten || isForgettableMap(state, at: time) {
        forget(state)
      } else {
        state.idleSince = time.monotonic
        queueAsIdle(state, at: time.monotonic)
      }
    }
  }

  /// Most channels, and most keys, that one turn forgets, so that a million that end together hold up nobody's
  /// messages.
  static let forgottenPerTurn = 2000

  /// Whether a map in memory alone counts as abandoned: nobody watches it, and nobody has written to it for long.
  private func isForgettableMap(_ state: BrokerChannel, at time: BrokerTime) -> Bool {
    guard let map = state.map, state.options.mapMode != .persistent, state.isAtRest, state.idempotency.isEmpty else {
      return false
    }
    return time.monotonic - map.lastWrite >= configuration.idleMapLifetime
  }

  func forget(_ state: BrokerChannel) {
    states[state.name] = nil
    let last = order.removeLast()
    if last !== state {
      order[state.place] = last
      last.place = state.place
    }
    state.namespace?.channels -= 1
    mapBytes -= state.map?.bytes ?? 0
    // The map's entries go with it and count for nobody any more.
    if let quota = state.quota, let map = state.map {
      for key in map.keys { quota.replaced(map.entry(key), by: nil, in: accounts) }
    }
    if recent === state { recent = nil }
    mapEnds.remove(state.name)
    keyEnds.remove(state.name)
    state.idempotency.forEachOwner { keyShares.remove($0) }
    state.store.release(state.name)
  }

  /// Tables that a flood has made large are made small again.
  func giveBackMemory() {
    states.giveBackMemory()
    order.giveBackMemory()
    keyShares.giveBackMemory()
  }

  // MARK: Entries of maps

  /// Applies a publication to a map when it is delivered.
  func apply(_ publication: Publication, to map: MapEntries, of state: BrokerChannel, at time: BrokerTime) {
    mapBytes -= map.bytes
    if let quota = state.quota, let change = publication.change {
      quota.replaced(map.entry(change.key), by: change.removed ? nil : publication, in: accounts)
    }
    map.apply(publication)
    mapBytes += map.bytes
    map.lastWrite = time.monotonic
    noteEnds(of: state)
  }

  /// Notes when the map's next entry ends, so that the broker looks at the map then.
  func noteEnds(of state: BrokerChannel) {
    guard let map = state.map, map.nextEnd != map.scheduledEnd else { return }
    map.scheduledEnd = map.nextEnd
    if let end = map.nextEnd { mapEnds.set(state.name, at: end) } else { mapEnds.remove(state.name) }
  }

  /// Takes out the next map of which an entry has ended. ``noteEnds(of:)`` puts it back for its other entries.
  func nextEnded(at wall: Int64) -> (state: BrokerChannel, map: MapEntries)? {
    while let name = mapEnds.next(upTo: wall) {
      guard let state = states[name], let map = state.map else { continue }
      map.scheduledEnd = nil
      return (state, map)
    }
    return nil
  }

  // MARK: Idempotency keys

  /// Remembers the idempotency key of a publication.
  ///
  /// - Parameter ticket: of the publication's entry; nil where the log has it on disk already.
  func remember(
    _ record: IdempotencyRecord, upon ticket: UInt64?, of owner: String?, in state: BrokerChannel, at time: BrokerTime
  ) {
    let owner = owner.flatMap { $0.isEmpty ? nil : IdentifierKey($0) }
    state.idempotency.remember(record, upon: ticket, of: owner, until: time.deadline(ofWall: record.expires))
    keyShares.add(owner)
    if state.idempotency.count == 1, let end = state.idempotency.nextEnd { keyEnds.set(state.name, at: end) }
  }

  func forgetKeys(at time: BrokerTime) {
    var left = Self.forgottenPerTurn
    while left > 0, let name = keyEnds.next(upTo: time.monotonic) {
      guard let state = states[name] else { continue }
      while left > 0, let ended = state.idempotency.endNext(upTo: time.monotonic) {
        left -= 1
        keyShares.remove(ended.owner)
      }
      if let end = state.idempotency.nextEnd { keyEnds.set(name, at: end) }
    }
  }

  // MARK: Time

  /// When a channel, a key or an entry has to be looked at before the next heartbeat, in monotonic milliseconds;
  /// `.max`: nothing has.
  func nextDeadline(at time: BrokerTime) -> Int64 {
    let ended = mapEnds.nextTime.map { time.deadline(ofWall: $0) } ?? .max
    // One turn has not forgotten all channels and keys whose time is over, so the next comes soon.
    let isBehind =
      idle.nextTime.map { $0 <= time.monotonic - configuration.idleChannelTimeout } ?? false
      || keyEnds.nextTime.map { $0 <= time.monotonic } ?? false
    return isBehind ? min(ended, time.monotonic + 5) : ended
  }
}

/// How many idempotency keys of each publisher are remembered.
struct KeyShares {
  private(set) var total = 0
  private var byOwner: [IdentifierKey: Int] = [:]

  /// - Parameter owner: whose share the key counts against; nil: nobody's.
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
