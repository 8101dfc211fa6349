import Wire

/// Who on this event loop gets a channel's frames. One shard per loop, touched on that loop only: no lock, no hop.
///
/// The hub knows channels and who is on them; how frames get to their sockets is the ``FanOut``'s business.
final class Hub {
  /// A channel's tapes: made when somebody first sits on them.
  private struct HubChannel {
    var json: Tape?
    var protobuf: Tape?
    /// Joins and leaves, for those who asked for them.
    var jsonPresence: Tape?
    var protobufPresence: Tape?

    var isEmpty: Bool { json == nil && protobuf == nil }

    func tape(_ format: WireFormat) -> Tape? { format == .json ? json : protobuf }

    func presenceTape(_ format: WireFormat) -> Tape? { format == .json ? jsonPresence : protobufPresence }

    mutating func vacate(_ format: WireFormat) {
      switch format {
      case .json:
        if json?.isEmpty == true { json = nil }
        if jsonPresence?.isEmpty == true { jsonPresence = nil }
      case .protobuf:
        if protobuf?.isEmpty == true { protobuf = nil }
        if protobufPresence?.isEmpty == true { protobufPresence = nil }
      }
    }
  }

  private var channels: [ChannelName: HubChannel] = [:]
  /// Channels of sessions that wait for their connect result.
  private var held: [UInt64: [ChannelName]] = [:]
  private let fanOut: FanOut
  private let namespaces: NamespaceTable
  private let conflationLimitBytes: Int

  /// - Parameter conflationLimitBytes: kept per channel and format for those who lag in a lane that conflates.
  init(fanOut: FanOut, namespaces: NamespaceTable, conflationLimitBytes: Int = 65_536) {
    self.fanOut = fanOut
    self.namespaces = namespaces
    self.conflationLimitBytes = conflationLimitBytes
  }

  // MARK: Subscribers

  func attach(_ session: SessionDriver, to channel: ChannelName, _ flags: HubFlags) {
    let isHeld = flags.contains(.held)
    var entry = channels[channel] ?? HubChannel()
    let lane = namespaces.options(for: channel)?.lane ?? .publications
    let tape = entry.tape(session.format) ?? makeTape(lane)
    tape.sit(session, held: isHeld, positioned: flags.contains(.positioned))
    if session.format == .json { entry.json = tape } else { entry.protobuf = tape }
    if flags.contains(.joinLeave) {
      let presence = entry.presenceTape(session.format) ?? makeTape(.lowest)
      presence.sit(session, held: isHeld, positioned: false)
      if session.format == .json { entry.jsonPresence = presence } else { entry.protobufPresence = presence }
    }
    channels[channel] = entry
    if isHeld { held[session.id, default: []].append(channel) }
  }

  private func makeTape(_ lane: Lane) -> Tape {
    Tape(lane: lane, conflationLimitBytes: conflationLimitBytes, directory: fanOut.directory)
  }

  func detach(_ session: SessionDriver, from channel: ChannelName) {
    guard var entry = channels[channel] else { return }
    // Taken out while it changes, so that nothing is copied.
    channels[channel] = nil
    if let tape = entry.tape(session.format) { fanOut.leave(session.outlet, tape) }
    if let tape = entry.presenceTape(session.format) { fanOut.leave(session.outlet, tape) }
    entry.vacate(session.format)
    if !entry.isEmpty { channels[channel] = entry }
    held[session.id]?.removeAll { $0 == channel }
  }

  func releaseHeld(for session: SessionDriver) {
    for channel in held.removeValue(forKey: session.id) ?? [] {
      guard let entry = channels[channel] else { continue }
      if let tape = entry.tape(session.format) { fanOut.release(session.outlet, on: tape) }
      if let tape = entry.presenceTape(session.format) { fanOut.release(session.outlet, on: tape) }
    }
  }

  /// The session ends before its connect result: it gets nothing, and leaves its channels next.
  func discardHeld(for session: SessionDriver) { held[session.id] = nil }

  // MARK: Frames

  /// They go out with the fan-out's next slice.
  func deliver(_ frames: EncodedFrames, on channel: ChannelName) {
    guard let entry = channels[channel] else { return }
    if let frame = frames.json, let tape = entry.json { fanOut.append(frame, key: frames.key, to: tape) }
    if let frame = frames.protobuf, let tape = entry.protobuf { fanOut.append(frame, key: frames.key, to: tape) }
  }

  func deliverPresence(_ frames: EncodedFrames, on channel: ChannelName) {
    guard let entry = channels[channel] else { return }
    if let frame = frames.json, let tape = entry.jsonPresence { fanOut.append(frame, key: frames.key, to: tape) }
    if let frame = frames.protobuf, let tape = entry.protobufPresence {
      fanOut.append(frame, key: frames.key, to: tape)
    }
  }

  /// Tells those who count on every offset.
  func lose(_ channel: ChannelName) {
    guard let entry = channels[channel] else { return }
    let sessions = (entry.json?.positionedSessions ?? []) + (entry.protobuf?.positionedSessions ?? [])
    for session in sessions { session.channelLost(channel) }
  }
}
