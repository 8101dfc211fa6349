import Apps
import Log
import Wire

/// Map channels: what a write does, how they are read, and how entries end.
extension BrokerCore {
  /// The change that a write makes; nil where it makes none: a key is removed that is not there.
  func change(_ write: MapWrite, in state: ChannelState, at time: BrokerTime) throws(ClientError) -> KeyChange? {
    guard let map = state.map else {
      throw .badRequest.saying("\"\(state.name)\" is not a map channel; publish without a key")
    }
    let length = write.key.utf8.count
    guard length > 0, length <= MapWrite.maximumKeyBytes, !write.key.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else {
      throw .badRequest.saying("a key has 1 to \(MapWrite.maximumKeyBytes) bytes and no control characters")
    }
    let before = map.latest(write.key)
    if write.removed {
      return before == nil ? nil : KeyChange(key: write.key, removed: true, score: before?.change?.score ?? 0)
    }
    guard before != nil || map.count < state.options.mapMaximumEntries else {
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

  /// Loads what a persistent channel holds, and sees to what has run out meanwhile.
  func openMap(of state: ChannelState, at time: BrokerTime) throws(ClientError) {
    guard state.options.kind == .map else { return }
    var stored: [Publication] = []
    if state.options.mapMode == .persistent {
      do { stored = try disk.entries(of: state.name) } catch { throw clientError(for: error) }
      if let host = host(of: state) {
        for index in stored.indices { stored[index].data = host.app.shown(stored[index].data, of: state.name) }
      }
    }
    state.map = MapState(order: state.options.mapOrder, entries: stored)
    for entry in stored { expireLater(entry, in: state) }
  }

  func expireLater(_ publication: Publication, in state: ChannelState) {
    guard let change = publication.change, !change.removed, change.expires != .max else { return }
    mapExpiry.add(ExpiringEntry(channel: state.name, key: change.key, offset: publication.offset), at: change.expires)
  }

  /// Removes the entries whose time has come. Bounded: the rest goes with the next turn.
  func expireEntries(at time: BrokerTime, into effects: inout [BrokerEffect]) {
    for _ in 0..<Self.expiriesPerTurn {
      guard let expiring = mapExpiry.next(upTo: time.wall) else { return }
      guard let state = channels[expiring.channel], let entry = state.map?.latest(expiring.key),
        entry.offset == expiring.offset
      else { continue }
      let removal = BrokerRequest.PublishRequest(
        channel: state.name, data: Self.noData, write: MapWrite(key: expiring.key, removed: true))
      do throws(ClientError) {
        try publish(removal, for: .broker, at: time, into: &effects)
      } catch {
        // The disk is full, for example. A second later it may not be.
        mapExpiry.add(expiring, at: time.wall + 1000)
      }
    }
  }

  static let expiriesPerTurn = 256
  /// What stands where a publication says only that something is gone.
  static let noData = Array("null".utf8)

  // MARK: Reading

  /// What a subscriber of a map channel reads along with its subscription. A page that is not the last leaves the
  /// client where it is: it asks again from there.
  enum MapAnswer {
    case page(MapPage)
    /// The client is up to date, and gets what comes from now on.
    case live(BrokerResponse.Subscribed)
    /// More than the first try may hold.
    case tooLarge
  }

  func read(
    _ read: MapRead, for request: BrokerRequest.SubscribeRequest, of state: ChannelState, at time: BrokerTime
  ) throws(ClientError) -> MapAnswer {
    let since = request.since
    guard let map = state.map else {
      throw .badRequest.saying("\"\(state.name)\" is not a map channel; subscribe to it without a type")
    }
    switch read.phase {
    case .state:
      let top = state.sequencer.top
      var page = try page(read, of: map, in: state, within: request.answer)
      if page.isCut && request.answer.isTry { return .tooLarge }
      page.entries = withheld(page.entries, of: state, at: time)
      if read.cursor.isEmpty && page.cursor.isEmpty { return .live(.init(position: top, entries: page.entries)) }
      // Every page goes by the position of the first: what changed since then comes with the stream.
      let position = read.cursor.isEmpty ? top : since ?? top
      guard position.epoch.hasSameBytes(as: top.epoch) else { throw .unrecoverablePosition }
      return .page(MapPage(phase: .state, position: position, entries: page.entries, cursor: page.cursor))
    case .stream:
      guard let since else { throw .badRequest.saying("the stream of a map is read from a position; send one") }
      // It may have been worked out anew since, without a change that somebody was told of.
      if state.options.app != nil, state.options.mapMode == .ephemeral {
        throw .unrecoverablePosition.saying("this map is kept in memory alone; read it from its start")
      }
      return try stream(since: since, read, for: request, of: state, at: time)
    }
  }

  func page(
    _ read: MapRead, of map: MapState, in state: ChannelState, within answer: AnswerLimit
  ) throws(ClientError) -> MapState.Page {
    // Without a stream nobody could catch up on what changes between two pages: one page it is.
    let isWhole = state.options.mapMode == .ephemeral
    let most = configuration.maximumPageSize
    let limit = isWhole ? UInt32.max : read.limit == 0 ? most : min(read.limit, most)
    let page = map.page(
      after: isWhole ? "" : read.cursor, limit: Int(limit), bytes: bytes(of: answer),
      isDescending: (state.options.mapOrder == .descending) != read.isReversed)
    if isWhole && !page.cursor.isEmpty && !answer.isTry {
      throw .limitExceeded.saying(
        "\"\(state.name)\" is ephemeral and so comes in one piece, which is more than one answer holds; keep less in it"
      )
    }
    return page
  }

  private func stream(
    since: StreamPosition, _ read: MapRead, for request: BrokerRequest.SubscribeRequest, of state: ChannelState,
    at time: BrokerTime
  ) throws(ClientError) -> MapAnswer {
    let top = state.sequencer.top
    let most = min(request.recoveryLimit, configuration.maximumPageSize)
    let size = read.limit == 0 ? most : min(read.limit, most)
    switch decideRecovery(since: since, top: top, keepsHistory: state.options.keepsHistory, limit: .max) {
    case .impossible:
      throw .unrecoverablePosition.saying("what changed since cannot be had; read the map from its start")
    case .upToDate: return .live(.init(position: top, recovered: true))
    case .read(let offset, let count):
      let range = LogRange(
        since: offset, through: top.offset, limit: Int(min(count, UInt64(size))), notBefore: oldest(in: state, at: time)
      )
      let read = try self.read(range, within: request.answer, of: state)
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
  func readMap(_ request: BrokerRequest.MapRequest, at time: BrokerTime) throws(ClientError) -> BrokerResponse {
    let state = try channel(request.channel, at: time)
    let audience = try admit(request.viewer, to: state, at: time)
    let viewer = request.viewer.map { ClientInfo(user: $0, client: "") }
    guard let map = state.map else { throw .badRequest.saying("\"\(state.name)\" is not a map channel") }
    let position = state.sequencer.top
    if let key = request.key {
      return .mapPage(
        MapPage(
          phase: .state, position: position,
          entries: shown(
            withheld(map.entry(key).map { [$0] } ?? [], of: state, at: time), of: state, to: viewer, audience)))
    }
    let page = try page(request.read, of: map, in: state, within: request.answer)
    if page.isCut && request.answer.isTry { return .tooLarge }
    let entries = shown(withheld(page.entries, of: state, at: time), of: state, to: viewer, audience)
    return .mapPage(MapPage(phase: .state, position: position, entries: entries, cursor: page.cursor))
  }

  /// Without what may have ended, while nobody knows for certain what time it is: nearly always what was found.
  private func withheld(_ entries: [Publication], of state: ChannelState, at time: BrokerTime) -> [Publication] {
    guard time.latest > time.wall, let host = host(of: state) else { return entries }
    return entries.map { entry in
      var entry = entry
      entry.data = host.app.withheld(entry.data, of: state.name, at: time.latest)
      return entry
    }
  }
}

/// An entry of a map channel that ends by itself, as it was when that was noted.
struct ExpiringEntry {
  var channel: ChannelName
  var key: String
  var offset: UInt64
}
