import DequeModule
import Wire

/// What clients of a gateway track of shared polls, and when the backend is asked: a pure machine.
///
/// A shared poll is for what changes in a place that cannot say so: a database, somebody else's API. Clients would ask
/// for it again and again, each by itself. Here they say which keys of a channel they want to hear of (they *track*
/// them), the gateway asks the backend for all keys that somebody tracks, and each client gets what is new to it.
///
/// A channel is there while somebody tracks a key of it. Its states (``PolledChannel/Phase``):
///
///     (none) ──the first key is tracked──▶ resting ──due, and a call is free──▶ asking
///                                           │  ▲ └──due, and none is free──▶ queued ──a call ends──▶ asking
///                                           │  │                                                      │
///                                           │  └──────────────answered, or failed────────────────────┘
///     (none) ◀──the last key was untracked, and the channel has lingered
///
/// A *round* asks for every key once, in calls of at most ``PollOptions/batchSize`` keys, one after another, spread over
/// the interval. Rounds of one channel begin an interval apart, a tenth more or less, so that channels that were first
/// tracked together are not asked for together ever after. So a key costs the backend one question an interval,
/// however many clients track it.
///
/// A key that nobody has data of does not wait for the round: it is asked for at once, together with all others that
/// came meanwhile. Yet a channel asks no more often than each ``urgentGap``, and has one call under way at a time, so
/// that clients that track and untrack cannot make a gateway flood its backend. For this a channel lingers for a moment
/// when nobody tracks anything of it any more.
///
/// After a call that fails, the channel rests for an interval, then for two, four, … up to ``longestRest``; after an
/// answer it goes on as before.
///
/// *Versions.* Where the namespace says `versioned`, they are the backend's: they rise with each change, and the
/// backend's epoch says when they begin anew. Else they are the gateway's own, from one counter for all keys: data that
/// differs from what was there before gets the next number. None is given twice, so that a key which was forgotten and
/// tracked again cannot come under a version that a client has of something else.
///
/// Three promises, each by construction:
/// - A client gets each version of a key that it tracks once at most, and never an older one after a newer one.
/// - Whoever tracks a key has the newest version that an answer brought, or it is owed to them: then the next call asks
///   for it as if nothing were known.
/// - Of a key that nobody tracks nothing is kept, and the backend is not asked for it.
///
/// Limits, each an error for whoever tracks one more: keys of a subscription and of a channel (``PollOptions``), and
/// trackings of the gateway. Data is kept while there is room for it (``Limits/dataBytes``); of a key without its data,
/// the backend is asked once more for those who come later.
struct SharedPoll: ~Copyable {
  struct Limits: Sendable, Equatable {
    /// Keys that all subscriptions of the gateway track, one that two track counted twice.
    var trackings: Int
    /// Bytes of data that are kept for those who track a key later.
    var dataBytes: Int
    /// Calls that are under way at a time.
    var calls: Int
    /// Bytes of data in the answer to one client that tracks; what does not fit follows.
    var answerBytes: Int
    /// How long a key stays whose signature has expired, in seconds.
    var graceSeconds: Int64
  }

  struct Counts: Equatable {
    var channels = 0
    /// Keys that somebody tracks.
    var keys = 0
    var trackings = 0
    var dataBytes = 0
    var callsUnderWay = 0
  }

  /// Milliseconds between two calls of one channel of which the later does not wait for the round.
  static let urgentGap: Int64 = 100
  /// Milliseconds of the longest rest after failures, for intervals that are shorter.
  static let longestRest: Int64 = 60_000
  /// Milliseconds for which a channel lingers: whoever comes back finds when it was last asked for.
  static let linger: Int64 = 1000
  /// The same where the backend has an epoch, which those must find who subscribe anew because of it.
  static let epochLinger: Int64 = 30_000
  /// Channels that linger at a time; of more, the first goes.
  static let mostLingering = 10_000

  let limits: Limits
  var counts = Counts()
  /// Of the versions that are the gateway's own.
  private let ownEpoch: String
  private var randomness: any RandomNumberGenerator
  /// The last of the versions that are the gateway's own.
  var lastVersion: UInt64 = 0
  private var lastCall: UInt64 = 0
  private(set) var channels: [ChannelName: PolledChannel] = [:]
  private var calls: [UInt64: ChannelName] = [:]
  private var dues = DueHeap<ChannelName>()
  /// Channels that wait for a call to end, and names of some that have gone meanwhile.
  private var line: Deque<ChannelName> = []
  private var lingering: Deque<ChannelName> = []

  /// - Parameter epoch: differs from that of any gateway before.
  init(_ limits: Limits, epoch: String, randomness: any RandomNumberGenerator) {
    self.limits = limits
    self.randomness = randomness
    ownEpoch = epoch
  }

  /// When ``due(at:into:)`` has something to do, in monotonic milliseconds; nil: never.
  var nextDue: Int64? { dues.next }

  /// The epoch for whoever subscribes to a channel now.
  func epoch(of channel: ChannelName, _ options: PollOptions) -> String {
    options.isVersioned ? channels[channel]?.epoch ?? "" : ownEpoch
  }

  // MARK: Tracking

  mutating func track(
    _ ask: PollTrack, of subscriber: PollSubscriber, _ options: PollOptions, at time: SessionTime,
    into effects: inout [PollEffect]
  ) -> PollTracked {
    let known = channels[ask.channel]
    if let known, options.isVersioned, !known.epoch.hasSameBytes(as: ask.epoch) { return .otherEpoch }
    let untracked = Set(ask.untracked.map(IdentifierKey.init))
    var wanted: [IdentifierKey: PollTrack.Item] = [:]
    for item in ask.items { wanted[IdentifierKey(item.key)] = item }
    for key in untracked { wanted[key] = nil }
    if let refusal = refusal(of: wanted, untracking: untracked, subscriber, known, options) { return refusal }
    if let known { untrack(untracked, of: subscriber, in: known) }
    guard !wanted.isEmpty else {
      if let known { settle(known, at: time) }
      return .tracked([])
    }
    let channel = known ?? begin(ask.channel, options, epoch: ask.epoch, at: time.monotonic)
    var publications: [Publication] = []
    var bytes = 0
    for (key, item) in wanted {
      enter(key, item, of: subscriber, in: channel)
      if let publication = catchUp(key, item.version, subscriber, channel, &bytes) { publications.append(publication) }
    }
    settle(channel, at: time)
    goOn(at: time, into: &effects)
    return .tracked(publications)
  }

  /// - Returns: nil where all fits.
  private func refusal(
    of wanted: [IdentifierKey: PollTrack.Item], untracking untracked: Set<IdentifierKey>,
    _ subscriber: PollSubscriber, _ channel: PolledChannel?, _ options: PollOptions
  ) -> PollTracked? {
    let own = channel?.subscribers[subscriber]?.expiries ?? [:]
    let added = wanted.keys.count(where: { own[$0] == nil }) - untracked.count(where: { own[$0] != nil })
    if own.count + added > options.keysPerClient {
      return .refused(
        .limitExceeded.saying("a subscription tracks at most \(options.keysPerClient) keys; untrack some"), .polledKeys)
    }
    let new = channel.map { channel in wanted.keys.count(where: { channel.keys[$0] == nil }) } ?? wanted.count
    if (channel?.keys.count ?? 0) + new > options.keysPerChannel {
      return .refused(
        .limitExceeded.saying("at most \(options.keysPerChannel) keys of this channel are tracked"), .polledKeys)
    }
    guard counts.trackings + added > limits.trackings else { return nil }
    return .refused(.limitExceeded.saying("as many keys are tracked on this server as it allows"), .polledTrackings)
  }

  private mutating func begin(
    _ name: ChannelName, _ options: PollOptions, epoch: String, at now: Int64
  ) -> PolledChannel {
    let interval = options.intervalMilliseconds
    let first = Int64.random(in: (interval / 2)...interval, using: &randomness)
    let channel = PolledChannel(name, options, epoch: epoch, nextRound: saturatingSum(now, first))
    channels[name] = channel
    counts.channels += 1
    return channel
  }

  private mutating func enter(
    _ key: IdentifierKey, _ item: PollTrack.Item, of subscriber: PollSubscriber, in channel: PolledChannel
  ) {
    if channel.keys[key] == nil {
      channel.keys[key] = .init()
      counts.keys += 1
    }
    if channel.keys[key]?.watchers.updateValue(item.version, forKey: subscriber) == nil { counts.trackings += 1 }
    channel.subscribers[subscriber, default: .init()].expiries[key] = item.expiresAt
    let earliest = channel.subscribers[subscriber]?.earliest ?? .max
    channel.subscribers[subscriber]?.earliest = min(earliest, item.expiresAt)
    channel.earliestExpiry = min(channel.earliestExpiry, item.expiresAt)
  }

  /// Gives a client what is known of a key and new to it, or has it asked for.
  private func catchUp(
    _ key: IdentifierKey, _ version: UInt64, _ subscriber: PollSubscriber, _ channel: PolledChannel, _ bytes: inout Int
  ) -> Publication? {
    guard let state = channel.keys[key] else { return nil }
    guard state.version > version else {
      // Nobody knows yet what it is. A client that has a version is in no hurry.
      if version == 0, state.version == 0, !state.wasAsked { channel.hurry(key) }
      return nil
    }
    if let data = state.data, bytes + data.count <= limits.answerBytes {
      bytes += data.count
      channel.keys[key]?.watchers[subscriber] = state.version
      return Publication(data: data, change: KeyChange(key: key.string, version: state.version))
    }
    channel.keys[key]?.hasLaggards = true
    channel.hurry(key)
    return nil
  }

  mutating func untrack(
    _ keys: [String], of subscriber: PollSubscriber, in name: ChannelName, at time: SessionTime
  ) {
    guard let channel = channels[name] else { return }
    untrack(keys.map(IdentifierKey.init), of: subscriber, in: channel)
    settle(channel, at: time)
  }

  /// The subscription is over.
  mutating func leave(_ subscriber: PollSubscriber, _ name: ChannelName, at time: SessionTime) {
    guard let channel = channels[name], let keys = channel.subscribers[subscriber] else { return }
    untrack(keys.expiries.keys, of: subscriber, in: channel)
    settle(channel, at: time)
  }

  mutating func untrack(
    _ keys: some Sequence<IdentifierKey>, of subscriber: PollSubscriber, in channel: PolledChannel
  ) {
    for key in keys {
      guard channel.subscribers[subscriber]?.expiries.removeValue(forKey: key) != nil else { continue }
      counts.trackings -= 1
      channel.keys[key]?.watchers[subscriber] = nil
      if channel.keys[key]?.watchers.isEmpty == true { drop(key, of: channel) }
    }
    if channel.subscribers[subscriber]?.expiries.isEmpty == true { channel.subscribers[subscriber] = nil }
  }

  private mutating func drop(_ key: IdentifierKey, of channel: PolledChannel) {
    guard let state = channel.keys.removeValue(forKey: key) else { return }
    counts.keys -= 1
    counts.dataBytes -= state.data?.count ?? 0
  }

  /// Ends the tracking of keys whose signature has expired, and the grace after it.
  private mutating func expire(_ channel: PolledChannel, at wall: Int64) {
    let end = saturatingSum(wall, -limits.graceSeconds)
    guard channel.earliestExpiry <= end else { return }
    for (subscriber, keys) in channel.subscribers where keys.earliest <= end {
      untrack(keys.expiries.filter { $0.value <= end }.keys, of: subscriber, in: channel)
      channel.subscribers[subscriber]?.earliest = keys.expiries.values.filter { $0 > end }.min() ?? .max
    }
    channel.earliestExpiry = channel.subscribers.values.map(\.earliest).min() ?? .max
  }

  // MARK: Asking

  mutating func due(at time: SessionTime, into effects: inout [PollEffect]) {
    while let (at, name) = dues.take(by: time.monotonic) {
      guard let channel = channels[name], channel.scheduledAt == at else { continue }
      channel.scheduledAt = .max
      settle(channel, at: time)
    }
    goOn(at: time, into: &effects)
  }

  /// Brings a channel that rests to where its time has come, and one that nobody needs to its end.
  private mutating func settle(_ channel: PolledChannel, at time: SessionTime) {
    if channel.keys.isEmpty { return idle(channel, at: time.monotonic) }
    channel.lingersUntil = .max
    guard case .resting = channel.phase else { return }
    if channel.due <= time.monotonic {
      channel.phase = .queued
      line.append(channel.name)
    } else {
      schedule(channel)
    }
  }

  private mutating func schedule(_ channel: PolledChannel) {
    guard channel.due < channel.scheduledAt else { return }
    channel.scheduledAt = channel.due
    dues.insert(channel.name, at: channel.due)
    guard dues.count > 4 * counts.channels + 1024 else { return }
    // Most of it are times that count no more.
    dues = DueHeap()
    for channel in channels.values where channel.scheduledAt != .max {
      dues.insert(channel.name, at: channel.scheduledAt)
    }
  }

  /// Nobody tracks a key of the channel: it lingers, then goes. While the backend is being asked it stays in any case, so
  /// that it is not asked twice at a time.
  private mutating func idle(_ channel: PolledChannel, at now: Int64) {
    if case .queued = channel.phase { channel.phase = .resting }
    if channel.lingersUntil == .max {
      let hasEpoch = channel.options.isVersioned && !channel.epoch.isEmpty
      channel.lingersUntil = saturatingSum(now, hasEpoch ? Self.epochLinger : Self.linger)
      (channel.rest, channel.urgent) = ([], [])
      lingering.append(channel.name)
      if lingering.count > Self.mostLingering, let first = lingering.popFirst(), let oldest = channels[first],
        oldest.keys.isEmpty, !oldest.isAsking
      {
        forget(oldest)
      }
    }
    guard !channel.isAsking, channels[channel.name] === channel else { return }
    if now >= channel.lingersUntil { forget(channel) } else { schedule(channel) }
  }

  private mutating func forget(_ channel: PolledChannel) {
    channels[channel.name] = nil
    counts.channels -= 1
    while let first = lingering.first, channels[first]?.keys.isEmpty != true { lingering.removeFirst() }
  }

  /// Asks for the channels that wait, as far as calls are free.
  private mutating func goOn(at time: SessionTime, into effects: inout [PollEffect]) {
    while counts.callsUnderWay < limits.calls, let name = line.popFirst() {
      guard let channel = channels[name], case .queued = channel.phase else { continue }
      channel.phase = .resting
      expire(channel, at: time.wall)
      let interval = channel.options.intervalMilliseconds
      let jittered = interval + Int64.random(in: -(interval / 10)...(interval / 10), using: &randomness)
      let items = channel.nextItems(at: time.monotonic, interval: jittered)
      guard !items.isEmpty else {
        settle(channel, at: time)
        continue
      }
      lastCall += 1
      let call = PollCall(number: lastCall, channel: name, items: items)
      calls[lastCall] = name
      counts.callsUnderWay += 1
      channel.phase = .asking(call)
      channel.askedAt = time.monotonic
      effects.append(.ask(call))
    }
  }

  /// A call has ended. One whose channel has gone meanwhile, or has begun anew, says nothing any more.
  mutating func answered(
    _ number: UInt64, _ answer: PollAnswer, at time: SessionTime, into effects: inout [PollEffect]
  ) {
    guard let name = calls.removeValue(forKey: number) else { return }
    counts.callsUnderWay -= 1
    if let channel = channels[name], case .asking(let call) = channel.phase, call.number == number {
      channel.phase = .resting
      switch answer {
      case .failed: failed(channel, call, at: time.monotonic)
      case .items(let items, let epoch):
        (channel.failures, channel.notBefore) = (0, .min)
        take(items, of: call, epoch: epoch, in: channel, into: &effects)
      }
      settle(channel, at: time)
    }
    goOn(at: time, into: &effects)
  }

  /// The whole round is asked for again, after a rest that is longer each time.
  private mutating func failed(_ channel: PolledChannel, _ call: PollCall, at now: Int64) {
    channel.failures += 1
    let interval = channel.options.intervalMilliseconds
    let most = max(interval, Self.longestRest)
    let pause = min(interval << Int64(min(channel.failures - 1, 16)), most)
    channel.notBefore = saturatingSum(now, pause + Int64.random(in: 0...(pause / 10), using: &randomness))
    channel.nextRound = channel.notBefore
    (channel.rest, channel.urgent) = ([], [])
    for key in channel.keys.keys { channel.keys[key]?.isUrgent = false }
  }
}
