import DequeModule
import Wire

/// Shared polls: between the sessions of this event loop and the gateway's ``SharedPollService``.
extension Shard {
  /// Sends of polled publications before the event loop looks at its sockets again.
  private static let mostPolledSends = 256

  func openPoll(_ channel: ChannelName) -> String? { polls?.epoch(of: channel) }

  func track(_ ask: PollTrack, for driver: SessionDriver) -> PollTracked {
    guard let polls else { return .refused(.notAvailable, .polledTrackings) }
    return polls.track(ask, of: subscriber(driver, ask.number))
  }

  func untrack(_ keys: [String], _ number: UInt64, of channel: ChannelName, for driver: SessionDriver) {
    polls?.untrack(keys, of: subscriber(driver, number), in: channel)
  }

  func leavePoll(_ channel: ChannelName, _ number: UInt64, for driver: SessionDriver) {
    polls?.leave(subscriber(driver, number), channel)
  }

  private func subscriber(_ driver: SessionDriver, _ number: UInt64) -> PollSubscriber {
    PollSubscriber(loop: loopIndex, connection: driver.id, number: number)
  }

  // MARK: To clients

  /// Sends a publication to those whom it is for, behind those that came before it.
  func push(_ push: PolledPush) {
    polledPushes.append(push)
    if polledPushes.count == 1 { pushPolled() }
  }

  /// A key may have a hundred thousand who track it: the event loop serves others between.
  private func pushPolled() {
    var left = Self.mostPolledSends
    while let push = polledPushes.first {
      let part = push.subscribers[push.sent...].prefix(left)
      for subscriber in part { sessions[subscriber.connection]?.push(push.frames, to: subscriber.number) }
      left -= part.count
      if push.sent + part.count == push.subscribers.count {
        polledPushes.removeFirst()
      } else {
        polledPushes[0].sent += part.count
      }
      guard left == 0, !polledPushes.isEmpty else { continue }
      return atTurnsEnd { [self] in pushPolled() }
    }
  }

  func restartPolls(_ channel: ChannelName, of subscribers: [PollSubscriber]) {
    for subscriber in subscribers { sessions[subscriber.connection]?.pollRestarted(channel, subscriber.number) }
  }
}

extension SessionDriver {
  /// Sends a publication of a shared poll, where the subscription that it is for is still there.
  func push(_ frames: PolledFrames, to number: UInt64) {
    guard !isGone, session.isPolling(frames.channel, number) else { return }
    flush()
    transport.push(frames[format])
  }

  func pollRestarted(_ channel: ChannelName, _ number: UInt64) { feed(.pollRestarted(channel, number: number)) }
}
