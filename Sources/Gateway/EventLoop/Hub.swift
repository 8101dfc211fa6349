import Wire

/// Who on this event loop gets a channel's frames. One shard per loop, touched on that loop only: no lock, no hop.
///
/// The hub knows channels and who is on them; how frames get to their sockets is the ``FanOut``'s business.
final class Hub {
  /// Bytes that waited for a session on a tape, when it left that tape for another before its connect result was out.
  private struct Carried {
    let channel: ChannelName
    let bytes: [UInt8]
  }

  private var channels: [ChannelName: HubChannel] = [:]
  /// The channels' names, so that a walk through a hundred thousand of them goes from place to place: a copy of a
  /// dictionary's keys would take milliseconds in which nobody's message moves. The last takes the place of one that goes.
  private var names: [ChannelName] = []
  private let tallies: DeliveryTallies
  /// Sessions on channels, a session once for each of its channels.
  var subscriptions: Int { tallies.subscriptions }
  /// Channels of sessions that wait for their connect result.
  private var held: [UInt64: [ChannelName]] = [:]
  private var carried: [UInt64: [Carried]] = [:]
  /// The filters of this event loop's clients.
  var filters: ChannelFilters
  private let fanOut: FanOut
  private let namespaces: NamespaceTable
  private let conflationLimitBytes: Int
  #if MUTATIONS
    var mutation: GatewayMutation?
  #endif

  /// - Parameter conflationLimitBytes: kept per channel and format for those who lag in a lane that conflates.
  init(
    fanOut: FanOut, namespaces: NamespaceTable, tallies: DeliveryTallies = DeliveryTallies(),
    filters: ChannelFilters = ChannelFilters(most: .max), conflationLimitBytes: Int = 65_536
  ) {
    self.tallies = tallies
    self.fanOut = fanOut
    self.filters = filters
    self.namespaces = namespaces
    self.conflationLimitBytes = conflationLimitBytes
  }

  // MARK: Subscribers

  /// - Parameters:
  ///   - filter: what the client asked for; nil: everything.
  ///   - audience: what the server lets it see, of joins and leaves too; nil: everything.
  func attach(
    _ session: SessionDriver, to channel: ChannelName, _ flags: HubFlags, filter: TagFilter? = nil,
    audience: TagFilter? = nil
  ) {
    var isHeld = flags.contains(.held)
    #if MUTATIONS
      if mutation == .ignoresHolds { isHeld = false }
      if mutation == .forgetsDetaches { leave(session, channel) }
    #endif
    var entry = channels[channel] ?? makeChannel(channel)
    let hasDelta = flags.contains(.delta) && filter == nil && audience == nil
    let seat = FilteredTapes.Seat(own: FilterKey(filter), audience: audience, hasDelta: hasDelta)
    let tally = entry.tally
    let form = hasDelta ? session.form.with(.full) : session.form
    let tape = entry.tape(form, seat.filter) { makeTape(form, lane(of: channel), tally) }
    tape.sit(session, held: isHeld, positioned: flags.contains(.toldOfLoss))
    tally.subscribed(1)
    if flags.contains(.joinLeave) {
      let presence = entry.presenceTape(session.form, audience) { makeTape(session.form, .lowest, nil) }
      presence.sit(session, held: isHeld, positioned: false)
    }
    entry.note(seat, of: session)
    if let own = seat.own { filters.add(own, to: channel) }
    channels[channel] = entry
    if isHeld { held[session.id, default: []].append(channel) }
  }

  private func makeChannel(_ channel: ChannelName) -> HubChannel {
    names.append(channel)
    return HubChannel(tallies.tally(of: channel), place: names.count - 1)
  }

  /// Takes a channel's name out that nobody is on any more.
  private func removeName(at place: Int) {
    let last = names.removeLast()
    guard place < names.count else { return }
    names[place] = last
    channels[last]?.place = place
  }

  private func lane(of channel: ChannelName) -> Lane { namespaces.options(for: channel)?.lane ?? .publications }

  /// - Parameter tally: nil for joins and leaves, which are no publications.
  private func makeTape(_ form: TapeForm, _ lane: Lane, _ tally: DeliveryTally?) -> Tape {
    Tape(form: form, lane: lane, conflationLimitBytes: conflationLimitBytes, directory: fanOut.directory, tally: tally)
  }

  func detach(_ session: SessionDriver, from channel: ChannelName) {
    #if MUTATIONS
      if mutation == .forgetsDetaches { return }
    #endif
    leave(session, channel)
  }

  private func leave(_ session: SessionDriver, _ channel: ChannelName) {
    guard var entry = channels[channel] else { return }
    // Taken out while it changes, so that nothing is copied.
    channels[channel] = nil
    let seat = entry.seat(of: session)
    let tapes = entry.tapes(of: session)
    if !tapes.isEmpty { entry.tally.subscribed(-1) }
    for tape in tapes { fanOut.leave(session.outlet, tape) }
    if let own = seat.own { filters.remove(own, from: channel) }
    entry.note(FilteredTapes.Seat(), of: session)
    entry.vacate(session.form, seat)
    if entry.isEmpty { removeName(at: entry.place) } else { channels[channel] = entry }
    held[session.id]?.removeAll { $0 == channel }
    dropCarried(for: session) { $0.channel == channel }
  }

  func releaseHeld(for session: SessionDriver) {
    // What was published before a subscriber's filter changed goes before what came after.
    for carried in takeCarried(for: session) { fanOut.send(carried.bytes, to: session.outlet) }
    for channel in held.removeValue(forKey: session.id) ?? [] {
      guard let entry = channels[channel] else { continue }
      for tape in entry.tapes(of: session) { fanOut.release(session.outlet, on: tape) }
    }
  }

  /// The session ends before its connect result: what was held for it is dropped. It leaves its channels next.
  func discardHeld(for session: SessionDriver) {
    held[session.id] = nil
    dropCarried(for: session) { _ in true }
  }

  // MARK: Filters

  /// What some sessions may see of a channel has changed. Each of them moves to another tape, with all that waits for
  /// it on the present one: nothing is missed, and nothing comes twice.
  func refilter(on channel: ChannelName, audience: TagFilter?, where isMeant: (SessionDriver) -> Bool) {
    guard var entry = channels[channel] else { return }
    var pending: [(SessionDriver, [UInt8])] = []
    var toSubscribeAnew: [SessionDriver] = []
    for session in entry.sessions where isMeant(session) {
      if audience != nil, entry.seat(of: session).hasDelta {
        toSubscribeAnew.append(session)
        continue
      }
      let bytes = move(session, to: audience, in: &entry, of: channel)
      if !bytes.isEmpty { pending.append((session, bytes)) }
    }
    channels[channel] = entry
    // Written last: a write may find that its connection is gone, and that ends the session's subscriptions.
    for (session, bytes) in pending {
      if held[session.id]?.contains(channel) == true {
        carry(bytes, for: session, on: channel)
      } else {
        fanOut.send(bytes, to: session.outlet)
      }
    }
    // Patches are for those who get everything. Only channels of apps have audiences, and there nobody has patches.
    for session in toSubscribeAnew { session.channelLost(channel) }
  }

  /// - Returns: what waited for the session on its tapes.
  private func move(
    _ session: SessionDriver, to audience: TagFilter?, in entry: inout HubChannel, of channel: ChannelName
  ) -> [UInt8] {
    let before = entry.seat(of: session)
    guard audience != before.audience else { return [] }
    let seat = FilteredTapes.Seat(own: before.own, audience: audience)
    let tapes = entry.tapes(of: session)
    entry.note(seat, of: session)
    var pending: [UInt8] = []
    let tally = entry.tally
    if let tape = tapes.first {
      let next = entry.tape(session.form, seat.filter) { makeTape(session.form, lane(of: channel), tally) }
      pending += fanOut.move(session, from: tape, to: next)
    }
    if tapes.count > 1 {
      let next = entry.presenceTape(session.form, audience) { makeTape(session.form, .lowest, nil) }
      pending += fanOut.move(session, from: tapes[1], to: next)
    }
    entry.vacate(session.form, before)
    return pending
  }

  private func carry(_ bytes: [UInt8], for session: SessionDriver, on channel: ChannelName) {
    session.outlet.laggingBytes += bytes.count
    carried[session.id, default: []].append(Carried(channel: channel, bytes: bytes))
    fanOut.checkSpeed(of: session.outlet)
  }

  private func takeCarried(for session: SessionDriver) -> [Carried] {
    guard !carried.isEmpty, let taken = carried.removeValue(forKey: session.id) else { return [] }
    for carried in taken { session.outlet.laggingBytes -= carried.bytes.count }
    return taken
  }

  private func dropCarried(for session: SessionDriver, where isDropped: (Carried) -> Bool) {
    let kept = takeCarried(for: session).filter { !isDropped($0) }
    guard !kept.isEmpty else { return }
    for carried in kept { session.outlet.laggingBytes += carried.bytes.count }
    carried[session.id] = kept
  }

  // MARK: Coverage

  /// How far a session's subscription to a channel is; nil: it has none here.
  func reach(of session: SessionDriver, on channel: ChannelName) -> CoverageReach? {
    guard let entry = channels[channel], let tape = entry.tapes(of: session).first,
      let place = tape.place(of: session.id)
    else { return nil }
    let isHeld = held[session.id]?.contains(channel) == true
    let newest = tape.isFiltered ? entry.filtered?.newest ?? 0 : tape.newest
    return tape.reach(at: place, session.outlet, covered: newest, isHeld: isHeld)
  }

  /// The newest publication that came for the channel; 0: none came since somebody is on it.
  func newest(on channel: ChannelName) -> UInt64 { channels[channel]?.newest ?? 0 }

  func sessions(on channel: ChannelName) -> [SessionDriver] { channels[channel]?.sessions ?? [] }

  func hasSubscribers(on channel: ChannelName) -> Bool { channels[channel] != nil }

  /// The channels that somebody here is on, in any order.
  var channelNames: [ChannelName] { names }

  /// The channel in a place, for walks that go through all of them over many passes; nil: there are fewer. Between passes
  /// the last channel may take an earlier place, so that a walk may miss it.
  func channel(at place: Int) -> ChannelName? { place < names.count ? names[place] : nil }

  /// How many are on a channel, and ``HubChannel/takeDeliveredBytes()``.
  func takeTraffic(on channel: ChannelName) -> (clients: Int, bytes: UInt64) {
    guard let entry = channels[channel] else { return (0, 0) }
    return (entry.sessionCount, entry.takeDeliveredBytes())
  }

  func clientCount(on channel: ChannelName) -> Int { channels[channel]?.sessionCount ?? 0 }

  func publicationTapes(of channel: ChannelName) -> [Tape] { channels[channel]?.publicationTapes ?? [] }

  /// How many tapes the channel has here.
  func tapeCount(on channel: ChannelName) -> Int { channels[channel]?.tapeCount ?? 0 }

  // MARK: Frames

  /// Puts frames on the tapes of subscribers without a filter. They go out with the fan-out's next slice.
  func deliver(_ frames: EncodedFrames, on channel: ChannelName) {
    guard let entry = channels[channel] else { return }
    if let tape = entry.tape(.json) { put(frames.json, of: frames, on: tape) }
    if let tape = entry.tape(.protobuf) { put(frames.protobuf, of: frames, on: tape) }
    if let filtered = entry.filtered {
      filtered.newest = frames.offset
      let pending = frames.delta == nil ? [] : promote(filtered, entry, on: channel)
      filtered.forEachUnfiltered { tape, form in put(frames[form], of: frames, on: tape) }
      // Written last: a write may find that its connection is gone, and that ends the session's subscriptions.
      for (session, bytes) in pending { fanOut.send(bytes, to: session.outlet) }
    }
  }

  /// Lets those who have been given a whole publication have patches from the next one on.
  ///
  /// - Returns: what waits for them of what they have been given.
  private func promote(
    _ filtered: FilteredTapes, _ entry: HubChannel, on channel: ChannelName
  ) -> [(SessionDriver, [UInt8])] {
    var pending: [(SessionDriver, [UInt8])] = []
    filtered.promote({ session, tape, next in
      let bytes = fanOut.move(session, from: tape, to: next)
      if !bytes.isEmpty { pending.append((session, bytes)) }
    }) { form in makeTape(form, lane(of: channel), entry.tally) }
    return pending
  }

  @inline(__always)
  private func put(_ frame: [UInt8]?, of frames: EncodedFrames, on tape: Tape) {
    guard let frame else { return }
    tape.newest = frames.offset
    fanOut.append(frame, key: frames.key, to: tape)
  }

  /// The frames that were delivered last on the channel are measured. Subscribers with a filter are not: it is not
  /// known here which of them got the frames.
  func watch(_ mark: HopMark, on channel: ChannelName) {
    let tapes = channels[channel].map { entry in WireFormat.allCases.compactMap { entry.tape($0) } } ?? []
    fanOut.watches.begin(mark, on: tapes)
  }

  /// Puts frames on the tapes of subscribers without a filter, and of those whose filter the publication passes. Each
  /// filter is asked once, however many share it.
  func deliver(_ frames: EncodedFrames, of publication: Publication, on channel: ChannelName) {
    deliver(frames, on: channel)
    #if MUTATIONS
      if mutation == .ignoresFilters { return deliverToAll(frames, on: channel) }
    #endif
    guard let filtered = channels[channel]?.filtered else { return }
    filtered.forEachTape(passing: publication) { tape, form in put(frames[form], of: frames, on: tape) }
  }

  #if MUTATIONS
    private func deliverToAll(_ frames: EncodedFrames, on channel: ChannelName) {
      for tape in channels[channel]?.filtered?.allTapes ?? [] {
        let frame = tape.sessions.first.flatMap { frames[$0.form] }
        if let frame { fanOut.append(frame, key: frames.key, to: tape) }
      }
    }
  #endif

  /// - Parameter member: who came or went. Subscribers who may not see this member do not hear of it.
  func deliverPresence(_ frames: EncodedFrames, of member: ClientInfo, on channel: ChannelName) {
    guard let entry = channels[channel] else { return }
    for format in WireFormat.allCases {
      guard let frame = frames[format], let tape = entry.presenceTape(format) else { continue }
      fanOut.append(frame, key: frames.key, to: tape)
    }
    entry.filtered?.forEachPresenceTape(seeing: member) { tape, form in
      if let frame = frames[form] { fanOut.append(frame, key: frames.key, to: tape) }
    }
  }

  /// The channel has lost publications: tells the sessions that were promised every one.
  func lose(_ channel: ChannelName) {
    guard let entry = channels[channel] else { return }
    for session in entry.positionedSessions { session.channelLost(channel) }
  }
}
