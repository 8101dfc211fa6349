import Wire

/// Presence as a map: a channel of a namespace with `map_presence` shows who is on the channel that its name names.
///
/// Such a map is like any other, but the broker alone writes to it, as members come and go. So whoever subscribes reads
/// it and what changes in it in one order, without a gap. It is there while its own channel is in use: a channel whose
/// presence nobody watches pays for no map.
extension BrokerCore {
  /// The channel whose presence a map shows; nil: the channel is no such map.
  ///
  /// - Throws: where the presence of the channel is shown to nobody, or not in this way.
  func presenceSubject(of name: ChannelName, _ options: ChannelOptions) throws(ClientError) -> ChannelName? {
    if options.mapPresence == .none { return nil }
    guard let subject = try? ChannelName(name.rest), let its = configuration.namespaces.options(for: subject),
      !its.followsChannel
    else { throw .unknownChannel.saying("\"\(name)\" names no channel whose presence it could show") }
    guard its.app == nil else {
      // Whom a user of an app may see changes while the user watches, which maps do not follow.
      throw .notAvailable.saying("the presence of an app's channel is no map; ask with presence")
    }
    guard its.presence else { throw .notAvailable.saying("presence is off for the namespace of \"\(subject)\"") }
    return subject
  }

  /// Whether a position in a map of presence may be of a time before the map was opened. It was worked out anew then,
  /// without publications that tell who had come and gone meanwhile.
  func isBeforeOpening(_ position: StreamPosition, of state: BrokerChannel) -> Bool {
    guard state.options.mapPresence != .none, let map = state.map else { return false }
    return position.offset <= map.openedAt
  }

  static func refusalOfPresenceMap(_ name: ChannelName) -> ClientError {
    .permissionDenied.saying("\"\(name)\" shows who is on another channel, and nobody writes to it")
  }

  /// The entries of a map of presence, in no order.
  func presenceEntries(of name: ChannelName, _ options: ChannelOptions, at time: BrokerTime) -> [Publication] {
    guard let subject = try? presenceSubject(of: name, options), let members = channels[subject]?.members else {
      return []
    }
    var entries: [IdentifierKey: Publication] = [:]
    members.forEach { member in
      let key = Self.key(of: member, options.mapPresence)
      if Self.isKey(key), entries[IdentifierKey(key)] == nil {
        entries[IdentifierKey(key)] = Publication(
          time: time.wall, data: Self.noData, info: Self.shown(member, options.mapPresence),
          change: KeyChange(key: key))
      }
      return true
    }
    return Array(entries.values)
  }

  /// Ties a channel that was opened to the maps in use that show its presence; or a map to the channel that it shows.
  func tiePresenceMaps(of state: BrokerChannel) {
    let namespaces = configuration.namespaces.presenceMaps
    if namespaces.isEmpty { return }
    if let subject = try? presenceSubject(of: state.name, state.options) {
      if let shown = channels[subject], !shown.presenceMaps.contains(state.name) {
        shown.presenceMaps.append(state.name)
      }
      return
    }
    for namespace in namespaces {
      // A name that is too long with the namespace before it is no channel's.
      guard let name = try? ChannelName("\(namespace):\(state.name)"), channels[name] != nil else { continue }
      state.presenceMaps.append(name)
    }
  }

  /// Brings the maps that show a channel's presence up to date with one member, who has come, gone or changed.
  func showPresence(of member: ClientInfo, on state: BrokerChannel, in turn: inout Turn) {
    if state.presenceMaps.isEmpty { return }
    state.presenceMaps.removeAll { channels[$0] == nil }
    for name in state.presenceMaps {
      guard let shown = channels[name], let map = shown.map else { continue }
      let kind = shown.options.mapPresence
      let key = Self.key(of: member, kind)
      let isThere = kind == .users ? state.members.holds(member.user) : state.members[member.client] != nil
      let before = map.latest(key)
      let info = Self.shown(state.members[member.client]?.info ?? member, kind)
      // Users without an id have no key, and nobody is shown whose id is none.
      guard Self.isKey(key), isThere ? before?.info != info : before != nil else { continue }
      let request = BrokerRequest.PublishRequest(
        channel: name, data: Self.noData, info: info, write: MapWrite(key: key, removed: !isThere))
      do throws(ClientError) { try publish(request, for: .broker, in: &turn) } catch {
        // The log of channels in memory refuses nothing while it is open, and when it is closed nobody is served.
        tally.counters.refused += 1
      }
    }
  }

  private static func key(of member: ClientInfo, _ kind: MapPresence) -> String {
    kind == .users ? member.user : member.client
  }

  /// What the map says of a member: of a user, none of the clients by which the user is there.
  private static func shown(_ member: ClientInfo, _ kind: MapPresence) -> ClientInfo {
    kind == .users ? ClientInfo(user: member.user, client: "") : member
  }
}
