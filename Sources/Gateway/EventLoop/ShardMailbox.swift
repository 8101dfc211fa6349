import NIOCore
import Synchronization
import ZeroMQ

/// The way from the backbone thread to one event loop.
final class ShardMailbox: Sendable {
  let eventLoop: any EventLoop
  private let shard: NIOLoopBound<Shard>
  let load: ShardLoad
  private struct Waiting {
    var batch: [Handover] = []
    var bytes = 0
    var isClosed = false
    /// The event loop is about to call ``take()`` by itself, and need not be told.
    var isTakenSoon = false
  }

  /// What was handed over and not taken by the event loop yet; what comes before it does is taken along.
  private let waiting = Mutex(Waiting())

  init(eventLoop: any EventLoop, shard: NIOLoopBound<Shard>, load: ShardLoad) {
    self.eventLoop = eventLoop
    self.shard = shard
    self.load = load
  }

  /// Bytes handed over and not worked off yet.
  var queuedBytes: UInt64 { load.queuedBytes }
  var tallies: DeliveryTallies { load.tallies }

  func hand(over batch: [Handover], bytes: Int) {
    waiting.withLock { waiting in
      guard !waiting.isClosed else { return }
      load.handOver(bytes)
      let isFirst = waiting.batch.isEmpty
      waiting.batch.append(contentsOf: batch)
      waiting.bytes += bytes
      // Under the lock, so that nothing reaches the event loop once this is closed.
      if isFirst && !waiting.isTakenSoon { eventLoop.execute { [self] in take() } }
    }
  }

  /// The event loop ends: what is handed over from here on is dropped, because an event loop that is gone must be given
  /// no task.
  func close() { waiting.withLock { $0.isClosed = true } }

  /// On the event loop: it will call ``take()`` now, and need not be told.
  func willTake() { waiting.withLock { $0.isTakenSoon = true } }

  /// On the event loop: what was handed over is worked off.
  func take() {
    let taken = waiting.withLock { waiting in
      defer {
        waiting.batch = []
        waiting.bytes = 0
        waiting.isTakenSoon = false
      }
      return waiting
    }
    if taken.batch.isEmpty { return }
    shard.value.carryOut(taken.batch)
    load.taken(taken.bytes)
  }
}

/// How much of what the backbone thread handed over an event loop has still to work off: what the broker is told, so
/// that it sends no more than there is room for.
final class ShardLoad: Sendable {
  /// So many bytes worked off since the broker was last told are worth telling it before the next heartbeat.
  private static let worthTelling = 256 << 10

  private let uplink: Mailbox<UplinkMessage>
  /// Bytes handed over, and not looked at yet.
  private let waiting = Atomic<Int>(0)
  /// Bytes on tapes, for subscribers that are still to be visited.
  private let backlog = Atomic<Int>(0)
  private let untold = Atomic<Int>(0)
  /// What the event loop counts by namespace, for the metrics.
  let tallies = DeliveryTallies()

  /// Of all event loops together.
  let packedClients: PackedClients

  init(uplink: Mailbox<UplinkMessage>, packedClients: PackedClients = PackedClients()) {
    self.uplink = uplink
    self.packedClients = packedClients
  }

  /// Those of a gateway's event loops.
  static func loads(of loops: Int, _ uplink: Mailbox<UplinkMessage>) -> [ShardLoad] {
    let packedClients = PackedClients()
    return (0..<loops).map { _ in ShardLoad(uplink: uplink, packedClients: packedClients) }
  }

  var queuedBytes: UInt64 {
    UInt64(max(0, waiting.load(ordering: .relaxed)) + max(0, backlog.load(ordering: .relaxed)))
  }

  /// Whether something was handed over that the event loop has not looked at. The loop's descriptors do not show that:
  /// a loop that works is not woken for a task.
  var isHandoverWaiting: Bool { waiting.load(ordering: .relaxed) > 0 }

  func handOver(_ bytes: Int) { waiting.add(bytes, ordering: .relaxed) }

  func taken(_ bytes: Int) {
    waiting.subtract(bytes, ordering: .relaxed)
    untold.add(bytes, ordering: .relaxed)
    tell()
  }

  /// The event loop says after each slice how many bytes stand on its tapes for subscribers still to be visited.
  func report(backlogBytes: Int) {
    backlog.store(backlogBytes, ordering: .relaxed)
    tell()
  }

  private func tell() {
    guard untold.load(ordering: .relaxed) - backlog.load(ordering: .relaxed) >= Self.worthTelling else { return }
    untold.store(backlog.load(ordering: .relaxed), ordering: .relaxed)
    _ = uplink.post(.workedOff)
  }
}
