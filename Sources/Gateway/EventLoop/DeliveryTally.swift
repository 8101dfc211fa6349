import Synchronization
import Wire

/// What one event loop counts of one namespace. Each of the namespace's tapes has a reference to it, so that counting
/// looks nothing up, and a frame is counted once for all subscribers of a tape. The event loop alone writes; any thread
/// reads.
final class DeliveryTally: Sendable {
  /// Empty: channels without a namespace.
  let namespace: String
  private let deliveries = Atomic<Int>(0)
  private let bytes = Atomic<Int>(0)
  private let subscriptions = Atomic<Int>(0)

  init(_ namespace: String) { self.namespace = namespace }

  /// Counts one frame, which goes to so many subscribers.
  @inline(__always)
  func delivered(bytes size: Int, to subscribers: Int) {
    // With one writer, a store after a load loses nothing, and costs less than an addition that others could disturb.
    deliveries.store(deliveries.load(ordering: .relaxed) &+ subscribers, ordering: .relaxed)
    bytes.store(bytes.load(ordering: .relaxed) &+ size &* subscribers, ordering: .relaxed)
  }

  func subscribed(_ change: Int) {
    subscriptions.store(subscriptions.load(ordering: .relaxed) + change, ordering: .relaxed)
  }

  var numbers: DeliveryNumbers {
    DeliveryNumbers(
      deliveries: deliveries.load(ordering: .relaxed), bytes: bytes.load(ordering: .relaxed),
      subscriptions: subscriptions.load(ordering: .relaxed))
  }
}

struct DeliveryNumbers: Equatable {
  /// Frames times the subscribers that they were put on a tape for, since the start.
  var deliveries = 0
  /// Bytes of those frames, each times its subscribers.
  var bytes = 0
  /// Subscriptions now.
  var subscriptions = 0

  static func += (sum: inout DeliveryNumbers, more: DeliveryNumbers) {
    sum.deliveries += more.deliveries
    sum.bytes += more.bytes
    sum.subscriptions += more.subscriptions
  }
}

/// The tallies of one event loop: no more than there are configured namespaces. The one home of the number of its
/// subscriptions.
final class DeliveryTallies: Sendable {
  private let tallies = Mutex<[String: DeliveryTally]>([:])

  /// The tally of a channel's namespace, which is a configured one.
  func tally(of channel: ChannelName) -> DeliveryTally {
    let name = channel.namespace.map { String($0) } ?? ""
    return tallies.withLock { tallies in
      if let known = tallies[name] { return known }
      let new = DeliveryTally(name)
      tallies[name] = new
      return new
    }
  }

  var all: [DeliveryTally] { tallies.withLock { Array($0.values) } }
  var subscriptions: Int { all.reduce(0) { $0 + $1.numbers.subscriptions } }
}
