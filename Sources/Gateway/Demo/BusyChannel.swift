import NIOCore
import Synchronization
import Wire
import ZeroMQ

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Publishes on the demo's busy channel as long as somebody is subscribed to it.
///
/// It looks for that on each of the gateway's event loops, twice a second, and publishes as any of the gateway's own
/// requests go. The broker is not asked: it would walk through all of its channels for the answer. Tasks end with their
/// event loop.
final class BusyChannel: Sendable {
  static let namespace = "busy"
  private static let name = "busy:all"
  /// Between two looks for subscribers, and between two at what is due.
  private static let (rounds, looks) = (TimeAmount.milliseconds(500), TimeAmount.milliseconds(10))

  private struct State {
    var traffic = BusyTraffic()
    /// The event loops on which somebody is subscribed, by index.
    var listening: Set<Int> = []
  }

  private let calls: GatewayCalls
  private let channel: ChannelName
  private let state = Mutex(State())

  init(_ calls: GatewayCalls) throws {
    self.calls = calls
    channel = try ChannelName(Self.name)
  }

  /// - Parameter shards: those of the event loops, in their order.
  func start(on eventLoops: [any EventLoop], _ shards: [NIOLoopBound<Shard>]) {
    for (index, (eventLoop, shard)) in zip(eventLoops, shards).enumerated() {
      eventLoop.scheduleRepeatedTask(initialDelay: Self.rounds, delay: Self.rounds) { [self] _ in
        heard(isListenedTo: shard.value.hub.hasSubscribers(on: channel), onEventLoop: index)
      }
    }
    eventLoops[0].scheduleRepeatedTask(initialDelay: Self.looks, delay: Self.looks) { [self] _ in publish() }
  }

  private func heard(isListenedTo: Bool, onEventLoop index: Int) {
    state.withLock { state in
      if isListenedTo { state.listening.insert(index) } else { state.listening.remove(index) }
      state.traffic.heard(isListenedTo: !state.listening.isEmpty, at: Self.now())
    }
  }

  private func publish() {
    let due = state.withLock { $0.traffic.due(at: Self.now()) }
    if due.isEmpty { return }
    let time = Self.wallMilliseconds()
    for message in due {
      let data = "{\"from\":\"\(message.from)\",\"n\":\(message.number),\"t\":\(time)}"
      let request = BrokerRequest.PublishRequest(
        channel: channel, data: Array(data.utf8), info: ClientInfo(user: message.from, client: "demo"),
        tags: ["from": message.from])
      calls.call(.publish(request)) { [self] _ in state.withLock { $0.traffic.answered() } }
    }
  }

  private static func now() -> Int64 { Int64(MonotonicClock.now() / 1_000_000) }

  /// Since 1970, by the machine's clock: readers on this machine see by it how long a message took.
  private static func wallMilliseconds() -> Int64 {
    var wall = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &wall)
    return Int64(wall.tv_sec) * 1000 + Int64(wall.tv_nsec) / 1_000_000
  }
}
