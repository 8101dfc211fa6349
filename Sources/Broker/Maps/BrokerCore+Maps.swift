import Apps
import Log
import Wire

/// Map channels: what a write changes, how they are read, and how entries end.
extension BrokerCore {
  /// The change that a write makes; nil where it makes none, because it removes a key that the map does not hold.
  func change(_ write: MapWrite, in state: BrokerChannel, at time: BrokerTime) throws(ClientError) -> KeyChange? {
    guard let map = state.map else {
      throw .badRequest.saying("\"\(state.name)\" is not a map channel; publish without a key")
    }
    guard Self.isKey(write.key) else {
      throw .badRequest.saying("a key has 1 to \(MapWrite.maximumKeyBytes) bytes and no control characters")
    }
    let before = map.latest(write.key)
    if write.removed {
      return before == nil ? nil : KeyChange(key: write.key, removed: true, score: before?.change?.score ?? 0)
    }
    // A map of presence holds as many as may be present.
    guard before != nil || map.count < state.options.mapMaximumEntries || state.options.mapPresence != .none else {
      tally.limited(.mapEntries, from: state.name.string)
      throw .limitExceeded.saying(
        "the channel holds \(state.options.mapMaximumEntries) keys, which is as many as are allowed; remove one first")
    }
    let score: Int64 =
      switch state.options.mapScore {
      case .client: write.score ?? before?.change?.score ?? 0
      case .created: before?.change?.score ?? time.wall
      case .updated: time.wall
      }
    let ttl = state.options.mapTTLMilliseconds
    return KeyChange(key: write.key, score: score, expires: ttl > 0 ? time.wall + ttl : .max)
  }

  static func isKey(_ text: String) -> Bool {
    (1...MapWrite.maximumKeyBytes).contains(text.utf8.count)
      && !text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
  }

  /// Makes the map of a channel that was opened, if it is a map channel.
  ///
  /// - Parameter stored: the entries that the store keeps of a persistent map.
  func openMap(of state: BrokerChannel, _ stored: [Publication], at time: BrokerTime) {
    guard state.options.kind == .map else { return }
    var stored = state.options.mapPresence == .none ? stored : presenceEntries(of: state.name, state.options, at: time)
    if let host = hosts.host(of: state) {
      for index in stored.indices { stored[index].data = host.app.shown(stored[index].data, of: state.name) }
    }
    state.map = MapEntries(order: state.options.mapOrder, entries: stored)
    state.map?.lastWrite = time.monotonic
    state.map?.openedAt = state.sequencer.top.offset
  }

  /// Removes the entries whose time has come, up to ``expiriesPerTurn``; the rest goes with the next turn.
  func expireEntries(in turn: inout Turn) {
    var left = Self.expiriesPerTurn
    while left > 0, let (state, map) = channels.nextEnded(at: turn.time.wall) {
      while left > 0, let key = map.nextEnding(upTo: turn.time.wall) {
        left -= 1
        expire(key, of: map, in: state, in: &turn)
      }
      channels.noteEnds(of: state)
    }
  }

  private func expire(
    _ key: String, of map: MapEntries, in state: BrokerChannel, in turn: inout Turn
  ) {
    // A change of the key that is on its way to the disk replaces the entry; if it fails, `changeFailed` looks again.
    guard let entry = map.entry(key), map.latest(key)?.offset == entry.offset else { return }
    let removal = BrokerRequest.PublishRequest(
      channel: state.name, data: Self.noData, write: MapWrite(key: key, removed: true))
    do throws(ClientError) {
      try publish(removal, for: .broker, in: &turn)
    } catch {
      // The disk may be full, for example: the removal is tried again a second later.
      map.end(key, at: turn.time.wall + 1000)
    }
  }

  static let expiriesPerTurn = 256
  /// The payload of publications that say only that something is gone.
  static let noData = Array("null".utf8)

  // MARK: Reading

  /// What a subscriber of a map channel gets for a subscribe request. Until the last page the client is not subscribed:
  /// it asks for the next page with another request.
  enum MapAnswer {
    case page(MapPage)
    /// The last page: the client is up to date, and is subscribed from now on.
    case live(BrokerResponse.Subscribed)
    /// The page is more than the first try of an answer may hold (``AnswerLimit/isTry``).
    case tooLarge
  }

  func read(
    _ read: MapRead, for request: BrokerRequest.SubscribeRequest, of state: BrokerChannel, in turn: inout Turn
  ) throws(ClientError) -> MapAnswer {
    let since = request.since
    guard let map = state.map else {
      throw .badRequest.saying("\"\(state.name)\" is not a map channel; subscribe to it without a type")
    }
    switch read.phase {
    case .state:
      let top = state.sequencer.top
      var page = try page(read, of: map, state.name, state.options, within: request.answer)
      if page.isCut && request.answer.isTry { return .tooLarge }
      page.entries = withheld(page.entries, of: state.name, state.options, at: turn.time)
      if read.cursor.isEmpty && page.cursor.isEmpty { return .live(.init(position: top, entries: page.entries)) }
      // All pages have the position of the first one: the client reads what changed since then from the stream.
      let position = read.cursor.isEmpty ? top : since ?? top
      guard position.epoch.hasSameBytes(as: top.epoch) else { throw .unrecoverablePosition }
      return .page(MapPage(phase: .state, position: position, entries: page.entries, cursor: page.cursor))
    case .stream:
      guard let since else { throw .badRequest.saying("the stream of a map is read from a position; send one") }
      // After a restart the app works such a map out anew, without publications that tell of what changed.
      if state.options.app != nil, state.options.mapMode == .ephemeral {
        throw .unrecoverablePosition.saying("this map is kept in memory alone; read it from its start")
      }
      if isBeforeOpening(since, of: state) {
        throw .unrecoverablePosition.saying("who came and went since is not known; read the map from its start")
      }
      return try stream(since: since, read, for: request, of: state, in: &turn)
    }
  }

  func page(
    _ read: MapRead, of map: MapEntries, _ name: ChannelName, _ options: ChannelOptions, within answer: AnswerLimit
  ) throws(ClientError) -> MapEntries.Page {
    // An ephemeral map has no stream to catch up from on what changes between two pages, so it comes in one page.
    let isWhole = options.mapMode == .ephemeral
    let most = configuration.maximumPageSize
    let limit = isWhole ? UInt32.max : read.limit == 0 ? most : min(read.limit, most)
    let page = map.page(
      after: isWhole ? "" : read.cursor, limit: Int(limit), bytes: configuration.bytes(of: answer),
      isDescending: (options.mapOrder == .descending) != read.isReversed)
    if isWhole && !page.cursor.isEmpty && !answer.isTry {
      throw .limitExceeded.saying(
        options.mapPresence != .none
          ? "more are there than one answer lists; ask for the presence_stats of the channel"
          : "\"\(name)\" is ephemeral and so comes in one piece, which is more than one answer holds; keep less in it")
    }
    return page
  }

  private func stream(
    since: StreamPosition, _ read: MapRead, for request: BrokerRequest.SubscribeRequest, of state: BrokerChannel,
    in turn: inout Turn
  ) throws(ClientError) -> MapAnswer {
    let top = state.sequencer.top
    let most = min(request.recoveryLimit, configuration.maximumPublications)
    let size = read.limit == 0 ? most : min(read.limit, most)
    switch decideRecovery(since: since, top: top, keepsHistory: state.options.keepsHistory, limit: .max) {
    case .impossible:
      throw .unrecoverablePosition.saying("what changed since cannot be had; read the map from its start")
    case .upToDate: return .live(.init(position: top, recovered: true))
    case .read(let offset, _):
      let read = try readUpToNow(
        since: offset, limit: Int(size), within: request.answer, of: state, in: &turn)
      if read.isCut && request.answer.isTry { return .tooLarge }
      let found = read.publications
      guard let last = found.last, isWhole(found, after: offset, through: last.offset) else {
        throw .unrecoverablePosition.saying("what changed since is not kept any more; read the map from its start")
      }
      if last.offset == top.offset { return .live(.init(position: top, recovered: true, publications: found)) }
      let position = StreamPosition(epoch: top.epoch, offset: last.offset)
      return .page(MapPage(phase: .stream, position: position, changes: found))
    }
  }

  /// Reads without subscribing: one key, or a page.
  func readMap(_ request: BrokerRequest.MapRequest, in turn: inout Turn) throws(ClientError) -> BrokerResponse {
    let options = try options(of: request.channel)
    let audience = try admit(request.viewer, to: request.channel, options, in: &turn)
    let viewer = request.viewer.map { ClientInfo(user: $0, client: "") }
    guard options.kind == .map else { throw .badRequest.saying("\"\(request.channel)\" is not a map channel") }
    _ = try presenceSubject(of: request.channel, options)
    let (map, position) = try map(request.channel, options, only: request.key, in: &turn)
    if let key = request.key {
      return .mapPage(
        MapPage(
          phase: .state, position: position,
          entries: shown(
            withheld(map.entry(key).map { [$0] } ?? [], of: request.channel, options, at: turn.time), of: options,
            to: viewer,
            audience)))
    }
    let page = try page(request.read, of: map, request.channel, options, within: request.answer)
    if page.isCut && request.answer.isTry { return .tooLarge }
    let entries = shown(
      withheld(page.entries, of: request.channel, options, at: turn.time), of: options, to: viewer, audience)
    return .mapPage(MapPage(phase: .state, position: position, entries: entries, cursor: page.cursor))
  }

  /// The entries without what may have ended, while the machine's clock is not confirmed; nearly always the entries as
  /// they are.
  private func withheld(
    _ entries: [Publication], of name: ChannelName, _ options: ChannelOptions, at time: BrokerTime
  ) -> [Publication] {
    guard time.latest > time.wall, let host = hosts.host(of: options) else { return entries }
    return entries.map { entry in
      var entry = entry
      entry.data = host.app.withheld(entry.data, of: name, at: time.latest)
      return entry
    }
  }

  /// Reads one entry of a map on disk that is not in use, without opening the map.
  ///
  /// - Returns: a map that holds only this entry; nil where the channel has to be read as a whole.
  private func entry(
    _ key: String, of name: ChannelName, _ options: ChannelOptions, in turn: inout Turn
  ) throws(ClientError) -> (map: MapEntries, top: StreamPosition)? {
    guard options.mapMode == .persistent, options.durability == .durable, channels[name] == nil,
      case .entry(var entry, let top?) = try stores.ask(.entry(name, IdentifierKey(key)), of: stores.disk, in: &turn)
    else { return nil }
    if let host = hosts.host(of: options), let data = entry?.data { entry?.data = host.app.shown(data, of: name) }
    return (MapEntries(order: options.mapOrder, entries: entry.map { [$0] } ?? []), top)
  }

  /// A map for a request that only looks.
  ///
  /// A map in memory alone that is not in use is not opened. If it belongs to an app, the app works out from its
  /// records what the map would show, as it does when the map is opened; otherwise it is empty.
  ///
  /// - Parameter only: the one key that is looked for; nil: all.
  func map(
    _ name: ChannelName, _ options: ChannelOptions, only wanted: String? = nil, in turn: inout Turn
  ) throws(ClientError) -> (map: MapEntries, top: StreamPosition) {
    if let wanted, let found = try entry(wanted, of: name, options, in: &turn) { return found }
    let (state, top) = try existing(name, options, in: &turn)
    if let map = state?.map { return (map, top) }
    if options.mapPresence != .none {
      let entries = presenceEntries(of: name, options, at: turn.time)
      return (MapEntries(order: options.mapOrder, entries: entries), top)
    }
    let map = MapEntries(order: options.mapOrder, entries: [])
    guard options.mapMode != .persistent, let host = hosts.host(of: options) else { return (map, top) }
    try consult(host, in: &turn) { (lens) throws(ClientError) in
      for key in try host.app.keys(of: name, lens) where wanted?.hasSameBytes(as: key) ?? true {
        // The other keys are looked at even if this one needs the store, which is then asked for all together.
        guard let entry = try lens.unlessMissing({ () throws(ClientError) in try host.app.entry(key, of: name, lens) })
        else { continue }
        let change = KeyChange(key: key, score: entry.score, expires: entry.expires)
        map.apply(Publication(time: lens.now, data: entry.data, change: change))
      }
    }
    return (map, top)
  }
}
