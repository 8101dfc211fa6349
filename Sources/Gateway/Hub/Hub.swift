import Wire

/// Who on this event loop gets a channel's frames. One shard per loop, touched on that loop only: no lock, no hop.
final class Hub {
  private struct Subscriber {
    let session: SessionDriver
    var flags: HubFlags
  }

  private final class HubChannel {
    var subscribers: [Subscriber] = []
    /// Where each session stands in the list, so that leaving a channel of 100,000 does not search it.
    var places: [UInt64: Int] = [:]
    /// Where the next round starts, so that nobody is always last.
    var start = 0
  }

  /// What waits for a session's connect result.
  private struct Held {
    var channels: [ChannelName] = []
    var frames: [(channel: ChannelName, frame: [UInt8])] = []
    var bytes = 0
  }

  private var channels: [ChannelName: HubChannel] = [:]
  private var held: [UInt64: Held] = [:]
  private let heldBytesLimit: Int

  /// - Parameter heldBytesLimit: bytes held for one session; beyond it the client is too slow to connect.
  init(heldBytesLimit: Int) { self.heldBytesLimit = heldBytesLimit }

  // MARK: Subscribers

  func attach(_ session: SessionDriver, to channel: ChannelName, _ flags: HubFlags) {
    let entry = channels[channel] ?? HubChannel()
    channels[channel] = entry
    precondition(entry.places[session.id] == nil, "a session is attached to a channel once")
    entry.places[session.id] = entry.subscribers.count
    entry.subscribers.append(Subscriber(session: session, flags: flags))
    if flags.contains(.held) { held[session.id, default: Held()].channels.append(channel) }
  }

  func detach(_ session: SessionDriver, from channel: ChannelName) {
    guard let entry = channels[channel], let place = entry.places.removeValue(forKey: session.id) else { return }
    let last = entry.subscribers.removeLast()
    if place < entry.subscribers.count {
      entry.subscribers[place] = last
      entry.places[last.session.id] = place
    }
    if entry.subscribers.isEmpty { channels[channel] = nil }
    guard var waiting = held[session.id] else { return }
    held[session.id] = nil
    waiting.frames.removeAll { $0.channel == channel }
    waiting.bytes = waiting.frames.reduce(0) { $0 + $1.frame.count }
    held[session.id] = waiting
  }

  func releaseHeld(for session: SessionDriver) {
    guard let waiting = held.removeValue(forKey: session.id) else { return }
    for (_, frame) in waiting.frames { session.openTransport?.send(frame) }
    for channel in waiting.channels {
      guard let entry = channels[channel], let place = entry.places[session.id] else { continue }
      entry.subscribers[place].flags.remove(.held)
    }
  }

  func discardHeld(for session: SessionDriver) { held[session.id] = nil }

  // MARK: Frames

  func deliver(_ frames: EncodedFrames, on channel: ChannelName) {
    guard let entry = channels[channel] else { return }
    // The list as it is now: a subscriber that turns out slow leaves it while it is walked.
    let subscribers = entry.subscribers
    entry.start = (entry.start + 1) % subscribers.count
    for subscriber in subscribers[entry.start...] { send(frames, on: channel, to: subscriber) }
    for subscriber in subscribers[..<min(entry.start, subscribers.count)] { send(frames, on: channel, to: subscriber) }
  }

  func deliverPresence(_ frames: EncodedFrames, on channel: ChannelName) {
    let subscribers = channels[channel]?.subscribers ?? []
    for subscriber in subscribers where subscriber.flags.contains(.joinLeave) {
      send(frames, on: channel, to: subscriber)
    }
  }

  /// Tells those who count on every offset.
  func lose(_ channel: ChannelName) {
    let subscribers = channels[channel]?.subscribers ?? []
    for subscriber in subscribers where subscriber.flags.contains(.positioned) {
      subscriber.session.channelLost(channel)
    }
  }

  private func send(_ frames: EncodedFrames, on channel: ChannelName, to subscriber: Subscriber) {
    let session = subscriber.session
    guard let frame = frames[session.format] else { return }
    if subscriber.flags.contains(.held) {
      hold(frame, on: channel, for: session)
    } else {
      session.openTransport?.send(frame)
    }
  }

  private func hold(_ frame: [UInt8], on channel: ChannelName, for session: SessionDriver) {
    held[session.id]?.frames.append((channel, frame))
    held[session.id]?.bytes += frame.count
    if held[session.id]?.bytes ?? 0 > heldBytesLimit { session.disconnect(.slow) }
  }
}
