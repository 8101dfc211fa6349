import Auth
import Wire

/// What ties a subscription to a shared poll.
final class PollTie {
  /// The subscription's number in its session: what was on its way to an earlier one of the channel is not for this one.
  let number: UInt64
  /// The epoch that the client was told.
  let epoch: String

  init(number: UInt64, epoch: String) {
    self.number = number
    self.epoch = epoch
  }
}

/// Shared polls, on the session's side. The broker knows nothing of them: who tracks what, and when the backend is asked,
/// is for the gateway's ``SharedPoll`` to decide. A session checks who may track what.
extension Session {
  /// A subscription to a shared poll is allowed. It carries nothing until keys are tracked.
  mutating func openPoll(_ order: SubscribeOrder) {
    let tag = remember(.openPoll(order))
    subscriptions[order.channel] = order.subscription(.subscribing(tag: tag))
    out.append(.openPoll(tag: tag, order.channel))
  }

  /// - Parameter epoch: nil where this gateway has no shared polls.
  mutating func pollOpened(_ tag: UInt64, _ epoch: String?) {
    guard case .openPoll(let order)? = pending.removeValue(forKey: tag) else { return }
    guard let epoch else {
      subscriptions[order.channel] = nil
      return fail(order.id, .notAvailable.saying("this server asks no backend for shared polls"))
    }
    subscriptions[order.channel]?.phase = .live
    subscriptions[order.channel]?.grant?.poll = PollTie(number: tag, epoch: epoch)
    var result = ClientReply.SubscribeResult()
    result.type = ClientCommand.Subscribe.sharedPollType
    result.epoch = epoch
    result.data = order.grant.data ?? []
    result.binaryData = order.binaryData
    if let expiry = order.expiresAt {
      if order.isRefreshedHere {
        planRefresh(of: order.channel, at: expiry)
      } else {
        result.expires = true
        result.ttl = secondsLeft(until: expiry, at: time)
      }
      subscriptionExpires(at: expiry)
    }
    send(.subscribe(id: order.id, result))
    reportSubscribed(to: order.channel)
  }

  mutating func track(_ id: UInt32, _ ask: ClientCommand.Track) {
    guard let (channel, _) = resolve(id, ask.channel) else { return }
    guard let tie = pollTie(of: channel) else { return fail(id, .notSubscribed) }
    guard let signatures = rules.trackSignatures else { return fail(id, .notAvailable) }
    guard !ask.batches.isEmpty, ask.batches.allSatisfy({ !$0.items.isEmpty }) else {
      return fail(id, .badRequest.saying("there are no keys to track"))
    }
    var track = PollTrack(
      channel: channel, number: tie.number, epoch: tie.epoch, items: [], untracked: ask.untracked)
    var earliest = Int64.max
    for batch in ask.batches {
      if let refusal = batch.refusal { return fail(id, refusal) }
      do throws(ClientError) {
        let expiry = try signatures.check(batch, user: user, channel: channel.string, at: time.wall)
        earliest = min(earliest, expiry)
        track.items += batch.items.map { .init(key: $0.key, version: $0.version, expiresAt: expiry) }
      } catch {
        return fail(id, error)
      }
    }
    let tag = remember(.track(id: id, channel, expiresAt: earliest))
    out.append(.track(tag: tag, track))
  }

  mutating func tracked(_ tag: UInt64, _ answer: PollTracked) {
    guard case .track(let id, let channel, let expiresAt)? = pending.removeValue(forKey: tag) else { return }
    switch answer {
    case .tracked(let publications):
      let expires = expiresAt != .max
      send(
        .subRefresh(
          id: id, expires: expires, ttl: expires ? secondsLeft(until: expiresAt, at: time) : 0, items: publications))
    case .refused(let error, let cause):
      out.append(.note(cause))
      fail(id, error)
    case .otherEpoch:
      fail(id, .internalError.saying("the versions are of an epoch that is over; subscribe again"))
      if let number = pollTie(of: channel)?.number { pollRestarted(channel, number) }
    }
  }

  mutating func untrack(_ id: UInt32, _ name: String, _ keys: [String]) {
    guard let (channel, _) = resolve(id, name) else { return }
    guard let tie = pollTie(of: channel) else { return fail(id, .notSubscribed) }
    guard !keys.isEmpty else { return fail(id, .badRequest.saying("there are no keys to untrack")) }
    out.append(.untrack(channel, number: tie.number, keys))
    send(.subRefresh(id: id, expires: false, ttl: 0))
  }

  /// The versions that the client has are of an epoch that is over: it has to subscribe anew, and begin with none.
  mutating func pollRestarted(_ channel: ChannelName, _ number: UInt64) {
    guard let subscription = subscriptions[channel], subscription.grant?.poll?.number == number else { return }
    remove(channel, subscription, telling: .internalError, because: .lost)
    send(.push(.unsubscribe(channel: channel.string, .insufficient)))
  }

  /// Whether the subscription under this number is there: what is on its way to it may be sent.
  func isPolling(_ channel: ChannelName, _ number: UInt64) -> Bool {
    phase == .live && pollTie(of: channel)?.number == number
  }

  /// Ends what a subscription that is over tracks. Nothing where the channel is no shared poll.
  mutating func leavePoll(_ channel: ChannelName, _ subscription: SessionSubscription) {
    guard let number = subscription.grant?.poll?.number else { return }
    out.append(.leavePoll(channel, number: number))
  }

  private func pollTie(of channel: ChannelName) -> PollTie? {
    guard let subscription = subscriptions[channel], subscription.isLive else { return nil }
    return subscription.grant?.poll
  }
}

extension ClientCommand.TrackBatch {
  /// Why the keys cannot be tracked, whoever signed them. With a zero byte, which parts keys where they are signed, one
  /// list of keys could pass for another.
  fileprivate var refusal: ClientError? {
    for item in items {
      if item.key.isEmpty { return .badRequest.saying("a key is empty") }
      if item.key.utf8.count > MapWrite.maximumKeyBytes {
        return .badRequest.saying("a key is longer than \(MapWrite.maximumKeyBytes) bytes")
      }
      if item.key.utf8.contains(0) { return .badRequest.saying("a key has a zero byte") }
    }
    return nil
  }
}
