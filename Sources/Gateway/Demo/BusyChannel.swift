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
/// It asks the broker for that twice a second, one question at a time, and publishes as any of the gateway's own requests
/// go. Its tasks end with the event loop.
final class BusyChannel: Sendable {
  static let namespace = "busy"
  private static let name = "busy:all"
  /// Between two questions, and between two looks at what is due.
  private static let (questions, looks) = (TimeAmount.milliseconds(500), TimeAmount.milliseconds(10))

  private struct State {
    var traffic = BusyTraffic()
    var isAsking = false
  }

  private let calls: GatewayCalls
  private let channel: ChannelName
  private let state = Mutex(State())

  init(_ calls: GatewayCalls) throws {
    self.calls = calls
    channel = try ChannelName(Self.name)
  }

  func start(on eventLoop: any EventLoop) {
    eventLoop.scheduleRepeatedTask(initialDelay: Self.questions, delay: Self.questions) { [self] _ in ask() }
    eventLoop.scheduleRepeatedTask(initialDelay: Self.looks, delay: Self.looks) { [self] _ in publish() }
  }

  private func ask() {
    let asks = state.withLock { state in
      defer { state.isAsking = true }
      return !state.isAsking
    }
    guard asks else { return }
    calls.call(.channels(prefix: Self.name)) { [self] response in
      var isListenedTo = false
      // The prefix fits longer names, too.
      if case .channels(let names) = response { isListenedTo = names.contains(channel) }
      state.withLock { state in
        state.isAsking = false
        state.traffic.heard(isListenedTo: isListenedTo, at: Self.now())
      }
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
