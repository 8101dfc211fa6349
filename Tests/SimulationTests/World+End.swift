import Wire

@testable import Broker
@testable import Gateway

/// Checks what must hold when nothing is under way.
extension World {
  func judge() {
    for client in clients {
      if client.state != .up { fail("\(client.name) never came back: \(client.state)") }
      if !client.unanswered.isEmpty { fail("\(client.name): a publish was never answered") }
      for feed in client.feeds { judge(feed, client) }
    }
    for channel in Self.channels {
      judgeSeats(channel)
      guard namespaces.options(for: channel)?.presence == true else { continue }
      let there = subscribers(of: channel).map(\.client).sorted()
      let present = presence(on: channel).sorted()
      if present != there { fail("\(channel): present are \(present), there are \(there)") }
    }
    for loop in gateways.flatMap(\.loops) {
      if !loop.shard.reads.isIdle { fail("an event loop holds reads that nobody waits for") }
      if loop.fanOut.backlogBytes != 0 { fail("\(loop.fanOut.backlogBytes) bytes are left on tapes") }
    }
  }

  /// Checks that a client has got everything up to the top of the log that its filter lets through.
  private func judge(_ feed: Feed, _ client: SimulatedClient) {
    guard feed.state == .live else { return fail("\(client.name) never came back to \(feed.channel): \(feed.state)") }
    if feed.isConflated {
      if feed.users == nil, !oracle.isAtEnd(feed) { fail("\(client.name) lacks the last of \(feed.channel)") }
      return
    }
    guard let top = top(of: feed.channel), let position = feed.position, position.epoch == top.epoch,
      position.offset <= top.offset,
      oracle.missed(by: feed, top.epoch, after: position.offset, before: top.offset + 1) == nil
    else {
      return fail(
        "\(client.name) stands at \(feed.position as Any), and \(feed.channel) ends at \(top(of: feed.channel) as Any)")
    }
  }

  private func subscribers(of channel: ChannelName) -> [SimulatedClient] {
    clients.filter { client in client.feeds.contains { $0.channel == channel && $0.state == .live } }
  }

  /// Checks that each hub has the sessions that are subscribed on its event loop, once each.
  private func judgeSeats(_ channel: ChannelName) {
    for (index, gateway) in gateways.enumerated() {
      for (number, loop) in gateway.loops.enumerated() {
        let there = subscribers(of: channel).filter { $0.gateway == index && $0.loop == number }
        let seated = loop.shard.hub.sessions(on: channel).map(\.client).sorted()
        if seated != there.map(\.client).sorted() { fail("\(channel): seats have \(seated) on loop \(number)") }
      }
    }
  }
}
