import Wire

/// Knows everything that clients were ever told, and complains when two of them were told different things.
struct Oracle {
  struct Place: Hashable {
    var channel: ChannelName
    var epoch: String
    var offset: UInt64
  }

  struct KeyUse {
    var channel: ChannelName
    var key: String
    var payload: [UInt8]
    /// When the key was used, by ``SimulatedClock/forward``.
    var forward: Int64
  }

  private struct KeyPlace: Hashable {
    var channel: ChannelName
    var key: String
  }

  private struct Acknowledgement {
    var place: Place
    var payload: [UInt8]
  }

  private var truth: [Place: [UInt8]] = [:]
  private var publishers: [Place: String] = [:]
  /// At which deliveries of a channel each payload was delivered: the channel's first delivery is number 1.
  private var turns: [ChannelName: [[UInt8]: [Int]]] = [:]
  private var turnCounts: [ChannelName: Int] = [:]
  private var places: [[UInt8]: [Place]] = [:]
  private var acknowledgements: [Acknowledgement] = []
  private var keys: [KeyUse] = []
  /// The publication that a key stands for since it was first acknowledged.
  private var stands: [KeyPlace: (place: Place, payload: [UInt8], forward: Int64)] = [:]
  private(set) var keysAgain = 0

  /// Takes in a publication that the broker delivers.
  ///
  /// - Returns: what is wrong with it; nil: nothing.
  mutating func delivered(_ channel: ChannelName, _ epoch: String, _ publication: Publication) -> String? {
    let place = Place(channel: channel, epoch: epoch, offset: publication.offset)
    if let other = truth[place], other != publication.data {
      return "\(place): two publications, \(text(other)) and \(text(publication.data))"
    }
    if truth[place] != nil { return "\(place): delivered twice" }
    truth[place] = publication.data
    publishers[place] = publication.info?.user ?? ""
    turnCounts[channel, default: 0] += 1
    turns[channel, default: [:]][publication.data, default: []].append(turnCounts[channel] ?? 0)
    for other in places[publication.data] ?? [] where other.epoch == epoch || channel.namespace == "d" {
      return "\(text(publication.data)) has two places: \(other) and \(place)"
    }
    places[publication.data, default: []].append(place)
    return nil
  }

  // MARK: Subscribers

  /// Checks a publication that a client got, live or by recovery, when it stood at `last`.
  ///
  /// - Returns: what is wrong; nil: the publication is the next one that the client wants of those delivered there.
  func follows(
    _ publication: Publication, _ offset: UInt64, after last: UInt64, _ feed: Feed, _ epoch: String
  ) -> String? {
    let place = Place(channel: feed.channel, epoch: epoch, offset: offset)
    guard let data = truth[place] else { return "\(text(publication.data)) seen at \(place), but never delivered" }
    if data != publication.data { return "\(place): seen \(text(publication.data)), delivered \(text(data))" }
    if offset <= last { return "\(offset) after \(last)" }
    if !feed.wants(publishers[place] ?? "") { return "\(offset), which its filter keeps out" }
    return missed(by: feed, epoch, after: last, before: offset).map { "\(offset) after \(last), without \($0)" }
  }

  /// The first offset between two others whose publication the subscriber should have been sent; nil: none.
  func missed(by feed: Feed, _ epoch: String, after last: UInt64, before next: UInt64) -> UInt64? {
    guard next > last + 1 else { return nil }
    return (last + 1..<next).first { offset in
      guard feed.users != nil else { return true }
      return feed.wants(publishers[Place(channel: feed.channel, epoch: epoch, offset: offset)] ?? "")
    }
  }

  /// The offset of a publication that clients were sent without one; 0: it was never delivered in this epoch.
  func offset(of publication: Publication, on feed: Feed, _ epoch: String) -> UInt64 {
    places[publication.data]?.last { $0.channel == feed.channel && $0.epoch == epoch }?.offset ?? 0
  }

  /// Checks a publication that a client got in a lane where publications may be left out, but never reordered or
  /// repeated.
  ///
  /// - Returns: what is wrong; nil: nothing.
  func seen(_ publication: Publication, _ feed: Feed) -> String? {
    let all = turns[feed.channel]?[publication.data] ?? []
    guard let turn = all.first(where: { $0 > feed.turn ?? 0 }) else {
      return "\(text(publication.data)) on \(feed.channel) comes again, late, or from nowhere"
    }
    feed.turn = turn
    return nil
  }

  /// Whether the client has got the last publication that was delivered in such a lane.
  func isAtEnd(_ feed: Feed) -> Bool { feed.turn == turnCounts[feed.channel] }

  mutating func acknowledged(_ channel: ChannelName, _ position: StreamPosition, _ payload: [UInt8]) {
    let place = Place(channel: channel, epoch: position.epoch, offset: position.offset)
    acknowledgements.append(Acknowledgement(place: place, payload: payload))
  }

  // MARK: Keys

  mutating func uses(_ key: String, for payload: [UInt8], on channel: ChannelName, at forward: Int64) {
    keys.append(KeyUse(channel: channel, key: key, payload: payload, forward: forward))
  }

  /// Keys that the broker must still know, if they ever got there.
  func keys(of channel: ChannelName, usedSince forward: Int64) -> [KeyUse] {
    keys.filter { $0.channel == channel && $0.forward >= forward }
  }

  /// Checks an acknowledged key: it must stand for one publication at one place.
  ///
  /// - Returns: what is wrong; nil: nothing.
  mutating func acknowledged(
    _ channel: ChannelName, _ position: StreamPosition, _ payload: [UInt8], _ key: String, at forward: Int64
  ) -> String? {
    let place = Place(channel: channel, epoch: position.epoch, offset: position.offset)
    guard let first = stands[KeyPlace(channel: channel, key: key)], first.place.epoch == place.epoch,
      forward - first.forward < 250_000
    else {
      stands[KeyPlace(channel: channel, key: key)] = (place, payload, forward)
      return nil
    }
    keysAgain += 1
    if first.payload != payload { return "\(key) was acknowledged for \(text(first.payload)) and \(text(payload))" }
    return first.place == place ? nil : "\(key) was acknowledged at \(first.place) and at \(place)"
  }

  // MARK: The disk

  /// Checks what a new broker finds on disk: each publication is one that was appended there, and counts as delivered
  /// from here on, because the broker will show it. The publications of a relaxed channel stand in a new epoch at the
  /// same offsets.
  ///
  /// - Returns: what is wrong; nil: nothing.
  mutating func survived(
    _ name: ChannelName, _ position: StreamPosition, _ kept: [Publication], _ appended: [UInt64: Publication]
  ) -> String? {
    if position.offset > 0 {
      for offset in 1...position.offset {
        let place = Place(channel: name, epoch: position.epoch, offset: offset)
        guard let publication = appended[offset] else { return "\(place): on disk, and nobody appended it" }
        if let known = truth[place] {
          if known != publication.data { return "\(place): delivered and on disk differ" }
        } else if let complaint = delivered(name, position.epoch, publication) {
          return complaint
        }
      }
    }
    var expected = kept.first?.offset ?? 0
    for publication in kept {
      let place = Place(channel: name, epoch: position.epoch, offset: publication.offset)
      if publication.offset != expected { return "\(place): the history has a hole before it" }
      if truth[place] != publication.data { return "\(place): the history has something else" }
      expected += 1
    }
    if let last = kept.last, last.offset != position.offset { return "\(name): the history ends before the top" }
    return nil
  }

  /// Checks that what was acknowledged is what was delivered there and, on a durable channel, is still on disk.
  ///
  /// - Parameter tops: the tops of the durable channels on disk at the end.
  func verdict(tops: [ChannelName: StreamPosition]) -> [String] {
    var complaints: [String] = []
    for acknowledgement in acknowledgements {
      let place = acknowledgement.place
      if truth[place] != acknowledgement.payload {
        complaints.append("\(place): acknowledged \(text(acknowledgement.payload)), which is not there")
      }
      guard place.channel.namespace == "d" else { continue }
      let top = tops[place.channel]
      if top?.epoch != place.epoch || (top?.offset ?? 0) < place.offset {
        complaints.append("\(place): acknowledged and lost")
      }
    }
    return complaints
  }

  private func text(_ data: [UInt8]) -> String { String(decoding: data, as: UTF8.self) }
}

/// How often each thing happened, under all seeds together: a simulation in which nothing goes wrong shows nothing.
struct Coverage {
  var acknowledged = 0
  var refused = 0
  var recovered = 0
  var notRecovered = 0
  var lostPositions = 0
  var lostMessages = 0
  var brokerCrashes = 0
  var brokerRestarts = 0
  var powerCuts = 0
  var failedStarts = 0
  var diskFaults = 0
  var clockJumps = 0
  /// Keys that were used twice and acknowledged both times.
  var keysAgain = 0
  var conflicts = 0
  var gatewayCrashes = 0
  var gaps: UInt64 = 0
  var resets: UInt64 = 0
  var refilled: UInt64 = 0
  /// Requests and answers that waited for room on a broker's link.
  var deferred: UInt64 = 0
  /// Reads that were larger than the first try of an answer may hold.
  var tooLarge = 0
  /// Publications that subscribers were pushed.
  var pushes = 0
  /// Joins and leaves that subscribers were pushed.
  var comings = 0
  /// Server-side subscriptions that came with a connect.
  var granted = 0
  /// Connections that ended because too much waited for them.
  var slow = 0
  /// Connections that ended because a pong, a token or another answer took too long.
  var late = 0
  /// Connections that clients lost.
  var cuts = 0
  /// Runs of an event loop in which reads waited for other reads.
  var readsWaited = 0
  /// Exchanges with clients from which the server had stopped reading at some time.
  var readLater = 0
  /// Runs of an event loop in which a subscriber lagged on a tape.
  var lagged = 0
  /// Subscribers who lagged and were sent only the newest publication of each key.
  var conflated = 0
  /// Publications that event loops were told are measured.
  var measured = 0

  mutating func add(_ other: Coverage) {
    acknowledged += other.acknowledged
    refused += other.refused
    recovered += other.recovered
    notRecovered += other.notRecovered
    lostPositions += other.lostPositions
    lostMessages += other.lostMessages
    brokerCrashes += other.brokerCrashes
    brokerRestarts += other.brokerRestarts
    powerCuts += other.powerCuts
    failedStarts += other.failedStarts
    diskFaults += other.diskFaults
    clockJumps += other.clockJumps
    keysAgain += other.keysAgain
    conflicts += other.conflicts
    gatewayCrashes += other.gatewayCrashes
    gaps += other.gaps
    resets += other.resets
    refilled += other.refilled
    deferred += other.deferred
    tooLarge += other.tooLarge
    pushes += other.pushes
    comings += other.comings
    granted += other.granted
    slow += other.slow
    late += other.late
    measured += other.measured
    cuts += other.cuts
    readsWaited += other.readsWaited
    readLater += other.readLater
    lagged += other.lagged
    conflated += other.conflated
  }

  /// The things that never happened.
  var missing: [String] {
    Mirror(reflecting: self).children.filter { "\($0.value)" == "0" }.compactMap(\.label)
  }
}
